//===- KVCacheBytecode.cpp - Layouts and types in bytecode ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Layouts and the types that carry them have an encoding of their own, with a
// version, so that a later parameter does not make old files unreadable. Other
// attributes are written as text. Nothing that a file holds is trusted.
//
//===----------------------------------------------------------------------===//

#include "KVCacheBytecode.h"

#include "mlir/Bytecode/BytecodeImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::kvcache;

namespace {

/// What a file was written with. Version 1 is the first one.
struct KVCacheVersion : public DialectVersion {
  explicit KVCacheVersion(uint64_t number) : number(number) {}
  uint64_t number;
};

constexpr uint64_t currentVersion = 1;

/// Numbers in files: new ones go at the end.
enum Code : uint64_t {
  layoutCode = 0,

  collectionCode = 0,
  cacheCode = 1,
  mhaOperandCode = 2,
  scalesMHAOperandCode = 3,
};

struct KVCacheBytecodeInterface : public BytecodeDialectInterface {
  explicit KVCacheBytecodeInterface(Dialect *dialect)
      : BytecodeDialectInterface(dialect) {}

  //===--------------------------------------------------------------------===//
  // Attributes
  //===--------------------------------------------------------------------===//

  LogicalResult writeAttribute(Attribute attr,
                               DialectBytecodeWriter &writer) const override {
    auto layout = dyn_cast<LayoutAttr>(attr);
    if (!layout)
      return failure();
    writer.writeVarInt(layoutCode);
    writer.writeType(layout.getDtype());
    writer.writeVarInt(layout.getNumHeads());
    writer.writeVarInt(layout.getHeadSize());
    writer.writeVarInt(layout.isMLA());
    writer.writeVarInt(layout.getPageSize());
    ScalesAttr scales = layout.getScales();
    writer.writeVarInt(static_cast<bool>(scales));
    if (scales) {
      writer.writeType(scales.getDtype());
      writer.writeVarInt(scales.getGranularity());
      writer.writeVarInt(static_cast<uint64_t>(scales.getTable()));
    }
    writer.writeVarInt(static_cast<uint64_t>(layout.getPlacement()));
    writer.writeVarInt(static_cast<uint64_t>(layout.getOrder()));
    RopeAttr rope = layout.getRope();
    writer.writeVarInt(static_cast<bool>(rope));
    if (rope) {
      writer.writeType(rope.getDtype());
      writer.writeVarInt(rope.getSize());
    }
    writer.writeVarInt(layout.getKvInner());
    writer.writeVarInt(layout.getFooter());
    writer.writeVarInt(layout.getPageAlign());
    writer.writeVarInt(static_cast<uint64_t>(layout.getSwizzle()));
    return success();
  }

  Attribute readAttribute(DialectBytecodeReader &reader) const override {
    uint64_t code;
    if (failed(reader.readVarInt(code)))
      return {};
    if (code != layoutCode) {
      reader.emitError() << "unknown kvcache attribute code " << code
                         << "; the file is damaged or newer than this tool";
      return {};
    }
    auto emit = [&] { return reader.emitError(); };
    MLIRContext *context = getContext();

    Type dtype;
    int64_t numHeads, headSize, pageSize;
    bool isMLA, hasScales, hasRope, kvInner;
    if (failed(reader.readType(dtype)) || failed(readInt(reader, numHeads)) ||
        failed(readInt(reader, headSize)) || failed(readBool(reader, isMLA)) ||
        failed(readInt(reader, pageSize)) ||
        failed(readBool(reader, hasScales)))
      return {};
    ParamsAttr params =
        ParamsAttr::getChecked(emit, context, numHeads, headSize, isMLA);
    if (!params)
      return {};

    ScalesAttr scales;
    if (hasScales) {
      Type type;
      int64_t granularity;
      TableKind table;
      if (failed(reader.readType(type)) ||
          failed(readInt(reader, granularity)) ||
          failed(readEnum(reader, table, symbolizeTableKind)))
        return {};
      scales = ScalesAttr::getChecked(emit, context, type, granularity, table);
      if (!scales)
        return {};
    }

    Placement placement;
    Order order;
    if (failed(readEnum(reader, placement, symbolizePlacement)) ||
        failed(readEnum(reader, order, symbolizeOrder)) ||
        failed(readBool(reader, hasRope)))
      return {};
    RopeAttr rope;
    if (hasRope) {
      Type type;
      int64_t size;
      if (failed(reader.readType(type)) || failed(readInt(reader, size)))
        return {};
      rope = RopeAttr::getChecked(emit, context, type, size);
      if (!rope)
        return {};
    }

    int64_t footer, pageAlign;
    ScaleSwizzle swizzle;
    if (failed(readBool(reader, kvInner)) || failed(readInt(reader, footer)) ||
        failed(readInt(reader, pageAlign)) ||
        failed(readEnum(reader, swizzle, symbolizeScaleSwizzle)))
      return {};
    return LayoutAttr::getChecked(emit, context, dtype, params, pageSize,
                                  scales, placement, order, rope, kvInner,
                                  footer, pageAlign, swizzle);
  }

