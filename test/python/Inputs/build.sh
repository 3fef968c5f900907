# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# build.sh SOURCE BUILD PYTHON CC CXX: builds the Python package against the build
# tree and puts it into BUILD/python/site. One at a time; what is built stays.
set -e
folder=$2/python
mkdir -p "$folder"
exec 3>&2 9>"$folder/lock"
flock 9
exec >"$folder/log" 2>&1 || exit 1
trap 'status=$?; [ $status -eq 0 ] || tail -n 40 "$folder/log" >&3' EXIT
if [ ! -f "$folder/tree/compile_commands.json" ]; then
  launcher=
  command -v ccache >/dev/null && launcher=ccache
  cmake -G Ninja -S "$1/python" -B "$folder/tree" -DCMAKE_BUILD_TYPE=Release \
    -DCMAKE_COMPILE_WARNING_AS_ERROR=ON -DCMAKE_EXPORT_COMPILE_COMMANDS=ON \
    -DCMAKE_C_COMPILER="$4" -DCMAKE_CXX_COMPILER="$5" \
    -DCMAKE_C_COMPILER_LAUNCHER=$launcher -DCMAKE_CXX_COMPILER_LAUNCHER=$launcher \
    -DPython_EXECUTABLE="$3" -DPython3_EXECUTABLE="$3" \
    -DKVCache_DIR="$2/lib/cmake/KVCache" \
    -DKVCACHE_MLIR_PYTHON_SOURCES="$KVCACHE_MLIR_PYTHON_SOURCES"
fi
cmake --build "$folder/tree"
# Other tests may be running what is there: it is replaced where something changed.
rm -rf "$folder/new"
cmake --install "$folder/tree" --component KVCachePython --prefix "$folder/new"
cp -r "$1/python/kvcache/." "$folder/new/kvcache/"
if diff -qr -x __pycache__ "$folder/new" "$folder/site"; then
  rm -rf "$folder/new"
else
  rm -rf "$folder/site"
  mv "$folder/new" "$folder/site"
fi
