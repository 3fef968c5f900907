//===- Addressing.cpp - From (batch, token, head, element) to memory -----===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Addressing.h"

#include "Divisibility.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"

#include <numeric>

using namespace mlir;
using namespace mlir::kvcache;

//===----------------------------------------------------------------------===//
// Numbers
//===----------------------------------------------------------------------===//

static std::optional<int64_t> getConstant(Value value) {
  APInt constant;
  if (value && matchPattern(value, m_ConstantInt(&constant)))
    return constant.getSExtValue();
  return std::nullopt;
}

Value Addressing::i32(int64_t constant) {
  return arith::ConstantOp::create(
      b, b.getI32IntegerAttr(static_cast<int32_t>(constant)));
}

Value Addressing::index(int64_t constant) {
  return arith::ConstantIndexOp::create(b, constant);
}

Value Addressing::toI32(Value index) {
  if (std::optional<int64_t> constant = getConstant(index))
    return i32(*constant);
  // What was made an index of 32 bits is what it was.
  auto cast = index.getDefiningOp<arith::IndexCastUIOp>();
  if (cast && cast.getIn().getType().isInteger(32))
    return cast.getIn();
  return b.createOrFold<arith::IndexCastUIOp>(b.getI32Type(), index);
}

Value Addressing::toIndex(Value i32) {
  return b.createOrFold<arith::IndexCastUIOp>(b.getIndexType(), i32);
}

/// A constant of the type of `value`.
static Value constantLike(ImplicitLocOpBuilder &b, Value value,
                          int64_t constant) {
  return arith::ConstantOp::create(b,
                                   b.getIntegerAttr(value.getType(), constant));
}

Value Addressing::divide(Value value, int64_t divisor) {
  if (divisor == 1)
    return value;
  if (llvm::isPowerOf2_64(divisor))
    return b.createOrFold<arith::ShRUIOp>(
        value, constantLike(b, value, llvm::Log2_64(divisor)));
  return b.createOrFold<arith::DivUIOp>(value, constantLike(b, value, divisor));
}

Value Addressing::remainder(Value value, int64_t divisor) {
  if (divisor == 1)
    return constantLike(b, value, 0);
  if (llvm::isPowerOf2_64(divisor))
    return b.createOrFold<arith::AndIOp>(value,
                                         constantLike(b, value, divisor - 1));
  return b.createOrFold<arith::RemUIOp>(value, constantLike(b, value, divisor));
}

Value Addressing::add(Value lhs, Value rhs) {
  return b.createOrFold<arith::AddIOp>(lhs, rhs);
}

Value Addressing::multiply(Value value, int64_t factor) {
  if (factor == 1)
    return value;
  return b.createOrFold<arith::MulIOp>(value, constantLike(b, value, factor));
}

//===----------------------------------------------------------------------===//
// Tables
//===----------------------------------------------------------------------===//

Value Addressing::tableEntry(Pool pool, Value batch32, Value page32) {
  const PoolValues &values = this->values.pool(pool);
  Value row = b.createOrFold<arith::MulIOp>(batch32, values.tableStride);
  return TableReadOp::create(b, b.getI32Type(), values.table, add(row, page32),
                             /*alignment=*/IntegerAttr());
}

SmallVector<Bound> Addressing::insideTable(Value batch, Value page) {
  return {{"sequence", batch, values.batch},
          {"table column", page, values.columns}};
}

Bound Addressing::insidePool(Pool pool, Value block) {
  return {pool == Pool::scales ? "scales block" : "block", toIndex(block),
          values.pool(pool).blocks};
}

SmallVector<Bound> Addressing::insideHead(int64_t size, Value head, Value dim,
                                          int64_t count) {
  std::string first =
      count == 1 ? "element" : "first element of " + std::to_string(count);
  if (count > size)
    return {{first, dim ? dim : index(0), index(0)}};
  SmallVector<Bound> bounds = {{"head", head, index(layout.getNumHeads())}};
  if (dim)
    bounds.push_back({first, dim, index(size - count + 1)});
  return bounds;
}

