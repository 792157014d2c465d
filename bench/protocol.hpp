// The numbers of the measuring protocol, in one place. README.md here says what they mean.
#pragma once

#include <string_view>

namespace gemm::protocol {

/// Rounds of control-test-test-control a point; fewer where a launch may take longer than
/// `slow_launch_s` by the plan, so that a few slow rungs do not take most of a trial.
inline constexpr int rounds = 3;
inline constexpr int slow_rounds = 1;
inline constexpr double slow_launch_s = 0.1;

/// A block is as many launches as fill this time; the event pair's own 1-2 us are then below 0.1%.
inline constexpr double block_s = 2.5e-3;

/// What a GPU is given to do before the first block of several, so that the host has enqueued that
/// block when its time begins.
inline constexpr double head_start_s = 100e-6;

/// Time that each of kernel and control runs before anything is kept.
inline constexpr double warmup_s = 2.5e-3;

/// A GPU rests before a point whose launch is this much work, so that each begins with its power
/// limit in reserve, whatever came before. Ten trials each on two H200s, the first of which were
/// slowed by about that long a check: the logarithm of the ratio spread by 0.18% and by 0.95% in
/// the median of the 18 problems of FP16 and BF16 that are this large; FP32 stayed below 0.3%. (The
/// memory that is taken once came between the two as well. This pause has not been measured yet.)
inline constexpr double rest_flops = 3e10;
inline constexpr double rest_s = 60e-3;

/// Time that each variant of a tuned kernel runs, a pass; the best of `tuning_passes` counts.
inline constexpr double tuning_s = 2e-3;
inline constexpr int tuning_passes = 3;

/// The matrices of successive launches lie this many last-level caches apart before they repeat.
inline constexpr double cache_factor = 2.0;

/// Launches of a captured graph, at least: the gap between two graphs is then below 1%.
inline constexpr int graph_launches = 128;

/// Sustained load: kernel and control alternate for `settle_s` before anything is kept, until
/// clocks and power have come to rest; then come longer blocks, and each alone for `energy_s`, over
/// which the GPU's own energy counter is read.
inline constexpr double settle_s = 1.0;
inline constexpr double sustained_block_s = 50e-3;
inline constexpr int sustained_rounds = 6;
inline constexpr double energy_s = 1.0;

/// Burst: what a card does that has rested. A block is so many launches after so long a pause.
inline constexpr double burst_pause_s = 1.0;
inline constexpr int burst_launches = 8;
inline constexpr int burst_rounds = 2;

/// Schema of the catalog and the counters; a change makes older numbers incomparable.
inline constexpr std::string_view harness = "3";

}  // namespace gemm::protocol
