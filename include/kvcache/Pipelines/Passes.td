//===- Passes.td - Passes that pipelines are made of -------*- tablegen -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef KVCACHE_PIPELINES_PASSES
#define KVCACHE_PIPELINES_PASSES

include "mlir/Pass/PassBase.td"

def CloneGPUModulesPass
    : Pass<"kvcache-clone-gpu-modules", "::mlir::ModuleOp"> {
  let summary = "Clone each gpu.module once for each chip";
  let description = [{
    Adds, for each `gpu.module` under the module and each chip, a clone with a
    `#nvvm.target` of that chip. A clone lies at the end of the module and knows
    its origin by an attribute, `kvcache.clone_of`, the number of the original
    in walk order. `kvcache-compile-gpu-modules` compiles clones, and
    `kvcache-collect-objects` makes one `gpu.binary` of all clones of a module.

    Targets that the original has do not count.

    **Errors:** an unknown chip, a chip that is named twice, no chip.
  }];
  let options = [
    ListOption<"chips", "chip", "std::string",
               "Chips to compile for, for example sm_80,sm_90a">,
    Option<"optLevel", "opt-level", "unsigned", /*default=*/"2",
           "Optimisation level of LLVM and ptxas, 0 to 3">,
  ];
  let dependentDialects = ["::mlir::NVVM::NVVMDialect"];
}

def MarkHostArraysPass
    : Pass<"kvcache-mark-host-arrays", "::mlir::func::FuncOp"> {
  let summary = "Mark arguments that host code reads";
  let description = [{
    Sets `kvcache.host_array` on each argument of integers in a memref of static
    shape and strides that the function itself reads by `memref.load`. Launch
    records take such an argument as an array in host memory. The pass runs before
    others can remove a read, so that the interface does not depend on them.
  }];
}

def CheckChipPass : Pass<"kvcache-check-chip"> {
  let summary = "Report NVVM operations that a chip has no instruction for";
  let description = [{
    Reports each NVVM operation that `chip` has no instruction for, with the
    chips that have one. LLVM's code generator would give up on the whole
    module without naming the operation.
  }];
  let options = [
    Option<"chip", "chip", "std::string", /*default=*/"\"sm_80\"",
           "Chip to check for, for example sm_90a">,
  ];
}

def ResolveChipPass : Pass<"kvcache-resolve-chip"> {
  let summary = "Keep the forms of kernels that are for one chip";
  let description = [{
    Answers `kvcache.has_wgmma` for `chip` and drops the branches of `scf.if` that
    are for others.
  }];
  let options = [
    Option<"chip", "chip", "std::string", /*default=*/"\"sm_80\"",
           "Chip that the code is for, for example sm_90a">,
  ];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def CompileGPUModulesPass
    : Pass<"kvcache-compile-gpu-modules", "::mlir::gpu::GPUModuleOp"> {
  let summary = "Compile a clone of a gpu.module to an object";
  let description = [{
    Lowers a `gpu.module` that `kvcache-clone-gpu-modules` has made to the NVVM
    dialect and on to PTX, a cubin or a fatbin for the chip of its
    `#nvvm.target`. The result is a `#gpu.object` in the module's attribute
    `kvcache.object`; the body is dropped. Other modules stay as they are.

    Memrefs become bare pointers, as `kvcache-expand-kernel-memrefs` prepares
    it. Modules are compiled in parallel. Functions of more than 640 loads and
    stores do without LLVM's straight-line strength reduction and
    load/store vectoriser, whose time is quadratic in their number.

    **Errors:** an unknown format or level, what cannot be lowered, what the
    chip lacks, undefined functions, a missing tool, code that ptxas refuses.
  }];
  let options = [
    Option<"format", "format", "std::string", /*default=*/"\"isa\"",
           "What to compile to: isa (PTX text), bin (cubin) or fatbin">,
    Option<"toolkit", "toolkit", "std::string", /*default=*/"\"\"",
           "Folder of the CUDA toolkit; searched for when empty">,
    Option<"lineInfo", "line-info", "bool", /*default=*/"false",
           "Write `.loc` directives with the lines of the program">,
  ];
}

def CollectObjectsPass
    : Pass<"kvcache-collect-objects", "::mlir::ModuleOp"> {
  let summary = "Replace compiled gpu.modules by gpu.binary, write files";
  let description = [{
    Replaces each `gpu.module` by a `gpu.binary` of the same name that holds the
    objects of its clones in the order of the chips, and removes the clones.

    With `output`, a folder that is made where missing, each object is written
    as `<module>.<chip>.ptx` (`.cubin`, `.fatbin`), too; existing files are
    replaced. All files are written in full under temporary names before the
    first is renamed.

    Beside them lie, for each `func.func` with `gpu.launch_func`, a launch record
    `<function>.json` and a C header `<function>.h` that launches the same by the
    CUDA driver API. A function of which a record cannot say what it does gets
    none, and a remark says why.

    **Errors:** a folder or file that cannot be written, a module whose name
    cannot be a file name, two modules that would write the same file.
  }];
  let options = [
    Option<"output", "output", "std::string", /*default=*/"\"\"",
           "Folder to write each object to as a file">,
  ];
}

def MakeGPUOpsAsyncPass
    : Pass<"kvcache-make-gpu-ops-async", "::mlir::ModuleOp"> {
  let summary = "Give synchronous gpu operations a stream and a wait";
  let description = [{
    `gpu-to-llvm` lowers `gpu.alloc`, `gpu.dealloc`, `gpu.memcpy` and
    `gpu.memset` with a token only. Those without get a stream of their own and
    a wait behind them, which is what they mean. `gpu-async-region` chains all
    of a function instead, and refuses programs that have tokens of their own.
  }];
  let dependentDialects = ["::mlir::gpu::GPUDialect"];
}

#endif // KVCACHE_PIPELINES_PASSES
