#include "bench/trial.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <optional>
#include <stdexcept>
#include <thread>

#include "bench/protocol.hpp"
#include "bench/rotation.hpp"
#include "bench/stopwatch.hpp"
#include "correctness/digest.hpp"
#include "correctness/expected.hpp"
#include "correctness/inputs.hpp"

namespace gemm {

using Clock = std::chrono::steady_clock;

namespace {

constexpr int exit_context_lost = 70;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

double mean(double x, double y) { return (x + y) / 2; }

std::unique_ptr<Stopwatch> make_stopwatch(Space space, const Problem& problem,
                                          const Rotation& rotation) {
#ifdef GEMMWATCH_WITH_CUDA
  if (space == Space::gpu) return make_gpu_stopwatch(problem, rotation);
#endif
  if (space == Space::gpu) throw std::logic_error("a GPU point in a build without CUDA");
  return make_host_stopwatch(problem, rotation);
}

/// The per-launch times of a point, in seconds: four blocks a round, control-test-test-control.
struct Rounds {
  std::vector<double> kernel, control;  ///< mean of a round's two blocks
  std::vector<double> kernel_blocks;    ///< each test block
};

}  // namespace

struct Workbench {
  Workbench(const Problem& wanted, std::uint64_t seed, const Machine& machine)
      : problem(wanted),
        inputs(problem, Regime::symmetric, seed, machine.device.space),
        expected(problem, inputs),
        result(machine.device.space, inputs.c.bytes()),
        rotation(inputs, rotation_footprint(machine)),
        stopwatch(make_stopwatch(machine.device.space, problem, rotation)) {
    // A control that computes something else is no control. This is also the first launch of the
    // library, which creates its handle; that could not be captured.
    const Kernel& vendor = control_of(machine.device.space);
    if (const Findings findings = check(vendor, 0); !findings.passed())
      throw std::runtime_error("the control, " + std::string(vendor.name) +
                               ", is incorrect: " + findings.message());
  }

  /// One launch on poisoned output, compared element by element.
  Findings check(const Kernel& kernel, int variant);

  /// The same on other inputs in the same memory: those of check() negated, and so their result.
  Findings check_negated(const Kernel& kernel, int variant);

  /// Seconds of one launch, from blocks that are lengthened until they last `at_least_s`.
  double launch_seconds(const Kernel& kernel, int variant, double at_least_s);

  /// A warmed-up block of `seconds`, lengthened by the share `delay` of its time.
  std::unique_ptr<PreparedBlock> warm_block(const Kernel& kernel, int variant, double seconds,
                                            double delay = 0);

  /// The warmed-up block that is timed under this load.
  std::unique_ptr<PreparedBlock> block_for(Load load, const Kernel& kernel, int variant,
                                           double delay = 0);

  /// The control's, sized once for all kernels of the problem.
  PreparedBlock& control_block(Load load);

  /// The number of the fastest variant.
  int tune(const Kernel& kernel, int count);

  /// A launch on the inputs as they are, into `result`.
  void launch(const Kernel& kernel, int variant);

