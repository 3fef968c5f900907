# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The site's Markdown: docs/ as it is, and what is made from definitions and tests."""
import ast
import json
import pathlib
import re
import shutil
import subprocess

TITLES = (
    ("getting-started", "Getting started"), ("api", "The original API and the IR"),
    ("layouts", "Layouts"), ("kernels", "Kernels"),
    ("writing-kernels", "Writing a kernel"), ("porting", "Porting a cache"),
    ("tensors", "Programs on tensors"), ("kernel-abi", "What a kernel takes"),
    ("launch-record", "Launch records"), ("out-of-range", "Out of range"),
    ("numerics", "Numerics"), ("runtime", "Running programs"),
    ("simulator", "The simulator"), ("embedding", "Embedding"),
    ("python", "Python"))

IR = "include/kvcache/Dialect/KVCache/IR"
# Page, its title, and the definitions with what mlir-tblgen makes of each.
REFERENCE = (
    ("dialect", "Dialect", [("-gen-dialect-doc", f"{IR}/KVCacheOps.td")]),
    ("interfaces", "Interfaces",
     [("-gen-type-interface-docs", f"{IR}/KVCacheInterfaces.td")]),
    ("passes", "Passes",
     [("-gen-pass-doc", f"include/kvcache/{file}/Passes.td")
      for file in ("Dialect/KVCache/Transforms", "Conversion", "Pipelines")]))


class Failed(Exception):
    pass


def tablegen():
    for name in ("mlir-tblgen-22", "/usr/lib/llvm-22/bin/mlir-tblgen", "mlir-tblgen"):
        path = shutil.which(name)
        if path:
            return pathlib.Path(path).resolve()
    raise Failed("no mlir-tblgen; install mlir-22-tools and libmlir-22-dev")


def members(root, tool):
    """What the members of enumerations say, by enumeration, as Markdown."""
    done = subprocess.run(
        [tool.with_name("llvm-tblgen"), "--dump-json", "-I", root / "include", "-I",
         tool.parent.parent / "include", root / f"{IR}/KVCacheOps.td"],
        capture_output=True, text=True)
    if done.returncode:
        raise Failed(f"llvm-tblgen: {done.stderr.strip()}")
    records = json.loads(done.stdout)
    return {records[key]["className"]: records[key]["description"]
            for key in records["!instanceof"]["KVCache_Enum"]}


def with_members(text, described):
    """The dialect's page, whose tables of members have no texts."""
    for name, description in described.items():
        text, count = re.subn(rf"(### {name}\n.*?)#### Cases:\n.*?(?=\n###|\Z)",
                              lambda match: f"{match[1]}{description}\n", text, count=1,
                              flags=re.S)
        if not count:
            raise Failed(f"no enumeration {name} in the dialect's page")
    return text


def generated(root, tool, arguments, file):
    include = tool.parent.parent / "include"
    extra = ["-dialect=kvcache"] if arguments == "-gen-dialect-doc" else []
    done = subprocess.run(
        [tool, arguments, *extra, "-I", root / "include", "-I", include, root / file],
        capture_output=True, text=True)
    if done.returncode:
        raise Failed(f"mlir-tblgen {arguments} {file}: {done.stderr.strip()}")
    text = done.stdout.replace("[TOC]\n", "")
    # Types in prose are no HTML.
    parts = re.split(r"(```.*?```|`[^`\n]*`)", text, flags=re.S)
    return "".join(part if k % 2 else re.sub(r"<(?!!--)", "&lt;", part)
                   for k, part in enumerate(parts))


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


def python_errors(root):
    """What the package raises, by exception."""
    found = {}
    for file in sorted(root.glob("python/kvcache/**/*.py")):
        for node in ast.walk(ast.parse(file.read_text())):
            call = node.exc if isinstance(node, ast.Raise) else None
            if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.args:
                text = text_of(call.args[0])
                if text and text.strip("…"):
                    found.setdefault(call.func.id, {}).setdefault(text, file.relative_to(root))
    return found


def call_text(source, begin):
    """The literals of a call whose arguments begin there, with … for what is between."""
    depth, text = 1, ""
    for literal, other in re.findall(r'"((?:[^"\\]|\\.)*)"|([^"])', source[begin:], re.S):
        if not other:
            text += literal
            continue
        depth += (other == "(") - (other == ")")
        if depth == 0:
            break
        if not other.isspace() and other != "+" and not text.endswith("…"):
            text += "…"
    return text.replace("\\\n", "").replace("\\n", " ").replace('\\"', '"')


