// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// As much of CUDA as clang has without the toolkit's headers.
#define __device__ __attribute__((device))
#define __global__ extern "C" __attribute__((global))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))
__device__ inline int threadIdx_x() { return __nvvm_read_ptx_sreg_tid_x(); }
__device__ inline int threadIdx_y() { return __nvvm_read_ptx_sreg_tid_y(); }
__device__ inline int blockIdx_x() { return __nvvm_read_ptx_sreg_ctaid_x(); }
__device__ inline int blockDim_x() { return __nvvm_read_ptx_sreg_ntid_x(); }
__device__ inline int gridDim_x() { return __nvvm_read_ptx_sreg_nctaid_x(); }
#define __syncthreads() asm volatile("bar.sync 0;" ::: "memory")
