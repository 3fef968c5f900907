# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# shellcheck shell=bash
#
# From a bare Debian 12 to a built tree, for the scripts in tools/; sourced, not
# run. Everything but one line a step goes to build/setup.log.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
build=$root/build
venv=$root/.venv
log=$build/setup.log
llvm=/usr/lib/llvm-22
python=$venv/bin/python

# Package and what it is needed for: a command or a file. What is there already
# is not installed, wherever it comes from.
needed="
cmake           cmake
ninja-build     ninja
clang-22        clang++-22
clang-format-22 clang-format-22
clang-tidy-22   clang-tidy-22
lld-22          ld.lld-22
llvm-22-dev     $llvm/lib/cmake/llvm/LLVMConfig.cmake
libmlir-22-dev  $llvm/lib/cmake/mlir/MLIRConfig.cmake
mlir-22-tools   $llvm/bin/mlir-tblgen
llvm-22-tools   $llvm/bin/FileCheck
libclang-rt-22-dev $llvm/lib/clang/22/lib/linux
ccache          ccache
libzstd-dev     /usr/include/zstd.h
zlib1g-dev      /usr/include/zlib.h
python3         python3
python3-venv    python3:ensurepip
python3-dev     python3-config
"

# Flags of a build that is not the usual one, and what to build.
variant_flags=() targets=(all)

# use_variant sanitize|coverage: build apart, with the flags of that.
use_variant() {
  local flags
  build=$root/build-$1
  log=$build/setup.log
  case $1 in
  # LLVM's libraries have neither RTTI nor the sanitizers' view of containers.
  sanitize) flags="-fsanitize=address,undefined -fno-sanitize=vptr,function"
    flags+=" -fno-sanitize-recover=all -shared-libsan -fno-omit-frame-pointer -g1" ;;
  coverage) flags="-fprofile-instr-generate -fcoverage-mapping" ;;
  esac
  variant_flags=("-DCMAKE_C_FLAGS=$flags" "-DCMAKE_CXX_FLAGS=$flags"
    -DCMAKE_C_FLAGS_RELEASE=-O1 -DCMAKE_CXX_FLAGS_RELEASE=-O1
    "-DCMAKE_EXE_LINKER_FLAGS=-Wl,-rpath,$llvm/lib/clang/22/lib/linux"
    -DKVCACHE_SANITIZE=OFF)
}

