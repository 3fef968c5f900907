// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tensor copies of every rank, element size, swizzle and fill, to one block and
// to several of a cluster, and back, also added to what is there; against loops
// that follow the PTX manual: a box lies in shared memory as a dense array,
// innermost dimension first, and a swizzle exchanges 16-byte pieces within 1024
// bytes.
#include "kvcache/Simulator/Device.h"
#include "kvcache/Simulator/TensorMap.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>

using namespace ptxsim;

static std::mt19937 random_(7);
static unsigned copies = 0;

[[noreturn]] static void fail(const std::string &what) {
  fprintf(stderr, "tensor-copy: %s\n", what.c_str());
  exit(1);
}

static constexpr unsigned boxBytesMax = 16384;

/// Makes the map that is the first parameter into that of `spec`, field by
/// field, in shared memory and then in global.
static std::string replaceAll(const TensorMapSpec &spec) {
  std::string text;
  for (unsigned word = 0; word < 16; ++word) {
    std::string at = std::to_string(8 * word);
    text += "  ld.param.b64 %rd5, [map+" + at + "];\n  st.shared.b64 [held+" +
            at + "], %rd5;\n";
  }
  auto set = [&](const std::string &field, bool isWide, uint64_t value,
                 int dimension = -1) {
    text += "  mov.b64 %rd5, " + std::to_string(value) +
            ";\n  cvt.u32.u64 %r5, %rd5;\n  tensormap.replace.tile." + field +
            ".shared::cta.b1024." + (isWide ? "b64" : "b32") + " [held], " +
            (dimension < 0 ? "" : std::to_string(dimension) + ", ") +
            (isWide ? "%rd5" : "%r5") + ";\n";
  };
  // By type as the driver numbers them.
  static constexpr unsigned types[] = {0, 1, 2,  3, 4,  5, 6,
                                       7, 9, 10, 8, 11, 12};
  set("global_address", true, spec.address);
  set("rank", false, spec.rank - 1);
  set("elemtype", false, types[unsigned(spec.type)]);
  set("interleave_layout", false, 0);
  set("swizzle_mode", false, unsigned(spec.swizzle));
  set("fill_mode", false, unsigned(spec.fill));
  for (unsigned i = 0; i < spec.rank; ++i) {
    set("global_dim", false, spec.dims[i], int(i));
    set("box_dim", false, spec.box[i], int(i));
    set("element_stride", false, spec.elementStrides[i], int(i));
    if (i + 1 < spec.rank)
      set("global_stride", true, spec.strides[i], int(i));
  }
  return "  setp.ne.u32 %p, %r3, 0;\n  @%p bra $replaced;\n" + text +
         "$replaced:\n  bar.warp.sync -1;\n"
         "  tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic."
         "release.gpu.sync.aligned [made], [held], 128;\n"
         "  mov.b64 %rd1, made;\n"
         "  fence.proxy.tensormap::generic.acquire.gpu [%rd1], 128;\n";
}

