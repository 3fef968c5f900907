// The block and warp algorithms of CUB, which sort, scan and reduce in shared
// memory that they use over and over.
//
// REQUIRES: nvcc, long
// RUN: for arch in 80 90a; do \
// RUN:   %nvcc -ptx -arch=sm_$arch -std=c++17 -O2 -lineinfo -o %t.$arch.ptx %s && \
// RUN:   %python %S/Inputs/check_cub.py %t.$arch.ptx %t.d || exit 1; done
#include <cub/cub.cuh>

struct Larger {
  __device__ int operator()(int a, int b) const { return a > b ? a : b; }
};

using Reduce = cub::BlockReduce<int, 128>;
using Rake = cub::BlockReduce<int, 128, cub::BLOCK_REDUCE_RAKING>;
using Scan = cub::BlockScan<int, 128>;
using WarpsScan = cub::BlockScan<int, 128, cub::BLOCK_SCAN_WARP_SCANS>;
using Sort = cub::BlockRadixSort<int, 128, 4>;
using Load = cub::BlockLoad<int, 128, 4, cub::BLOCK_LOAD_WARP_TRANSPOSE>;
using Store = cub::BlockStore<int, 128, 4, cub::BLOCK_STORE_TRANSPOSE>;
using Histogram = cub::BlockHistogram<int, 128, 4, 16>;

// Of 512 keys a block: sorted, their sums before and up to each, sum and
// maximum, and how often each of 16 remainders is there.
extern "C" __global__ void block(const int *in, int *sorted, int *before, int *upTo,
                                 int *totals, int *counts) {
  __shared__ union {
    Reduce::TempStorage reduce;
    Rake::TempStorage rake;
    Scan::TempStorage scan;
    WarpsScan::TempStorage warpsScan;
    Sort::TempStorage sort;
    Load::TempStorage load;
    Store::TempStorage store;
    Histogram::TempStorage histogram;
  } room;
  __shared__ int bins[16];
  int first = blockIdx.x * 512, keys[4], sums[4], remainders[4];
  Load(room.load).Load(in + first, keys);
  __syncthreads();
  int sum = Reduce(room.reduce).Sum(keys);
  __syncthreads();
  int largest = Rake(room.rake).Reduce(keys, Larger());
  __syncthreads();
  Scan(room.scan).ExclusiveSum(keys, sums);
  __syncthreads();
  Store(room.store).Store(before + first, sums);
  __syncthreads();
  WarpsScan(room.warpsScan).InclusiveSum(keys, sums);
  __syncthreads();
  Store(room.store).Store(upTo + first, sums);
  __syncthreads();
  for (int i = 0; i < 4; ++i)
    remainders[i] = keys[i] & 15;
  Histogram(room.histogram).Histogram(remainders, bins);
  __syncthreads();
  Sort(room.sort).Sort(keys);
  __syncthreads();
  Store(room.store).Store(sorted + first, keys);
  if (threadIdx.x == 0) {
    totals[2 * blockIdx.x] = sum;
    totals[2 * blockIdx.x + 1] = largest;
  }
  if (threadIdx.x < 16)
    counts[16 * blockIdx.x + threadIdx.x] = bins[threadIdx.x];
}

extern "C" __global__ void warp(const int *in, int *halves, int *scanned) {
  using Half = cub::WarpReduce<int, 16>;
  using Whole = cub::WarpScan<int>;
  __shared__ Half::TempStorage half[8];
  __shared__ Whole::TempStorage whole[4];
  int t = threadIdx.x, sum = Half(half[t / 16]).Sum(in[t]);
  if (t % 16 == 0)
    halves[t / 16] = sum;
  Whole(whole[t / 32]).InclusiveSum(in[t], scanned[t]);
}