# Prints a line a folder from the profiles that the tests left.
report_coverage() {
  local objects=()
  "$llvm/bin/llvm-profdata" merge -sparse "$build"/profiles/*.profraw \
    -o "$build/coverage.profdata" || die "no profiles to read in $build/profiles"
  for object in "$build"/bin/* "$build"/lib/*.so; do
    [ -L "$object" ] || objects+=(-object "$object")
  done
  "$llvm/bin/llvm-cov" report "${objects[@]}" \
    -instr-profile="$build/coverage.profdata" \
    -ignore-filename-regex='(^/usr/|\.inc$|/test/)' 2>/dev/null
}

die() {
  printf '\n%s: error: %s\n' "$script" "$*" >&2
  exit 1
}

# step TEXT COMMAND...: runs quietly; on failure shows the log's end.
step() {
  local text=$1 begin=$SECONDS status
  shift
  printf '  %s ... ' "$text"
  printf '\n== %s: %s\n' "$text" "$*" >>"$log"
  "$@" >>"$log" 2>&1 </dev/null
  status=$?
  if [ $status -ne 0 ]; then
    printf 'failed\n\nthe end of %s:\n' "$log" >&2
    tail -n 25 "$log" | sed 's/^/  | /' >&2
    return $status
  fi
  printf 'done (%d s)\n' $((SECONDS - begin))
}

is_present() {
  case $1 in
  /*) [ -e "$1" ] ;;
  *:*) "${1%%:*}" -c "import ${1#*:}" 2>/dev/null ;;
  *) command -v "$1" >/dev/null ;;
  esac
}

missing_packages() {
  local package probe
  while read -r package probe; do
    [ -z "$package" ] || is_present "$probe" || printf '%s ' "$package"
  done <<<"$needed"
}

free_mib() { df -Pm "$1" | awk 'NR == 2 { print $4 }'; }

# need_space MIB FOLDER PURPOSE
need_space() {
  local free
  free=$(free_mib "$2")
  [ "$free" -ge "$1" ] ||
    die "$3 needs $1 MiB in $2, only $free MiB are free; make room and run $script again"
}

install_packages() {
  local missing as_root=() candidate
  missing=$(missing_packages)
  [ -n "$missing" ] || return 0
  command -v apt-get >/dev/null ||
    die "this system has no apt-get and lacks what the Debian packages ${missing% } hold; install LLVM/MLIR 22 and the rest by hand (docs/getting-started.md), then run $script again"
  if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null ||
      die "installing ${missing% } needs root and there is no sudo; as root run: apt-get install ${missing% }"
    as_root=(sudo -n DEBIAN_FRONTEND=noninteractive)
    sudo -n true 2>/dev/null || {
      [ -t 0 ] || die "installing ${missing% } needs root and sudo asks for a password; as root run: apt-get install ${missing% }"
      sudo -v || die "installing ${missing% } needs root; as root run: apt-get install ${missing% }"
    }
  fi
  need_space 4000 /usr "installing packages"
  export DEBIAN_FRONTEND=noninteractive
  step "refreshing the package lists" "${as_root[@]}" apt-get update -q \
    -o Acquire::Retries=3 -o APT::Update::Error-Mode=any ||
    die "cannot reach the package servers named in /etc/apt; check the network and run $script again"
  for candidate in $missing; do
    apt-cache policy "$candidate" 2>/dev/null | grep -q 'Candidate: [^(]' ||
      die "no package '$candidate' here ($(. /etc/os-release && echo "$PRETTY_NAME")); kvcache needs LLVM/MLIR 22, which Debian 12 has in bookworm-security (its default sources)"
  done
  # shellcheck disable=SC2086
  step "installing $(wc -w <<<"$missing") packages" "${as_root[@]}" \
    apt-get install -q -y --no-install-recommends $missing ||
    die "apt-get could not install: ${missing% }"
  missing=$(missing_packages)
  [ -z "$missing" ] || die "still missing after installing: ${missing% }"
}

check_llvm() {
  local version
  version=$(sed -n 's/^set(LLVM_PACKAGE_VERSION \(.*\))/\1/p' \
    $llvm/lib/cmake/llvm/LLVMConfig.cmake)
  case $version in
  22.*) ;;
  *) die "expected LLVM 22 in $llvm, got '$version'; install llvm-22-dev and libmlir-22-dev" ;;
  esac
}

make_venv() {
  # nanobind is for the Python package, which its test builds; clang (bindings of
  # libclang) for the test that public headers are documented.
  local wanted="numpy ml_dtypes nanobind<3 clang"
  # llvm-22-tools has lit; an LLVM from elsewhere may not.
  lit=$(command -v lit-22 || command -v lit) || { wanted="$wanted lit"; lit=$venv/bin/lit; }
  if ! "$python" -c 'import numpy, ml_dtypes, nanobind, clang.cindex' 2>/dev/null || [ ! -x "$lit" ]; then
    rm -rf "$venv"
    step "making a Python environment" python3 -m venv "$venv" ||
      die "cannot make $venv; remove it and see that python3-venv is installed"
    # shellcheck disable=SC2086
    step "fetching $wanted from PyPI" "$python" -m pip install -q \
      --disable-pip-version-check $wanted ||
      die "pip could not fetch $wanted; check the network and run $script again"
  fi
}

configure() {
  # Another checkout's cache, or a half-made one, is no use.
  if [ -f "$build/CMakeCache.txt" ] &&
    { [ ! -f "$build/build.ninja" ] ||
      ! grep -qx "CMAKE_HOME_DIRECTORY:INTERNAL=$root" "$build/CMakeCache.txt"; }; then
    rm -rf "$build/CMakeCache.txt" "$build/CMakeFiles"
  fi
  # Headers parsed once are of this tree; preprocessing again would cost more.
  export CCACHE_NOHASHDIR=1 CCACHE_BASEDIR=$root CCACHE_DEPEND=1
  export CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime
  # A tree that somebody configured their own way stays theirs. Several sources
  # in one compilation take half the time of one each.
  local compilers=()
  [ -f "$build/CMakeCache.txt" ] || compilers=(
    -DCMAKE_C_COMPILER=clang-22 -DCMAKE_CXX_COMPILER=clang++-22
    -DCMAKE_C_COMPILER_LAUNCHER=ccache -DCMAKE_CXX_COMPILER_LAUNCHER=ccache
    -DLLVM_USE_LINKER=lld-22 -DCMAKE_BUILD_TYPE=Release
    -DCMAKE_COMPILE_WARNING_AS_ERROR=ON -DCMAKE_UNITY_BUILD=ON)
  step "configuring" cmake -G Ninja -S "$root" -B "$build" "${compilers[@]}" "${variant_flags[@]}" \
    -DLLVM_EXTERNAL_LIT="$lit" -DPython3_EXECUTABLE="$python" ||
    die "cmake failed; see $log"
}

# ninja's own progress line on a terminal, nothing elsewhere.
build_all() {
  local begin=$SECONDS status
  need_space 1000 "$build" "building"
  printf '  building ... '
  printf '\n== building\n' >>"$log"
  if [ -t 1 ]; then
    printf '\n'
    NINJA_STATUS='  [%f/%t] ' ninja -C "$build" -k 1 "${targets[@]}" 2>&1 </dev/null | tee -a "$log" |
      while IFS= read -r line; do
        case $line in '  ['*) printf '\r\033[K%.78s' "$line" ;; esac
      done
    status=${PIPESTATUS[0]}
    printf '\r\033[K  building ... '
  else
    ninja -C "$build" -k 1 "${targets[@]}" >>"$log" 2>&1 </dev/null
    status=$?
  fi
  if [ "$status" -ne 0 ]; then
    printf 'failed\n\nthe end of %s:\n' "$log" >&2
    tail -n 40 "$log" | sed 's/^/  | /' >&2
    die "the build failed; the whole log is $log"
  fi
  printf 'done (%d s)\n' $((SECONDS - begin))
}

# Everything up to a built tree. Safe to repeat: what is there is kept.
set_up() {
  mkdir -p "$build" 2>/dev/null || die "cannot write to $root"
  : >"$log" 2>/dev/null || die "cannot write to $log"
  if command -v flock >/dev/null; then
    exec 9>"$build/.setup.lock"
    flock -n 9 || {
      echo "  waiting for another tools/ script in this checkout ..."
      flock 9
    }
  fi
  install_packages
  check_llvm
  make_venv
  configure
  build_all
}
