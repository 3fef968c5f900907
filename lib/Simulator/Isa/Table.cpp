// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Isa.h"

namespace ptxsim {
namespace PTXSIM_ISA {

const Isa table = {integerHandler,      bitHandler,     floatHandler,
                   testpHandler,        compareHandler, selectHandler,
                   predicateHandler,    moveHandler,    convertHandler,
                   plainConvertHandler, accessHandler};

} // namespace PTXSIM_ISA
} // namespace ptxsim
