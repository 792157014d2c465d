// What a command line of gemmwatch-check asks for: kernels times problems times regimes.
#pragma once

#include <vector>

#include "correctness/check_options.hpp"
#include "correctness/regime.hpp"
#include "kernels/gemm.hpp"

namespace gemm {

struct Case {
  const Kernel* kernel;
  Problem problem;
  std::vector<Regime> regimes;
  Refusal refusal;
};

/// The kernels that the device runs and the options name.
std::vector<const Kernel*> kernels_to_check(const CheckOptions&, const Device&);

/// The cases of the options' list of problems; of none for --fuzz, which draws its own.
std::vector<Case> cases_to_check(const CheckOptions&, const Device&);

}  // namespace gemm
