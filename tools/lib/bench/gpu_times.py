# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Times of one of W1 to W7 on a GPU, beside its peers and a copy of as many bytes.

usage: gpu_times.py JOB.json
A job: "library" (of the runtime), "work", "folder" and "chip" (the compiled program and
its launch record), "full" (sizes), "repeats", "flush" (bytes), "nvcc" (a cubin, or
null), "triton" (a list of cubin, entry, threads, shared, parameters). Prints JSON:
"bytes" that the work needs, and milliseconds of each.
"""
import json
import pathlib
import re
import sys
import types

import device
import instances
import peers
import program
import sizes

# The package's modules for launch records, without its extension, which the build
# need not have.
_package = types.ModuleType("kvcache")
_package.__path__ = [str(pathlib.Path(__file__).resolve().parents[3]
                         / "python/kvcache")]
sys.modules["kvcache"] = _package
from kvcache import arrays as views  # noqa: E402
from kvcache.record import Record  # noqa: E402

# f32 values that attention has for parts of its keys.
WORKSPACE = 1 << 24


class Work:
    """A work whose arguments lie on a device. `values`: the same on the host."""

    def __init__(self, on, job):
        self.on, self.job, self.name = on, job, job["work"]
        self.folder = pathlib.Path(job["folder"])
        self.record = Record(json.loads(
            (self.folder / f"{self.name}.json").read_text()))
        self.values, self.bytes = instances.instance(
            self.name, *sizes.size(self.name, job["full"]),
            *([WORKSPACE] if job["full"] and self.name.startswith("w6") else []))
        # Of the program's own names; the record has numbers.
        names = [name for name, _ in
                 program.arguments(program.FILE.read_text(), self.name)]
        self.facts = dict(zip(names, self.record.arguments, strict=True))
        self.arrays = {name: self._upload(array, self.facts[name]["dtype"])
                       for name, array in self.values.items() if name in self.facts}

    def _upload(self, array, dtype):
        pointer = self.on.allocate(array.nbytes)
        if array.nbytes:
            self.on.copy(pointer, array.ctypes.data, array.nbytes)
        return views.ArrayView(
            pointer, array.shape, tuple(s // array.itemsize for s in array.strides),
            dtype, array.itemsize, "cuda", array)

    def download(self, name):
        """What an argument holds by now."""
        result = self.values[name].copy()
        self.on.synchronize()
        self.on.copy(result.ctypes.data, self.arrays[name].pointer, result.nbytes)
        self.on.synchronize()
        return result

    def launch(self):
        """A function that does the work by this project's kernels."""
        given = {**self.arrays, "layer": peers.LAYER}
        values, _ = self.record.bind(
            {fact["name"]: given[name] for name, fact in self.facts.items()})
        workspace = self.record.workspace_bytes(values)
        address = self.on.allocate(workspace) if workspace else 0
        kernels, launches = {}, []
        files = {(kernel["module"], kernel["entry"]): kernel["files"][self.job["chip"]]
                 for kernel in self.record.json["kernels"]}
        for step in self.record.launches(values, address):
            where = step.module, step.entry
            if where not in kernels:
                image = (self.folder / files[where]).read_bytes()
                kernels[where] = self.on.kernel(image, step.entry)
            launches.append(self.on.launcher(
                kernels[where], step.grid, step.block, step.shared,
                [(value % 2 ** (8 * size)).to_bytes(size, "little")
                 for value, size in step.arguments]))

        def run():
            for launch in launches:
                launch()
        return run

    def nvcc(self):
        image = pathlib.Path(self.job["nvcc"]).read_bytes()
        # A section of a cubin, or PTX.
        entry = re.search(rb"\.(?:text\.|entry )(\w+)[\0(]", image)[1].decode()
        grid, threads, parameters = peers.nvcc(self.name, self.arrays)
        return self.on.launcher(self.on.kernel(image, entry), grid, (threads, 1, 1), 0,
                                parameters)

    def triton(self, job):
        image = pathlib.Path(job["cubin"]).read_bytes()
        grid, parameters = peers.triton(self.name, self.arrays, job["parameters"])
        return self.on.launcher(self.on.kernel(image, job["entry"]), grid,
                                (job["threads"], 1, 1), job["shared"], parameters)

    def copy(self):
        """A copy that reads and writes as many bytes as the work."""
        size = self.bytes // 2
        to, source = self.on.allocate(size), self.on.allocate(size)
        self.on.fill(source, size)
        return lambda: self.on.copy(to, source, size)


def main(file):
    job = json.loads(pathlib.Path(file).read_text())
    on = device.Device(job["library"])
    work = Work(on, job)
    ways = {"copy_ms": [work.copy()], "ms": [work.launch()],
            "nvcc_ms": [work.nvcc()] if job["nvcc"] else [],
            "triton_ms": [work.triton(each) for each in job["triton"]]}
    times = iter(on.medians([way for group in ways.values() for way in group],
                            job["repeats"], job["flush"]))
    best = {name: min((next(times) for _ in group), default=None)
            for name, group in ways.items()}
    return {"bytes": work.bytes, **best}


if __name__ == "__main__":
    try:
        json.dump(main(sys.argv[1]), sys.stdout)
    except device.Failed as error:
        sys.exit(str(error))
