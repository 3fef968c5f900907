/* What headers of launch records share. ----------------------------------- */
#ifndef KVCACHE_LAUNCH_COMMON_1
#define KVCACHE_LAUNCH_COMMON_1

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#if !defined(CUDA_VERSION) && !defined(KVCACHE_LAUNCH_NO_CUDA_H) &&            \
    defined(__has_include)
#if __has_include(<cuda.h>)
#include <cuda.h>
#endif
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Of the CUDA driver API, where its header is not at hand. */
#ifndef CUDA_VERSION
typedef unsigned long long CUdeviceptr;
typedef struct CUfunc_st *CUfunction;
typedef struct CUstream_st *CUstream;
typedef int CUresult;
typedef int CUfunction_attribute;
CUresult cuLaunchKernel(CUfunction function, unsigned grid_x, unsigned grid_y,
                        unsigned grid_z, unsigned block_x, unsigned block_y,
                        unsigned block_z, unsigned shared_bytes,
                        CUstream stream, void **parameters, void **extra);
CUresult cuFuncSetAttribute(CUfunction function, CUfunction_attribute attribute,
                            int value);
#endif

/* What a launcher returns. All but the last are found before any launch. */
enum kvcache_launch_status {
  KVCACHE_LAUNCH_OK = 0,
  /* A null pointer where one is needed. */
  KVCACHE_LAUNCH_NULL = 1,
  /* A size that the kernels are not made for, or a negative one. */
  KVCACHE_LAUNCH_SIZE = 2,
  KVCACHE_LAUNCH_STRIDE = 3,
  KVCACHE_LAUNCH_ALIGNMENT = 4,
  /* A number that does not fit where it is needed. */
  KVCACHE_LAUNCH_RANGE = 5,
  /* Grid, block or shared memory above what the hardware has. */
  KVCACHE_LAUNCH_LIMIT = 6,
  KVCACHE_LAUNCH_WORKSPACE = 7,
  /* A requirement of the program that was compiled. */
  KVCACHE_LAUNCH_REQUIREMENT = 8,
  /* The driver refused; launches before this one have been made. */
  KVCACHE_LAUNCH_DRIVER = 9
};

typedef struct {
  /* 0 where there is nothing to launch. */
  int run;
  unsigned grid[3], block[3];
  /* Dynamic shared memory of a block. */
  unsigned shared_bytes;
} kvcache_launch_geometry;

static inline int kvcache_launch_fail(int status, char *message, size_t bytes,
                                      const char *format, ...) {
  if (message && bytes) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, bytes, format, arguments);
    va_end(arguments);
  }
  return status;
}

/* Arithmetic on 64 bits; a quotient or rest by 0 is 0. */
static inline int64_t kvcache_add(int64_t a, int64_t b) {
  return (int64_t)((uint64_t)a + (uint64_t)b);
}
static inline int64_t kvcache_sub(int64_t a, int64_t b) {
  return (int64_t)((uint64_t)a - (uint64_t)b);
}
static inline int64_t kvcache_mul(int64_t a, int64_t b) {
  return (int64_t)((uint64_t)a * (uint64_t)b);
}
static inline int kvcache_add_overflows(int64_t a, int64_t b) {
  return b > 0 ? a > INT64_MAX - b : a < INT64_MIN - b;
}
static inline int kvcache_sub_overflows(int64_t a, int64_t b) {
  return b < 0 ? a > INT64_MAX + b : a < INT64_MIN + b;
}
static inline int kvcache_mul_overflows(int64_t a, int64_t b) {
  if (a > 0)
    return b > 0 ? a > INT64_MAX / b : b < INT64_MIN / a;
  if (a == 0)
    return 0;
  return b > 0 ? a < INT64_MIN / b : b < INT64_MAX / a;
}
static inline int64_t kvcache_truncdiv(int64_t a, int64_t b) {
  return b == 0 ? 0 : b == -1 ? kvcache_sub(0, a) : a / b;
}
static inline int64_t kvcache_truncmod(int64_t a, int64_t b) {
  return b == 0 || b == -1 ? 0 : a % b;
}
static inline int64_t kvcache_floordiv(int64_t a, int64_t b) {
  int64_t rest = kvcache_truncmod(a, b);
  return kvcache_truncdiv(a, b) - (rest != 0 && (rest < 0) != (b < 0));
}
static inline int64_t kvcache_ceildiv(int64_t a, int64_t b) {
  int64_t rest = kvcache_truncmod(a, b);
  return kvcache_truncdiv(a, b) + (rest != 0 && (rest < 0) == (b < 0));
}
static inline int64_t kvcache_udiv(int64_t a, int64_t b) {
  return b == 0 ? 0 : (int64_t)((uint64_t)a / (uint64_t)b);
}
static inline int64_t kvcache_umod(int64_t a, int64_t b) {
  return b == 0 ? 0 : (int64_t)((uint64_t)a % (uint64_t)b);
}
static inline int64_t kvcache_ult(int64_t a, int64_t b) {
  return (uint64_t)a < (uint64_t)b;
}
static inline int64_t kvcache_shl(int64_t a, int64_t b) {
  return b < 0 || b > 63 ? 0 : (int64_t)((uint64_t)a << b);
}
static inline int64_t kvcache_ushr(int64_t a, int64_t b) {
  return b < 0 || b > 63 ? 0 : (int64_t)((uint64_t)a >> b);
}
static inline int64_t kvcache_shr(int64_t a, int64_t b) {
  return a < 0 ? ~kvcache_ushr(~a, b) : kvcache_ushr(a, b);
}
static inline int64_t kvcache_min(int64_t a, int64_t b) {
  return a < b ? a : b;
}
static inline int64_t kvcache_max(int64_t a, int64_t b) {
  return a > b ? a : b;
}
static inline int64_t kvcache_zext(int64_t a, int bits) {
  return (int64_t)((uint64_t)a & (((uint64_t)1 << bits) - 1));
}
static inline int64_t kvcache_sext(int64_t a, int bits) {
  uint64_t sign = (uint64_t)1 << (bits - 1);
  return (int64_t)(((uint64_t)kvcache_zext(a, bits) ^ sign) - sign);
}
static inline int64_t kvcache_float_bits(float number) {
  int32_t bits;
  memcpy(&bits, &number, sizeof(bits));
  return bits;
}
static inline int64_t kvcache_double_bits(double number) {
  int64_t bits;
  memcpy(&bits, &number, sizeof(bits));
  return bits;
}

