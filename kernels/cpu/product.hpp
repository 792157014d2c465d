// What every host rung shares: how an operand is addressed, when there is nothing to sum, and how
// an output is stored. A rung supplies multiply(Product<T>) for one matrix product and no more.
#pragma once

#include <cstdint>
#include <type_traits>

#include "kernels/gemm.hpp"
#include "kernels/scalar.hpp"

namespace gemm::cpu {

/// op(X), addressed by the row and column of the product, whichever way X is stored.
template <typename T>
struct View {
  const T* data;
  std::int64_t row_stride, column_stride;

  float operator()(std::int64_t row, std::int64_t column) const {
    return to_float(data[row * row_stride + column * column_stride]);
  }
};

/// One matrix product of the batch, and the scratch that the kernel was lent.
template <typename T>
struct Product {
  std::int64_t m, n, k;
  View<T> a, b;
  T* c;
  std::int64_t ldc;
  float alpha, beta;
  void* workspace;

  /// C(row, column) from its finished sum; the only rounding to the storage type.
  void store(std::int64_t row, std::int64_t column, float sum) const {
    T& out = c[row * ldc + column];
    out = round_to<T>(beta == 0 ? alpha * sum : alpha * sum + beta * to_float(out));
  }
};

/// Calls multiply(Product<T>) for each product of the batch. Where k or alpha is 0 the product
/// has k = 0, so that a rung's loops read neither A nor B and leave beta C.
template <typename Multiply>
void for_each_product(const Problem& problem, const Operands& operands, Multiply multiply) {
  visit(problem.precision, [&]<typename T>(std::type_identity<T>) {
    const auto [m, n, k] = problem.shape;
    const auto alpha = static_cast<float>(problem.alpha), beta = static_cast<float>(problem.beta);
    const bool nothing_to_sum = k == 0 || alpha == 0;
    const std::int64_t lda = problem.lda(), ldb = problem.ldb();
    for (std::int64_t i = 0; i < problem.batch; ++i) {
      const T* a = static_cast<const T*>(operands.a) + i * problem.a_stride();
      const T* b = static_cast<const T*>(operands.b) + i * problem.b_stride();
      T* c = static_cast<T*>(operands.c) + i * problem.c_stride();
      multiply(Product<T>{
          .m = m,
          .n = n,
          .k = nothing_to_sum ? 0 : k,
          .a = problem.a_transposed() ? View<T>{a, 1, lda} : View<T>{a, lda, 1},
          .b = problem.b_transposed() ? View<T>{b, 1, ldb} : View<T>{b, ldb, 1},
          .c = c,
          .ldc = problem.ldc(),
          .alpha = nothing_to_sum ? 0 : alpha,
          .beta = beta,
          .workspace = operands.workspace,
      });
    }
  });
}

/// The host rungs compute every problem that has no more than a linear epilogue.
inline Refusal refuses(const Problem& problem) {
  if (problem.epilogue == Epilogue::linear) return {};
  return "host rungs have the linear epilogue only";
}

}  // namespace gemm::cpu
