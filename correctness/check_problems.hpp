// The problems that every kernel is checked on: small, and between them full of edges.
#pragma once

#include <vector>

#include "kernels/gemm.hpp"

namespace gemm {

/// For each precision: sizes around tile edges, layouts, scalars, padding and batches, such that
/// any two values of different properties meet in some problem (m, n and k among themselves
/// excepted). Half of the list has any sizes; the other half has rows that divide by eight
/// elements, for kernels that need aligned rows. A GPU's list reaches the edges of larger tiles.
std::vector<Problem> check_problems(Space space);

}  // namespace gemm