SmallVector<Bound> Addressing::insideRow(Pool pool, Value head, Value dim,
                                         int64_t count) {
  PoolLayout shape = poolLayout(pool);
  if (pool != Pool::scales)
    return insideHead(shape.inner * shape.elementsPerStorage, head, dim, count);
  // The last element whose scale may be the first of `count`, plus one.
  if (count > shape.inner)
    return insideHead(/*size=*/0, head, dim, count);
  int64_t limit = std::min(layout.getQuantizedSize(),
                           (shape.inner - count + 1) * layout.getGranularity());
  return insideHead(limit, head, dim, /*count=*/1);
}

static SmallVector<Value> zeros(ImplicitLocOpBuilder &b, TypeRange types) {
  return llvm::map_to_vector(types, [&](Type type) -> Value {
    return arith::ConstantOp::create(b, b.getZeroAttr(type));
  });
}

SmallVector<Value>
Addressing::atPosition(Pool pool, OutOfRange policy, Value batch, Value token,
                       ArrayRef<Bound> alsoInside, TypeRange results,
                       function_ref<SmallVector<Value>(Position)> body) {
  int64_t pageSize = layout.getPageSize();
  auto position = [&] {
    // One after the other: compilers differ in the order of arguments.
    Value token32 = toI32(token);
    Value batch32 = toI32(batch);
    Value page32 = divide(token32, pageSize);
    Value block = tableEntry(pool, batch32, page32);
    return Position{block, remainder(token32, pageSize)};
  };
  if (policy == OutOfRange::assume)
    return body(position());

  SmallVector<Bound> inTable = insideTable(batch, divide(token, pageSize));
  llvm::append_range(inTable, alsoInside);
  if (policy == OutOfRange::trap) {
    trapUnless(inTable);
    Position at = position();
    trapUnless(insidePool(pool, at.block));
    return body(at);
  }

  // Only a table entry that exists is read, and only a block that exists is
  // touched.
  auto orZeros = [&](Value condition, function_ref<SmallVector<Value>()> then) {
    if (!condition)
      return then();
    auto check = scf::IfOp::create(b, results, condition,
                                   /*withElseRegion=*/!results.empty());
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(check.thenBlock());
    SmallVector<Value> values = then();
    // Without results the operation comes with its terminator.
    if (results.empty())
      return SmallVector<Value>();
    scf::YieldOp::create(b, values);
    b.setInsertionPointToStart(check.elseBlock());
    scf::YieldOp::create(b, zeros(b, results));
    return SmallVector<Value>(check.getResults());
  };
  return orZeros(emitAllBelow(b, inTable), [&] {
    Position at = position();
    return orZeros(emitAllBelow(b, insidePool(pool, at.block)),
                   [&] { return body(at); });
  });
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

Value Addressing::pageView(Pool pool, Value block) {
  const PoolValues &values = this->values.pool(pool);
  PoolLayout shape = poolLayout(pool);
  Value offset = b.createOrFold<arith::MulIOp>(toIndex(block), values.pitch);
  if (shape.firstByte != 0)
    offset = add(offset, index(shape.firstByte));
  int64_t units = (shape.layerBytes - shape.firstByte) / shape.unitBytes();
  return ByteViewOp::create(b, MemRefType::get({units}, shape.unitType()),
                            values.base, offset);
}

/// Whether the element of a head moves an address: where a head has but one,
/// only elements that count on over heads do.
static bool countsElements(Pool pool, const PoolLayout &shape) {
  return shape.inner > 1 || (pool != Pool::scales && shape.heads > 1 &&
                             shape.hasContiguousHeads());
}

/// Takes the constants that are added to `value`, which does not wrap.
static int64_t takeConstants(Value &value) {
  int64_t sum = 0;
  while (value) {
    auto add = value.getDefiningOp<arith::AddIOp>();
    if (!add || !bitEnumContainsAll(add.getOverflowFlags(),
                                    arith::IntegerOverflowFlags::nuw))
      break;
    std::optional<int64_t> constant = getConstant(add.getRhs());
    if (!constant || *constant < 0)
      break;
    sum += *constant;
    value = add.getLhs();
  }
  return sum;
}

Value Addressing::inPage(Pool pool, Value slot, Value head, Value dim) {
  PoolLayout shape = poolLayout(pool);
  if (isSwizzled(pool))
    return inSwizzledPage(shape, slot, head, dim);
  int64_t unit = shape.unitBytes();
  // Constants are added last and in 64 bits: they become the offsets of
  // instructions, so that accesses some rows apart share an address.
  int64_t constant = takeConstants(slot) * shape.slotBytes;
  Value offset = multiply(slot, shape.slotBytes / unit);
  // What can only be 0 is left out.
  if (shape.heads > 1)
    offset = add(offset, multiply(toI32(head), shape.headBytes / unit));
  if (dim && countsElements(pool, shape)) {
    Value element = toI32(dim);
    if (shape.elementsPerStorage == 1)
      constant += takeConstants(element) * shape.storageBytes;
    offset = add(offset, multiply(divide(element, shape.elementsPerStorage),
                                  shape.storageBytes / unit));
  }
  offset = toIndex(offset);
  return constant ? add(offset, index(constant / unit)) : offset;
}

Value Addressing::inSwizzledPage(const PoolLayout &shape, Value slot,
                                 Value head, Value dim) {
  // Scale j of token t of four lies where scale f % G of token f / G would,
  // with f = 4 * j + t.
  int64_t unit = shape.unitBytes();
  int64_t slotUnits = shape.slotBytes / unit;
  int64_t scaleUnits = shape.storageBytes / unit;
  Value flat = remainder(slot, 4);
  Value place = b.createOrFold<arith::SubIOp>(slot, flat);
  if (dim) {
    Value scale = divide(toI32(dim), shape.elementsPerStorage);
    flat = add(multiply(scale, 4), flat);
  }
  // The scales of four tokens may be one piece of memory.
  if (shape.slotBytes != shape.inner * shape.storageBytes) {
    place = add(place, divide(flat, shape.inner));
    flat = remainder(flat, shape.inner);
  }
  Value offset = multiply(place, slotUnits);
  offset = add(offset, multiply(flat, scaleUnits));
  if (shape.heads > 1)
    offset = add(offset, multiply(toI32(head), shape.headBytes / unit));
  return toIndex(offset);
}

Value Addressing::inTail(Value dim) {
  return b.createOrFold<arith::SubIOp>(dim, index(layout.getQuantizedSize()));
}

int64_t Addressing::provenAlignment(Pool pool, Value head, Value dim) {
  PoolLayout shape = poolLayout(pool);
  int64_t alignment = std::gcd(shape.baseAlignment(), shape.slotBytes);
  if (shape.heads > 1)
    alignment =
        std::gcd(alignment, std::gcd(poolAlignment, getKnownDivisor(head)) *
                                shape.headBytes);
  if (isSwizzled(pool))
    return std::gcd(alignment, shape.storageBytes);
  if (dim && countsElements(pool, shape)) {
    int64_t storage = 1;
    if (std::optional<int64_t> constant = getConstant(dim)) {
      storage = *constant / shape.elementsPerStorage;
      if (storage == 0)
        return alignment;
    } else {
      int64_t divisor = getKnownDivisor(dim);
      if (divisor % shape.elementsPerStorage == 0)
        storage = divisor / shape.elementsPerStorage;
    }
    alignment = std::gcd(alignment, storage * shape.storageBytes);
  }
  return alignment;
}

//===----------------------------------------------------------------------===//
// Loads and stores
//===----------------------------------------------------------------------===//

/// The bytes of a number or a vector of `type`.
static VectorType bytesOf(Type type) {
  auto vector = dyn_cast<VectorType>(type);
  int64_t lanes = vector ? vector.getDimSize(0) : 1;
  int64_t bytes = getElementTypeOrSelf(type).getIntOrFloatBitWidth() / 8;
  return VectorType::get({lanes * bytes},
                         IntegerType::get(type.getContext(), 8));
}

Value Addressing::slotAfter(Value dim, int64_t lane) {
  return add(dim, index(lane * layout.getGranularity()));
}

void Addressing::remarkWidth(Pool pool, Value head, Value dim, Type type,
                             int64_t alignment) {
  auto vector = dyn_cast<VectorType>(type);
  if (!vector)
    return;
  int64_t bytes = vector.getNumElements() * vector.getElementTypeBitWidth() / 8;
  int64_t wanted = std::min<int64_t>(16, bytes & -bytes);
  int64_t proven = std::max(provenAlignment(pool, head, dim), alignment);
  if (proven % wanted != 0)
    emitRemark(b.getLoc())
        << "accesses of " << proven << " bytes to " << bytes
        << " side by side: layout, head and element prove no larger alignment; "
           "say 'alignment' where there is one";
}

Value Addressing::load(Pool pool, Position position, Value head, Value dim,
                       Type type, int64_t alignment) {
  auto vector = dyn_cast<VectorType>(type);
  if (vector && isSwizzled(pool)) {
    // Neighbours do not lie side by side.
    Value result = arith::ConstantOp::create(b, b.getZeroAttr(type));
    for (int64_t lane = 0; lane < vector.getDimSize(0); ++lane) {
      Value scale = load(pool, position, head, slotAfter(dim, lane),
                         vector.getElementType(), /*alignment=*/0);
      result = vector::InsertOp::create(b, scale, result, lane);
    }
    return result;
  }
  PoolLayout shape = poolLayout(pool);
  Value page = pageView(pool, position.block);
  Value place = inPage(pool, position.slot, head, dim);
  if (!vector && shape.isAligned())
    return memref::LoadOp::create(b, page, ValueRange{place});
  VectorType loaded = shape.isAligned() ? vector : bytesOf(type);
  llvm::MaybeAlign proven(
      std::max(provenAlignment(pool, head, dim), alignment));
  Value value = vector::LoadOp::create(b, loaded, page, ValueRange{place},
                                       /*nontemporal=*/false, proven);
  if (shape.isAligned())
    return value;
  auto lanes = vector ? vector : VectorType::get({1}, type);
  value = vector::BitCastOp::create(b, lanes, value);
  return vector ? value : vector::ExtractOp::create(b, value, 0).getResult();
}

void Addressing::store(Pool pool, Position position, Value head, Value dim,
                       Value value, int64_t alignment) {
  Type type = value.getType();
  auto vector = dyn_cast<VectorType>(type);
  if (vector && isSwizzled(pool)) {
    for (int64_t lane = 0; lane < vector.getDimSize(0); ++lane) {
      // One after the other: compilers differ in the order of arguments.
      Value scale = vector::ExtractOp::create(b, value, lane);
      Value element = slotAfter(dim, lane);
      store(pool, position, head, element, scale, /*alignment=*/0);
    }
    return;
  }
  PoolLayout shape = poolLayout(pool);
  Value page = pageView(pool, position.block);
  Value place = inPage(pool, position.slot, head, dim);
  if (!vector && shape.isAligned()) {
    memref::StoreOp::create(b, value, page, ValueRange{place});
    return;
  }
  if (!shape.isAligned()) {
    if (!vector)
      value = vector::BroadcastOp::create(b, VectorType::get({1}, type), value);
    value = vector::BitCastOp::create(b, bytesOf(type), value);
  }
  llvm::MaybeAlign proven(
      std::max(provenAlignment(pool, head, dim), alignment));
  vector::StoreOp::create(b, value, page, ValueRange{place},
                          /*nontemporal=*/false, proven);
}
