//===- LaneGroup.cpp - Lanes of a warp that work on one thing ------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LaneGroup.h"

#include "KernelBuilder.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace mlir::kvcache;

Value LaneGroup::reduce(ImplicitLocOpBuilder &b, Value number,
                        function_ref<Value(Value, Value)> combine) const {
  if (lanes == 1)
    return number;
  Arith arith(b);
  Value members = arith.i32(-1);
  if (!hasWholeWarps && lanes < 32) {
    Value thread = arith.toI32(gpu::ThreadIdOp::create(b, gpu::Dimension::x));
    Value first =
        arith::AndIOp::create(b, thread, arith.i32(31 & ~(lanes - 1)));
    members =
        arith::ShLIOp::create(b, arith.i32((int64_t(1) << lanes) - 1), first);
  }
  for (int64_t distance = lanes / 2; distance > 0; distance /= 2) {
    Value other = NVVM::ShflOp::create(
        b, b.getF32Type(), members, number, arith.i32(distance), arith.i32(31),
        NVVM::ShflKind::bfly, /*return_value_and_is_valid=*/UnitAttr());
    number = combine(number, other);
  }
  return number;
}