  //===--------------------------------------------------------------------===//
  // Types
  //===--------------------------------------------------------------------===//

  LogicalResult writeType(Type type,
                          DialectBytecodeWriter &writer) const override {
    auto writeSided = [&](Code code, auto sided) {
      writer.writeVarInt(code);
      writer.writeVarInt(static_cast<uint64_t>(sided.getSide()));
      writer.writeAttribute(sided.getLayout());
      return success();
    };
    return TypeSwitch<Type, LogicalResult>(type)
        .Case([&](CollectionType collection) {
          writer.writeVarInt(collectionCode);
          writer.writeAttribute(collection.getLayout());
          return success();
        })
        .Case([&](CacheType cache) { return writeSided(cacheCode, cache); })
        .Case([&](MHAOperandType operand) {
          return writeSided(mhaOperandCode, operand);
        })
        .Case([&](ScalesMHAOperandType operand) {
          return writeSided(scalesMHAOperandCode, operand);
        })
        .Default([](Type) { return failure(); });
  }

  Type readType(DialectBytecodeReader &reader) const override {
    uint64_t code;
    if (failed(reader.readVarInt(code)))
      return {};
    LayoutAttr layout;
    if (code == collectionCode) {
      if (failed(reader.readAttribute(layout)))
        return {};
      return CollectionType::get(getContext(), layout);
    }
    Side side;
    auto readSided = [&](auto kind) -> Type {
      if (failed(readEnum(reader, side, symbolizeSide)) ||
          failed(reader.readAttribute(layout)))
        return {};
      return decltype(kind)::getChecked([&] { return reader.emitError(); },
                                        getContext(), side, layout);
    };
    switch (code) {
    case cacheCode:
      return readSided(CacheType());
    case mhaOperandCode:
      return readSided(MHAOperandType());
    case scalesMHAOperandCode:
      return readSided(ScalesMHAOperandType());
    default:
      reader.emitError() << "unknown kvcache type code " << code
                         << "; the file is damaged or newer than this tool";
      return {};
    }
  }

  //===--------------------------------------------------------------------===//
  // Version
  //===--------------------------------------------------------------------===//

  void writeVersion(DialectBytecodeWriter &writer) const override {
    writer.writeVarInt(currentVersion);
  }

  std::unique_ptr<DialectVersion>
  readVersion(DialectBytecodeReader &reader) const override {
    uint64_t number;
    if (failed(reader.readVarInt(number)))
      return nullptr;
    if (number < 1 || number > currentVersion) {
      reader.emitError() << "expected bytecode of the kvcache dialect of "
                            "version 1 to "
                         << currentVersion << ", got " << number
                         << "; use a newer kvcache";
      return nullptr;
    }
    return std::make_unique<KVCacheVersion>(number);
  }

private:
  static LogicalResult readInt(DialectBytecodeReader &reader, int64_t &result) {
    uint64_t number;
    if (failed(reader.readVarInt(number)))
      return failure();
    result = static_cast<int64_t>(number);
    return success();
  }

  static LogicalResult readBool(DialectBytecodeReader &reader, bool &result) {
    uint64_t number;
    if (failed(reader.readVarInt(number)))
      return failure();
    if (number > 1)
      return reader.emitError() << "expected 0 or 1, got " << number;
    result = number != 0;
    return success();
  }

  template <typename Enum>
  static LogicalResult readEnum(DialectBytecodeReader &reader, Enum &result,
                                std::optional<Enum> (*symbolize)(uint32_t)) {
    uint64_t number;
    if (failed(reader.readVarInt(number)))
      return failure();
    std::optional<Enum> found;
    if (number <= std::numeric_limits<uint32_t>::max())
      found = symbolize(static_cast<uint32_t>(number));
    if (!found)
      return reader.emitError() << "unknown enumerator " << number
                                << " in a kvcache attribute or type";
    result = *found;
    return success();
  }
};

} // namespace

void kvcache::addBytecodeInterface(KVCacheDialect &dialect) {
  dialect.addInterfaces<KVCacheBytecodeInterface>();
}
