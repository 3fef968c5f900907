// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Turning statements into instructions.
//
// A decoder function takes the modifiers it understands off the statement; one
// that is left over makes the statement an error. So does every operand whose
// kind or width is not exactly what the instruction has.
#ifndef KVCACHE_LIB_SIMULATOR_DECODER_H
#define KVCACHE_LIB_SIMULATOR_DECODER_H

#include "CallGraph.h"
#include "Handlers.h"
#include "Isa/Isa.h"
#include "Program.h"

#include <initializer_list>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>

namespace ptxsim {

/// Slots before they have offsets.
struct SlotInfo {
  /// Bytes a lane takes; 0: a predicate mask.
  uint8_t width = 0;
  uint32_t offset = 0;
  /// Has one value whichever function runs.
  bool isShared = false;
  /// Its values come from the time.
  bool isTime = false;
};

/// What a copy of several registers is made of: all of them, one of another
/// lane's, or one of two by a predicate.
enum class MoveKind : uint8_t { Merge, Exchange, Select };

/// The registers a statement reads and writes, by their numbers in the
/// function.
struct RegisterUse {
  /// First instruction of the statement.
  uint32_t pc = 0;
  std::vector<uint32_t> reads, writes;
  /// Read, but only to be copied: by a mov, a prmt, a shfl, a selp, or a store,
  /// which has one entry an element, noSlot where that is no register.
  std::vector<uint32_t> copies;
  MoveKind moveKind = MoveKind::Merge;
  int32_t guard = -1;

  void select(const ast::Statement &selp);
};

/// Lays out one function's registers and variables.
struct FunctionFrame {
  const ast::Function *function = nullptr;
  /// Slot of each register, noSlot until used.
  std::vector<uint32_t> registerSlots;
  /// Slot of the return address.
  uint32_t returnSlot = noSlot;
  uint32_t carrySlot = noSlot;
  int32_t entry = -1;
  /// Of Program::frames, where the function lives on the stack; else -1.
  int32_t layout = -1;
  std::unordered_map<const ast::Variable *, uint32_t> localOffsets;
  /// Only where they are needed, in order.
  std::vector<RegisterUse> uses;
};

class ProgramBuilder {
public:
  ProgramBuilder(const ModuleImpl &module, const ast::Function &kernel,
                 const DecodeOptions &options, const AddressOf &addressOf);
  Result<std::unique_ptr<Program>> build();

  uint32_t newSlot(uint8_t width);
  uint32_t registerSlot(uint32_t reg);
  uint32_t constant(uint64_t low, uint8_t width, uint64_t high = 0);
  uint32_t special(Special which);
  uint32_t carrySlot();
  const ast::Register &registerInfo(uint32_t reg) const {
    return frame->function->registers[reg];
  }
  /// Address of a variable in its own space.
  Result<uint64_t> variableAddress(const ast::Variable &variable);
  /// In local memory, or in the function's frame if it has one.
  uint32_t localOffset(FunctionFrame &frame, const ast::Variable &variable);
  /// Whether a variable of the function being decoded lies in its frame.
  bool isInFrame(const ast::Variable &variable) const;
  /// Slot that holds the base of what localOffset counts from, noSlot: none.
  uint32_t frameBase() const {
    return frame->layout < 0 ? noSlot : program->frameBaseSlot;
  }
  /// Null for a function that the kernel cannot call.
  FunctionFrame *functionFrame(const ast::Function &function);
  /// Appended later: the target of the last instruction is the function.
  void callTarget(FunctionFrame &callee);

