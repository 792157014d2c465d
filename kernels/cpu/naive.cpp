// Rung 1 of the host ladder: the definition of the product, one output at a time.
//
// Each of the m n outputs walks a row of A and a column of B: 2k flops for 2k elements loaded, 0.25
// flop a byte in FP32 and nothing is kept for the next output. With B stored by rows, consecutive
// steps of the sum are ldb elements apart, so a whole cache line is fetched for one element of it.
// Besides, the sum is one chain of dependent additions: the processor can start the next only when
// the last is done.
//
// It is here to be believed on sight. Everything above it must agree with it.
#include "kernels/cpu/product.hpp"
#include "kernels/fault.hpp"

namespace gemm::cpu {
namespace {

template <typename T>
void multiply(const Product<T>& product) {
  for (std::int64_t i = 0; i < product.m; ++i) {
    for (std::int64_t j = 0; j < product.n; ++j) {
      float sum = 0;
      for (std::int64_t p = 0; p < product.k; ++p) {
        sum += product.a(i, p) * product.b(p, j);
        if constexpr (fault("cpu_bf16_accumulator")) sum = to_float(round_to<Eigen::bfloat16>(sum));
      }
      if constexpr (fault("cpu_epilogue_rounds_twice")) sum = to_float(round_to<T>(sum));
      if constexpr (fault("cpu_c_read_at_beta_zero"))
        sum += 0 * to_float(product.c[i * product.ldc + j]);
      product.store(i, j, sum);
    }
  }
}

void launch(const Problem& problem, const Operands& operands) {
  for_each_product(problem, operands, [](const auto& product) { multiply(product); });
}

const Register registered{{.name = "cpu_naive",
                           .stage = Stage::cpu_naive,
                           .idea = "three loops, one output at a time",
                           .arch = Arch::host,
                           .refuses = refuses,
                           .launch = launch}};

}  // namespace
}  // namespace gemm::cpu
