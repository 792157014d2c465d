// What a kernel is fed: matrices drawn from a named distribution by a counter-based generator, so
// that a seed gives the same bits on a host and on a GPU, whatever the order of filling.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "correctness/memory.hpp"
#include "kernels/gemm.hpp"

namespace gemm {

/// The distributions of A, B and C's initial value.
///   symmetric     U[-1, 1]; zero mean, hides bias, shows permutations
///   positive      U[0, 1); hides permutations, shows lost and truncated terms
///   wide_integer  integers |x| <= L with k L^2 + |beta| L <= 2^24: every order of summation is
///   exact,
///                 so the result must be equal bit for bit (alpha and beta powers of two, else the
///                 bound keeps its term for the epilogue)
enum class Regime { symmetric, positive, wide_integer };
std::string_view name(Regime);
const std::vector<Regime>& all_regimes();

/// L of Regime::wide_integer for this problem: the largest that keeps every partial sum exact in
/// FP32, every input exact in the problem's storage type and, for FP16, results finite (six
/// standard deviations of a sum), since infinities hide errors; at least 1.
int integer_limit(const Problem&);

/// A, B and the initial C of one problem, in one space. Elements between the row's end and the
/// leading dimension are NaN, all bits set (as are those of C): padding must not change anything.
/// An element's value does not depend on the padding. Complete on return: any stream may read them.
struct Inputs {
  Inputs(const Problem& problem, Regime regime, std::uint64_t seed, Space space);
  Regime regime;
  std::uint64_t seed;
  Buffer a, b, c;
};

/// Sets the elements of C, not its padding, to a quiet NaN whose low mantissa bits are `payload`
/// (at most 0x3f): what C holds before a launch with beta = 0. Ordered as fill() is.
void poison(const Problem& problem, const Buffer& c, std::uint16_t payload);

}  // namespace gemm
