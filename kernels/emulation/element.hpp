// Operand elements of the tensor core as numbers.
#pragma once

#include <bit>
#include <cstdint>

#include "kernels/emulation/warpgroup.hpp"

namespace gemm::emulation {

/// Of each of the 65536 bit patterns of FP16.
extern const float* const fp16_values;

inline float value_of_bits16(Element element, std::uint16_t bits) {
  return element == Element::fp16 ? fp16_values[bits]
                                  : std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}
/// The tensor core reads 10 bits of the mantissa.
inline float value_of_tf32(std::uint32_t bits) { return std::bit_cast<float>(bits & 0xffffe000u); }

/// Element e of those that a register holds.
inline float value_of(Element element, std::uint32_t bits, int e) {
  return element == Element::tf32
             ? value_of_tf32(bits)
             : value_of_bits16(element, static_cast<std::uint16_t>(bits >> 16 * e));
}

}  // namespace gemm::emulation
