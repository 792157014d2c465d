// Times blocks of launches. One interface, two clocks: events on a GPU's stream, a monotonic clock
// on a host.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "bench/rotation.hpp"
#include "kernels/gemm.hpp"

namespace gemm {

/// Launches of one kernel that are timed as one.
struct Block {
  const Kernel* kernel = nullptr;
  int variant = 0;
  std::int64_t launches = 1;
  double delay_s = 0;  ///< idle time added after the launches, to inject a known slowdown
};

/// A block that is ready to run, as often as wanted.
class PreparedBlock {
 public:
  virtual ~PreparedBlock() = default;
  /// What was asked for, rounded up to what one run does.
  std::int64_t launches = 0;
  /// The device functions that it launches; empty where that is not known.
  std::string functions;
};

class Stopwatch {
 public:
  virtual ~Stopwatch() = default;

  /// Readies a block. Its launches walk through the rotation's sets. Throws what the launch throws.
  virtual std::unique_ptr<PreparedBlock> prepare(const Block& block) = 0;

  /// Runs the blocks one after another without a pause between them and returns the seconds of
  /// each. `meanwhile` is called now and then, outside the timed regions, for telemetry. Throws
  /// std::runtime_error if the device reports an error.
  virtual std::vector<double> time(const std::vector<PreparedBlock*>& order,
                                   const std::function<void()>& meanwhile) = 0;
};

/// The stopwatch of the rotation's space. It refers to both arguments, which must outlive it.
std::unique_ptr<Stopwatch> make_host_stopwatch(const Problem& problem, const Rotation& rotation);
std::unique_ptr<Stopwatch> make_gpu_stopwatch(const Problem& problem, const Rotation& rotation);

}  // namespace gemm
