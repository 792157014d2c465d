// cuBLAS as a user calls it: cublasGemmStridedBatchedEx with its default choice of algorithm. It is
// the control: every GPU kernel is measured beside it.
//
// cuBLAS is column-major. A row-major C = op(A) op(B) is the column-major C^T = op(B)^T op(A)^T
// over the same memory, so that the operands change places and their transposition letters stay.
#include "kernels/vendor/cublas_common.hpp"

namespace {

using namespace gemm::vendor;

/// One handle for the process. Numerics: TF32 only when asked for (by the compute type), and no
/// reductions in less than FP32, so that the library and the rungs promise the same accuracy.
cublasHandle_t handle() {
  static const cublasHandle_t created = [] {
    cublasHandle_t made = nullptr;
    GEMM_CUBLAS(cublasCreate(&made));
    GEMM_CUBLAS(cublasSetMathMode(
        made, static_cast<cublasMath_t>(CUBLAS_DEFAULT_MATH |
                                        CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION)));
    return made;
  }();
  return created;
}

/// As in cublas_common.hpp, seen by gemmwatch-check --fuzz: with alpha = 0 its 16-bit kernels still
/// multiply, and 0 times the NaN in an A or B that nobody should read is NaN. cuBLASLt's do not.
gemm::Refusal refuses(const gemm::Problem& problem) {
  if (gemm::element_bytes(problem.precision) == 2 && problem.alpha == 0 && problem.beta != 0)
    return "with alpha = 0 the library reads 16-bit A and B";
  return rounds_twice(problem);
}

void launch(const gemm::Problem& problem, const gemm::Operands& operands) {
  const auto& [m, n, k] = problem.shape;
  if (m == 0 || n == 0 || problem.batch == 0) return;
  const float alpha = static_cast<float>(problem.alpha), beta = static_cast<float>(problem.beta);
  const cudaDataType_t type = storage_type(problem.precision);

  GEMM_CUBLAS(cublasSetStream(handle(), static_cast<cudaStream_t>(operands.stream)));
  GEMM_CUBLAS(cublasSetWorkspace(handle(), operands.workspace, gemm::workspace_bytes));
  GEMM_CUBLAS(cublasGemmStridedBatchedEx_64(
      handle(), operation(problem.b_transposed()), operation(problem.a_transposed()), n, m, k,
      &alpha, operands.b, type, at_least_one(problem.ldb()), problem.b_stride(), operands.a, type,
      at_least_one(problem.lda()), problem.a_stride(), &beta, operands.c, type,
      at_least_one(problem.ldc()), problem.c_stride(), problem.batch,
      compute_type(problem.precision), CUBLAS_GEMM_DEFAULT));
}

const gemm::Register registered{{.name = "cublas",
                                 .stage = gemm::Stage::vendor,
                                 .idea = "cuBLAS with its default choice of algorithm",
                                 .arch = gemm::Arch::any,
                                 .refuses = refuses,
                                 .launch = launch,
                                 .control = true}};

}  // namespace
