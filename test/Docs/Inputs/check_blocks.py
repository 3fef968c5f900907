# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""check_blocks.py SOURCE CC FOLDER: takes every fenced block of README.md and docs/ that
no other test takes, and fails on one of a kind that nobody would take. Fences are those of
CommonMark: of backticks or tildes, indented or not. Blocks by indentation alone, such as
commands of a shell, are counted, not taken.

mlir    is compiled (whole programs) or parsed (lines of operations)
c       is compiled by CC with the header that the page is about
cmake   is what the project of test/Package says
python  is parsed; test/python runs its first block
"""
import ast
import os
import pathlib
import re
import shlex
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from check_examples import wrap  # noqa: E402

# api.test compiles these.
ELSEWHERE = {("api", "mlir"), ("layouts", "mlir"), ("kernels", "mlir"), ("porting", "mlir"),
             ("tensors", "mlir"), ("writing-kernels", "mlir")}

# What the C of a page relies on: functions of the CUDA driver API, and arrays that the
# reader has.
DECLARATIONS = {
    "launch-record": '''
#include "scale.h"
#include <stdio.h>
typedef struct CUmod_st *CUmodule;
CUresult cuModuleLoad(CUmodule *, const char *);
CUresult cuModuleGetFunction(CUfunction *, CUmodule, const char *);
int main(void) {
  CUdeviceptr pointer = 4096;
  CUstream stream = 0;
  int64_t rows = 3, pitch = 64;
''',
    "kernel-abi": '''
#include "scale.h"
int main(void) {
  CUfunction k = 0;
  CUstream stream = 0;
  uint64_t pool = 4096, layer_and_side_bytes = 0, table = 4096, lengths = 4096;
  uint64_t max_prompt = 4096, max_cache = 4096;
  int64_t bytes_per_block = 4096, NBs = 4;
''',
}


def kvcache_opt(program, *options):
    done = subprocess.run(["kvcache-opt", "-o", os.devnull, *options], input=program,
                          capture_output=True, text=True)
    return done.stderr if done.returncode else None


def check_program(text, page, folder, compiler):
    return kvcache_opt(text, f"--kvcache-to-ptx=output={folder}")


def check_lines(text, page, folder, compiler):
    for line in text.strip().splitlines():
        why = kvcache_opt(wrap(line.strip()))
        if why:
            return why
    return None


def check_c(text, page, folder, compiler):
    text = re.sub(r'#include "scale.h"\n', "", text)
    source = folder / f"{page}.c"
    source.write_text(DECLARATIONS[page] + text + "\n  return 0;\n}\n")
    done = subprocess.run([*shlex.split(compiler), "-DKVCACHE_LAUNCH_NO_CUDA_H", f"-I{folder}",
                           "-Wno-unused-function", "-Wno-misleading-indentation",
                           "-fsyntax-only", source], capture_output=True, text=True)
    return done.stderr if done.returncode else None


def check_cmake(text, page, folder, compiler):
    source = pathlib.Path(sys.argv[1])
    project = (source / "test/Package/Inputs/hello/CMakeLists.txt").read_text()
    calls = re.findall(r"(\w+)\((?:mine |hello )?(.*?)\)", text)
    missing = [call for call in calls
               if not re.search(rf"{call[0]}\((?:\w+ )?{re.escape(call[1])}\)", project)]
    return f"the project of test/Package lacks {missing}" if missing or not calls else None


def check_python(text, page, folder, compiler):
    try:
        ast.parse(text)
    except SyntaxError as error:
        return str(error)
    return None


# Programs come first: the C of a page includes the header that is made of one.
CHECKS = {
    ("launch-record", "mlir"): check_program, ("README", "mlir"): check_program,
    ("out-of-range", "mlir"): check_lines, ("launch-record", "c"): check_c,
    ("kernel-abi", "c"): check_c, ("embedding", "cmake"): check_cmake,
    ("python", "python"): check_python,
}


# What comes before it (lists, quotations), the fence, the language.
OPENING = re.compile(r"((?:\s|>|[-*+] |\d+[.)] )*)(`{3,}(?=[^`]*$)|~{3,})\s*\{?\.?([\w+-]*)")


def fenced_blocks(text):
    """(language, lines) of every fenced block, the language None where the fence is not
    closed; and how many blocks are there by indentation alone."""
    blocks, indented, fence, before = [], 0, None, ""
    for line in text.splitlines():
        if fence is not None:
            indent, mark = fence
            if re.fullmatch(rf"\s*{re.escape(mark[0])}{{{len(mark)},}}\s*", line):
                fence = None
            else:
                blocks[-1][1].append(line[min(indent, len(line) - len(line.lstrip())):])
        elif opening := OPENING.match(line):
            fence = len(opening[1]), opening[2]
            blocks.append((opening[3], []))
        elif line.startswith("    ") and not before.strip():
            indented += 1
        before = line if not line.startswith("    ") else "text"
    if fence is not None:
        blocks[-1] = None, blocks[-1][1]
    return blocks, indented


def main(source, compiler, folder):
    folder.mkdir(parents=True, exist_ok=True)
    blocks, faults, unseen = {}, [], 0
    for file in [source / "README.md", *sorted(source.glob("docs/**/*.md"))]:
        found, indented = fenced_blocks(file.read_text())
        unseen += indented
        for language, lines in found:
            if language is None:
                faults.append(f"{file.stem}: a fence that is not closed")
            else:
                blocks.setdefault((file.stem, language), []).append("\n".join(lines) + "\n")
    faults += [f"{page}: nobody takes its blocks of '{language}'"
              for page, language in blocks.keys() - CHECKS.keys() - ELSEWHERE]
    faults += [f"{page}: no block of '{language}'"
               for page, language in (CHECKS.keys() | ELSEWHERE) - blocks.keys()]
    for (page, language), check in CHECKS.items():
        for text in blocks.get((page, language), []):
            why = check(text, page, folder, compiler)
            if why:
                faults.append(f"{page}: {why}\n{text}")
    print(f"{sum(map(len, blocks.values()))} blocks, {len(faults)} faults; not taken: {unseen} "
          "blocks by indentation")
    print("\n".join(faults))
    return bool(faults)


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1]), sys.argv[2], pathlib.Path(sys.argv[3])))
