import glob
import os
import shlex
import shutil
import subprocess
import sys

import lit.formats
from lit.llvm import llvm_config

config.name = "KVCACHE"
config.test_format = lit.formats.ShTest(execute_external=True)
config.suffixes = [".mlir", ".test", ".ptx", ".cu"]
config.excludes = ["Inputs", "CMakeLists.txt", "lit.cfg.py", "lit.site.cfg.py"]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = os.path.join(config.kvcache_obj_root, "test")

bin_dir = os.path.join(config.kvcache_obj_root, "bin")
llvm_config.with_environment("PATH", [bin_dir, config.llvm_tools_dir], append_path=True)
# The tests in Sanitized run others once more, on programs under sanitizers.
config.program_dir = os.path.join(config.kvcache_obj_root, "test", "bin")
sanitized_dir = os.path.join(config.kvcache_obj_root, "test", "sanitized")
if lit_config.params.get("sanitized"):
    config.program_dir = sanitized_dir
    config.test_exec_root = os.path.join(sanitized_dir, "run")
    llvm_config.with_environment("PATH", [sanitized_dir], append_path=True)
elif config.sanitize == "ON":
    config.available_features.add("sanitizers")
config.substitutions.append(("%sanitized", sanitized_dir))
llvm_config.with_system_environment(["HOME", "TMPDIR", "KVCACHE_DEVICE"])
# A machine with a GPU runs the tests on the simulator all the same, so that
# results do not hang on the machine.
config.environment.setdefault("KVCACHE_DEVICE", "sim")

config.substitutions.append(("%python", config.python_executable))
config.substitutions.append(("%kvcache_lib", os.path.join(config.kvcache_obj_root, "lib")))
config.substitutions.append(("%kvcache_obj", config.kvcache_obj_root))
config.substitutions.append(("%plugin", os.path.join(
    config.kvcache_obj_root, "lib", "KVCachePlugin.so")))
config.substitutions.append(("%kvcache_src", config.kvcache_src_root))
config.substitutions.append(("%llvm_lib", config.llvm_lib_dir))
config.substitutions.append(("%lit", f"{sys.executable} {os.path.abspath(sys.argv[0])}"))

variant = lit_config.params.get("variant")


def without_preload(path):
    """A program that runs the one at `path` without the sanitizers' runtime, which it
    does not start with."""
    folder = os.path.join(config.test_exec_root, "wrappers")
    os.makedirs(folder, exist_ok=True)
    wrapper = os.path.join(folder, os.path.basename(path))
    with open(wrapper, "w") as file:
        file.write(f'#!/bin/sh\nexec env -u LD_PRELOAD {shlex.quote(path)} "$@"\n')
    os.chmod(wrapper, 0o755)
    llvm_config.with_environment("PATH", [folder], append_path=True)
    return wrapper


cuda_dirs = [os.environ.get("PATH", ""), "/usr/local/cuda/bin"]
for tool in ("ptxas", "nvcc"):
    path = shutil.which(tool, path=os.pathsep.join(cuda_dirs))
    if path:
        config.available_features.add(tool)
        if tool == "nvcc":
            config.substitutions.append(("%cuda_include", os.path.join(
                os.path.dirname(os.path.dirname(path)), "include")))
            if variant == "sanitize":
                path = without_preload(path)
        config.substitutions.append((f"%{tool}", path))

# Where the benchmark finds it, too.
if (shutil.which("nvdisasm", path=os.pathsep.join(cuda_dirs))
        or glob.glob(os.path.join(config.kvcache_obj_root, "bench-venv/lib/python*/"
                                  "site-packages/nvidia/*/bin/nvdisasm"))):
    config.available_features.add("nvdisasm")

# CUDA kernels that need no CUDA toolkit.
clang = shutil.which("clang++-22") or shutil.which("clang++", path=config.llvm_tools_dir)
if clang:
    config.available_features.add("clang")
    config.substitutions.append((
        "%clang_cuda",
        f"{clang} -x cuda --cuda-device-only --cuda-gpu-arch=sm_90a -nocudalib "
        # Without a CUDA toolkit clang takes an old PTX version.
        "-nocudainc --cuda-feature=+ptx80 -S -Wno-unknown-cuda-version -g0"))

for tool in ("clang-format", "clang-tidy"):
    path = shutil.which(f"{tool}-22") or shutil.which(tool, path=config.llvm_tools_dir)
    if path:
        config.available_features.add(tool)
        config.substitutions.append(("%" + tool.replace("-", "_"), path))

# A terminal for what shows progress on one; a bare chroot has none.
try:
    for end in os.openpty():
        os.close(end)
    config.available_features.add("pty")
except OSError:
    pass

# Builds that watch themselves (tools/check --sanitize, --coverage).
if variant:
    config.available_features.add("variant")
if variant == "sanitize":
    # Programs that load our libraries start without the sanitizers' runtime.
    config.environment["LD_PRELOAD"] = subprocess.run(
        [clang, "-print-file-name=libclang_rt.asan-x86_64.so"],
        check=True, capture_output=True, text=True).stdout.strip()
    # LLVM's libraries, which are not watched, move the ends of containers and
    # take memory from pools without a word.
    config.environment["ASAN_OPTIONS"] = ":".join((
        "allow_user_poisoning=0", "detect_container_overflow=0", "detect_leaks=0"))
elif variant == "coverage":
    config.environment["LLVM_PROFILE_FILE"] = os.path.join(
        config.kvcache_obj_root, "profiles", "%4m.profraw")

# Reference numbers of narrow floats.
if subprocess.run(
    [config.python_executable, "-c", "import ml_dtypes"], capture_output=True
).returncode == 0:
    config.available_features.add("ml-dtypes")

# Clang's own bindings for Python, which read headers.
if subprocess.run(
    [config.python_executable, "-c", "import clang.cindex"], capture_output=True
).returncode == 0:
    config.available_features.add("libclang")

# Grids that take minutes: `tools/check --all`.
is_long = bool(lit_config.params.get("long"))
if is_long:
    config.available_features.add("long")

if config.fuzz == "ON":
    config.available_features.add("fuzzer")
    config.substitutions.append(("%fuzz", os.path.join(config.kvcache_obj_root, "test", "bin")))
    config.substitutions.append(("%{runs}", "300000" if is_long else "5000"))
