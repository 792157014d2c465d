// The storage formats bit by bit: exact decoding to FP64, and one rounding from FP64.
//
// Going from double to a 16-bit format by way of float rounds twice and is sometimes wrong by one
// unit in the last place, which is all that the gate allows a 16-bit result. Integer arithmetic
// makes a host and a GPU agree.
#pragma once

#include <cstdint>
#include <cstring>

#include "correctness/host_device.hpp"
#include "kernels/gemm.hpp"

namespace gemm {

/// A binary format of one sign bit, an exponent and a mantissa, in the upper bits of `Bits`.
template <class BitsType, int exponent, int mantissa>
struct Format {
  using Bits = BitsType;
  static constexpr int exponent_bits = exponent;
  static constexpr int mantissa_bits = mantissa;
  static constexpr int unused_bits = 8 * sizeof(Bits) - 1 - exponent - mantissa;
  static constexpr int bias = (1 << (exponent - 1)) - 1;
};
using Fp32 = Format<std::uint32_t, 8, 23>;
using Tf32 = Format<std::uint32_t, 8, 10>;  ///< the same bits as Fp32 with the last 13 zero
using Fp16 = Format<std::uint16_t, 5, 10>;
using Bf16 = Format<std::uint16_t, 8, 7>;

template <class To, class From>
GEMM_HOST_DEVICE inline To same_bits(From from) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  memcpy(&to, &from, sizeof to);
  return to;
}

/// `value` rounded once, to nearest, ties to even. Beyond the largest finite value: infinity.
template <class F>
GEMM_HOST_DEVICE inline typename F::Bits rounded_bits(double value) {
  constexpr std::uint64_t hidden_bit = std::uint64_t{1} << 52;
  constexpr std::uint64_t infinity = ((std::uint64_t{1} << F::exponent_bits) - 1)
                                     << F::mantissa_bits;
  const auto bits = same_bits<std::uint64_t>(value);
  const std::uint64_t sign = bits >> 63 << (F::exponent_bits + F::mantissa_bits);

  std::uint64_t magnitude = 0;
  if (value != value) {
    magnitude = infinity | std::uint64_t{1} << (F::mantissa_bits - 1);
  } else {
    // The exponent that the result's last place belongs to: a subnormal's is the lowest normal one.
    const int exponent = static_cast<int>(bits >> 52 & 0x7ff) - 1023;
    const int kept = exponent < 1 - F::bias ? 1 - F::bias : exponent;
    const int dropped = 52 - F::mantissa_bits + (kept - exponent);
    if (dropped <= 53) {  // otherwise less than half of the smallest subnormal: zero
      const std::uint64_t significand = (bits & (hidden_bit - 1)) | hidden_bit;
      const std::uint64_t half = std::uint64_t{1} << (dropped - 1);
      const std::uint64_t rest = significand & (2 * half - 1);
      std::uint64_t quotient = significand >> dropped;
      quotient += rest > half || (rest == half && (quotient & 1)) ? 1 : 0;
      // The hidden bit, where there is one, and a carry out of the mantissa raise the exponent.
      magnitude = (static_cast<std::uint64_t>(kept + F::bias - 1) << F::mantissa_bits) + quotient;
      if (magnitude > infinity) magnitude = infinity;
    }
  }
  return static_cast<typename F::Bits>((sign | magnitude) << F::unused_bits);
}

/// Exact.
template <class F>
GEMM_HOST_DEVICE inline double value_of(typename F::Bits stored) {
  const std::uint64_t bits = stored >> F::unused_bits;
  const std::uint64_t sign = bits >> (F::exponent_bits + F::mantissa_bits);
  const std::uint64_t magnitude =
      bits & ((std::uint64_t{1} << (F::exponent_bits + F::mantissa_bits)) - 1);
  const std::uint64_t in_place = magnitude << (52 - F::mantissa_bits);

  const bool finite = (magnitude >> F::mantissa_bits) < (std::uint64_t{1} << F::exponent_bits) - 1;
  if (!finite) return same_bits<double>(sign << 63 | std::uint64_t{0x7ff} << 52 | in_place);
  // Read with FP64's bias the value is 2^(1023 - bias) too small; as the product is exact, this
  // normalises subnormals too.
  const double scale = same_bits<double>(static_cast<std::uint64_t>(2046 - F::bias) << 52);
  return same_bits<double>(sign << 63 | in_place) * scale;
}

/// A NaN that no arithmetic makes: what padding is filled with, and what memory set to 0xff holds.
template <class F>
GEMM_HOST_DEVICE inline typename F::Bits padding_bits() {
  return static_cast<typename F::Bits>(~typename F::Bits{0});
}

/// Calls f with the Format in which a matrix of this precision is stored.
template <class Callable>
auto with_storage(Precision precision, Callable&& f) {
  switch (precision) {
    case Precision::fp16:
      return f(Fp16{});
    case Precision::bf16:
      return f(Bf16{});
    case Precision::fp32:
    case Precision::tf32:
      break;
  }
  return f(Fp32{});
}

}  // namespace gemm
