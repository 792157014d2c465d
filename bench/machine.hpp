// The machine that is measured: what must match before numbers are compared, what is good to know,
// and what the hardware could do at most.
#pragma once

#include <cstddef>
#include <map>
#include <string>

#include "kernels/gemm.hpp"

namespace gemm {

using Facts = std::map<std::string, std::string>;

struct Machine {
  Device device;
  std::string device_note;      ///< why the host is measured, if it was not asked for
  std::size_t cache_bytes = 0;  ///< last level that successive launches could share: L2
  std::string pci_bus_id;       ///< of the GPU, empty for a host
  Facts fingerprint;            ///< numbers are comparable only where all of this is equal
  Facts environment;            ///< recorded, never compared
  std::map<std::string, double>
      peaks;  ///< TFLOP/s by precision and "bandwidth_gb_s"; only known ones
};

/// Describes this machine. `want_gpu`: measure a GPU if there is a usable one.
Machine describe_machine(bool want_gpu);

/// The GPU's part, in machine_gpu.cpp, built only with CUDA.
void describe_gpu(Machine& machine);

}  // namespace gemm
