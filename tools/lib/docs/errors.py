# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The page of all messages: of tests, and of what sources give to what reports."""
import ast
import re

# Part, and the sources whose messages it has.
PARTS = (
    ("Dialect", "lib/Dialect/KVCache/IR/*", "include/kvcache/Dialect/**/*.h"),
    ("Passes and checks at run time", "lib/Dialect/KVCache/Transforms/**/*", "lib/Conversion/**/*"),
    ("Pipelines and targets", "lib/Pipelines/**/*", "lib/Target/**/*"),
    ("C API", "lib/CAPI/*"),
    ("Python bindings", "python/src/*"),
    ("Runtime", "lib/Runtime/*", "include/kvcache/Support/*"),
    ("Simulator", "lib/Simulator/**/*"),
    ("Tools", "tools/**/*.cpp", "tools/**/*.h", "lib/Support/*"))

# What takes a message.
REPORTERS = re.compile(
    r"\b(?:emit(?:\w*Error|Remark|StopIf|Assert)?|attachNote|(?:Status::)?error|createStringError"
    r"|value_error|diagnose|diag|fail(?:With)?|fault|report|refuse|illegal|stopIf|require\w*"
    r"|addRequirement|checkSameSize|same|overlaps|reject|problem|fatal|print|missing|unsupported"
    r"|accept|expect|note|wrong)\("
    r"|\b(?:message|failure|text|why|lastError\(\)) =\s|\bdiagnostic << ")
TOKEN = re.compile(r'"((?:[^"\\\n]|\\.)*)"|//[^\n]*|\'(?:[^\'\\\n]|\\.)+\'|(.)', re.S)


class Failed(Exception):
    """The site cannot be made."""


def tested_errors(root):
    """Every message of verifiers and passes that a test asks for, by what reports it."""
    found = {}
    for file in sorted(root.glob("test/**/*.mlir")):
        for message in re.findall(r"expected-error(?:-re)? ?(?:@[^ {]*)? ?\{\{(.*?)\}\}\s*$",
                                  file.read_text(), re.M):
            match = re.match(r"'(kvcache\.\w+|gpu\.\w+|llvm\.\w+)' op (.*)", message)
            name, text = match.groups() if match else ("In general", message)
            found.setdefault(name, {}).setdefault(text, file.relative_to(root))
    if len(found) < 10:
        raise Failed(f"only {len(found)} operations with errors found in the tests")
    return found


def text_of(node):
    """A string of Python's syntax, with … for what is put in; None for another node."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(text_of(part) or "…" for part in node.values)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return (text_of(node.left) or "…") + (text_of(node.right) or "…")
    if isinstance(node, ast.IfExp):
        return text_of(node.body)
    return None


def python_errors(root, *globs):
    """What Python's sources raise or exit with, by exception."""
    found = {}
    for file in sorted({file for glob in globs for file in root.glob(glob) if file.is_file()}):
        source = file.read_text()
        if file.suffix != ".py" and not source.startswith("#!/usr/bin/env python3"):
            continue
        for node in ast.walk(ast.parse(source)):
            call = node.exc if isinstance(node, ast.Raise) else node
            if not isinstance(call, ast.Call) or not call.args:
                continue
            name = ast.unparse(call.func).rpartition(".")[2]
            if isinstance(node, ast.Raise) or name in ("exit", "_refuse"):
                text = text_of(call.args[-1 if name == "_refuse" else 0])
                if text and text.strip("… "):
                    found.setdefault(name, {}).setdefault(" ".join(text.split()),
                                                          file.relative_to(root))
    return found


def call_texts(source, begin):
    """The literals of a call whose arguments begin there, and of what is put behind it by
    <<, with … for what is between. Of a choice it has the first, which others follow."""
    depth, text, between, others = 1, "", "", []
    for match in TOKEN.finditer(source, begin):
        literal, other = match.groups()
        if literal is not None:
            between = re.sub(r"\s", "", between)
            if not text and (between.endswith(",") or re.fullmatch(r"[^<]*\)<<", between)):
                pass  # Where it is said.
            elif between == ",":
                text += ": "  # The kind of a finding and what it says.
            elif between.replace("+", "").replace("<<", ""):
                text += "…"
            if between.endswith(":") and not between.endswith("::"):
                others.append(literal)
            else:
                text += literal
            between = ""
        elif other is not None:
            depth += (other in "([{") - (other in ")]}")
            if depth < 0 or other == ";" or (depth == 0 and re.match(
                    r"\)\s*(?!<<|\)|\.attachNote)\S", source[match.start():])):
                break
            between += other
    text += "…" if re.sub(r"[\s+<)]", "", between) else ""
    for one in [text, *others]:
        one = one.replace("\\\n", "").replace("\\n", " ").replace('\\"', '"')
        yield re.sub(r"…+", "…", re.sub(r"\s+", " ", one)).strip(" :")


def source_errors(root, *globs, pattern=REPORTERS):
    """Texts of calls that match `pattern`, in sources."""
    found = {}
    for file in sorted({file for glob in globs for file in root.glob(glob) if file.is_file()}):
        source = file.read_text()
        for match in re.finditer(pattern, source):
            for text in call_texts(source, match.end()):
                if len(re.findall(r"\w{2,}", text)) > 1:
                    found.setdefault(text, file.relative_to(root))
    return found


def page(root):
    """The page's Markdown."""
    cmake = source_errors(root, "CMakeLists.txt", "cmake/*", "lib/**/CMakeLists.txt",
                          "python/CMakeLists.txt", "test/**/CMakeLists.txt",
                          pattern=r"message\((?:FATAL|SEND)_ERROR\s+|set\(\w+_NOT_FOUND_MESSAGE\s+")
    sections = [("Programs", "Every message of verifiers and passes that a test asks for, and the "
                 "test, which has a program with that mistake. Numbers and names are the test's.",
                 tested_errors(root)),
                ("Python", "What the package raises, and where; … stands for names and numbers.",
                 python_errors(root, "python/kvcache/**/*.py")),
                ("Sources", "What the compiler, the checks at run time, the runtime, the simulator "
                 "(its findings begin with their kind) and the tools say, and where.",
                 {name: source_errors(root, *globs) for name, *globs in PARTS}),
                ("Scripts", "What the programs in tools/ end with.",
                 python_errors(root, "tools/*", "tools/lib/**/*.py")),
                ("Building", "What CMake says.", {"CMake": cmake})]
    lines = ["# Errors", ""]
    for title, prose, found in sections:
        lines += [f"# {title}", "", prose, ""]
        for name in sorted(found):
            if not found[name]:
                raise Failed(f"no errors of {name} found")
            lines += [f"## {name}", ""]
            lines += [f"- `` {text} ``<br>{file}" for text, file in sorted(found[name].items())]
            lines.append("")
    return "\n".join(lines)
