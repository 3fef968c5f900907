// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A fuzzer over what bytecode holds of the dialect: layouts, types, the
// version, and the properties of each operation with its verifier. MLIR's
// reader of the file around it, which dies on some damaged bytes, is left out:
// numbers and attributes come from the input by a reader of our own.
#include "kvcache/Dialect/KVCache/IR/KVCache.h"
#include "kvcache/Dialect/KVCache/IR/KVCacheKernels.h"

#include "mlir/AsmParser/AsmParser.h"
#include "mlir/Bytecode/BytecodeImplementation.h"
#include "mlir/Bytecode/BytecodeWriter.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"

using namespace mlir;

namespace {

void require(bool condition) {
  if (!condition)
    abort();
}

/// Attributes and types that a file may name.
constexpr StringLiteral someAttributes[] = {
    "#kvcache.layout<f8E4M3FN, params = <num_heads = 2, head_size = 64>, "
    "page_size = 4, scales = <f32, granularity = 32, table = own>>",
    "#kvcache.layout<bf16, params = <num_heads = 1, head_size = 576, is_mla = "
    "true>, page_size = 64>",
    "0 : i32",
    "4 : i64",
    "-1 : i64",
    "1.0 : f32",
    "\"text\"",
    "unit",
    "[]",
    "array<i32: 1, 1, 1>",
    "array<i64: 0, -1>",
    "#kvcache.policy<skip>",
    "#kvcache.side<value>"};
constexpr StringLiteral someTypes[] = {"f32",
                                       "bf16",
                                       "f8E4M3FN",
                                       "f8E8M0FNU",
                                       "i8",
                                       "i32",
                                       "f4E2M1FN",
                                       "index",
                                       "memref<?xi32>",
                                       "memref<?x?xi32>",
                                       "memref<1xi32>",
                                       "memref<?x2x?x4x2x64xf8E4M3FN>",
                                       "memref<?x2x?x4x2x2xf32>",
                                       "memref<?x2x64xf32>",
                                       "vector<4xf32>",
                                       "tensor<?xf32>"};

/// Gives what the input says. After its end there is nothing but failure.
class InputReader : public DialectBytecodeReader {
public:
  InputReader(MLIRContext *context, ArrayRef<uint8_t> input)
      : context(context), input(input) {
    for (StringRef text : someAttributes)
      if (Attribute attribute = parseAttribute(text, context))
        attributes.push_back(attribute);
    for (StringRef text : someTypes)
      types.push_back(parseType(text, context));
  }

  uint8_t byte() {
    if (input.empty())
      return 0;
    uint8_t first = input.front();
    input = input.drop_front();
    return first;
  }
  void addType(Type type) { types.push_back(type); }
  void addAttribute(Attribute attribute) { attributes.push_back(attribute); }
  Type type() { return types[byte() % types.size()]; }

  InFlightDiagnostic emitError(const Twine &text) const override {
    return mlir::emitError(UnknownLoc::get(context), text);
  }
  FailureOr<const DialectVersion *>
  getDialectVersion(StringRef) const override {
    return failure();
  }
  MLIRContext *getContext() const override { return context; }
  uint64_t getBytecodeVersion() const override { return 6; }

