// The catalog: what is registered, what a selection visits, and on which machine, as JSON. Its
// format is described in bench/README.md.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "bench/machine.hpp"
#include "kernels/gemm.hpp"

namespace gemm {

/// The machine's part alone: device, fingerprint, environment, injected, peaks.
nlohmann::json machine_json(const Machine& machine, const std::string& injected);

/// Everything: the machine, the kernels, and the plan's problems, points and refusals.
nlohmann::json catalog_json(const Machine& machine, const std::string& injected, const Plan& plan);

}  // namespace gemm
