#include "correctness/calibration/errors.hpp"

#include <algorithm>
#include <map>

#include "correctness/engine.hpp"
#include "correctness/inputs.hpp"

namespace gemm {
namespace {

constexpr int seeds = 3;
constexpr std::int64_t smallest_k = 16, largest_k = 65536;
constexpr double launch_limit_s = 1;  // by the slowest rate of the kernel's stage

double* doubles(const Buffer& buffer) { return static_cast<double*>(buffer.data()); }

/// One product, its FP64 result, and u |A||B| of each element.
class Reference {
 public:
  Reference(const Problem& problem, Regime regime, std::uint64_t seed, Space space)
      : problem_(problem),
        engine_(engine(space)),
        inputs_(problem, regime, seed, space),
        exact_(space, bytes<double>()),
        unit_(space, bytes<float>()),
        c_(space, inputs_.c.bytes()) {
    const auto [m, n, k] = problem.shape;
    const Buffer wide_a(space, static_cast<std::size_t>(m * k) * sizeof(double));
    const Buffer wide_b(space, static_cast<std::size_t>(k * n) * sizeof(double));
    const Buffer sum(space, bytes<double>());
    for (const bool absolute : {false, true}) {
      engine_.upcast(problem.precision, {m, k, k}, inputs_.a.data(), absolute, doubles(wide_a));
      engine_.upcast(problem.precision, {k, n, n}, inputs_.b.data(), absolute, doubles(wide_b));
      engine_.multiply({m, n, k, false, false}, doubles(wide_a), doubles(wide_b),
                       doubles(absolute ? sum : exact_));
    }
    const BoundTerms unit_of_error{.alpha = 1,
                                   .beta = 0,
                                   .accumulation = 0x1p-24,
                                   .epilogue = 0,
                                   .underflow = 0,
                                   .has_product = true,
                                   .has_sum = true};
    engine_.bound(problem.precision, {m, n, n}, unit_of_error, doubles(sum), inputs_.c.data(),
                  doubles(exact_), static_cast<float*>(unit_.data()));
    synchronize(space);
  }

  /// Of the worst of the kernel's variants.
  double error(const Kernel& kernel, const Buffer& workspace) const {
    double worst = 0;
    const int variants = kernel.variants ? kernel.variants(problem_) : 1;
    for (int variant = 0; variant < variants; ++variant) {
      fill(c_, 0xff);
      synchronize(c_.space());
      kernel.launch(problem_, {.a = inputs_.a.data(),
                               .b = inputs_.b.data(),
                               .c = c_.data(),
                               .workspace = workspace.data(),
                               .variant = variant});
      synchronize(c_.space());
      const auto [m, n, k] = problem_.shape;
      const Tally tally = engine_.judge(problem_.precision, {m, n, n}, c_.data(), doubles(exact_),
                                        static_cast<const float*>(unit_.data()));
      worst = std::max(worst, static_cast<double>(tally.worst_share));
    }
    return worst;
  }

 private:
  template <class T>
  std::size_t bytes() const {
    return static_cast<std::size_t>(problem_.shape.m * problem_.shape.n) * sizeof(T);
  }

  Problem problem_;
  const Engine& engine_;
  Inputs inputs_;
  Buffer exact_, unit_, c_;
};

std::vector<const Kernel*> kernels_for(const Problem& problem, const Device& device) {
  std::vector<const Kernel*> chosen;
  for (const Kernel& kernel : kernels())
    if (runs_on(kernel.arch, device) && !kernel.refuses(problem) &&
        longest_launch_s(kernel, problem) <= launch_limit_s)
      chosen.push_back(&kernel);
  return chosen;
}

void measure(const Problem& problem, Regime regime, const Device& device, const Buffer& workspace,
             std::vector<ErrorRow>& rows) {
  const std::vector<const Kernel*> chosen = kernels_for(problem, device);
  std::map<const Kernel*, double> worst;
  for (int seed = 1; seed <= seeds; ++seed) {
    const Reference reference(problem, regime, static_cast<std::uint64_t>(seed), device.space);
    for (const Kernel* kernel : chosen)
      worst[kernel] = std::max(worst[kernel], reference.error(*kernel, workspace));
  }
  const auto [m, n, k] = problem.shape;
  for (const Kernel* kernel : chosen)
    rows.push_back({kernel->name, problem.precision, regime, m, n, k, seeds, worst[kernel]});
}

}  // namespace

const std::vector<Regime>& calibrated_regimes() {
  static const std::vector<Regime> regimes{Regime::symmetric, Regime::cancellation,
                                           Regime::positive, Regime::wide_range};
  return regimes;
}

std::vector<ErrorRow> measure_errors(
    const Device& device, const std::function<void(Precision, Regime, std::int64_t)>& progress) {
  const std::int64_t side = device.space == Space::host ? 128 : 512;
  const Buffer workspace(device.space, workspace_bytes);
  std::vector<ErrorRow> rows;
  for (const Precision precision :
       {Precision::fp32, Precision::tf32, Precision::fp16, Precision::bf16})
    for (const Regime regime : calibrated_regimes())
      for (std::int64_t k = smallest_k; k <= largest_k; k *= 2) {
        progress(precision, regime, k);
        measure({.shape = {side, side, k}, .precision = precision}, regime, device, workspace,
                rows);
      }
  return rows;
}

}  // namespace gemm