/// Loads a box into the blocks of `mask`, and stores each block's shared memory
/// to `out`; or stores the box of block 0 from `in` back, by `reduction` if
/// that is not empty.
static std::string program(unsigned rank, bool multicast, bool store,
                           const std::string &reduction, uint64_t bytes,
                           const std::string &prologue) {
  std::string coords, moves;
  for (unsigned i = 0; i < rank; ++i) {
    coords += (i ? ", %c" : "%c") + std::to_string(i);
    moves += "  ld.param.s32 %c" + std::to_string(i) + ", [c+" +
             std::to_string(4 * i) + "];\n";
  }
  std::string dim = std::to_string(rank) + "d";
  std::string text = ".version 8.6\n.target sm_90a\n.address_size 64\n"
                     ".global .align 128 .b8 made[128];\n"
                     ".visible .entry copy(.param .align 64 .b8 map[128], "
                     ".param .u64 memory, .param .align 4 .b8 c[20], "
                     ".param .u16 mask)\n{\n"
                     "  .shared .align 1024 .b8 box[16384];\n"
                     "  .shared .align 128 .b8 held[128];\n"
                     "  .shared .align 8 .b64 bar;\n"
                     "  .reg .pred %p, %q; .reg .b16 %m; .reg .s32 %c<5>;\n"
                     "  .reg .b32 %r<16>; .reg .b64 %rd<16>;\n"
                     "  ld.param.u64 %rd0, [memory];\n"
                     "  ld.param.u16 %m, [mask];\n"
                     "  mov.b64 %rd1, map;\n  cvta.param.u64 %rd1, %rd1;\n" +
                     moves +
                     "  mov.u32 %r0, box;\n  mov.u32 %r1, bar;\n"
                     "  mov.u32 %r2, %cluster_ctarank;\n"
                     "  mov.u32 %r3, %tid.x;\n"
                     "  mul.wide.u32 %rd2, %r2, 16384;\n"
                     "  add.u64 %rd3, %rd0, %rd2;\n" +
                     prologue + "  setp.ne.u32 %p, %r3, 0;\n";
  auto loop = [](const char *body) {
    return std::string("  mul.wide.u32 %rd4, %r3, 4;\n  add.u64 %rd4, %rd4, "
                       "%rd3;\n  shl.b32 %r4, %r3, 2;\n  add.u32 %r4, %r4, "
                       "%r0;\n  mov.u32 %r5, 0;\n$loop:\n") +
           body +
           "  add.u64 %rd4, %rd4, 128;\n  add.u32 %r4, %r4, 128;\n"
           "  add.u32 %r5, %r5, 1;\n  setp.lt.u32 %q, %r5, 128;\n"
           "  @%q bra $loop;\n";
  };
  if (store) {
    text += loop("  ld.global.b32 %r6, [%rd4];\n  st.shared.b32 [%r4], %r6;\n");
    text += "  fence.proxy.async.shared::cta;\n  bar.sync 0;\n  @%p ret;\n"
            "  cp." +
            std::string(reduction.empty() ? "" : "reduce.") +
            "async.bulk.tensor." + dim + ".global.shared::cta" + reduction +
            ".tile.bulk_group [%rd1, {" + coords +
            "}], [%r0];\n  cp.async.bulk.commit_group;\n"
            "  cp.async.bulk.wait_group.read 0;\n"
            "  cp.async.bulk.wait_group 0;\n  ret;\n}\n";
    return text;
  }
  // Every block waits for the bytes that come to it.
  text += "  cvt.u32.u16 %r7, %m;\n  shr.u32 %r7, %r7, %r2;\n"
          "  and.b32 %r7, %r7, 1;\n  setp.eq.u32 %q, %r7, 0;\n"
          "  @%p bra $made;\n"
          "  mbarrier.init.shared::cta.b64 [%r1], 1;\n"
          "  fence.mbarrier_init.release.cluster;\n"
          "  mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r1], " +
          std::to_string(bytes) +
          ";\n$made:\n  barrier.cluster.arrive.aligned;\n"
          "  barrier.cluster.wait.aligned;\n"
          "  setp.ne.u32 %p, %r2, 0;\n  @%p bra $issued;\n"
          "  setp.ne.u32 %p, %r3, 0;\n  @%p bra $issued;\n"
          "  cp.async.bulk.tensor." +
          dim + ".shared::cluster.global.tile.mbarrier::complete_tx::bytes" +
          (multicast ? ".multicast::cluster" : "") + " [%r0], [%rd1, {" +
          coords + "}], [%r1]" + (multicast ? ", %m" : "") +
          ";\n$issued:\n  @%q bra $done;\n$again:\n"
          "  mbarrier.try_wait.parity.shared::cta.b64 %p, [%r1], 0;\n"
          "  @!%p bra $again;\n  bar.sync 0;\n" +
          loop("  ld.shared.b32 %r6, [%r4];\n  st.global.b32 [%rd4], %r6;\n") +
          "$done:\n  barrier.cluster.arrive.aligned;\n"
          "  barrier.cluster.wait.aligned;\n  ret;\n}\n";
  return text;
}

