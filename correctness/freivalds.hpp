// An exact check of results that are too large for an FP64 product.
#pragma once

#include <cstdint>
#include <optional>

#include "correctness/inputs.hpp"
#include "correctness/memory.hpp"
#include "kernels/gemm.hpp"

namespace gemm {

/// Freivalds' check with integers: for vectors x of random signs, C x must equal
/// alpha A (B x) + beta C0 x. On inputs of Regime::sparse_integer, |alpha| and |beta| being 1 or 0,
/// all sums are integers that FP64 holds, so that the comparison is exact; a wrong row passes with
/// a probability of 2^-32. (R. Freivalds, "Probabilistic machines can use less running time",
/// 1977.)
///
/// Linear in the size of the matrices, where the product is not.
class Freivalds {
 public:
  Freivalds(const Problem& problem, const Inputs& inputs, std::uint64_t seed);

  struct WrongRow {
    std::int64_t batch, row;
  };
  /// The first wrong row of a whole C in the space of the inputs.
  std::optional<WrongRow> first_wrong_row(const void* c) const;

 private:
  Problem problem_;
  Buffer signs_;     ///< double, n x vectors
  Buffer products_;  ///< double, batch x m x vectors: A (B x)
  Buffer carried_;   ///< double, likewise: C0 x; empty if beta is 0
};

}  // namespace gemm
