# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""check_symbols.py SOURCE BUILD LLVM_LIB: fails on public C and C++ declarations in
include/, fields and enumerators among them, without a documentation comment. Neighbours without a line between them may
share one, but for functions of C; what the language gives every class (constructors, operators, …) and what
overrides needs none."""

import functools
import pathlib
import sys

import clang.cindex
from clang.cindex import AccessSpecifier, CursorKind, Diagnostic, TranslationUnit

TYPES = {CursorKind.CLASS_DECL, CursorKind.STRUCT_DECL, CursorKind.CLASS_TEMPLATE,
         CursorKind.ENUM_DECL, CursorKind.TYPEDEF_DECL, CursorKind.TYPE_ALIAS_DECL}
CLASSES = {CursorKind.CLASS_DECL, CursorKind.STRUCT_DECL, CursorKind.CLASS_TEMPLATE}
MEMBERS = {CursorKind.FIELD_DECL, CursorKind.ENUM_CONSTANT_DECL}
FUNCTIONS = {CursorKind.FUNCTION_DECL, CursorKind.CXX_METHOD, CursorKind.FUNCTION_TEMPLATE}
SCOPES = {CursorKind.NAMESPACE, CursorKind.LINKAGE_SPEC, CursorKind.UNEXPOSED_DECL}
HIDDEN = {AccessSpecifier.PRIVATE, AccessSpecifier.PROTECTED}


def parse(source, build, llvm_lib):
    include = source / "include"
    headers = sorted(include.rglob("*.h"))
    text = "".join(f'#include "{header.relative_to(include)}"\n' for header in headers)
    unit = clang.cindex.Index.create().parse(
        "all.cpp", ["-std=c++17", f"-I{include}", f"-I{build}/include",
                    f"-isystem{llvm_lib}/../include"],
        [("all.cpp", text)], TranslationUnit.PARSE_SKIP_FUNCTION_BODIES)
    errors = [d for d in unit.diagnostics if d.severity >= Diagnostic.Error]
    if errors:
        sys.exit("\n".join(map(str, errors)))
    return unit, {str(header) for header in headers}


def declarations(cursor, headers):
    """Scopes of our headers: lists of declarations beside one another."""
    scope = []
    for child in cursor.get_children():
        file = child.location.file
        if file is None or file.name not in headers:
            continue
        if child.kind in SCOPES:
            if child.spelling != "detail":
                yield from declarations(child, headers)
            continue
        if child.access_specifier in HIDDEN:
            continue
        if child.kind in FUNCTIONS | TYPES | MEMBERS | {CursorKind.VAR_DECL}:
            scope.append(child)
        if child.kind in CLASSES | {CursorKind.ENUM_DECL} and child.is_definition():
            yield from declarations(child, headers)
    yield scope


@functools.lru_cache(maxsize=None)
def blank_lines(file):
    return {i for i, line in enumerate(pathlib.Path(file).read_text().splitlines(), 1)
            if not line.strip()}


def is_c(file):
    """Whether a header is one of C."""
    path = pathlib.Path(file)
    return path.parent.name == "kvcache-c" or path.name == "CAPI.h"


def needs_none(cursor):
    if cursor.kind in CLASSES and not cursor.is_definition():
        return True  # The definition has it.
    if cursor.kind in FUNCTIONS:
        return cursor.spelling.startswith("operator") or any(
            child.kind == CursorKind.CXX_OVERRIDE_ATTR for child in cursor.get_children())
    return False


def main(source, build, llvm_lib):
    clang.cindex.Config.set_library_file(str(next(llvm_lib.glob("libclang-*.so.1"))))
    clang.cindex.Config.set_compatibility_check(False)
    unit, headers = parse(source, build, llvm_lib)
    count, missing = 0, []
    for scope in declarations(unit.cursor, headers):
        last, documented = (None, 0), False
        for cursor in sorted(scope, key=lambda c: (c.location.file.name, c.location.line)):
            file, line = cursor.location.file.name, cursor.location.line
            beside = last[0] == file and not blank_lines(file) & set(range(last[1], line))
            shares = cursor.kind != CursorKind.FUNCTION_DECL or not is_c(file)
            documented = bool(cursor.raw_comment) or (shares and beside and documented)
            last = file, line
            count += 1
            if not documented and not needs_none(cursor):
                where = pathlib.Path(file).relative_to(source)
                missing.append(f"{where}:{line}: {cursor.spelling}")
    if count < 700:
        sys.exit(f"only {count} declarations found")
    if missing:
        sys.exit("without documentation:\n" + "\n".join(sorted(set(missing))))


main(*map(pathlib.Path, sys.argv[1:4]))
