// The project's one table of tolerances. README.md says where the constants come from.
#include <cmath>
#include <stdexcept>

#include "correctness/expected.hpp"

namespace gemm {

double bound_coefficient(Precision precision, Regime regime, std::int64_t k) {
  if (regime == Regime::wide_integer) return 0;  // every partial sum is exact

  constexpr double unit_roundoff = 0x1p-24;  // of the FP32 accumulator
  const auto terms = static_cast<double>(k);
  const double random_walk = 8 + std::sqrt(terms);
  if (regime == Regime::symmetric) return unit_roundoff * random_walk;

  // A tensor core truncates, so on data of one sign its error grows like k.
  switch (precision) {
    case Precision::fp32:
      return unit_roundoff * random_walk;
    case Precision::tf32:
      return unit_roundoff * (8 + 0.82 * terms);
    case Precision::fp16:
    case Precision::bf16:
      return unit_roundoff * (8 + 0.66 * terms);
  }
  throw std::logic_error("a precision without a bound");
}

}  // namespace gemm