/* Checks a tensor of `rank` dimensions against what kernels are made for; a
 * negative number of `sizes` or `strides` is free. A stride counts where its
 * size is above 1 and the tensor has elements. */
static inline int
kvcache_check_tensor(const char *who, const char *name, int rank,
                     const int64_t *size, const int64_t *stride,
                     const int64_t *sizes, const int64_t *strides, int packed,
                     int *has_elements, char *message, size_t message_bytes) {
  int dim;
  int64_t inner = 1;
  *has_elements = 1;
  for (dim = 0; dim < rank; ++dim) {
    if (size[dim] < 0)
      return kvcache_launch_fail(KVCACHE_LAUNCH_SIZE, message, message_bytes,
                                 "%s: %s.size[%d] is %lld, expected at least 0",
                                 who, name, dim, (long long)size[dim]);
    if (sizes[dim] >= 0 && size[dim] != sizes[dim])
      return kvcache_launch_fail(KVCACHE_LAUNCH_SIZE, message, message_bytes,
                                 "%s: %s.size[%d] is %lld, expected %lld", who,
                                 name, dim, (long long)size[dim],
                                 (long long)sizes[dim]);
    if (size[dim] == 0)
      *has_elements = 0;
  }
  for (dim = rank; *has_elements && dim-- > 0;) {
    int64_t expected = packed ? inner : strides[dim];
    if (stride[dim] < 0)
      return kvcache_launch_fail(
          KVCACHE_LAUNCH_STRIDE, message, message_bytes,
          "%s: %s.stride[%d] is %lld, expected at least 0", who, name, dim,
          (long long)stride[dim]);
    if (size[dim] > 1 && expected >= 0 && stride[dim] != expected)
      return kvcache_launch_fail(KVCACHE_LAUNCH_STRIDE, message, message_bytes,
                                 "%s: %s.stride[%d] is %lld, expected %lld",
                                 who, name, dim, (long long)stride[dim],
                                 (long long)expected);
    if (kvcache_mul_overflows(inner, size[dim]))
      return kvcache_launch_fail(
          KVCACHE_LAUNCH_RANGE, message, message_bytes,
          "%s: %s has %lld times %lld elements, which 64 bits cannot count",
          who, name, (long long)size[dim], (long long)inner);
    inner *= size[dim];
  }
  return KVCACHE_LAUNCH_OK;
}

