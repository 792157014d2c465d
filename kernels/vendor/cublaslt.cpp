// cuBLASLt at its best: the library offers several algorithms for a problem, in the order in which
// it expects them to do well. Its first is often not its fastest, so the benchmark measures the
// first eight and keeps the winner; that is the figure to beat.
#include <cublasLt.h>

#include <array>
#include <unordered_map>

#include "kernels/vendor/cublas_common.hpp"

namespace {

using namespace gemm::vendor;

constexpr int most_variants = 8;

cublasLtHandle_t handle() {
  static const cublasLtHandle_t created = [] {
    cublasLtHandle_t made = nullptr;
    GEMM_CUBLAS(cublasLtCreate(&made));
    return made;
  }();
  return created;
}

/// Descriptors of one problem and the algorithms that the library offers for it. Lives as long as
/// the process: a graph that was captured with it may be replayed at any time.
struct Offer {
  cublasLtMatmulDesc_t operation = nullptr;
  cublasLtMatrixLayout_t a = nullptr, b = nullptr, c = nullptr;
  std::array<cublasLtMatmulHeuristicResult_t, most_variants> algorithms{};
  int count = 0;
};

cublasLtMatrixLayout_t column_major(const gemm::Problem& problem, std::int64_t rows,
                                    std::int64_t columns, std::int64_t ld, std::int64_t stride) {
  cublasLtMatrixLayout_t layout = nullptr;
  GEMM_CUBLAS(cublasLtMatrixLayoutCreate(&layout, storage_type(problem.precision),
                                         static_cast<std::uint64_t>(rows),
                                         static_cast<std::uint64_t>(columns), at_least_one(ld)));
  const auto batch = static_cast<std::int32_t>(problem.batch);
  GEMM_CUBLAS(cublasLtMatrixLayoutSetAttribute(layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &batch,
                                               sizeof batch));
  GEMM_CUBLAS(cublasLtMatrixLayoutSetAttribute(layout, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET,
                                               &stride, sizeof stride));
  return layout;
}

cublasLtMatmulPreference_t preference() {
  cublasLtMatmulPreference_t made = nullptr;
  GEMM_CUBLAS(cublasLtMatmulPreferenceCreate(&made));
  const std::uint64_t workspace = gemm::workspace_bytes;
  GEMM_CUBLAS(cublasLtMatmulPreferenceSetAttribute(made, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                                                   &workspace, sizeof workspace));
  // Partial sums are added in the compute type: the library's in-place scheme adds them in C's own
  // type, which for 16-bit storage loses what split k gains.
  const std::uint32_t reductions = CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE;
  GEMM_CUBLAS(cublasLtMatmulPreferenceSetAttribute(made, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK,
                                                   &reductions, sizeof reductions));
  return made;
}

/// As in cublas.cpp, the operands change places: the library's A is our B.
Offer ask(const gemm::Problem& problem) {
  Offer offer;
  GEMM_CUBLAS(
      cublasLtMatmulDescCreate(&offer.operation, compute_type(problem.precision), CUDA_R_32F));
  const cublasOperation_t op_a = operation(problem.b_transposed());
  const cublasOperation_t op_b = operation(problem.a_transposed());
  GEMM_CUBLAS(cublasLtMatmulDescSetAttribute(offer.operation, CUBLASLT_MATMUL_DESC_TRANSA, &op_a,
                                             sizeof op_a));
  GEMM_CUBLAS(cublasLtMatmulDescSetAttribute(offer.operation, CUBLASLT_MATMUL_DESC_TRANSB, &op_b,
                                             sizeof op_b));
  const auto& [m, n, k] = problem.shape;
  offer.a = column_major(problem, problem.b_transposed() ? k : n, problem.b_rows(), problem.ldb(),
                         problem.b_stride());
  offer.b = column_major(problem, problem.a_transposed() ? m : k, problem.a_rows(), problem.lda(),
                         problem.a_stride());
  offer.c = column_major(problem, n, m, problem.ldc(), problem.c_stride());

  static const cublasLtMatmulPreference_t preferences = preference();
  const cublasStatus_t status = cublasLtMatmulAlgoGetHeuristic(
      handle(), offer.operation, offer.a, offer.b, offer.c, offer.c, preferences, most_variants,
      offer.algorithms.data(), &offer.count);
  if (status != CUBLAS_STATUS_NOT_SUPPORTED) check(status, "cublasLtMatmulAlgoGetHeuristic");
  return offer;
}

const Offer& offer_for(const gemm::Problem& problem) {
  static std::unordered_map<std::string, Offer> offers;
  const std::string id = problem.id();
  const auto known = offers.find(id);
  return known != offers.end() ? known->second : offers.emplace(id, ask(problem)).first->second;
}

int variants(const gemm::Problem& problem) { return offer_for(problem).count; }

gemm::Refusal refuses(const gemm::Problem& problem) {
  if (problem.shape.k == 0) return "cuBLASLt takes no product with k = 0";
  if (problem.alpha == 0) return "cuBLASLt reads A and B even if alpha = 0";
  if (problem.batch > 0x7fffffff) return "cuBLASLt counts batches in 32 bits";
  return rounds_twice(problem);
}

void launch(const gemm::Problem& problem, const gemm::Operands& operands) {
  if (problem.shape.m == 0 || problem.shape.n == 0 || problem.batch == 0) return;
  const Offer& offer = offer_for(problem);
  if (operands.variant >= offer.count)
    throw std::runtime_error("cuBLASLt offers " + std::to_string(offer.count) + " algorithms for " +
                             problem.id() + ", number " + std::to_string(operands.variant) +
                             " was asked for");
  const float alpha = static_cast<float>(problem.alpha), beta = static_cast<float>(problem.beta);
  GEMM_CUBLAS(cublasLtMatmul(handle(), offer.operation, &alpha, operands.b, offer.a, operands.a,
                             offer.b, &beta, operands.c, offer.c, operands.c, offer.c,
                             &offer.algorithms[static_cast<std::size_t>(operands.variant)].algo,
                             operands.workspace, gemm::workspace_bytes,
                             static_cast<cudaStream_t>(operands.stream)));
}

const gemm::Register registered{{.name = "cublaslt",
                                 .stage = gemm::Stage::vendor,
                                 .idea = "the fastest of cuBLASLt's first eight algorithms",
                                 .arch = gemm::Arch::any,
                                 .refuses = refuses,
                                 .launch = launch,
                                 .variants = variants}};

}  // namespace
