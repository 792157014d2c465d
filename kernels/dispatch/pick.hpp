// Which rung a problem is best computed by: the one that was measured to be, or for a shape that
// was never measured the one that a model of waves, rates and bytes expects to be.
#pragma once

#include <string_view>
#include <vector>

#include "kernels/gemm.hpp"

namespace gemm::dispatch {

/// What a kernel reaches when each of its waves fills the machine, measured.
struct Rate {
  std::string_view kernel;
  Precision precision;
  double tflops;
};

/// The kernel that was the fastest for a problem, alpha and beta and padding aside.
struct Choice {
  Precision precision;
  Layout layout;
  Shape shape;
  std::string_view kernel;
};

/// What scripts/tune measured. FP16 has no lines of its own: it takes those of BF16, whose kernels
/// are the same but for one instruction.
struct Table {
  std::vector<Rate> rates;
  std::vector<Choice> choices;
};

/// The table of tuned.cpp.
const Table& tuned();

/// What the model expects of a kernel: whole waves at its rate take `waves_s`, and nothing is over
/// before the bytes are moved, which takes `bytes_s`.
struct Expectation {
  double waves_s, bytes_s;
  double seconds() const { return waves_s > bytes_s ? waves_s : bytes_s; }
};
Expectation expected(const Kernel& kernel, const Problem& problem, double tflops,
                     int multiprocessors);

/// The kernel for the problem among those that have a tile, run on the device and accept it.
/// nullptr if there is none of which the table knows the rate.
const Kernel* pick(const std::vector<Kernel>& kernels, const Problem& problem, const Table& table,
                   const Device& device, int multiprocessors);

}  // namespace gemm::dispatch
