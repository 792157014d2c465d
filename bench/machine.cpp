#include "bench/machine.hpp"

#include <cblas.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>

#include "bench/protocol.hpp"
#include "correctness/memory.hpp"

namespace gemm {
namespace {

/// "AMD EPYC 7B13" or whatever the kernel calls the first processor.
std::string cpu_name() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);)
    if (line.starts_with("model name")) return line.substr(line.find(':') + 2);
  return "unknown";
}

std::string host_compiler() {
#if defined(__clang__)
  return std::string("clang ") + __clang_version__;
#else
  return std::string("g++ ") + __VERSION__;
#endif
}

std::size_t host_cache_bytes() {
  const long bytes = sysconf(_SC_LEVEL2_CACHE_SIZE);
  return bytes > 0 ? static_cast<std::size_t>(bytes) : std::size_t{1} << 20;
}

void describe_host(Machine& machine) {
  machine.cache_bytes = host_cache_bytes();
  machine.fingerprint["device"] = "host";
  machine.fingerprint["cpu"] = cpu_name();
  machine.fingerprint["blas"] =
      std::string(openblas_get_config()) + " on " + openblas_get_corename();
  machine.fingerprint["threads"] = std::to_string(host_threads());
  machine.fingerprint["compiler"] = host_compiler();
  if (const char* timeout = std::getenv("OPENBLAS_THREAD_TIMEOUT"))
    machine.environment["openblas_thread_timeout"] = timeout;
}

}  // namespace

Machine describe_machine(bool want_gpu) {
  const DeviceChoice choice = choose_device(want_gpu);
  Machine machine;
  machine.device = choice.device;
  if (choice.why_host) machine.device_note = choice.why_host;
  machine.environment["cpu"] = cpu_name();
  machine.environment["compiler"] = host_compiler();
  machine.fingerprint["build"] = GEMMWATCH_BUILD_TYPE;
#ifdef GEMMWATCH_WITH_CUDA
  if (machine.device.space == Space::gpu) {
    describe_gpu(machine);
    return machine;
  }
#endif
  describe_host(machine);
  return machine;
}

}  // namespace gemm