def source_errors(root, pattern, *files):
    """Texts of calls that begin with `pattern`, in sources."""
    found = {}
    for file in sorted({file for glob in files for file in root.glob(glob)}):
        source = file.read_text()
        for match in re.finditer(pattern, source):
            text = call_text(source, match.end())
            if len(text.strip("… ")) > 8:
                found.setdefault(text, file.relative_to(root))
    return found


def errors(root):
    """The page of all messages."""
    sections = [("Programs", "Every message of verifiers and passes that a test asks for, and the "
                 "test, which has a program with that mistake. Numbers and names are the test's.",
                 tested_errors(root)),
                ("Python", "What the package raises, and where; … stands for names and numbers.",
                 python_errors(root)),
                ("Running", "What the runtime, the simulator and the tools say.",
                 {"Runtime": source_errors(root, r"Status::error\(", "lib/Runtime/*.cpp"),
                  "Simulator": source_errors(root, r"Status::error\(", "lib/Simulator/*.cpp")}),
                ("Building", "What CMake says.",
                 {"CMake": source_errors(root, r"message\((?:FATAL|SEND)_ERROR\s+"
                                         r"|set\(\w+_NOT_FOUND_MESSAGE\s+",
                                         "CMakeLists.txt", "cmake/*", "lib/**/CMakeLists.txt",
                                         "python/CMakeLists.txt", "test/**/CMakeLists.txt")})]
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


def site_links(text, prefix=""):
    """Links to sources become their paths: the site has no sources."""
    def replace(match):
        label, target = match.groups()
        if re.match(r"https?:|#", target):
            return match[0]
        target = target.removeprefix("../").removeprefix(prefix)
        if target.endswith(".md") or ".md#" in target:
            return f"[{label}]({target})"
        return f"{label} (`{target}`)" if pathlib.Path(target).name not in label else f"`{target}`"
    return re.sub(r"\[([^\]]+)\]\(([^)\s]+)\)", replace, text)


def write(root, folder):
    """Writes mkdocs.yml and the pages to `folder`, in place of those of an earlier
    run; a folder with anything else in it is refused."""
    if folder.exists():
        foreign = {entry.name for entry in folder.iterdir()} - {"mkdocs.yml", "pages"}
        if foreign or ((folder / "pages").exists()
                       and not (folder / "mkdocs.yml").exists()):
            raise Failed(f"{folder} holds something else ({min(foreign, default='pages')});"
                         " name an empty folder")
        shutil.rmtree(folder)
    (folder / "pages/reference").mkdir(parents=True)
    (folder / "mkdocs.yml").touch()
    have = {file.stem for file in root.glob("docs/*.md")}
    unnamed = have ^ {name for name, _ in TITLES}
    if unnamed:
        raise Failed("docs/ and the site's list of pages differ in "
                     + ", ".join(sorted(unnamed)))
    for name, _ in TITLES:
        text = (root / f"docs/{name}.md").read_text()
        (folder / f"pages/{name}.md").write_text(site_links(text))
    index = (root / "README.md").read_text()
    (folder / "pages/index.md").write_text(site_links(index, "docs/"))
    tool = tablegen()
    for name, title, parts in REFERENCE:
        text = "\n".join(generated(root, tool, *part) for part in parts)
        if name == "dialect":
            text = with_members(text, members(root, tool))
        if len(parts) > 1:
            text = f"# {title}\n\n" + text
        (folder / f"pages/reference/{name}.md").write_text(text)
    (folder / "pages/reference/errors.md").write_text(errors(root))
    nav = [{"kvcache": "index.md"}]
    nav += [{title: f"{name}.md"} for name, title in TITLES]
    nav.append({"Reference": [{title: f"reference/{name}.md"} for name, title in
                              [(r[0], r[1]) for r in REFERENCE] + [("errors", "Errors")]]})
    config = {"site_name": "kvcache", "docs_dir": "pages", "nav": nav,
              "theme": {"name": "material", "font": False,
                        "features": ["navigation.sections", "toc.follow"]},
              "markdown_extensions": ["tables", "pymdownx.highlight",
                                      "pymdownx.superfences"]}
    # JSON is YAML.
    (folder / "mkdocs.yml").write_text(json.dumps(config, indent=2))
