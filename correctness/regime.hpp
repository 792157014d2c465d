// The classes of inputs that a kernel is fed.
#pragma once

#include <string_view>
#include <vector>

namespace gemm {

/// The distributions of A, B and C's initial value. "Exact": every order of summation gives the
/// same bits in FP32, so that the result must be equal bit for bit (see bound.cpp for alpha and
/// beta). x is U[-1, 1).
///   symmetric       x; zero mean, hides bias, shows permutations
///   positive        U[0, 1); hides permutations, shows lost and truncated terms
///   wide_integer    |x| <= L with k L^2 + |beta| L <= 2^24; exact, and as wide as can be
///   one_hot         each row of A has a single 1, B is x: rows of B; exact
///   permutation     each column of B has a single 1, and for n = k each row; A is x; exact
///   cancellation    the second half of k takes back what the first one added; x otherwise
///   wide_range      x 2^e with e = -8 .. 8 (for FP16 B is smaller, so that results are finite)
///   subnormal       along k, A and B take turns at being subnormal in their storage type
///   near_overflow   x, scaled so that results come near the largest finite value; FP16 passes it
///   signed_zero     +0, -0, +1, -1; exact. Either sign of a zero result is accepted
///   non_finite      x, with a NaN in one row of A, +inf in one column of B and -inf in C, each
///                   once a matrix: they must reach the elements that depend on them and no others
///   sparse_integer  16 of each row of A are +-1, |b| <= 8, |c| <= 128: exact, and at |alpha|,
///                   |beta| <= 1 so is the result in every storage type
enum class Regime {
  symmetric,
  positive,
  wide_integer,
  one_hot,
  permutation,
  cancellation,
  wide_range,
  subnormal,
  near_overflow,
  signed_zero,
  non_finite,
  sparse_integer,
};
std::string_view name(Regime);

/// The inverse of name(). Throws std::invalid_argument that lists the names.
Regime parse_regime(std::string_view name);

const std::vector<Regime>& all_regimes();

/// The first three, in which every kernel meets every check problem.
const std::vector<Regime>& base_regimes();

/// The others: between them, a kernel's check problems meet each with every other property.
const std::vector<Regime>& special_regimes();

}  // namespace gemm
