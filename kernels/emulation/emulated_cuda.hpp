// What nvcc gives a CUDA source without an #include, for g++. Included before each translated
// source.
#pragma once

#include <cuda_runtime.h>

#include <cmath>
#include <cstring>

#include "kernels/emulation/machine.hpp"
#include "kernels/emulation/ptx.hpp"
#include "kernels/emulation/runtime.hpp"

#undef __launch_bounds__
#define __launch_bounds__(...)
#undef __grid_constant__
#define __grid_constant__

#define threadIdx (::gemm::emulation::running_thread->index)
#define blockIdx (::gemm::emulation::running_thread->block->index)
#define blockDim (::gemm::emulation::geometry.block)
#define gridDim (::gemm::emulation::geometry.grid)

template <class Number>
constexpr Number min(Number x, Number y) {
  return y < x ? y : x;
}
template <class Number>
constexpr Number max(Number x, Number y) {
  return x < y ? y : x;
}

template <class T>
T __ldg(const T* address) {
  return *address;
}

inline float __uint_as_float(unsigned bits) {
  float x;
  std::memcpy(&x, &bits, sizeof x);
  return x;
}
inline unsigned __float_as_uint(float x) {
  unsigned bits;
  std::memcpy(&bits, &x, sizeof bits);
  return bits;
}

inline void __syncthreads() { ::gemm::emulation::block_sync(); }
inline void __syncwarp(unsigned lanes = 0xffffffffu) { ::gemm::emulation::warp_sync(lanes); }

template <class T>
T __shfl_sync(unsigned lanes, T value, int source) {
  static_assert(sizeof(T) <= 8);
  std::uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof value);
  bits = ::gemm::emulation::shuffle(lanes, bits, static_cast<unsigned>(source) % 32);
  std::memcpy(&value, &bits, sizeof value);
  return value;
}
