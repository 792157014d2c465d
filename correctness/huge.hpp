// Problems beyond what indices of 32 bits, grids of 65535 tiles and an FP64 product can take.
#pragma once

#include <vector>

#include "correctness/examine.hpp"
#include "correctness/regime.hpp"
#include "kernels/gemm.hpp"

namespace gemm {

/// In every precision: A, B and C past 2^31 elements each, more than 65535 tiles down, across and
/// in the batch, and a cube that FP64 cannot multiply in a test.
std::vector<Problem> huge_problems();

/// Is the FP64 result too much to compute and keep for every element?
bool needs_sample(const Problem&);

/// As examine(), where needs_sample() says so: one launch; on sparse_integer inputs every row by
/// Freivalds' check; in either regime rows at the ends of C, where an index passes 2^31, and at
/// random places against FP64; the padding of C, its guard bands, and that A and B are unchanged.
Examination examine_by_sample(const Kernel& kernel, const Problem& problem, Regime regime,
                              std::uint64_t seed);

/// Why the kernel cannot be examined on this huge problem here, or nothing: it refuses, it would
/// take too long at its stage's slowest rate, there is no GPU or too little memory on it.
Refusal refuses_huge(const Kernel&, const Problem&, const Device&);

}  // namespace gemm
