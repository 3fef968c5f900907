# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""deep.py KIND LEVELS: a program that is nested so deep, in one of many ways."""
import sys

kind, n = sys.argv[1], int(sys.argv[2])


def attribute(text):
    return "module attributes {a.a = " + text + "} {}"


def expression(text):
    return f"#m = affine_map<(d0) -> ({text})>\n" + attribute("#m")


def aliases(first, each, use):
    return "\n".join([first, *(each.format(i, i - 1) for i in range(1, n)), use.replace("LAST", str(n - 1))])


sys.stdout.write({
    "regions": lambda: '"a.a"() ({' * -(-n // 2) + "}) : () -> ()" * -(-n // 2),
    "branches": lambda: ("func.func @f(%c: i1) {\n" + "scf.if %c {\n" * (n - 1) + "}\n" * (n - 1) +
                         "return\n}"),
    "lists": lambda: attribute("[" * (n - 1) + "]" * (n - 1)),
    "types": lambda: "func.func private @f(" + "tuple<" * (n - 1) + "i1" + ">" * (n - 1) + ")",
    "parentheses": lambda: expression("(" * (n - 2) + "d0" + ")" * (n - 2)),
    "aliases": lambda: aliases("#a0 = []", "#a{} = [#a{}]", attribute("#aLAST")),
    "type-aliases": lambda: aliases("!a0 = i1", "!a{} = tuple<!a{}>", "func.func private @f(!aLAST)"),
    "doubled": lambda: aliases("#a0 = []", "#a{0} = [#a{1}, #a{1}]", attribute("#aLAST")),
    "minus": lambda: expression("-" * n + "d0"),
    "sum": lambda: expression("d0" + " mod 7 + d0" * (n // 2)),
    # None of these is deep.
    "flat": lambda: "\n".join(
        ["// " + "(" * n, attribute('"' + "[" * n + '\\""'),
         *(f"func.func private @f{i}(memref<?xi32>, i32) -> (i32, i32)" for i in range(n)),
         f"#s = affine_set<(d0) : (d0 - 1 >= 0, {n} - d0 >= 0)>",
         "module attributes {a.a = #s, a.b = dense<[" + ", ".join(["-1.0"] * n) +
         f"]> : tensor<{n}xf32>" + "} {}"]),
}[kind]())
