"""Checks the documentation of the kvcache dialect in its TableGen files.

Each op must have a summary, a description, a list of constraints where it has a
verifier, and an example of itself; each attribute and type an example. Every
example must parse, in a function whose arguments are the values it uses but does
not define. Each op must occur in the tests of the ops.
"""

import argparse
import json
import os
import re
import subprocess
import sys

LAYOUTS = {
    "#kv": "#kvcache.layout<f8E4M3FN, params = <num_heads = 1, head_size = 128, is_mla = true>, "
    "page_size = 64, scales = <f32, granularity = 128, table = own>>",
    "#gqa": "#kvcache.layout<bf16, params = <num_heads = 8, head_size = 128>, page_size = 16>",
    "#shared": "#kvcache.layout<f8E4M3FN, params = <num_heads = 1, head_size = 128>, "
    "page_size = 64, scales = <f32, granularity = 128>>",
    "#hnd": "#kvcache.layout<bf16, params = <num_heads = 8, head_size = 128>, page_size = 16, order = hnd>",
    "#row656": "#kvcache.layout<f8E4M3FN, params = <num_heads = 1, head_size = 576, is_mla = true>, "
    "page_size = 64, scales = <f32, granularity = 128>, placement = inline, rope = <bf16, size = 64>>",
    "#mla": "#kvcache.layout<f8E4M3FN, params = <num_heads = 1, head_size = 576, is_mla = true>, "
    "page_size = 64, scales = <f32, granularity = 576, table = own>>",
    "#own": "#kvcache.layout<f8E4M3FN, params = <num_heads = 1, head_size = 128>, "
    "page_size = 64, scales = <f32, granularity = 128, table = own>>",
}


def definitions(source, llvm_include):
    """Yields (kind, name, record) of the dialect's ops, attributes and types."""
    folder = os.path.join(source, "include")
    path = os.path.join(folder, "kvcache/Dialect/KVCache/IR/KVCacheOps.td")
    dump = subprocess.run(
        ["llvm-tblgen", "--dump-json", "-I", folder, "-I", llvm_include, path],
        check=True, capture_output=True, text=True).stdout
    records = json.loads(dump)
    for kind, name in (("Op", "opName"), ("AttrDef", "mnemonic"), ("TypeDef", "mnemonic")):
        for key in records["!instanceof"].get(kind, []):
            record = records[key]
            dialect = record.get("opDialect") or record.get("dialect")
            if dialect and dialect["def"] == "KVCache_Dialect":
                yield kind, record[name], record


def split_types(text):
    """Types that commas part, but for the commas inside of types."""
    return re.findall(r"(?:[^,<]|<(?:[^<>]|<(?:[^<>]|<[^<>]*>)*>)*>)+", text)


def argument_type(name, example):
    """The type of a value that an example uses, as the example states it."""
    # (%x, %y : type, type)
    for names, types in re.findall(r"\((%\w+(?:, %\w+)*) : (.*?)\)(?=\s|$)",
                                   example, re.S):
        if name in names.split(", "):
            return split_types(types)[names.split(", ").index(name)].strip()
    # op %x into %y … : type into type, for operations without results
    if example.startswith("kvcache.") and "[%" not in example:
        bare = re.sub(r"\([^()]* : [^()]*\)", "", example)
        operands, _, types = re.sub(r"\s+", " ", bare).rpartition(" : ")
        names = re.findall(r"%\w+", operands)
        types = [part for group in re.split(r" into | by ", types)
                 for part in split_types(group)]
        if name in names and len(names) == len(types):
            return types[names.index(name)].strip()
    # op %x of %y, %z : type, all of one
    match = re.search(r"of ([%\w, ]+) : (\S+)$", example, re.M)
    if match and name in match[1].split(", "):
        return match[2]
    # op … %x[…] … : type and op %x : type
    match = re.search(
        rf"= kvcache\.\w+ (?:\w+ )?{name}\b[^:]*: (\S+<.*?>)(?:$| ->| to|\s*$)",
        example, re.M | re.S)
    return match[1] if match else None


def wrap(example):
    """The example as a whole program."""
    # An alias that the example defines takes the place of the standard one.
    defined = set(re.findall(r"^(#\w+) =", example, re.M))
    program = "".join(f"{alias} = {text}\n" for alias, text in LAYOUTS.items()
                      if alias not in defined)
    if example.startswith("!"):
        return program + f"func.func private @example({example})\n"
    if defined:
        return program + example + f"\nfunc.func private @example(!kvcache.collection<{defined.pop()}>)\n"
    if example.startswith("#"):
        return program + f"func.func private @example() attributes {{kvcache_test.a = {example}}}\n"
    results = set()
    for left in re.findall(r"^\s*((?:%\w+(?:, )?)+) =", example, re.M):
        results.update(re.findall(r"%\w+", left))
    for arguments in re.findall(r"\^\w+\((.*?)\):\s*$", example, re.M | re.S):
        results.update(re.findall(r"(%\w+):", arguments))
    arguments = []
    for name in dict.fromkeys(re.findall(r"%\w+", example)):
        if name in results:
            continue
        kind = argument_type(name, example)
        store = re.search(rf"kvcache\.store\w* (?:\w+ )?(%\w+), (%\w+)\[.*?: (.*?), (!.*)$", example, re.S)
        if store and name in store.groups()[:2]:
            kind = store[3] if name == store[1] else store[4].strip()
        elif kind is None and ("table_read" in example or name == "%block"):
            kind = "i32"
        arguments.append(f"{name}: {kind or 'index'}")
    return program + f"func.func @example({', '.join(arguments)}) {{\n{example}\n  return\n}}\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--source", required=True)
    parser.add_argument("--llvm-include", required=True)
    parser.add_argument("--ops-tests", nargs="+", required=True)
    options = parser.parse_args()
    tested = ""
    for path in options.ops_tests:
        with open(path, encoding="utf-8") as file:
            tested += "".join(line for line in file if not line.lstrip().startswith("//"))

    faults, ops, examples = [], 0, 0
    for kind, name, record in definitions(options.source, options.llvm_include):
        what = f"{kind} {name}"
        text = record["description"] or ""
        found = re.findall(r"```mlir\n(.*?)```", text, re.S)
        if not found:
            faults.append(f"{what}: no example")
        if not record.get("summary"):
            faults.append(f"{what}: no summary")
        if kind == "Op":
            ops += 1
            if not text.split("**Constraints:**")[0].split("Example:")[0].strip():
                faults.append(f"{what}: no semantics before constraints and example")
            if record["hasVerifier"] and "**Constraints:**" not in text:
                faults.append(f"{what}: a verifier, but no constraints")
            if found and not any(re.search(rf"kvcache\.{name}\b", e) for e in found):
                faults.append(f"{what}: its examples do not show it")
            if not re.search(rf"\bkvcache\.{name}\b", tested):
                faults.append(f"{what}: not in {options.ops_tests}")
        for example in found:
            examples += 1
            program = wrap("\n".join(line.strip() for line in example.strip().splitlines()))
            run = subprocess.run(["kvcache-opt", "-o", os.devnull], input=program,
                                 capture_output=True, text=True)
            if run.returncode:
                faults.append(f"{what}: its example does not parse\n{program}\n{run.stderr}")
    if ops == 0 or examples < ops:
        faults.append(f"found {ops} ops and {examples} examples only")
    print(f"{ops} ops, {examples} examples, {len(faults)} faults")
    print("\n".join(faults))
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
