// The control of the host ladder: OpenBLAS.
//
// On host_threads() threads, as the top rung. OpenBLAS multiplies FP32 only, so for 16-bit storage
// this does what its user would: widens the operands, calls sgemm, rounds the result. The time of a
// 16-bit problem includes both conversions.
#include <cblas.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

#include "kernels/gemm.hpp"
#include "kernels/scalar.hpp"

namespace gemm {
namespace {

/// OpenBLAS counts in blasint, which is 32 bits wide in the usual build.
Refusal refuses(const Problem& problem) {
  if (problem.epilogue != Epilogue::linear) return "sgemm has the linear epilogue only";
  const auto [m, n, k] = problem.shape;
  const std::int64_t largest = std::max({m, n, k, problem.lda(), problem.ldb(), problem.ldc()});
  if (largest <= std::numeric_limits<blasint>::max()) return {};
  return "this OpenBLAS takes dimensions up to " +
         std::to_string(std::numeric_limits<blasint>::max()) + ", not " + std::to_string(largest);
}

/// FP32 matrices of one product, row-major.
struct Sgemm {
  const float* a;
  const float* b;
  float* c;
  std::int64_t lda, ldb, ldc;
};

void sgemm(const Problem& problem, const Sgemm& matrices) {
  const auto dimension = [](std::int64_t value) { return static_cast<blasint>(value); };
  // An empty row has a leading dimension of 0, which BLAS does not allow.
  const auto leading = [](std::int64_t ld) {
    return static_cast<blasint>(std::max<std::int64_t>(ld, 1));
  };
  const auto transposed = [](bool yes) { return yes ? CblasTrans : CblasNoTrans; };
  // With alpha = 0 BLAS does not look at A and B, but the small-matrix path of OpenBLAS 0.3.21
  // multiplies them by it, and 0 x NaN is NaN. With k = 0 there is nothing to multiply.
  const std::int64_t k = problem.alpha == 0 ? 0 : problem.shape.k;
  cblas_sgemm(CblasRowMajor, transposed(problem.a_transposed()), transposed(problem.b_transposed()),
              dimension(problem.shape.m), dimension(problem.shape.n), dimension(k),
              static_cast<float>(problem.alpha), matrices.a, leading(matrices.lda), matrices.b,
              leading(matrices.ldb), static_cast<float>(problem.beta), matrices.c,
              leading(matrices.ldc));
}

/// A matrix of 16-bit elements as FP32, without the gaps between its rows.
template <typename T>
void widen(const T* from, std::int64_t rows, std::int64_t columns, std::int64_t ld,
           std::vector<float>& to) {
  to.resize(static_cast<std::size_t>(rows * columns));
  for (std::int64_t i = 0; i < rows; ++i) {
    std::transform(from + i * ld, from + i * ld + columns, to.data() + i * columns, to_float<T>);
  }
}

template <typename T>
void multiply(const Problem& problem, const T* a, const T* b, T* c) {
  if constexpr (std::is_same_v<T, float>) {
    sgemm(problem, {a, b, c, problem.lda(), problem.ldb(), problem.ldc()});
  } else {
    // Kept between calls: a user who multiplies often does not allocate each time.
    thread_local std::vector<float> wide_a, wide_b, wide_c;
    const std::int64_t m = problem.shape.m, n = problem.shape.n;
    const std::int64_t lda = problem.lda() - problem.pad.a, ldb = problem.ldb() - problem.pad.b;
    if (problem.alpha != 0) {
      widen(a, problem.a_rows(), lda, problem.lda(), wide_a);
      widen(b, problem.b_rows(), ldb, problem.ldb(), wide_b);
    }
    wide_c.resize(static_cast<std::size_t>(m * n));
    if (problem.beta != 0) widen(c, m, n, problem.ldc(), wide_c);
    sgemm(problem, {wide_a.data(), wide_b.data(), wide_c.data(), lda, ldb, n});
    for (std::int64_t i = 0; i < m; ++i) {
      std::transform(wide_c.data() + i * n, wide_c.data() + (i + 1) * n, c + i * problem.ldc(),
                     [](float value) { return round_to<T>(value); });
    }
  }
}

void launch(const Problem& problem, const Operands& operands) {
  // Here, since the setting is the process's and others may change it.
  openblas_set_num_threads(host_threads());
  visit(problem.precision, [&]<typename T>(std::type_identity<T>) {
    for (std::int64_t i = 0; i < problem.batch; ++i) {
      multiply(problem, static_cast<const T*>(operands.a) + i * problem.a_stride(),
               static_cast<const T*>(operands.b) + i * problem.b_stride(),
               static_cast<T*>(operands.c) + i * problem.c_stride());
    }
  });
}

const Register registered{{.name = "openblas",
                           .stage = Stage::cpu_vendor,
                           .idea = "OpenBLAS sgemm; 16-bit storage is widened for it",
                           .arch = Arch::host,
                           .refuses = refuses,
                           .launch = launch,
                           .control = true}};

}  // namespace

int host_threads() {
  static const int at_start = std::min(openblas_get_num_threads(), most_host_threads);
  return at_start;
}

}  // namespace gemm
