//===- Warp.cpp - What the lanes of a warp tell each other ---------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Warp.h"

#include "../KernelBuilder.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace mlir::kvcache;

Warp::Warp(ImplicitLocOpBuilder &b) : b(b) {
  Arith arith(b);
  Value thread = arith.toI32(gpu::ThreadIdOp::create(b, gpu::Dimension::x));
  lane = arith.rem(thread, lanes);
  // The same for all lanes, which ptxas only knows of what a lane told them.
  number = from(arith.div(thread, lanes), arith.i32(0));
  row = arith.div(lane, 4);
  column = arith.rem(lane, 4);
}

Value Warp::allLanes() { return Arith(b).i32(-1); }

Value Warp::exchange(Value value, int64_t distance) {
  Arith arith(b);
  return NVVM::ShflOp::create(b, value.getType(), allLanes(), value,
                              arith.i32(distance), arith.i32(31),
                              NVVM::ShflKind::bfly,
                              /*return_value_and_is_valid=*/UnitAttr());
}

Value Warp::from(Value value, Value from) {
  return NVVM::ShflOp::create(b, value.getType(), allLanes(), value, from,
                              Arith(b).i32(31), NVVM::ShflKind::idx,
                              /*return_value_and_is_valid=*/UnitAttr());
}

Value Warp::reduceRow(Value value, function_ref<Value(Value, Value)> combine) {
  for (int64_t distance : {1, 2})
    value = combine(value, exchange(value, distance));
  return value;
}

Value Warp::reduceColumn(Value value,
                         function_ref<Value(Value, Value)> combine) {
  for (int64_t distance : {4, 8, 16})
    value = combine(value, exchange(value, distance));
  return value;
}

Value Warp::reduce(Value value, function_ref<Value(Value, Value)> combine) {
  for (int64_t distance : {16, 8, 4, 2, 1})
    value = combine(value, exchange(value, distance));
  return value;
}

Value Warp::any(Value condition) {
  return NVVM::VoteSyncOp::create(b, b.getI1Type(), allLanes(), condition,
                                  NVVM::VoteSyncKind::any);
}

Value Warp::ballot(Value condition) {
  return NVVM::VoteSyncOp::create(b, b.getI32Type(), allLanes(), condition,
                                  NVVM::VoteSyncKind::ballot);
}

void Warp::wait() { NVVM::SyncWarpOp::create(b, allLanes()); }