  Problem problem;
  Inputs inputs;
  Expected expected;
  Buffer result;
  Rotation rotation;
  std::unique_ptr<Stopwatch> stopwatch;
  std::unique_ptr<PreparedBlock> control;
};

void Workbench::launch(const Kernel& kernel, int variant) {
  const Space space = inputs.a.space();
  if (problem.beta == 0)
    fill(result, 0xff);  // NaN in every storage type: an element that is not written fails
  else
    copy(result.data(), space, inputs.c.data(), space, inputs.c.bytes());
  Operands operands = rotation.operands(0);
  operands.a = inputs.a.data();
  operands.b = inputs.b.data();
  operands.c = result.data();
  operands.variant = variant;
  kernel.launch(problem, operands);
  synchronize(space);
}

Findings Workbench::check(const Kernel& kernel, int variant) {
  launch(kernel, variant);
  return expected.compare(result);
}

Findings Workbench::check_negated(const Kernel& kernel, int variant) {
  const Space space = inputs.a.space();
  const auto negate_inputs = [&] {
    negate_a(problem, inputs.a.data(), space);
    negate_c(problem, inputs.c.data(), space);
    synchronize(space);
  };
  negate_inputs();
  launch(kernel, variant);
  negate_inputs();
  negate_c(problem, result.data(), space);
  return expected.compare(result);
}

double Workbench::launch_seconds(const Kernel& kernel, int variant, double at_least_s) {
  for (std::int64_t launches = 1;;) {
    const auto block =
        stopwatch->prepare({.kernel = &kernel, .variant = variant, .launches = launches});
    const double seconds = stopwatch->time({block.get()}, [] {}).front();
    if (seconds >= at_least_s) return seconds / static_cast<double>(block->launches);
    // Towards the wanted time, but by no more than 32 times what was seen of it so far.
    const double factor = std::clamp(1.2 * at_least_s / std::max(seconds, 1e-9), 2.0, 32.0);
    launches = static_cast<std::int64_t>(std::ceil(factor * static_cast<double>(block->launches)));
  }
}

std::unique_ptr<PreparedBlock> Workbench::warm_block(const Kernel& kernel, int variant,
                                                     double seconds, double delay) {
  const double launch_s = launch_seconds(kernel, variant, protocol::warmup_s);
  const auto launches = std::max<std::int64_t>(1, std::llround(seconds / launch_s));
  return stopwatch->prepare({.kernel = &kernel,
                             .variant = variant,
                             .launches = launches,
                             .delay_s = delay * launch_s * static_cast<double>(launches)});
}

std::unique_ptr<PreparedBlock> Workbench::block_for(Load load, const Kernel& kernel, int variant,
                                                    double delay) {
  if (load != Load::burst)
    return warm_block(kernel, variant,
                      load == Load::sustained ? protocol::sustained_block_s : protocol::block_s,
                      delay);
  const double launch_s = launch_seconds(kernel, variant, protocol::warmup_s);
  return stopwatch->prepare({.kernel = &kernel,
                             .variant = variant,
                             .launches = protocol::burst_launches,
                             .delay_s = delay * launch_s * protocol::burst_launches});
}

PreparedBlock& Workbench::control_block(Load load) {
  if (!control) control = block_for(load, control_of(inputs.a.space()), 0);
  return *control;
}

int Workbench::tune(const Kernel& kernel, int count) {
  std::vector<std::unique_ptr<PreparedBlock>> blocks;
  std::vector<PreparedBlock*> order;
  for (int variant = 0; variant < count; ++variant) {
    blocks.push_back(warm_block(kernel, variant, protocol::tuning_s));
    order.push_back(blocks.back().get());
  }
  std::vector<double> best(blocks.size(), std::numeric_limits<double>::infinity());
  for (int pass = 0; pass < protocol::tuning_passes; ++pass) {
    const std::vector<double> seconds = stopwatch->time(order, [] {});
    for (std::size_t i = 0; i < best.size(); ++i)
      best[i] = std::min(best[i], seconds[i] / static_cast<double>(order[i]->launches));
  }
  return static_cast<int>(std::min_element(best.begin(), best.end()) - best.begin());
}

namespace {

/// Kernel and control in turn, until clocks and power are those of the load.
void settle(Stopwatch& stopwatch, PreparedBlock& kernel, PreparedBlock& control) {
  const int pairs = static_cast<int>(protocol::settle_s / (2 * protocol::sustained_block_s));
  std::vector<PreparedBlock*> order;
  for (int pair = 0; pair < pairs; ++pair) order.insert(order.end(), {&control, &kernel});
  stopwatch.time(order, [] {});
}

/// Seconds of each block, of which each follows a pause.
std::vector<double> time_bursts(Stopwatch& stopwatch, const std::vector<PreparedBlock*>& order,
                                Telemetry& telemetry) {
  std::vector<double> seconds;
  for (PreparedBlock* block : order) {
    std::this_thread::sleep_for(std::chrono::duration<double>(protocol::burst_pause_s));
    seconds.push_back(stopwatch.time({block}, [&] { telemetry.sample(); }).front());
  }
  return seconds;
}

/// Joules of one launch when the GPU does nothing else. Nothing where the GPU does not tell.
std::optional<double> joules_a_launch(Stopwatch& stopwatch, PreparedBlock& block,
                                      Telemetry& telemetry) {
  const auto blocks = static_cast<std::size_t>(protocol::energy_s / protocol::sustained_block_s);
  const std::vector<PreparedBlock*> order(blocks, &block);
  telemetry.begin();
  stopwatch.time(order, [&] { telemetry.sample(); });
  const auto summary = telemetry.summary();
  const auto joules = summary.find("energy_j");
  if (joules == summary.end()) return std::nullopt;
  return joules->second / static_cast<double>(blocks * block.launches);
}

Rounds time_rounds(int count, Load load, Stopwatch& stopwatch, PreparedBlock& kernel,
                   PreparedBlock& control, Telemetry& telemetry) {
  std::vector<PreparedBlock*> order;
  for (int round = 0; round < count; ++round)
    order.insert(order.end(), {&control, &kernel, &kernel, &control});
  if (load == Load::sustained) settle(stopwatch, kernel, control);
  telemetry.begin();
  std::vector<double> seconds = load == Load::burst
                                    ? time_bursts(stopwatch, order, telemetry)
                                    : stopwatch.time(order, [&] { telemetry.sample(); });
  for (std::size_t i = 0; i < seconds.size(); ++i)
    seconds[i] /= static_cast<double>(order[i]->launches);

  Rounds rounds;
  for (std::size_t i = 0; i < seconds.size(); i += 4) {
    rounds.control.push_back(mean(seconds[i], seconds[i + 3]));
    rounds.kernel.push_back(mean(seconds[i + 1], seconds[i + 2]));
    rounds.kernel_blocks.insert(rounds.kernel_blocks.end(), {seconds[i + 1], seconds[i + 2]});
  }
  return rounds;
}

double median_log_ratio(const Rounds& rounds) {
  std::vector<double> ratios;
  for (std::size_t i = 0; i < rounds.kernel.size(); ++i)
    ratios.push_back(std::log(rounds.kernel[i] / rounds.control[i]));
  return median(ratios);
}

void report_rounds(benchmark::State& state, const Problem& problem, const Machine& machine,
                   const Rounds& rounds) {
  const double kernel_s = median(rounds.kernel), control_s = median(rounds.control);
  state.counters["kernel_us"] = kernel_s * 1e6;
  state.counters["control_us"] = control_s * 1e6;
  state.counters["log_ratio"] = median_log_ratio(rounds);
  state.counters["tflops"] = problem.flops() / kernel_s / 1e12;
  state.counters["control_tflops"] = problem.flops() / control_s / 1e12;
  state.counters["gbytes_per_s"] = problem.bytes() / kernel_s / 1e9;
  const auto peak = machine.peaks.find(std::string(name(problem.precision)));
  if (peak != machine.peaks.end())
    state.counters["peak_share"] = problem.flops() / kernel_s / 1e12 / peak->second;
  for (std::size_t i = 0; i < rounds.kernel.size(); ++i) {
    const std::string round = "round" + std::to_string(i);
    state.counters[round + "_kernel_us"] = rounds.kernel[i] * 1e6;
    state.counters[round + "_control_us"] = rounds.control[i] * 1e6;
  }
}

}  // namespace

std::size_t rotation_footprint(const Machine& machine) {
  return static_cast<std::size_t>(protocol::cache_factor *
                                  static_cast<double>(machine.cache_bytes));
}

bool rests(Load load, Space space, const Problem& problem) {
  return load == Load::trial && space == Space::gpu && problem.flops() >= protocol::rest_flops;
}

int planned_rounds(const Point& point, Load load) {
  if (load == Load::sustained) return protocol::sustained_rounds;
  if (load == Load::burst) return protocol::burst_rounds;
  return longest_launch_s(*point.kernel, point.problem) > protocol::slow_launch_s
             ? protocol::slow_rounds
             : protocol::rounds;
}

Trial::Trial(const Machine& machine, const Options& options)
    : machine_(machine),
      options_(options),
      choices_(options.choices_file),
      telemetry_(machine.pci_bus_id) {}

Trial::~Trial() = default;

Workbench& Trial::workbench_for(const Problem& problem) {
  if (!workbench_ || workbench_->problem.id() != problem.id()) {
    workbench_.reset();  // its memory first, then the next one's
    workbench_ = std::make_unique<Workbench>(problem, options_.seed, machine_);
  }
  return *workbench_;
}

void Trial::measure_or_throw(benchmark::State& state, const Point& point) {
  const Clock::time_point start = Clock::now();
  const Kernel& kernel = *point.kernel;
  Workbench& workbench = workbench_for(point.problem);
  const double setup_s = seconds_since(start);

  const int variant = choices_.variant(kernel, point.problem,
                                       [&](int count) { return workbench.tune(kernel, count); });
  const Clock::time_point check_start = Clock::now();
  const Findings findings = workbench.check(kernel, variant);
  const std::uint64_t result_digest = digest(workbench.result);
  double check_s = seconds_since(check_start);
  if (!findings.passed()) return fail_as_incorrect(state, findings.message());

  const double delay = kernel.name == options_.slow.kernel ? options_.slow.fraction : 0;
  const Load load = options_.load;
  if (rests(load, machine_.device.space, point.problem))
    std::this_thread::sleep_for(std::chrono::duration<double>(protocol::rest_s));
  const auto kernel_block = workbench.block_for(load, kernel, variant, delay);
  PreparedBlock& control_block = workbench.control_block(load);
  const Clock::time_point timed_start = Clock::now();
  const Rounds rounds = time_rounds(planned_rounds(point, load), load, *workbench.stopwatch,
                                    *kernel_block, control_block, telemetry_);
  const double timed_s = seconds_since(timed_start);
  const auto telemetry = telemetry_.summary();
  if (load == Load::sustained && !telemetry.empty()) {
    const auto report = [&](const char* counter, PreparedBlock& block) {
      if (const auto joules = joules_a_launch(*workbench.stopwatch, block, telemetry_))
        state.counters[counter] = *joules;
    };
    report("kernel_joules", *kernel_block);
    report("control_joules", control_block);
  }

  const Clock::time_point recheck_start = Clock::now();
  const Findings afterwards = workbench.check_negated(kernel, variant);
  check_s += seconds_since(recheck_start);
  if (!afterwards.passed())
    return fail_as_incorrect(state, "after timing, on negated inputs: " + afterwards.message());

  std::size_t next = 0;  // the number of iterations was fixed to that of the test blocks
  for (auto _ : state) state.SetIterationTime(rounds.kernel_blocks[next++]);
  report_rounds(state, point.problem, machine_, rounds);
  for (const auto& [key, value] : telemetry) state.counters[key] = value;
  state.counters["launches"] = static_cast<double>(kernel_block->launches);
  state.counters["control_launches"] = static_cast<double>(control_block.launches);
  state.counters["buffers"] = static_cast<double>(workbench.rotation.sets());
  state.counters["bound_share"] = findings.worst_share_of_bound;
  state.counters["relative_error"] = findings.relative_error;
  state.counters["digest"] = static_cast<double>(result_digest);
  state.counters["setup_s"] = setup_s;
  state.counters["check_s"] = check_s;
  state.counters["timed_s"] = timed_s;
  state.counters["point_s"] = seconds_since(start);
  if (kernel.variants) state.counters["variant"] = variant;
  if (kernel.vendor()) state.SetLabel(kernel_block->functions);
}

void Trial::fail_as_incorrect(benchmark::State& state, const std::string& message) {
  anything_incorrect_ = true;
  state.SkipWithError(("incorrect: " + message).c_str());
}

void Trial::leave_if_context_lost() const {
  try {
    synchronize(machine_.device.space);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "gemmwatch-bench: the GPU's context is lost: %s\n", error.what());
    std::_Exit(exit_context_lost);  // destructors would only meet the same error
  }
}

void Trial::measure(benchmark::State& state, const Point& point) {
  if (!options_.journal_file.empty()) {
    std::ofstream journal(options_.journal_file, std::ios::app);
    journal << "begin " << point.id() << std::endl;
    if (!journal) {
      state.SkipWithError(("failed: cannot write " + options_.journal_file).c_str());
      return;
    }
  }
  try {
    measure_or_throw(state, point);
  } catch (const std::exception& error) {
    leave_if_context_lost();
    workbench_.reset();  // whatever the failed launch left half done
    state.SkipWithError((std::string("failed: ") + error.what()).c_str());
  }
}

}  // namespace gemm
