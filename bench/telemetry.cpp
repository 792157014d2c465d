#include "bench/telemetry.hpp"

#include <dlfcn.h>

#include <array>

namespace gemm {
namespace {

constexpr auto sample_interval = std::chrono::milliseconds(5);

// From NVML's ABI, which is stable; its header is not on every machine that can compile this.
using NvmlDevice = void*;
constexpr int nvml_success = 0, nvml_clock_sm = 1, nvml_clock_mem = 2, nvml_temperature_gpu = 0;
constexpr unsigned long long reason_idle = 0x1, reason_app_clocks = 0x2, reason_power_cap = 0x4;

}  // namespace

struct Telemetry::Library {
  void* handle = nullptr;
  NvmlDevice device = nullptr;
  int (*clock)(NvmlDevice, int, unsigned*) = nullptr;
  int (*power)(NvmlDevice, unsigned*) = nullptr;
  int (*temperature)(NvmlDevice, int, unsigned*) = nullptr;
  int (*reasons)(NvmlDevice, unsigned long long*) = nullptr;
  int (*energy)(NvmlDevice, unsigned long long*) = nullptr;
  int (*power_limit)(NvmlDevice, unsigned*) = nullptr;
  int (*driver)(char*, unsigned) = nullptr;
  int (*mig_mode)(NvmlDevice, unsigned*, unsigned*) = nullptr;  // these two may be absent
  int (*max_clock)(NvmlDevice, int, unsigned*) = nullptr;
  int (*shutdown)() = nullptr;

  Library() = default;
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;
  ~Library() {
    if (shutdown) shutdown();
    if (handle) dlclose(handle);
  }

  template <class Function>
  bool load(Function& function, const char* symbol) {
    function = reinterpret_cast<Function>(dlsym(handle, symbol));
    return function != nullptr;
  }

  /// False if NVML or the device is not to be had.
  bool open(const std::string& pci_bus_id) {
    handle = dlopen("libnvidia-ml.so.1", RTLD_NOW);
    if (!handle) return false;
    int (*init)() = nullptr;
    int (*by_bus_id)(const char*, NvmlDevice*) = nullptr;
    const bool complete =
        load(init, "nvmlInit_v2") && load(by_bus_id, "nvmlDeviceGetHandleByPciBusId_v2") &&
        load(clock, "nvmlDeviceGetClockInfo") && load(power, "nvmlDeviceGetPowerUsage") &&
        load(temperature, "nvmlDeviceGetTemperature") &&
        load(reasons, "nvmlDeviceGetCurrentClocksThrottleReasons") &&
        load(energy, "nvmlDeviceGetTotalEnergyConsumption") &&
        load(power_limit, "nvmlDeviceGetEnforcedPowerLimit") &&
        load(driver, "nvmlSystemGetDriverVersion");
    if (!complete || init() != nvml_success) return false;
    load(shutdown, "nvmlShutdown");
    load(mig_mode, "nvmlDeviceGetMigMode");
    load(max_clock, "nvmlDeviceGetMaxClockInfo");
    return by_bus_id(pci_bus_id.c_str(), &device) == nvml_success;
  }

  double joules() const {
    unsigned long long millijoules = 0;
    return energy(device, &millijoules) == nvml_success ? static_cast<double>(millijoules) / 1e3
                                                        : 0.0;
  }
};

Telemetry::Telemetry(const std::string& pci_bus_id) {
  if (pci_bus_id.empty()) return;
  auto library = std::make_unique<Library>();
  if (library->open(pci_bus_id)) nvml_ = std::move(library);
}

Telemetry::~Telemetry() = default;

std::map<std::string, std::string> Telemetry::facts() const {
  std::map<std::string, std::string> facts;
  if (!nvml_) return facts;
  std::array<char, 96> version{};
  if (nvml_->driver(version.data(), version.size()) == nvml_success)
    facts["driver"] = version.data();
  unsigned milliwatts = 0;
  if (nvml_->power_limit(nvml_->device, &milliwatts) == nvml_success)
    facts["power_limit_w"] = std::to_string(milliwatts / 1000);
  return facts;
}

std::map<std::string, std::string> Telemetry::settings() const {
  std::map<std::string, std::string> settings;
  if (!nvml_) return settings;
  unsigned current = 0, pending = 0, mhz = 0;
  if (nvml_->mig_mode && nvml_->mig_mode(nvml_->device, &current, &pending) == nvml_success)
    settings["mig"] = current ? "on" : "off";
  if (nvml_->max_clock && nvml_->max_clock(nvml_->device, nvml_clock_sm, &mhz) == nvml_success)
    settings["max_sm_mhz"] = std::to_string(mhz);
  return settings;
}

void Telemetry::begin() {
  sums_ = {};
  last_sample_ = {};
  if (nvml_) energy_at_begin_j_ = nvml_->joules();
}

void Telemetry::sample() {
  if (!nvml_) return;
  const auto now = std::chrono::steady_clock::now();
  if (now - last_sample_ < sample_interval) return;
  last_sample_ = now;

  unsigned sm = 0, memory = 0, milliwatts = 0, celsius = 0;
  unsigned long long reasons = 0;
  NvmlDevice device = nvml_->device;
  if (nvml_->clock(device, nvml_clock_sm, &sm) != nvml_success ||
      nvml_->clock(device, nvml_clock_mem, &memory) != nvml_success ||
      nvml_->power(device, &milliwatts) != nvml_success ||
      nvml_->temperature(device, nvml_temperature_gpu, &celsius) != nvml_success ||
      nvml_->reasons(device, &reasons) != nvml_success)
    return;  // a sample that is not whole is no sample
  const unsigned long long harmless = reason_idle | reason_app_clocks | reason_power_cap;
  sums_.count += 1;
  sums_.sm_mhz += sm;
  sums_.mem_mhz += memory;
  sums_.power_w += milliwatts / 1e3;
  sums_.temperature_c += celsius;
  sums_.power_capped += (reasons & reason_power_cap) ? 1 : 0;
  sums_.throttled += (reasons & ~harmless) ? 1 : 0;
}

std::map<std::string, double> Telemetry::summary() const {
  if (!nvml_ || sums_.count == 0) return {};
  return {{"sm_mhz", sums_.sm_mhz / sums_.count},
          {"mem_mhz", sums_.mem_mhz / sums_.count},
          {"power_w", sums_.power_w / sums_.count},
          {"temperature_c", sums_.temperature_c / sums_.count},
          {"power_capped", sums_.power_capped / sums_.count},
          {"throttled", sums_.throttled / sums_.count},
          {"energy_j", nvml_->joules() - energy_at_begin_j_}};
}

}  // namespace gemm