static inline int kvcache_check_pointer(const char *who, const char *name,
                                        uint64_t pointer, uint64_t alignment,
                                        char *message, size_t message_bytes) {
  if (pointer == 0)
    return kvcache_launch_fail(KVCACHE_LAUNCH_NULL, message, message_bytes,
                               "%s: %s is null", who, name);
  if (pointer % alignment != 0)
    return kvcache_launch_fail(
        KVCACHE_LAUNCH_ALIGNMENT, message, message_bytes,
        "%s: %s is 0x%llx, %llu bytes past a multiple of %llu", who, name,
        (unsigned long long)pointer, (unsigned long long)(pointer % alignment),
        (unsigned long long)alignment);
  return KVCACHE_LAUNCH_OK;
}

/* Checks a launch against the hardware's limits and fills `geometry`.
 * `made_for` is the block that the kernel was compiled for, or null. */
static inline int kvcache_check_geometry(
    const char *who, const int64_t *grid, const int64_t *block,
    int64_t shared_bytes, int64_t max_shared_bytes, const int64_t *made_for,
    kvcache_launch_geometry *geometry, char *message, size_t message_bytes) {
  static const int64_t max_grid[3] = {2147483647, 65535, 65535};
  static const int64_t max_block[3] = {1024, 1024, 64};
  int dim;
  for (dim = 0; dim < 3; ++dim) {
    if (grid[dim] < 0 || grid[dim] > max_grid[dim])
      return kvcache_launch_fail(
          KVCACHE_LAUNCH_LIMIT, message, message_bytes,
          "%s: the grid's %c size is %lld, expected 0 to %lld", who, "xyz"[dim],
          (long long)grid[dim], (long long)max_grid[dim]);
    if (block[dim] < 1 || block[dim] > max_block[dim])
      return kvcache_launch_fail(
          KVCACHE_LAUNCH_LIMIT, message, message_bytes,
          "%s: the block's %c size is %lld, expected 1 to %lld", who,
          "xyz"[dim], (long long)block[dim], (long long)max_block[dim]);
    if (made_for && block[dim] != made_for[dim])
      return kvcache_launch_fail(
          KVCACHE_LAUNCH_LIMIT, message, message_bytes,
          "%s: the block's %c size is %lld, but the kernel is made for %lld",
          who, "xyz"[dim], (long long)block[dim], (long long)made_for[dim]);
  }
  if (block[0] * block[1] * block[2] > 1024)
    return kvcache_launch_fail(KVCACHE_LAUNCH_LIMIT, message, message_bytes,
                               "%s: a block of %lld threads, expected at most "
                               "1024",
                               who,
                               (long long)(block[0] * block[1] * block[2]));
  if (shared_bytes < 0 || shared_bytes > max_shared_bytes)
    return kvcache_launch_fail(
        KVCACHE_LAUNCH_LIMIT, message, message_bytes,
        "%s: %lld bytes of dynamic shared memory, expected 0 to %lld", who,
        (long long)shared_bytes, (long long)max_shared_bytes);
  geometry->run = grid[0] && grid[1] && grid[2];
  for (dim = 0; dim < 3; ++dim) {
    geometry->grid[dim] = (unsigned)grid[dim];
    geometry->block[dim] = (unsigned)block[dim];
  }
  geometry->shared_bytes = (unsigned)shared_bytes;
  return KVCACHE_LAUNCH_OK;
}

static inline int kvcache_launch_kernel(const char *who, CUfunction function,
                                        const kvcache_launch_geometry *geometry,
                                        unsigned static_shared_bytes,
                                        CUstream stream, void **parameters,
                                        char *message, size_t message_bytes) {
  /* CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES; above 48 KiB a kernel has
   * to opt in. */
  if (geometry->shared_bytes + static_shared_bytes > 49152) {
    CUresult result = cuFuncSetAttribute(function, (CUfunction_attribute)8,
                                         (int)geometry->shared_bytes);
    if (result != 0)
      return kvcache_launch_fail(
          KVCACHE_LAUNCH_DRIVER, message, message_bytes,
          "%s: cuFuncSetAttribute for %u bytes of shared memory returned %d",
          who, geometry->shared_bytes, (int)result);
  }
  {
    CUresult result = cuLaunchKernel(
        function, geometry->grid[0], geometry->grid[1], geometry->grid[2],
        geometry->block[0], geometry->block[1], geometry->block[2],
        geometry->shared_bytes, stream, parameters, NULL);
    if (result != 0)
      return kvcache_launch_fail(KVCACHE_LAUNCH_DRIVER, message, message_bytes,
                                 "%s: cuLaunchKernel returned %d", who,
                                 (int)result);
  }
  return KVCACHE_LAUNCH_OK;
}

#ifdef __cplusplus
}
#endif

#endif /* KVCACHE_LAUNCH_COMMON_1 */