static unsigned sizeOf(TensorMapType type) {
  static constexpr unsigned sizes[] = {1, 2, 4, 4, 8, 8, 2, 4, 8, 2, 4, 4, 4};
  return sizes[unsigned(type)];
}

static uint64_t placeOf(uint64_t offset, TensorMapSwizzle swizzle) {
  unsigned pieces = swizzle == TensorMapSwizzle::None  ? 1
                    : swizzle == TensorMapSwizzle::B32 ? 2
                    : swizzle == TensorMapSwizzle::B64 ? 4
                                                       : 8;
  uint64_t line = offset / 128 % pieces, piece = offset / 16 % pieces;
  return offset - piece * 16 + (piece ^ line) * 16;
}

/// Adds unsigned numbers of 4 or 8 bytes, or takes their exclusive or.
static void reduce(uint8_t *to, const uint8_t *from, unsigned size, bool add) {
  uint64_t x = 0, y = 0;
  memcpy(&x, to, size);
  memcpy(&y, from, size);
  x = add ? x + y : x ^ y;
  memcpy(to, &x, size);
}

static void check(unsigned rank, TensorMapType type, TensorMapSwizzle swizzle,
                  TensorMapFill fill, uint32_t mask, bool store,
                  const std::string &reduction = "", bool replaced = false) {
  unsigned size = sizeOf(type);
  TensorMapSpec spec;
  spec.type = type;
  spec.rank = rank;
  spec.swizzle = swizzle;
  spec.fill = fill;
  unsigned row = swizzle == TensorMapSwizzle::None ? 16u << random_() % 3
                                                   : 16u << unsigned(swizzle);
  uint64_t elements = 1, stride = 0, total = 1;
  int32_t coords[5] = {};
  for (unsigned i = 0; i < rank; ++i) {
    spec.box[i] = i == 0 ? row / size : i == 1 ? 8 : 1 + random_() % 3;
    if (swizzle != TensorMapSwizzle::None && i > 1)
      spec.box[i] = 2;
    spec.dims[i] = spec.box[i] + random_() % (2 * spec.box[i] + 2);
    spec.elementStrides[i] = 1;
    // Inside, across either edge, or outside.
    coords[i] = int32_t(random_() % (spec.dims[i] + spec.box[i])) -
                int32_t(spec.box[i] / 2);
    if (random_() % 3 == 0)
      coords[i] = 0;
    stride = i == 0
                 ? (spec.dims[0] * size + 15) / 16 * 16 + 16 * (random_() % 2)
                 : stride * spec.dims[i];
    if (i + 1 < rank)
      spec.strides[i] = stride;
    elements *= spec.box[i];
    total = stride;
  }
  uint64_t bytes = elements * size;
  if (bytes > boxBytesMax || (swizzle != TensorMapSwizzle::None && bytes % 128))
    return;
  DeviceOptions deviceOptions;
  deviceOptions.trackInitialisation = true;
  Device device(deviceOptions);
  uint8_t *tensor = static_cast<uint8_t *>(*device.allocate(total, "tensor"));
  uint8_t *memory =
      static_cast<uint8_t *>(*device.allocate(4 * boxBytesMax, "memory"));
  std::vector<uint8_t> before(total), filled(4 * boxBytesMax);
  for (auto *bytesOf : {&before, &filled})
    for (uint8_t &b : *bytesOf)
      b = uint8_t(random_());
  if (!device.copy(tensor, before.data(), total).ok() ||
      !device.copy(memory, filled.data(), filled.size()).ok())
    fail("copy");
  spec.address = uint64_t(tensor);
  TensorMapSpec other;
  other.address = spec.address;
  other.dims[0] = other.box[0] = 32;
  Result<TensorMap> map = encodeTensorMap(replaced ? other : spec);
  if (!map.ok())
    fail(map.message());
  bool multicast = mask != 1;
  auto module = Module::parse(program(rank, multicast, store, reduction, bytes,
                                      replaced ? replaceAll(spec) : ""),
                              "copy");
  if (!module.ok())
    fail(module.message());
  Result<LoadedModule *> loaded = device.load(*module);
  struct {
    TensorMap map;
    uint64_t memory;
    int32_t coords[5];
    uint16_t mask;
  } params = {*map, uint64_t(memory), {}, uint16_t(mask)};
  memcpy(params.coords, coords, sizeof coords);
  void *pointers[] = {&params.map, &params.memory, params.coords, &params.mask};
  LaunchConfig config;
  config.grid = config.cluster = {store ? 1u : 4u, 1, 1};
  config.block = {32, 1, 1};
  LaunchOptions options;
  // A box need not fill what is stored of shared memory.
  options.tools = MemCheck | RaceCheck | SyncCheck;
  options.seed = random_();
  LaunchResult result =
      device.launch(*loaded, "copy", config, pointers, 4, options);
  std::string name = "rank " + std::to_string(rank) + " type " +
                     std::to_string(unsigned(type)) + " swizzle " +
                     std::to_string(unsigned(swizzle)) + " mask " +
                     std::to_string(mask) + (store ? " store" : " load") +
                     reduction;
  if (!result.status.ok() || result.numFindings)
    fail(name + ": " + result.status.message() +
         (result.reports.empty() ? "" : result.reports[0].text()));

  // The NaN of elements outside of the tensor repeats 0x7ff7.
  uint64_t outside = unsigned(type) < 6 ? 0 : 0x7ff77ff77ff77ff7;
  std::vector<uint8_t> wantTensor = before, wantMemory = filled;
  for (uint64_t e = 0; e < elements; ++e) {
    uint64_t rest = e, at = 0;
    bool inside = true;
    for (unsigned i = 0; i < rank; ++i) {
      int64_t c = coords[i] + int64_t(rest % spec.box[i]);
      rest /= spec.box[i];
      inside &= c >= 0 && c < int64_t(spec.dims[i]);
      at += uint64_t(c) * (i == 0 ? size : spec.strides[i - 1]);
    }
    uint64_t place = placeOf(e * size, swizzle);
    if (store) {
      if (inside && !reduction.empty())
        reduce(&wantTensor[at], &filled[place], size, reduction == ".add");
      else if (inside)
        memcpy(&wantTensor[at], &filled[place], size);
      continue;
    }
    uint64_t value = fill == TensorMapFill::NaN ? outside : 0;
    if (inside)
      memcpy(&value, &before[at], size);
    for (unsigned block = 0; block < 4; ++block)
      if (mask >> block & 1)
        memcpy(&wantMemory[block * boxBytesMax + place], &value, size);
  }
  if (memcmp(tensor, wantTensor.data(), total) != 0)
    fail(name + ": the tensor differs");
  for (unsigned block = 0; block < 4; ++block) {
    bool came = !store && mask >> block & 1;
    uint64_t first = block * boxBytesMax;
    if (memcmp(memory + first, &wantMemory[first], came ? bytes : boxBytesMax))
      fail(name + ": block " + std::to_string(block) + " differs");
  }
  ++copies;
}

int main() {
  for (unsigned repeat = 0; repeat < 2; ++repeat)
    for (unsigned rank = 1; rank <= 5; ++rank)
      for (unsigned type = 0; type <= 10; ++type)
        for (TensorMapSwizzle swizzle :
             {TensorMapSwizzle::None, TensorMapSwizzle::B32,
              TensorMapSwizzle::B64, TensorMapSwizzle::B128}) {
          bool isFloat = type >= 6;
          TensorMapFill fill = isFloat && random_() % 2 ? TensorMapFill::NaN
                                                        : TensorMapFill::Zeros;
          check(rank, TensorMapType(type), swizzle, fill, 1, false);
          check(rank, TensorMapType(type), swizzle, fill, 2 + random_() % 14,
                false);
          check(rank, TensorMapType(type), swizzle, fill, 1, true);
          check(rank, TensorMapType(type), swizzle, fill, 1, true, "",
                /*replaced=*/true);
          // u32, s32, u64
          if (type >= 2 && type <= 4)
            check(rank, TensorMapType(type), swizzle, fill, 1, true,
                  repeat ? ".add" : ".xor");
        }
  printf("%u copies agree\n", copies);
  return copies < 500;
}
