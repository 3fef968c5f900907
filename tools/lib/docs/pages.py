# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The site's Markdown: docs/ as it is, and what is made from definitions and tests."""
import json
import pathlib
import re
import shutil
import subprocess

import errors

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


Failed = errors.Failed


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
    (folder / "pages/reference/errors.md").write_text(errors.page(root))
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
