#include <cublas_v2.h>
#include <cuda_runtime.h>
#include <dlfcn.h>

#include <array>
#include <cstdio>
#include <cstdlib>

#include "bench/machine.hpp"
#include "bench/telemetry.hpp"
#include "correctness/cuda_check.hpp"

namespace gemm {
namespace {

/// 13000 is 13.0, as the runtime and the driver count.
std::string cuda_version(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

std::string cublas_version() {
  std::string version;
  for (const libraryPropertyType part : {MAJOR_VERSION, MINOR_VERSION, PATCH_LEVEL}) {
    int value = 0;
    if (cublasGetProperty(part, &value) != CUBLAS_STATUS_SUCCESS) return "unknown";
    version += (version.empty() ? "" : ".") + std::to_string(value);
  }
  return version;
}

/// The file that was loaded, which an environment variable or a package may have exchanged.
std::string cublas_path() {
  Dl_info found{};
  void* const symbol = dlsym(RTLD_DEFAULT, "cublasGetProperty");
  return symbol && dladdr(symbol, &found) && found.dli_fname ? found.dli_fname : "unknown";
}

std::string uuid_text(const cudaUUID_t& uuid) {
  std::string text = "GPU-";
  for (const char byte : uuid.bytes) {
    std::array<char, 3> digits{};
    std::snprintf(digits.data(), digits.size(), "%02x", static_cast<unsigned char>(byte));
    text += digits.data();
  }
  return text;
}

/// Dense peaks from the vendor's data sheet (NVIDIA H200 Tensor Core GPU, SXM part). A GPU that is
/// not here has no known peak, and no share of it is reported.
std::map<std::string, double> data_sheet_peaks(const std::string& gpu) {
  if (gpu == "NVIDIA H200")
    return {{"fp32", 66.9},
            {"tf32", 494.7},
            {"fp16", 989.4},
            {"bf16", 989.4},
            {"bandwidth_gb_s", 4800}};
  return {};
}

}  // namespace

void describe_gpu(Machine& machine) {
  cudaDeviceProp properties{};
  GEMM_CUDA(cudaGetDeviceProperties(&properties, 0));
  std::array<char, 32> bus_id{};
  GEMM_CUDA(cudaDeviceGetPCIBusId(bus_id.data(), static_cast<int>(bus_id.size()), 0));
  int runtime = 0, driver = 0;
  GEMM_CUDA(cudaRuntimeGetVersion(&runtime));
  GEMM_CUDA(cudaDriverGetVersion(&driver));

  machine.pci_bus_id = bus_id.data();
  machine.cache_bytes = static_cast<std::size_t>(properties.l2CacheSize);
  machine.peaks = data_sheet_peaks(properties.name);

  Facts& fingerprint = machine.fingerprint;
  fingerprint["device"] = "gpu";
  fingerprint["gpu"] = properties.name;
  fingerprint["driver"] = "CUDA " + cuda_version(driver);
  fingerprint["cuda_runtime"] = cuda_version(runtime);
  fingerprint["cublas"] = cublas_version();
  fingerprint["nvcc"] = GEMMWATCH_NVCC_VERSION;
  fingerprint["power_limit_w"] = "unknown";
  const Telemetry telemetry(machine.pci_bus_id);
  for (const auto& [key, value] : telemetry.facts()) fingerprint[key] = value;

  Facts& environment = machine.environment;
  environment.merge(telemetry.settings());
  environment["compute_capability"] =
      std::to_string(properties.major) + "." + std::to_string(properties.minor);
  environment["cublas_path"] = cublas_path();
  if (const char* const forced = std::getenv("CUDA_FORCE_PTX_JIT"))
    environment["cuda_force_ptx_jit"] = forced;
  environment["gpu_uuid"] = uuid_text(properties.uuid);
  environment["sms"] = std::to_string(properties.multiProcessorCount);
  environment["l2_bytes"] = std::to_string(properties.l2CacheSize);
  environment["memory_bytes"] = std::to_string(properties.totalGlobalMem);
  environment["ecc"] = properties.ECCEnabled ? "on" : "off";
}

}  // namespace gemm
