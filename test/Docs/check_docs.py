# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Keeps the documentation true: check_docs.py SOURCE api|layouts|programs|links

layouts  prints a module of the layouts in docs/layouts.md
api    prints a module of the prelude and all lines of IR in docs/api.md, and
       fails if an operation of the dialect is missing there
programs [PAGE]  prints the whole programs in docs/PAGE.md, kernels unless said
links  fails on a link to a file that does not exist
"""
import pathlib
import re
import sys


def operations(source):
    """Mnemonics, from the .td files."""
    folder = source / "include/kvcache/Dialect/KVCache/IR"
    found = set()
    for file in folder.glob("*Ops.td"):
        text = file.read_text()
        found |= set(re.findall(r"def KVCache_\w+\s*:\s*KVCache_\w+<\s*\"(\w+)\"",
                                text))
        # kvcache.get_key_cache and its like are composed.
        found -= {"key", "value"}
    return found | {"get_key_cache", "get_value_cache"}


def print_api_module(source):
    text = (source / "docs/api.md").read_text()
    prelude = re.search(r"<!-- prelude -->\n```mlir\n(.*?)```", text, re.S)
    lines = re.findall(r"`((?:%[\w, %]+ = )?kvcache\.\w+ [^`]*)`", text)
    if len(lines) < 30:
        sys.exit(f"only {len(lines)} lines of IR found in docs/api.md")
    missing = sorted(name for name in operations(source)
                     if f"`kvcache.{name}`" not in text)
    if missing:
        sys.exit("docs/api.md lacks " + ", ".join(missing))
    print(prelude[1])
    print("\n".join("  " + line for line in lines))
    print("  return\n}")


def print_layouts_module(source):
    text = (source / "docs/layouts.md").read_text()
    layouts = "".join(re.findall(r"```mlir\n(.*?)```", text, re.S))
    names = re.findall(r"^#(\w+) =", layouts, re.M)
    if len(names) < 7:
        sys.exit(f"only {len(names)} layouts found in docs/layouts.md")
    print(layouts)
    print("module attributes {"
          + ", ".join(f"docs.{name} = #{name}" for name in names) + "} {}")


def print_programs(source, page="kernels"):
    programs = re.findall(r"```mlir\n(.*?)```",
                          (source / f"docs/{page}.md").read_text(), re.S)
    if not programs:
        sys.exit(f"no program found in docs/{page}.md")
    print("// -----\n".join(programs))


def check_links(source):
    broken = []
    for file in [source / "README.md", source / "CHANGELOG.md",
                 *source.glob("docs/**/*.md")]:
        prose = re.sub(r"`[^`]*`", "", file.read_text())
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", prose):
            if not (file.parent / target).exists():
                broken.append(f"{file.relative_to(source)}: {target}")
    if broken:
        sys.exit("broken links:\n" + "\n".join(broken))


source = pathlib.Path(sys.argv[1])
{"api": print_api_module, "layouts": print_layouts_module,
 "programs": print_programs, "links": check_links}[sys.argv[2]](source, *sys.argv[3:])
