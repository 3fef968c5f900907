//===- ConvertAccesses.cpp - Loads and stores ----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Addressing.h"
#include "Divisibility.h"
#include "Patterns.h"

#include "kvcache/Dialect/KVCache/IR/Numbers.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"

#include <numeric>

using namespace mlir;
using namespace mlir::kvcache;

namespace {

int64_t lanesOf(Type type) {
  auto vector = dyn_cast<VectorType>(type);
  return vector ? vector.getDimSize(0) : 1;
}

/// `type` (a number or a vector) with another element type.
Type withElement(Type type, Type element) {
  auto vector = dyn_cast<VectorType>(type);
  return vector ? Type(vector.clone(element)) : element;
}

/// One access to a row: what the ops have in common.
struct Access {
  ImplicitLocOpBuilder &b;
  Addressing &at;
  Value batch, token, head, dim;
  OutOfRange policy;
  /// The caller's promise about the address, in bytes; 0 without one.
  int64_t alignment;

  Access(ImplicitLocOpBuilder &b, Addressing &at, Value batch, Value token,
         Value head, Value dim, OutOfRange policy,
         std::optional<int64_t> alignment)
      : b(b), at(at), batch(batch), token(token), head(head), dim(dim),
        policy(policy), alignment(alignment.value_or(0)) {}

  /// Calls `body` with the position in `pool`; `count` elements or slots from
  /// `dim` on are accessed.
  SmallVector<Value>
  inPool(Pool pool, int64_t count, TypeRange results,
         function_ref<SmallVector<Value>(Position)> body) const {
    SmallVector<Bound> inside;
    if (policy != OutOfRange::assume)
      inside = at.insideRow(pool, head, dim, count);
    return at.atPosition(pool, policy, batch, token, inside, results, body);
  }

  /// The same access from another element on, of which nothing is promised.
  Access from(Value other) const {
    Access access = *this;
    access.dim = other;
    access.alignment = 0;
    return access;
  }

  /// Loads a number or a vector of storage from (position, head, dim).
  Value load(Pool pool, Position position, Type type) const {
    at.remarkWidth(pool, head, dim, type, alignment);
    return at.load(pool, position, head, dim, type, alignment);
  }

