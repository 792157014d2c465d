// What a kernel is fed: matrices drawn from a named distribution by a counter-based generator, so
// that a seed gives the same bits on a host and on a GPU, whatever the order of filling.
#pragma once

#include <cstdint>

#include "correctness/memory.hpp"
#include "correctness/regime.hpp"
#include "kernels/gemm.hpp"

namespace gemm {

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
void poison(const Problem& problem, void* c, Space space, std::uint16_t payload);

/// Change the sign of the elements of A or C, not of their padding, ordered as fill() is. With both
/// negated, alpha A B + beta C0 and its roundings to nearest become their negatives: other inputs,
/// in the same memory, for which Expected is known.
void negate_a(const Problem& problem, void* a, Space space);
void negate_c(const Problem& problem, void* c, Space space);

}  // namespace gemm
