// Random problems, and the smallest one that still fails.
#pragma once

#include <cstdint>
#include <functional>

#include "correctness/regime.hpp"
#include "kernels/gemm.hpp"

namespace gemm {

/// A problem on inputs of a class.
struct Subject {
  Problem problem;
  Regime regime = Regime::symmetric;
  std::uint64_t seed = 1;
};

/// Number i of the seed's endless list. Sizes prefer the edges of tiles, and half of the problems
/// have rows that divide by eight elements; small enough for the space.
Subject random_subject(std::uint64_t seed, std::uint64_t i, Space space);

/// From a subject that fails, one that fails too and of which no single simplification does:
/// smaller sizes and batch, no padding, alpha = 1, beta = 0, nn, fp32, symmetric inputs, seed 1.
Subject shrink(Subject failing, const std::function<bool(const Subject&)>& fails);

}  // namespace gemm
