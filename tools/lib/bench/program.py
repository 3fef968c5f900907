# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The text of kernels.mlir, a function a work."""
import pathlib
import re

FILE = pathlib.Path(__file__).resolve().parent / "kernels.mlir"


def arguments(text, work):
    """Names and types of the arguments of a work's function, in order."""
    header = re.search(rf"func\.func @{work}\((.*?)\) {{", text, re.S)[1]
    return re.findall(r"%(\w+): ([^,<]+(?:<[^>]*(?:<[^>]*>[^>]*)*>)?)", header)


def one_function(work):
    """The program with one of its functions."""
    head, *functions = re.split(r"^(?=func\.func )", FILE.read_text(), flags=re.M)
    return head + next(f for f in functions if f.startswith(f"func.func @{work}("))
