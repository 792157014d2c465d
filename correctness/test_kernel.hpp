// For the tests of the gate: kernels that live in a test, on the host, sound or spoiled.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "correctness/format.hpp"
#include "correctness/inputs.hpp"

namespace gemm::test {

/// The values of a problem's inputs, addressed as the product addresses them.
class Values {
 public:
  Values(const Problem& problem, const Inputs& inputs)
      : problem_(problem),
        a_(values(problem, inputs.a)),
        b_(values(problem, inputs.b)),
        c_(values(problem, inputs.c)) {}

  float a(std::int64_t batch, std::int64_t row, std::int64_t p) const {
    const std::int64_t ld = problem_.lda();
    return a_[at(batch * problem_.a_stride() +
                 (problem_.a_transposed() ? p * ld + row : row * ld + p))];
  }
  float b(std::int64_t batch, std::int64_t p, std::int64_t column) const {
    const std::int64_t ld = problem_.ldb();
    return b_[at(batch * problem_.b_stride() +
                 (problem_.b_transposed() ? column * ld + p : p * ld + column))];
  }
  float c(std::int64_t batch, std::int64_t row, std::int64_t column) const {
    return c_[at(batch * problem_.c_stride() + row * problem_.ldc() + column)];
  }

 private:
  static std::size_t at(std::int64_t index) { return static_cast<std::size_t>(index); }

  static std::vector<float> values(const Problem& problem, const Buffer& matrix) {
    return with_storage(problem.precision, [&]<class F>(F) {
      const auto* stored = static_cast<const typename F::Bits*>(matrix.data());
      std::vector<float> decoded(matrix.bytes() / sizeof *stored);
      for (std::size_t i = 0; i < decoded.size(); ++i)
        decoded[i] = static_cast<float>(value_of<F>(stored[i]));
      return decoded;
    });
  }

  const Problem& problem_;
  std::vector<float> a_, b_, c_;
};

/// C as a launch finds it: the initial values, or NaN where beta = 0 promises not to read them.
inline Buffer initial_c(const Problem& problem, const Inputs& inputs) {
  Buffer c(Space::host, inputs.c.bytes());
  copy(c.data(), Space::host, inputs.c.data(), Space::host, inputs.c.bytes());
  if (problem.beta == 0) fill(c, 0xff);
  return c;
}

/// Rounds once and stores.
inline void store(const Problem& problem, const Buffer& c, std::int64_t batch, std::int64_t row,
                  std::int64_t column, double value) {
  with_storage(problem.precision, [&]<class F>(F) {
    static_cast<typename F::Bits*>(
        c.data())[batch * problem.c_stride() + row * problem.ldc() + column] =
        rounded_bits<F>(value);
  });
}

inline void for_each_element(
    const Problem& problem,
    const std::function<void(std::int64_t, std::int64_t, std::int64_t)>& visit) {
  for (std::int64_t batch = 0; batch < problem.batch; ++batch)
    for (std::int64_t row = 0; row < problem.shape.m; ++row)
      for (std::int64_t column = 0; column < problem.shape.n; ++column) visit(batch, row, column);
}

/// What a test kernel sums and how it finishes; the defaults are sound.
struct Steps {
  std::int64_t dropped_k = 0;                             ///< of the last products
  std::function<float(float)> round_sum = {};             ///< after each addition
  std::function<double(float sum, float c0)> epilogue{};  ///< in place of the linear one
};

/// FP32 accumulation in the order of k, one rounding at the end.
inline Buffer compute(const Problem& problem, const Inputs& inputs, const Steps& steps = {}) {
  const Values values(problem, inputs);
  Buffer c = initial_c(problem, inputs);
  const auto alpha = static_cast<float>(problem.alpha), beta = static_cast<float>(problem.beta);
  for_each_element(problem, [&](std::int64_t batch, std::int64_t row, std::int64_t column) {
    float sum = 0;
    for (std::int64_t p = 0; p < problem.shape.k - steps.dropped_k; ++p) {
      sum += values.a(batch, row, p) * values.b(batch, p, column);
      if (steps.round_sum) sum = steps.round_sum(sum);
    }
    const float c0 = beta == 0 ? 0 : values.c(batch, row, column);
    store(problem, c, batch, row, column,
          steps.epilogue ? steps.epilogue(sum, c0) : alpha * sum + beta * c0);
  });
  return c;
}

inline constexpr Precision all_precisions[] = {Precision::fp32, Precision::tf32, Precision::fp16,
                                               Precision::bf16};

}  // namespace gemm::test