  void store(Pool pool, Position position, Value value) const {
    at.remarkWidth(pool, head, dim, value.getType(), alignment);
    at.store(pool, position, head, dim, value, alignment);
  }
};

//===----------------------------------------------------------------------===//
// Numbers
//===----------------------------------------------------------------------===//

/// Bytes of two f4E2M1FN codes each as f32, the even element first.
Value unpackF4(ImplicitLocOpBuilder &b, Value bytes) {
  auto type = cast<VectorType>(bytes.getType());
  int64_t lanes = 2 * type.getDimSize(0);
  Value codes = vector::BitCastOp::create(
      b, VectorType::get({lanes}, Float4E2M1FNType::get(b.getContext())),
      bytes);
  return arith::ExtFOp::create(b, VectorType::get({lanes}, b.getF32Type()),
                               codes);
}

/// The f4E2M1FN code of element `dim` in its byte, as f32.
Value unpackF4Lane(ImplicitLocOpBuilder &b, Addressing &at, Value byte,
                   Value dim) {
  Value odd = at.remainder(at.toI32(dim), 2);
  Value shift = arith::TruncIOp::create(b, b.getI8Type(), at.multiply(odd, 4));
  Value code = arith::TruncIOp::create(b, b.getIntegerType(4),
                                       arith::ShRUIOp::create(b, byte, shift));
  Value number =
      arith::BitcastOp::create(b, Float4E2M1FNType::get(b.getContext()), code);
  return arith::ExtFOp::create(b, b.getF32Type(), number);
}

/// Loads the values of `access` as f32: a number, or a vector of `type`'s
/// lanes.
Value loadCodes(const Access &access, Position position, Type type) {
  ImplicitLocOpBuilder &b = access.b;
  Addressing &at = access.at;
  PoolLayout pool = at.poolLayout(Pool::values);
  Type wide = withElement(type, b.getF32Type());
  if (pool.elementsPerStorage == 1)
    return convertFloat(b,
                        access.load(Pool::values, position,
                                    withElement(type, pool.storageType)),
                        b.getF32Type());

  // Two elements a byte.
  auto vector = dyn_cast<VectorType>(type);
  if (!vector) {
    Value byte = access.load(Pool::values, position, pool.storageType);
    return unpackF4Lane(b, at, byte, access.dim);
  }
  int64_t lanes = vector.getDimSize(0);
  if (lanes % 2 == 0 && getKnownDivisor(access.dim) % 2 == 0)
    return unpackF4(
        b, access.load(Pool::values, position,
                       VectorType::get({lanes / 2}, pool.storageType)));
  Value result = arith::ConstantOp::create(b, b.getZeroAttr(wide));
  for (int64_t lane = 0; lane < lanes; ++lane) {
    Value dim = at.add(access.dim, at.index(lane));
    Value byte =
        access.from(dim).load(Pool::values, position, pool.storageType);
    result = vector::InsertOp::create(b, unpackF4Lane(b, at, byte, dim), result,
                                      lane);
  }
  return result;
}

/// The scales of `lanes` elements from `access.dim` on, a lane each, as f32.
Value loadLaneScales(const Access &access, Position position, Type type) {
  ImplicitLocOpBuilder &b = access.b;
  Addressing &at = access.at;
  int64_t granularity = at.getLayoutAttr().getGranularity();
  int64_t lanes = lanesOf(type);
  auto scaleAt = [&](int64_t lane) {
    Value dim = at.add(access.dim, at.index(lane));
    Value scale = access.from(dim).load(
        Pool::scales, position, at.poolLayout(Pool::scales).storageType);
    return convertFloat(b, scale, b.getF32Type());
  };
  if (!isa<VectorType>(type))
    return scaleAt(0);

  // Lanes up to the next multiple of `step` share a scale.
  APInt constant;
  bool known = matchPattern(access.dim, m_ConstantInt(&constant));
  int64_t step = at.getLayoutAttr().getScaleSlots() == 1
                     ? lanes
                     : std::gcd(getKnownDivisor(access.dim), granularity);
  Type wide = withElement(type, b.getF32Type());
  Value result;
  for (int64_t lane = 0; lane < lanes;) {
    int64_t end = known && step < lanes
                      ? lane + granularity -
                            (constant.getSExtValue() + lane) % granularity
                      : lane + step;
    end = std::min(end, lanes);
    Value scale = scaleAt(lane);
    if (end - lane == lanes)
      return vector::BroadcastOp::create(b, wide, scale);
    if (!result)
      result = arith::ConstantOp::create(b, b.getZeroAttr(wide));
    for (; lane < end; ++lane)
      result = vector::InsertOp::create(b, scale, result, lane);
  }
  return result;
}

//===----------------------------------------------------------------------===//
// Patterns
//===----------------------------------------------------------------------===//

template <typename Op> struct LoadPattern : public OpConversionPattern<Op> {
  using OpConversionPattern<Op>::OpConversionPattern;
  using OneToNOpAdaptor = typename OpConversionPattern<Op>::OneToNOpAdaptor;

  virtual Value lower(const Access &access, Type type) const = 0;

  LogicalResult
  matchAndRewrite(Op op, OneToNOpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    Addressing at(b, op, op.getSource().getType(), adaptor.getSource());
    Access access(b, at, adaptor.getBatch().front(), adaptor.getToken().front(),
                  adaptor.getHead().front(), adaptor.getDim().front(),
                  op.getPolicy(), op.getAlignment());
    rewriter.replaceOp(op, lower(access, op.getResult().getType()));
    return success();
  }
};

/// Loads codes times their scales, in f32, rounded once to `type`.
Value loadDequantized(const Access &access, Position position, Type type) {
  Value codes = loadCodes(access, position, type);
  auto scaled = [&](Position position) -> SmallVector<Value> {
    Value scales = loadLaneScales(access, position, type);
    Value product = arith::MulFOp::create(access.b, codes, scales);
    return {convertFloat(access.b, product, getElementTypeOrSelf(type))};
  };
  // Scales that lie in the pages of the values are where those are.
  if (!access.at.getLayoutAttr().hasSeparatePools())
    return scaled(position).front();
  return access.inPool(Pool::scales, /*count=*/1, type, scaled).front();
}

/// Loads elements of the unquantised tail as `type`.
Value loadTail(const Access &access, Position position, Type type) {
  Addressing &at = access.at;
  Access tail = access;
  tail.dim = at.inTail(access.dim);
  Type stored = withElement(type, at.poolLayout(Pool::tail).storageType);
  return convertFloat(access.b, tail.load(Pool::tail, position, stored),
                      getElementTypeOrSelf(type));
}

/// Loads from a head with an unquantised tail, each lane as a load of its own
/// would.
Value loadWithTail(const Access &access, Position position, Type type) {
  ImplicitLocOpBuilder &b = access.b;
  Addressing &at = access.at;
  int64_t boundary = at.getLayoutAttr().getQuantizedSize();
  int64_t lanes = lanesOf(type);
  auto vector = dyn_cast<VectorType>(type);
  auto zeros = [&] {
    return arith::ConstantOp::create(b, b.getZeroAttr(type)).getResult();
  };

  APInt constant;
  if (matchPattern(access.dim, m_ConstantInt(&constant))) {
    int64_t dim = constant.getSExtValue();
    int64_t before = std::clamp<int64_t>(boundary - dim, 0, lanes);
    if (before == lanes)
      return loadDequantized(access, position, type);
    if (before == 0)
      return loadTail(access, position, type);
    Value codes = loadDequantized(
        access, position, VectorType::get({before}, vector.getElementType()));
    Value result = vector::InsertStridedSliceOp::create(b, codes, zeros(),
                                                        {int64_t(0)}, {1});
    Value tail =
        loadTail(access.from(at.index(boundary)), position,
                 VectorType::get({lanes - before}, vector.getElementType()));
    return vector::InsertStridedSliceOp::create(b, tail, result, {before}, {1});
  }

  // Stretches that start at multiples of what divides the boundary too do not
  // cross it.
  if (lanes <= std::gcd(getKnownDivisor(access.dim), boundary)) {
    Value quantized = arith::CmpIOp::create(b, arith::CmpIPredicate::ult,
                                            access.dim, at.index(boundary));
    auto either =
        scf::IfOp::create(b, type, quantized, /*withElseRegion=*/true);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(either.thenBlock());
    scf::YieldOp::create(b, loadDequantized(access, position, type));
    b.setInsertionPointToStart(either.elseBlock());
    scf::YieldOp::create(b, loadTail(access, position, type));
    return either.getResult(0);
  }
  Value result = zeros();
  for (int64_t lane = 0; lane < lanes; ++lane) {
    Access one = access.from(at.add(access.dim, at.index(lane)));
    Value number = loadWithTail(one, position, vector.getElementType());
    result = vector::InsertOp::create(b, number, result, lane);
  }
  return result;
}

struct ConvertLoad : public LoadPattern<LoadOp> {
  using LoadPattern::LoadPattern;

