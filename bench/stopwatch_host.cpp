// The host's clock: launches return when they are done, so a block is a loop between two readings.
#include <chrono>

#include "bench/stopwatch.hpp"

namespace gemm {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

struct HostBlock : PreparedBlock {
  Block block;
};

class HostStopwatch : public Stopwatch {
 public:
  HostStopwatch(const Problem& problem, const Rotation& rotation)
      : problem_(problem), rotation_(rotation) {}

  std::unique_ptr<PreparedBlock> prepare(const Block& block) override {
    auto prepared = std::make_unique<HostBlock>();
    prepared->block = block;
    prepared->launches = block.launches;
    return prepared;
  }

  std::vector<double> time(const std::vector<PreparedBlock*>& order,
                           const std::function<void()>& meanwhile) override {
    std::vector<double> seconds;
    for (PreparedBlock* prepared : order) {
      seconds.push_back(run(static_cast<HostBlock*>(prepared)->block));
      meanwhile();
    }
    return seconds;
  }

 private:
  double run(const Block& block) {
    const Clock::time_point start = Clock::now();
    for (std::int64_t i = 0; i < block.launches; ++i) {
      Operands operands = rotation_.operands(next_set_++);
      operands.variant = block.variant;
      block.kernel->launch(problem_, operands);
    }
    const double work = seconds_since(start);
    while (seconds_since(start) < work + block.delay_s) {
    }
    return seconds_since(start);
  }

  const Problem& problem_;
  const Rotation& rotation_;
  std::int64_t next_set_ = 0;
};

}  // namespace

std::unique_ptr<Stopwatch> make_host_stopwatch(const Problem& problem, const Rotation& rotation) {
  return std::make_unique<HostStopwatch>(problem, rotation);
}

}  // namespace gemm
