// The order in which a trial visits its points: another one for each seed, so that no kernel always
// follows the same one on a warm card.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/gemm.hpp"

namespace gemm {

/// Problems in random order, and the kernels of each in random order: what one problem's points
/// share (inputs, oracle, buffers) is made once. A point's place follows from the seed and its id
/// alone: lists that differ in some points visit the others in the same order, and so do all
/// standard libraries.
void put_in_visiting_order(std::vector<Point>& points, std::uint64_t seed);

}  // namespace gemm