  Value lower(const Access &access, Type type) const override {
    Addressing &at = access.at;
    LayoutAttr layout = at.getLayoutAttr();
    int64_t lanes = lanesOf(type);
    if (layout.getRope()) {
      SmallVector<Bound> inside;
      if (access.policy != OutOfRange::assume)
        inside =
            at.insideHead(layout.getHeadSize(), access.head, access.dim, lanes);
      return at
          .atPosition(Pool::values, access.policy, access.batch, access.token,
                      inside, type,
                      [&](Position position) -> SmallVector<Value> {
                        return {loadWithTail(access, position, type)};
                      })
          .front();
    }
    auto values = [&](Position position) -> SmallVector<Value> {
      if (layout.isQuantized())
        return {loadDequantized(access, position, type)};
      Value stored = access.load(Pool::values, position,
                                 withElement(type, layout.getDtype()));
      return {convertFloat(access.b, stored, getElementTypeOrSelf(type))};
    };
    return access.inPool(Pool::values, lanes, type, values).front();
  }
};

struct ConvertLoadQuantized : public LoadPattern<LoadQuantizedOp> {
  using LoadPattern::LoadPattern;

  Value lower(const Access &access, Type type) const override {
    int64_t per = access.at.poolLayout(Pool::values).elementsPerStorage;
    return access
        .inPool(Pool::values, lanesOf(type) * per, type,
                [&](Position position) -> SmallVector<Value> {
                  return {access.load(Pool::values, position, type)};
                })
        .front();
  }
};

struct ConvertLoadScale : public LoadPattern<LoadScaleOp> {
  using LoadPattern::LoadPattern;

  Value lower(const Access &access, Type type) const override {
    Type stored =
        withElement(type, access.at.poolLayout(Pool::scales).storageType);
    return access
        .inPool(Pool::scales, lanesOf(type), type,
                [&](Position position) -> SmallVector<Value> {
                  Value scale = access.load(Pool::scales, position, stored);
                  return {convertFloat(access.b, scale,
                                       getElementTypeOrSelf(type))};
                })
        .front();
  }
};

template <typename Op> struct ConvertStore : public OpConversionPattern<Op> {
  using OpConversionPattern<Op>::OpConversionPattern;
  using OneToNOpAdaptor = typename OpConversionPattern<Op>::OneToNOpAdaptor;

  LogicalResult
  matchAndRewrite(Op op, OneToNOpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    Addressing at(b, op, op.getTarget().getType(), adaptor.getTarget());
    Access access(b, at, adaptor.getBatch().front(), adaptor.getToken().front(),
                  adaptor.getHead().front(), adaptor.getDim().front(),
                  op.getPolicy(), op.getAlignment());
    Pool pool = getAccessedPool(op);
    PoolLayout shape = at.poolLayout(pool);
    if (pool == Pool::tail)
      access.dim = at.inTail(access.dim);
    Value value =
        convertFloat(b, adaptor.getValue().front(), shape.storageType);
    // Values count elements, of which a byte of f4E2M1FN holds two.
    int64_t per = pool == Pool::scales ? 1 : shape.elementsPerStorage;
    access.inPool(pool, lanesOf(value.getType()) * per, TypeRange(),
                  [&](Position position) {
                    access.store(pool, position, value);
                    return SmallVector<Value>();
                  });
    rewriter.eraseOp(op);
    return success();
  }
};

} // namespace

void mlir::kvcache::populateAccessPatterns(RewritePatternSet &patterns,
                                           const TypeConverter &converter) {
  patterns.add<ConvertLoad, ConvertLoadQuantized, ConvertLoadScale,
               ConvertStore<StoreOp>, ConvertStore<StoreScaleOp>>(
      converter, patterns.getContext());
}
