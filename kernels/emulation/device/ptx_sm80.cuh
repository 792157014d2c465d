// In place of kernels/device/ptx_sm80.cuh: the same names, emulated.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <type_traits>

#include "kernels/emulation/ptx.hpp"

namespace gemm::device {

inline unsigned shared_address(const void* pointer) { return emulation::address_of(pointer); }
inline unsigned kept(unsigned value) { return value; }

inline void cp_async_16(unsigned to, const void* from, int valid) {
  emulation::cp_async(to, from, 16, valid);
}
inline void cp_async_4(unsigned to, const void* from, int valid) {
  emulation::cp_async(to, from, 4, valid);
}
using emulation::cp_async_commit_group;
template <int pending>
void cp_async_wait_group() {
  emulation::cp_async_wait_group(pending);
}

inline void ldmatrix_x4(unsigned (&to)[4], unsigned address) {
  emulation::ldmatrix_x4(to, address, false);
}
inline void ldmatrix_x4_trans(unsigned (&to)[4], unsigned address) {
  emulation::ldmatrix_x4(to, address, true);
}

/// What the tensor core takes a storage type for.
template <class Storage>
constexpr emulation::Element tensor_core_element =
    std::is_same_v<Storage, __half>          ? emulation::Element::fp16
    : std::is_same_v<Storage, __nv_bfloat16> ? emulation::Element::bf16
                                             : emulation::Element::tf32;

template <class Storage>
void mma_16x8(float (&d)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
  emulation::mma_16x8(tensor_core_element<Storage>, d, a, b0, b1);
}

}  // namespace gemm::device
