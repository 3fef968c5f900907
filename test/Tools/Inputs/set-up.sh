# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Runs one step of tools/lib/setup.sh with something missing:
# set-up.sh SOURCE SCRATCH CASE
script=test
. "$1/tools/lib/setup.sh"
scratch=$2/$3
rm -rf "$scratch"
mkdir -p "$scratch/bin" "$scratch/build"
build=$scratch/build log=$scratch/build/setup.log venv=$scratch/venv
python=$venv/bin/python
: >"$log"
real_path=$PATH
needed="no-such-thing  /no/such/thing"

# stub NAME TEXT STATUS: a program that prints and ends so.
stub() {
  printf '#!/bin/bash\nprintf "%%s\\n" "%s"\nexit %s\n' "$2" "$3" >"$scratch/bin/$1"
  chmod +x "$scratch/bin/$1"
  PATH=$scratch/bin:$real_path
}

as_root() {
  stub id 0 0
  stub apt-get "" 0
}

case $3 in
no-apt)
  for tool in bash id; do ln -s "$(command -v $tool)" "$scratch/bin/$tool"; done
  PATH=$scratch/bin install_packages
  ;;
no-root)
  stub id 1000 0
  stub apt-get "" 0
  for tool in bash grep awk df; do ln -sf "$(command -v $tool)" "$scratch/bin/$tool"; done
  PATH=$scratch/bin install_packages
  ;;
no-network)
  as_root
  stub apt-get "E: cannot resolve" 100
  install_packages
  ;;
no-package)
  as_root
  stub apt-cache "  Candidate: (none)" 0
  install_packages
  ;;
disk-full)
  as_root
  stub df "head
/dev/x 9 2 7 9% /usr" 0
  install_packages
  ;;
other-llvm)
  llvm=$scratch/llvm
  mkdir -p "$llvm/lib/cmake/llvm"
  echo 'set(LLVM_PACKAGE_VERSION 19.1.7)' >"$llvm/lib/cmake/llvm/LLVMConfig.cmake"
  check_llvm
  ;;
no-pip)
  mkdir -p "$scratch/fake"
  stub python3 "" 0
  # "python3 -m venv" that makes a python which can fetch nothing.
  cat >"$scratch/bin/python3" <<END
#!/bin/bash
mkdir -p "$venv/bin"
printf '#!/bin/bash\necho no route to host\nexit 1\n' >"$python"
chmod +x "$python"
END
  make_venv
  ;;
cmake-fails)
  stub cmake "CMake Error: no compiler" 1
  lit=lit
  configure
  ;;
build-fails)
  stub ninja "FAILED: thing.o" 1
  build_all
  ;;
esac