  LogicalResult readAttribute(Attribute &result) override {
    if (isAtEnd())
      return failure();
    result = attributes[byte() % attributes.size()];
    return success();
  }
  LogicalResult readOptionalAttribute(Attribute &result) override {
    result = {};
    return byte() % 2 ? readAttribute(result) : success();
  }
  LogicalResult readType(Type &result) override {
    if (isAtEnd())
      return failure();
    result = type();
    return success();
  }
  /// Bytes below 200 are themselves, others say how many bytes follow.
  LogicalResult readVarInt(uint64_t &result) override {
    if (isAtEnd())
      return failure();
    result = byte();
    if (result < 200)
      return success();
    unsigned bytes = result % 8 + 1;
    result = 0;
    while (bytes--)
      result = result << 8 | byte();
    return success();
  }
  LogicalResult readSignedVarInt(int64_t &result) override {
    uint64_t number;
    if (failed(readVarInt(number)))
      return failure();
    result = static_cast<int64_t>(number);
    return success();
  }
  FailureOr<APInt> readAPIntWithKnownWidth(unsigned width) override {
    return APInt(width, byte(), false, /*implicitTrunc=*/true);
  }
  FailureOr<APFloat>
  readAPFloatWithKnownSemantics(const llvm::fltSemantics &semantics) override {
    return APFloat::getZero(semantics);
  }
  LogicalResult readString(StringRef &result) override {
    result = "text";
    return success();
  }
  LogicalResult readBlob(ArrayRef<char> &result) override {
    result = {};
    return success();
  }
  LogicalResult readBool(bool &result) override {
    result = byte() % 2;
    return success();
  }

private:
  FailureOr<AsmDialectResourceHandle> readResourceHandle() override {
    return failure();
  }
  bool isAtEnd() {
    if (!input.empty())
      return false;
    emitError("the file ends");
    return true;
  }

  MLIRContext *context;
  ArrayRef<uint8_t> input;
  SmallVector<Attribute> attributes;
  SmallVector<Type> types;
};

/// What was read is written and read as it was.
void roundTrip(MLIRContext &context, Attribute attribute) {
  OwningOpRef<ModuleOp> module = ModuleOp::create(UnknownLoc::get(&context));
  (*module)->setAttr("test.attribute", attribute);
  std::string written;
  llvm::raw_string_ostream stream(written);
  require(succeeded(writeBytecodeToFile(*module, stream)));
  auto again = parseSourceString<ModuleOp>(written, ParserConfig(&context));
  require(again && (*again)->getAttr("test.attribute") == attribute);
}

/// An operation with properties, operands and results of the input, verified.
void verifySomeOperation(MLIRContext &context, InputReader &reader) {
  SmallVector<RegisteredOperationName> names;
  for (RegisteredOperationName name : context.getRegisteredOperations())
    if (name.getDialectNamespace() == "kvcache")
      names.push_back(name);
  RegisteredOperationName name = names[reader.byte() % names.size()];
  OperationState state(UnknownLoc::get(&context), name);
  auto *interface = name.getInterface<BytecodeOpInterface>();
  if (interface && failed(interface->readProperties(reader, state)))
    return;
  // Operands and results of any type; the block is their owner.
  Block block;
  for (unsigned count = reader.byte() % 12; count--;)
    state.operands.push_back(block.addArgument(reader.type(), state.location));
  for (unsigned count = reader.byte() % 3; count--;)
    state.types.push_back(reader.type());
  Operation *op = Operation::create(state);
  (void)verify(op);
  op->destroy();
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  MLIRContext context(MLIRContext::Threading::DISABLED);
  auto *dialect = context.getOrLoadDialect<kvcache::KVCacheDialect>();
  unsigned errors = 0;
  context.getDiagEngine().registerHandler([&](Diagnostic &) {
    ++errors;
    return success();
  });
  auto *bytecode = dialect->getRegisteredInterface<BytecodeDialectInterface>();
  InputReader reader(&context, ArrayRef(data, size));
  errors = 0;
  switch (reader.byte() % 4) {
  case 0:
    if (Attribute attribute = bytecode->readAttribute(reader))
      roundTrip(context, attribute);
    else
      require(errors != 0);
    break;
  case 1: {
    if (Attribute attribute = bytecode->readAttribute(reader)) {
      reader.addAttribute(attribute);
      if (Type type = bytecode->readType(reader))
        roundTrip(context, TypeAttr::get(type));
      else
        require(errors != 0);
    }
    break;
  }
  case 2:
    require(bytecode->readVersion(reader) || errors != 0);
    break;
  default:
    for (unsigned kind = 0; kind < 4; ++kind)
      if (Type type = bytecode->readType(reader))
        reader.addType(type);
    verifySomeOperation(context, reader);
  }
  return 0;
}