  const ModuleImpl &module;
  const ast::Function &kernel;
  const DecodeOptions &options;
  const AddressOf &addressOf;
  std::unique_ptr<Program> program;
  FunctionFrame *frame = nullptr;
  const CallGraph graph;
  /// Of the function being decoded: its plain loads, and the addresses of its
  /// compare-and-swaps, by space, register and displacement.
  std::vector<size_t> plainLoads;
  std::set<std::tuple<Space, uint32_t, int64_t>> swapAddresses;

private:
  friend class Statement;
  bool decodeBody(FunctionFrame &frame, std::string &error);
  /// A loop around a compare-and-swap begins with a load, which may be plain:
  /// what it gives is only taken for good if the swap finds it there.
  void markGuesses();
  /// Adds what has to be watched of a function's registers (RegisterInit.cpp).
  void trackRegisters(FunctionFrame &frame, uint32_t begin);
  /// Whether it reads %clock, %globaltimer or a part of these; notes the
  /// function's registers whose values come from them, and where the others
  /// lie (TimeRegisters.cpp).
  static bool readsTime(const ast::Statement &statement);
  void findTimeRegisters(const FunctionFrame &frame);
  void layoutBesideTime();
  /// Notes what accesses the registers of wgmmas (WgmmaRegisters.cpp).
  void trackProducts();
  void layoutShared();
  /// Makes the functions' frames, and says which live on the stack.
  void layoutFrames();
  /// Notes the registers of the function, whose slots are those from `first`.
  void saveRegisters(FunctionFrame &frame, size_t first);
  void assignOffsets();

  struct Fixup {
    size_t inst;
    std::string_view label;
    uint32_t scope;
    uint32_t line;
    /// Branch table entry, -1: the target of the instruction.
    int64_t table = -1, entry = -1;
  };
  std::vector<SlotInfo> slots;
  std::map<std::tuple<uint64_t, uint64_t, uint8_t>, uint32_t> constantSlots;
  std::map<Special, uint32_t> specialSlots;
  std::map<const ast::Function *, std::unique_ptr<FunctionFrame>> frames;
  std::unordered_map<const ast::Variable *, uint32_t> sharedOffsets;
  std::vector<Fixup> fixups;
  struct CallFixup {
    size_t inst;
    const FunctionFrame *callee;
  };
  std::vector<CallFixup> callFixups;
};

/// One statement on its way to instructions. Errors stick: the first is kept.
class Statement {
public:
  Statement(ProgramBuilder &builder, const ast::Statement &ast)
      : builder(builder), ast(ast), taken(ast.modifiers.size(), false) {}

  // Modifiers
  bool take(std::string_view modifier);
  /// Takes the first of `choices` that is there; -1 if none is.
  int takeOneOf(std::initializer_list<std::string_view> choices);
  /// Takes the leftmost untaken modifier that is one of `choices`; -1 if none
  /// is. For words whose order tells what they belong to.
  int takeLeftmost(std::initializer_list<std::string_view> choices);
  /// Takes the last `count` untaken modifiers, in their order.
  bool takeLast(size_t count, std::string_view *words);
  size_t numUntaken() const;
  /// Takes the leftmost untaken modifier that is a type; None if none is left.
  Type takeType();
  /// Like takeType, but an error if there is none.
  Type needType();
  bool has(std::string_view modifier) const;
  /// Modifiers that cannot change a result: cache hints, evictions, scopes.
  void takeCacheHints();
  void takeScopeAndSemantics();
  Space takeSpace();

  // Operands
  size_t numOperands() const { return ast.operands.size(); }
  bool expectOperands(size_t count) { return expectOperands(count, count); }
  bool expectOperands(size_t least, size_t most);
  const ast::Operand &operand(size_t index) const {
    return ast.operands[index];
  }
  /// A register of the type's width that the instruction writes.
  uint32_t dst(const ast::Operand &operand, Type type);
  uint32_t dst(size_t index, Type type) {
    return index < numOperands() ? dst(operand(index), type) : noSlot;
  }
  uint32_t dstPred(const ast::Operand &operand);
  /// A register, immediate, special register or symbol of the type's width.
  uint32_t src(const ast::Operand &operand, Type type);
  uint32_t src(size_t index, Type type) {
    return index < numOperands() ? src(operand(index), type) : noSlot;
  }
  /// The slot that `source` gives for a source that is only copied: no read.
  template <typename Source> uint32_t copied(Source source) {
    size_t reads = use.reads.size();
    uint32_t slot = source();
    use.copies.push_back(use.reads.size() > reads ? use.reads.back() : noSlot);
    use.reads.resize(reads);
    return slot;
  }
  uint32_t srcPred(const ast::Operand &operand, bool *negated);
  /// A register at least as wide as the type; its width goes to `width`.
  uint32_t srcWide(const ast::Operand &operand, Type type, uint8_t &width);
  uint32_t dstWide(const ast::Operand &operand, Type type, uint8_t &width);
  bool immediate(const ast::Operand &operand, uint64_t &value);
  /// Fills a, aWidth and imm from `[base + offset]`; element 0 of an address.
  void address(const ast::Operand &operand, Space space);
  uint32_t addressSlot(const ast::Operand &base, Space space, int64_t &disp,
                       uint8_t &width);

