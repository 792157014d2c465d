// The gate: every element of C must lie in an interval around the FP64 result. See README.md here
// for the bound and where its constants come from.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "correctness/inputs.hpp"
#include "correctness/memory.hpp"
#include "kernels/gemm.hpp"

namespace gemm {

/// One wrong element, for a person.
struct WrongElement {
  std::int64_t batch, row, column;
  double got, exact, low, high;
};

/// What a comparison found. `padding_touched` counts elements beyond column n that changed.
struct Findings {
  std::int64_t compared = 0, wrong = 0;
  std::int64_t padding_touched = 0;
  std::optional<WrongElement> first;
  /// Largest |C - exact|, beyond half a unit in the last place of C, over the allowed deviation T
  /// of its element; at most about 1 when passed. 0 for exact results.
  double worst_share_of_bound = 0;
  /// Largest |C - exact|, the output's own rounding included, over the largest |exact|: what a user
  /// of the precision sees. Of finite elements.
  double relative_error = 0;

  bool passed() const { return wrong == 0 && padding_touched == 0; }
  /// "12 of 4096 elements wrong; first at batch 0, row 3, column 5: got 1.5, allowed [1.1, 1.2]".
  std::string message() const;
};

/// Where wrong elements lie: C in cells, few enough for a picture, with the number of wrong
/// elements of each.
struct Mask {
  std::int64_t batch, rows, columns;         ///< the matrix of the batch and its size
  std::int64_t cell_rows, cell_columns;      ///< size of a cell; those at the edges may be smaller
  std::vector<std::vector<unsigned>> wrong;  ///< by row of cells
};

/// Rows of C, counted through the whole batch.
struct Rows {
  std::int64_t first, count;
};

/// The FP64 result of a problem on given inputs and what is allowed around it. Computed once, in
/// the space of the inputs, and compared with as many results as wanted. The inputs are read during
/// construction only. Not for two threads at a time.
class Expected {
 public:
  Expected(const Problem& problem, const Inputs& inputs);
  /// Of some rows only.
  Expected(const Problem& problem, const Inputs& inputs, const Rows& rows);

  Space space() const { return exact_.space(); }

  /// Compares a whole C (all batches, leading dimension included) in the inputs' space. Elements
  /// beyond column n must still hold Inputs' padding, which is also what fill(c, 0xff) leaves. On a
  /// GPU the caller has waited for the kernel. Throws std::invalid_argument if C is elsewhere or
  /// too small.
  Findings compare(const Buffer& c) const;
  /// The same where the caller answers for the space and the size.
  Findings compare(const void* c) const;

  /// Where in one matrix of the batch, all of whose rows are expected, the wrong elements lie.
  Mask mask(const void* c, std::int64_t batch) const;

 private:
  WrongElement describe(const void* c, std::int64_t index) const;

  Problem problem_;
  Rows rows_;
  Buffer exact_;    ///< double, packed rows x n: alpha A B + beta C0
  Buffer allowed_;  ///< float, likewise: T, from which and the exact value the interval follows
};

// The bound: T = |alpha| u f(k) S + e (|alpha A B| + |beta C0|) + d, where S = 1.02 |A||B|.
// bound.cpp is the one table of the project's tolerances.

/// u f(k): the accumulator's rounding, alpha and beta being powers of two.
double bound_coefficient(Precision, Regime, std::int64_t k);
/// The same for the problem's alpha and beta.
double bound_coefficient(const Problem&, Regime);

/// e: the roundings of alpha A B + beta C0, 4 2^-24, or 0 where all of them are exact.
double epilogue_coefficient(const Problem&, Regime);

/// d: what is lost, however small the numbers, where FP32 itself is subnormal.
double underflow_allowance(const Problem&, Regime);

}  // namespace gemm
