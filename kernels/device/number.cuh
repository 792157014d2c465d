// Storage types as the rungs see them: load widens to FP32, store rounds once.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

namespace gemm::device {

__device__ inline float widen(float x) { return x; }
__device__ inline float widen(__half x) { return __half2float(x); }
__device__ inline float widen(__nv_bfloat16 x) { return __bfloat162float(x); }

template <class Storage>
__device__ Storage round_to(float x);
template <>
__device__ inline float round_to<float>(float x) {
  return x;
}
template <>
__device__ inline __half round_to<__half>(float x) {
  return __float2half_rn(x);
}
template <>
__device__ inline __nv_bfloat16 round_to<__nv_bfloat16>(float x) {
  return __float2bfloat16_rn(x);
}

/// Two neighbours of 16 bits in one register, the first in its lower half.
template <class Storage>
__device__ unsigned pack(float first, float second) {
  static_assert(sizeof(Storage) == 2);
  struct alignas(4) Pair {
    Storage element[2];
  };
  return __builtin_bit_cast(unsigned, Pair{round_to<Storage>(first), round_to<Storage>(second)});
}

/// The linear epilogue, C = alpha (A B) + beta C, for one element. C is read only if beta is not 0,
/// so that it may hold anything, NaN included.
template <class Storage>
__device__ void store_linear(Storage* c, float product, float alpha, float beta) {
  float value = alpha * product;
  if (beta != 0.0f) value = fmaf(beta, widen(*c), value);
  *c = round_to<Storage>(value);
}

/// The same for two neighbours of a row, of which `valid` exist, in one access where that is
/// possible.
template <class Storage>
__device__ void store_linear_pair(Storage* c, float first, float second, long long valid,
                                  float alpha, float beta) {
  struct alignas(2 * sizeof(Storage)) Pair {
    Storage element[2];
  };
  if (valid >= 2 && reinterpret_cast<unsigned long long>(c) % sizeof(Pair) == 0) {
    Pair pair;
    if (beta != 0.0f) pair = *reinterpret_cast<const Pair*>(c);
    store_linear(&pair.element[0], first, alpha, beta);
    store_linear(&pair.element[1], second, alpha, beta);
    *reinterpret_cast<Pair*>(c) = pair;
  } else {
    if (valid >= 1) store_linear(c, first, alpha, beta);
    if (valid >= 2) store_linear(c + 1, second, alpha, beta);
  }
}

}  // namespace gemm::device
