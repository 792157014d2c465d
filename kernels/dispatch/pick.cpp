#include "kernels/dispatch/pick.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace gemm::dispatch {
namespace {

// What a large copy reaches on an H200, read and written bytes together.
constexpr double bytes_per_s = 4.3e12;

Precision tuned_as(Precision precision) {
  return precision == Precision::fp16 ? Precision::bf16 : precision;
}

const Rate* rate_of(const Table& table, const Kernel& kernel, Precision precision) {
  const auto found = std::find_if(table.rates.begin(), table.rates.end(), [&](const Rate& rate) {
    return rate.kernel == kernel.name && rate.precision == tuned_as(precision);
  });
  return found == table.rates.end() ? nullptr : &*found;
}

const Choice* choice_for(const Table& table, const Problem& problem) {
  const auto found =
      std::find_if(table.choices.begin(), table.choices.end(), [&](const Choice& choice) {
        return choice.precision == tuned_as(problem.precision) && choice.layout == problem.layout &&
               choice.shape.m == problem.shape.m && choice.shape.n == problem.shape.n &&
               choice.shape.k == problem.shape.k;
      });
  return found == table.choices.end() || problem.batch != 1 ? nullptr : &*found;
}

std::int64_t pieces(std::int64_t whole, std::int64_t piece) { return (whole + piece - 1) / piece; }

}  // namespace

Expectation expected(const Kernel& kernel, const Problem& problem, double tflops,
                     int multiprocessors) {
  const Tile& tile = kernel.tile;
  const std::int64_t stacks = pieces(problem.shape.m, std::int64_t{tile.m} * tile.blocks) *
                              pieces(problem.shape.n, tile.n) * problem.batch;
  const std::int64_t at_once = std::max(1, multiprocessors / tile.blocks);
  const double flops_of_a_wave = 2.0 * tile.m * tile.n * static_cast<double>(problem.shape.k) *
                                 static_cast<double>(multiprocessors);
  const auto waves = static_cast<double>(pieces(stacks, at_once));
  return {waves * flops_of_a_wave / (tflops * 1e12), problem.bytes() / bytes_per_s};
}

const Kernel* pick(const std::vector<Kernel>& kernels, const Problem& problem, const Table& table,
                   const Device& device, int multiprocessors) {
  const Choice* choice = choice_for(table, problem);
  const Kernel* best = nullptr;
  std::pair<double, double> least{INFINITY, INFINITY};
  for (const Kernel& kernel : kernels) {
    if (kernel.tile.m == 0 || !runs_on(kernel.arch, device) || kernel.refuses(problem)) continue;
    if (choice && choice->kernel == kernel.name) return &kernel;
    const Rate* rate = rate_of(table, kernel, problem.precision);
    if (!rate) continue;
    // Where bytes decide, the one that has the most time left over for them.
    const Expectation one = expected(kernel, problem, rate->tflops, multiprocessors);
    if (const std::pair time{one.seconds(), one.waves_s}; time < least) {
      best = &kernel;
      least = time;
    }
  }
  return best;
}

}  // namespace gemm::dispatch
