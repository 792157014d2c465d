// The host's engine: plain loops and OpenBLAS.
#include <cblas.h>

#include <algorithm>
#include <stdexcept>

#include "correctness/elementwise.hpp"

namespace gemm {

#ifdef GEMMWATCH_WITH_CUDA
const Engine& gpu_engine();  // engine_gpu.cu
#endif

namespace {

struct HostLauncher {
  template <class Function>
  void for_each(std::int64_t count, const Function& function) const {
    for (std::int64_t i = 0; i < count; ++i) function(i);
  }

  template <class Function>
  Tally tally(std::int64_t count, const Function& function) const {
    Tally tally;
    for (std::int64_t i = 0; i < count; ++i) {
      const Judgement judgement = function(i);
      if (judgement.wrong && tally.wrong++ == 0) tally.first = static_cast<unsigned long long>(i);
      tally.worst_share = std::max(tally.worst_share, judgement.share);
      tally.largest_error = std::max(tally.largest_error, judgement.error);
      tally.largest_magnitude = std::max(tally.largest_magnitude, judgement.magnitude);
    }
    return tally;
  }

  template <class Function>
  std::uint64_t sum(std::int64_t count, const Function& function) const {
    std::uint64_t sum = 0;
    for (std::int64_t i = 0; i < count; ++i) sum += function(i);
    return sum;
  }
};

class HostEngine : public ElementwiseEngine<HostLauncher> {
 public:
  void multiply(const Fp64Product& product, const double* a, const double* b,
                double* c) const override {
    const auto operation = [](bool transposed) { return transposed ? CblasTrans : CblasNoTrans; };
    const auto m = static_cast<blasint>(product.m), n = static_cast<blasint>(product.n);
    const auto k = static_cast<blasint>(product.k);
    cblas_dgemm(CblasRowMajor, operation(product.a_transposed), operation(product.b_transposed), m,
                n, k, 1.0, a, product.a_transposed ? m : k, b, product.b_transposed ? k : n, 0.0, c,
                n);
  }
};

}  // namespace

const Engine& engine(Space space) {
  static const HostEngine host;
  if (space == Space::host) return host;
#ifdef GEMMWATCH_WITH_CUDA
  return gpu_engine();
#else
  throw std::runtime_error("this build has no CUDA: configure with -DGEMMWATCH_CUDA=ON");
#endif
}

}  // namespace gemm
