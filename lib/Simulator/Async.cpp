// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Async.h"
#include "Decoder.h"

using namespace ptxsim;

void ptxsim::resetAsync(Block &) {}
bool ptxsim::advanceAsync(Cluster &) { return false; }
void ptxsim::finishAsync(Block &) {}

const DecodeEntry ptxsim::asyncDecoders[] = {{"", nullptr}};
const DecodeEntry ptxsim::matrixDecoders[] = {{"", nullptr}};
