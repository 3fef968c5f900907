// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The handlers that pay for wide vectors are compiled twice: for every x86-64
// (namespace `base`) and for x86-64-v3, that is AVX2, FMA and F16C (namespace
// `v3`). The files of this folder define everything inside of PTXSIM_ISA and
// call no inline function that is not forced inline, so that no code for newer
// machines leaks into the rest.
#ifndef KVCACHE_LIB_SIMULATOR_ISA_ISA_H
#define KVCACHE_LIB_SIMULATOR_ISA_ISA_H

#include "../Inst.h"

#ifndef PTXSIM_ISA
#define PTXSIM_ISA base
#endif

namespace ptxsim {

enum class IntOp : uint8_t {
  Add,
  Sub,
  Mul,
  MulHi,
  MulWide,
  Mad,
  MadHi,
  MadWide,
  Sad,
  Div,
  Rem,
  Min,
  Max,
  And,
  Or,
  Xor,
  Not,
  CNot,
  Neg,
  Abs,
  Shl,
  Shr,
  AddSat,
  SubSat,
  Mul24,
  Mad24,
  Mul24Hi,
  Mad24Hi
};

enum class BitOp : uint8_t {
  Popc,
  Clz,
  Brev,
  Bfind,
  BfindShift,
  Bfe,
  Bfi,
  Prmt,
  PrmtF4e,
  PrmtB4e,
  PrmtRc8,
  PrmtEcl,
  PrmtEcr,
  PrmtRc16,
  ShfLClamp,
  ShfLWrap,
  ShfRClamp,
  ShfRWrap,
  Lop3,
  Dp4a,
  Dp2aLo,
  Dp2aHi,
  Szext,
  SzextWrap,
  Bmsk,
  BmskWrap,
  Fns,
  AddCC,
  AddC,
  AddCCC,
  SubCC,
  SubC,
  SubCCC
};

enum class FloatOp : uint8_t {
  Add,
  Sub,
  Mul,
  Fma,
  Div,
  Min,
  Max,
  MinNaN,
  MaxNaN,
  Min3,
  Max3,
  Min3NaN,
  Max3NaN,
  MinXorsign,
  MaxXorsign,
  MinXorsignNaN,
  MaxXorsignNaN,
  FmaRelu,
  Neg,
  Abs,
  Copysign,
  Sqrt,
  Rsqrt,
  Rcp,
  Ex2,
  Lg2,
  Sin,
  Cos,
  Tanh
};

enum class CompareOp : uint8_t {
  Eq,
  Ne,
  Lt,
  Le,
  Gt,
  Ge,
  Equ,
  Neu,
  Ltu,
  Leu,
  Gtu,
  Geu,
  Num,
  Nan
};

enum class PredOp : uint8_t { Mov, And, Or, Xor, Not };

/// Rounding of conversions. The `i` forms round to an integral value.
enum class Rounding : uint8_t { None, Rn, Rz, Rm, Rp, Rna, Rni, Rzi, Rmi, Rpi };

/// Flags of floating-point handlers.
enum : uint8_t { FloatFtz = 1, FloatSat = 2 };

/// Flags of conversions, in Inst::flags.
enum : uint8_t { CvtFtz = 1, CvtSat = 2, CvtSatfinite = 4, CvtRelu = 8 };

enum class AccessKind : uint8_t { Load, Store };

/// One table per instruction set. A null handler: no such combination.
struct Isa {
  Handler (*integer)(IntOp op, Type type);
  Handler (*bits)(BitOp op, Type type);
  Handler (*floating)(FloatOp op, Type type, uint8_t flags);
  Handler (*testp)(unsigned property, Type type);
  Handler (*compare)(CompareOp op, Type type, bool ftz);
  /// Selects by the predicate c.
  Handler (*select)(unsigned size);
  Handler (*predicate)(PredOp op);
  Handler (*move)(unsigned size);
  /// Inst::op is the Rounding, Inst::flags the Cvt flags.
  Handler (*convert)(Type to, Type from, Rounding rounding);
  /// A faster form for registers of the types' own widths and no modifier but
  /// .rn, where there is one.
  Handler (*plainConvert)(Type to, Type from);
  /// Loads and stores that the general handlers need not do; with checks only
  /// of global memory. Null if there is no fast form.
  Handler (*access)(AccessKind kind, Space space, unsigned size, unsigned width,
                    unsigned count, bool isSigned, bool checked);
};

/// The table of this machine.
const Isa &isa();

namespace base {
extern const Isa table;
} // namespace base
namespace v3 {
extern const Isa table;
} // namespace v3

namespace PTXSIM_ISA {
Handler integerHandler(IntOp op, Type type);
Handler bitHandler(BitOp op, Type type);
Handler floatHandler(FloatOp op, Type type, uint8_t flags);
Handler testpHandler(unsigned property, Type type);
Handler compareHandler(CompareOp op, Type type, bool ftz);
Handler selectHandler(unsigned size);
Handler predicateHandler(PredOp op);
Handler moveHandler(unsigned size);
Handler convertHandler(Type to, Type from, Rounding rounding);
Handler plainConvertHandler(Type to, Type from);
Handler narrowConvertHandler(Type to, Type from, Rounding rounding);
Handler accessHandler(AccessKind kind, Space space, unsigned size,
                      unsigned width, unsigned count, bool isSigned,
                      bool checked);
} // namespace PTXSIM_ISA

} // namespace ptxsim

#endif // KVCACHE_LIB_SIMULATOR_ISA_ISA_H
