// The flags that gemmwatch-bench adds to Google Benchmark's.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/gemm.hpp"

namespace gemm {

struct Slowdown {
  std::string kernel;  ///< empty: none
  double fraction = 0;
};

/// What the device does before and while it is timed; protocol.hpp has the numbers.
/// trial: short blocks, with pauses for checks between points. sustained: no pause, until power and
/// clocks have settled. burst: a few launches after a pause.
enum class Load { trial, sustained, burst };

struct Options {
  Selection selection = Selection::smoke;
  bool want_gpu = true;
  bool require_gpu = false;
  std::uint64_t seed = 1;    ///< of the inputs' values and of the points' order
  std::string points_file;   ///< measure only the ids in this file, one a line
  std::string journal_file;  ///< "begin <id>" is appended before each point
  std::string choices_file;  ///< variants of tuned kernels, read if there, written if tuned
  std::string list_file;     ///< write the catalog here and measure nothing
  Slowdown slow;
  Load load = Load::trial;
  bool help = false;

  /// "slow:<kernel>:<percent>%", "fault:<name>" or nothing: what makes this run no honest one.
  std::string injected() const;
  /// "1", or "1 sustained": times under one load are not compared with times under another.
  std::string harness() const;
};

/// Takes its own flags out of argc/argv and leaves the rest. Throws std::invalid_argument that
/// names the flag.
Options take_options(int& argc, char** argv);

/// The flags with a line on each.
const char* options_help();

}  // namespace gemm
