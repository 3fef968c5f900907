//===- RopeNorm.cpp - Rows that are normalised and rotated ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RopeNorm.h"

#include "ControlFlow.h"

#include "kvcache/Dialect/KVCache/IR/Checks.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace mlir::kvcache;

static int64_t lastSize(Value memref) {
  return cast<MemRefType>(memref.getType()).getShape().back();
}

RopeNorm::RopeNorm(ImplicitLocOpBuilder &host, KernelBuilder &builder,
                   const RopeNormRequest &request, OutOfRange policy)
    : b(builder.body()), policy(policy) {
  if (request.weight)
    norm = Normalisation{request.norm,
                         AlignedTensor::take(builder, request.weight),
                         lastSize(request.weight)};
  if (!request.cos)
    return;
  rotation = Rotation{
      request.rotation, AlignedTensor::take(builder, request.cos),
      AlignedTensor::take(builder, request.sin), lastSize(request.cos)};
  if (request.positions)
    positions = builder.takeTensor(request.positions, /*readOnly=*/true);
  if (policy != OutOfRange::assume)
    limit = builder.take(Arith(host).minimum(sizeOf(host, request.cos, 0),
                                             sizeOf(host, request.sin, 0)));
}

/// Whether a row goes to one pool at least (i1); null where it surely does.
static Value goesSomewhere(ImplicitLocOpBuilder &b, const Destinations &to) {
  Value valid;
  for (const Destination &place : {to.values, to.scales}) {
    if (!place.block)
      continue;
    if (!place.valid)
      return Value();
    valid = valid ? arith::OrIOp::create(b, valid, place.valid) : place.valid;
  }
  return valid;
}

void RopeNorm::at(ValueRange indices, const Destinations &to,
                  function_ref<void(Value)> body) const {
  if (!rotation)
    return body(Value());
  Arith arith(b);
  Value position = to.token;
  if (positions) {
    Value offset = arith.index(0);
    for (auto [index, stride] :
         llvm::zip(indices.drop_back(), positions->strides))
      offset = arith.add(offset, arith.mul(index, stride));
    offset =
        arith.mul(arith.add(offset, indices.back()), positions->elementBytes());
    Value entry =
        ByteViewOp::create(b, MemRefType::get({}, positions->elementType),
                           positions->base, offset);
    position = memref::LoadOp::create(b, entry, ValueRange());
  }
  position = arith.toIndex(position);
  if (policy == OutOfRange::skip)
    return emitIf(b, arith.less(position, limit), [&] { body(position); });
  Value valid = goesSomewhere(b, to);
  if (policy == OutOfRange::trap)
    emitTrapUnless(b, valid, {{"rotary position", position, limit}});
  if (valid)
    position = arith::SelectOp::create(b, valid, position, arith.index(0));
  body(position);
}