  void addOperand(uint32_t slot, uint8_t width, bool discard = false,
                  bool negated = false) {
    OperandSlot o;
    o.slot = slot;
    o.width = width;
    o.discard = discard;
    o.negated = negated;
    extra.push_back(o);
  }

  /// Instructions are emitted under the statement's guard, or under another
  /// predicate (noSlot: none).
  void guardByStatement() { ownGuard = false; }
  void guardBy(uint32_t slot) {
    ownGuard = true;
    guardSlot = slot;
  }
  /// Appends a branch that lanes outside of the guard take; what follows is
  /// emitted without one until endSkip. Returns what endSkip needs.
  size_t beginSkip();
  void endSkip(size_t skip);

  /// dst and sources of one type, nothing else.
  void plainOperands(Type type, size_t sources);
  /// Adds the `count` registers of a vector, or the one of a scalar operand.
  bool addRegisters(const ast::Operand &vector, size_t count, Type type,
                    bool written);

  bool fail(std::string message);
  bool failed() const { return !error.empty(); }
  /// Appends the instruction under the statement's guard.
  void emit(InstClass instClass, Handler fn);
  void emitBranchTo(std::string_view label);
  void emitBranchTable(const std::vector<std::string_view> &labels);
  /// Appends an instruction that the lanes of a member mask execute together.
  void emitCollective(InstClass instClass, Handler fn,
                      const ast::Operand &members, uint8_t op);
  /// The same for all lanes of the warp.
  void emitWholeWarp(InstClass instClass, Handler fn) {
    inst.flow = Flow::WholeWarp;
    emit(instClass, fn);
  }
  void finish();

  ProgramBuilder &builder;
  const ast::Statement &ast;
  RegisterUse use;
  Inst inst;
  std::vector<OperandSlot> extra;
  std::string error;

private:
  bool isGuarded() const {
    return ownGuard ? guardSlot != noSlot : ast.guard >= 0;
  }
  /// Puts the address of a variable of the frame into a new slot.
  uint32_t frameAddress(uint64_t offset, unsigned bytes);
  bool serves(const ast::Register &reg, Type type);
  uint32_t readSlot(const ast::Operand &operand);
  uint32_t writeSlot(const ast::Operand &operand);

  std::vector<bool> taken;
  bool didEmit = false;
  bool ownGuard = false;
  uint32_t guardSlot = noSlot;
};

using DecodeFunction = void (*)(Statement &statement);
struct DecodeEntry {
  std::string_view opcode;
  DecodeFunction decode;
};
/// Tables of the families, each ended by an empty entry.
extern const DecodeEntry arithmeticDecoders[];
extern const DecodeEntry bitDecoders[];
extern const DecodeEntry dataDecoders[];
extern const DecodeEntry convertDecoders[];
extern const DecodeEntry memoryDecoders[];
extern const DecodeEntry callDecoders[];
extern const DecodeEntry controlDecoders[];
extern const DecodeEntry collectiveDecoders[];
extern const DecodeEntry asyncDecoders[];
extern const DecodeEntry matrixDecoders[];
extern const DecodeEntry matrixMoveDecoders[];
extern const DecodeEntry wideDecoders[];

/// Takes the operation of an atom or a reduction; false if there is none
/// (DecodeMemory.cpp).
bool takeAtomicOp(Statement &statement, AtomicOp &op);
/// st.async and red.async, after these words (DecodeAsync.cpp).
void decodeAsyncStore(Statement &statement, bool isReduction);
/// Emits a handler under the rounding mode that the statement says, which MXCSR
/// brings about (DecodeArithmetic.cpp).
void emitRounded(Statement &statement, Type type, Handler fn);
/// mad.cc and madc (DecodeWide.cpp)
void decodeMadCarry(Statement &statement);
/// False if the statement's types are not mixed (DecodeWide.cpp).
bool decodeMixedFloat(Statement &statement, FloatOp op, size_t sources);

/// Null if there is no special register of that name.
const Special *findSpecial(std::string_view name);

} // namespace ptxsim

#endif // KVCACHE_LIB_SIMULATOR_DECODER_H
