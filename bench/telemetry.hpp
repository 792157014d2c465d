// Clocks, power, temperature and throttling of the GPU while blocks run. NVML is loaded at run
// time; where it is absent every question has no answer and nothing else changes.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <string>

namespace gemm {

class Telemetry {
 public:
  /// `pci_bus_id` as CUDA spells it; empty for a host, which has no telemetry.
  explicit Telemetry(const std::string& pci_bus_id);
  ~Telemetry();
  Telemetry(const Telemetry&) = delete;
  Telemetry& operator=(const Telemetry&) = delete;

  /// Facts that do not move during a run: "driver", "power_limit_w". Empty without NVML.
  std::map<std::string, std::string> facts() const;
  /// How the card is set up, as far as it tells: "mig" (on or off), "max_sm_mhz". Empty without
  /// NVML.
  std::map<std::string, std::string> settings() const;

  /// Forgets the samples so far.
  void begin();
  /// Takes a sample, at most one every few milliseconds however often it is called.
  void sample();
  /// Means of the samples since begin(): sm_mhz, mem_mhz, power_w, temperature_c, the share of
  /// samples that were power_capped or otherwise throttled, and energy_j, the joules drawn since
  /// begin() by everything on the GPU. Empty without NVML.
  std::map<std::string, double> summary() const;

 private:
  struct Library;
  std::unique_ptr<Library> nvml_;
  struct Sums {
    double count = 0, sm_mhz = 0, mem_mhz = 0, power_w = 0, temperature_c = 0;
    double power_capped = 0, throttled = 0;
  };
  Sums sums_;
  double energy_at_begin_j_ = 0;
  std::chrono::steady_clock::time_point last_sample_;
};

}  // namespace gemm
