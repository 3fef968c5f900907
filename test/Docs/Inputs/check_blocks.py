# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""check_blocks.py SOURCE CC FOLDER: takes every fenced block of README.md and docs/ that
no other test takes, and fails on one of a kind that nobody would take.

mlir    is compiled (whole programs) or parsed (lines of operations)
c       is compiled by CC with the header that the page is about
cmake   is what the project of test/Package says
python  is parsed; test/python runs it
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
                           "-Wno-unused-function", "-Wno-misleading-indentation", "-fsyntax-only", source],
                          capture_output=True, text=True)
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


def main(source, compiler, folder):
    folder.mkdir(parents=True, exist_ok=True)
    blocks = {}
    for file in [source / "README.md", *sorted(source.glob("docs/*.md"))]:
        for language, text in re.findall(r"^```(\w*)\n(.*?)^```$", file.read_text(), re.M | re.S):
            blocks.setdefault((file.stem, language), []).append(text)
    faults = [f"{page}: nobody takes its blocks of '{language}'"
              for page, language in blocks.keys() - CHECKS.keys() - ELSEWHERE]
    faults += [f"{page}: no block of '{language}'"
               for page, language in (CHECKS.keys() | ELSEWHERE) - blocks.keys()]
    for (page, language), check in CHECKS.items():
        for text in blocks.get((page, language), []):
            why = check(text, page, folder, compiler)
            if why:
                faults.append(f"{page}: {why}\n{text}")
    print(f"{sum(map(len, blocks.values()))} blocks, {len(faults)} faults")
    print("\n".join(faults))
    return bool(faults)


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1]), sys.argv[2], pathlib.Path(sys.argv[3])))
