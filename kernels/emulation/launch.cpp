#include "kernels/emulation/launch.hpp"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <numeric>
#include <string>

#include "kernels/emulation/machine.hpp"
#include "kernels/emulation/runtime.hpp"
#include "kernels/emulation/schedule.hpp"
#include "kernels/emulation/tensor_map.hpp"

namespace gemm::emulation {
namespace {

constexpr unsigned most_threads = 1024, register_file = 64 << 10, most_registers = 248;
constexpr unsigned most_cluster_blocks = 8;

cudaError_t last_error = cudaSuccess;
std::map<const void*, int>& granted_dynamic_bytes() {
  static std::map<const void*, int> granted;
  return granted;
}

struct ClusterDeclared {
  dim3 cluster;
};

unsigned count(const dim3& extent) { return extent.x * extent.y * extent.z; }

uint3 index_in(const dim3& extent, unsigned i) {
  return {i % extent.x, i / extent.x % extent.y, i / extent.x / extent.y};
}

/// Stacks are worth keeping from one block to the next.
class FiberPool {
 public:
  std::unique_ptr<Fiber> take() {
    if (spare_.empty()) return std::make_unique<Fiber>();
    std::unique_ptr<Fiber> fiber = std::move(spare_.back());
    spare_.pop_back();
    return fiber;
  }
  void give_back(std::unique_ptr<Fiber> fiber) { spare_.push_back(std::move(fiber)); }

 private:
  std::vector<std::unique_ptr<Fiber>> spare_;
};
FiberPool fibers;
std::vector<std::unique_ptr<SharedMemory>> spare_memories;

std::unique_ptr<SharedMemory> renewed_memory() {
  if (spare_memories.empty()) return std::make_unique<SharedMemory>();
  std::unique_ptr<SharedMemory> memory = std::move(spare_memories.back());
  spare_memories.pop_back();
  memory->renew();
  return memory;
}

std::unique_ptr<Block> new_block(Cluster& cluster, unsigned rank, uint3 index) {
  auto block = std::make_unique<Block>();
  const unsigned threads = count(geometry.block);
  const unsigned warps = (threads + warp_size - 1) / warp_size;
  block->cluster = &cluster;
  block->memory = renewed_memory();
  block->rank = rank;
  block->index = index;
  block->running = threads;
  block->threads = std::vector<Thread>(threads);
  block->warps = std::vector<Warp>(warps);
  block->warpgroups = std::vector<Warpgroup>(warps / warpgroup_warps);
  for (unsigned i = 0; i < warps; ++i) {
    Warp& warp = block->warps[i];
    warp.block = block.get();
    warp.number = i;
    warp.threads = &block->threads[i * warp_size];
    const unsigned lanes = std::min(warp_size, threads - i * warp_size);
    warp.exists = lanes == warp_size ? ~0u : (1u << lanes) - 1;
    warp.registers =
        static_cast<int>(std::min(most_registers, register_file / (warps * warp_size) / 8 * 8));
  }
  for (unsigned i = 0; i < threads; ++i) {
    Thread& thread = block->threads[i];
    thread.block = block.get();
    thread.warp = &block->warps[i / warp_size];
    thread.linear = i;
    thread.lane = i % warp_size;
    thread.index = index_in(geometry.block, i);
    thread.present.unit = static_cast<Unit>(rank * threads + i);
    thread.fiber = fibers.take();
  }
  return block;
}

void run_cluster(unsigned number, void (*body)(void*), void* argument) {
  const dim3& size = geometry.cluster;
  const dim3 clusters(geometry.grid.x / size.x, geometry.grid.y / size.y, geometry.grid.z / size.z);
  const uint3 at = index_in(clusters, number);
  Cluster cluster;
  for (unsigned rank = 0; rank < count(size); ++rank) {
    const uint3 in = index_in(size, rank);
    cluster.blocks.push_back(new_block(
        cluster, rank, {at.x * size.x + in.x, at.y * size.y + in.y, at.z * size.z + in.z}));
  }
  struct Return {
    Cluster& cluster;
    ~Return() {
      for (const auto& block : cluster.blocks) {
        spare_memories.push_back(std::move(block->memory));
        for (Thread& thread : block->threads) fibers.give_back(std::move(thread.fiber));
      }
    }
  } back{cluster};
  run(cluster, body, argument);
}

void run_clusters(std::size_t dynamic_bytes, void (*body)(void*), void* argument) {
  SharedLayout of_this_launch(static_cast<unsigned>(dynamic_bytes));
  layout = &of_this_launch;
  std::vector<unsigned> order(count(geometry.grid) / count(geometry.cluster));
  std::iota(order.begin(), order.end(), 0);
  for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[luck.below(i)]);
  for (const unsigned number : order) run_cluster(number, body, argument);
}

/// What the runtime says to a launch before any thread runs.
cudaError_t refusal(const Configuration& configuration, const void* kernel) {
  const auto& [grid, block, bytes, stream, cluster, may_overlap] = configuration;
  if (count(grid) == 0 || count(block) == 0 || count(block) > most_threads || grid.x > 0x7fffffff ||
      grid.y > 65535 || grid.z > 65535 || block.z > 64)
    return cudaErrorInvalidConfiguration;
  const auto granted = granted_dynamic_bytes().find(kernel);
  const auto most = granted == granted_dynamic_bytes().end()
                        ? most_static_shared_bytes
                        : static_cast<unsigned>(granted->second);
  return bytes > most ? cudaErrorInvalidValue : cudaSuccess;
}

cudaError_t cluster_refusal(const dim3& grid, const dim3& cluster) {
  if (count(cluster) == 0 || count(cluster) > most_cluster_blocks || grid.x % cluster.x != 0 ||
      grid.y % cluster.y != 0 || grid.z % cluster.z != 0)
    return cudaErrorInvalidClusterSize;
  return cudaSuccess;
}

std::uint64_t first_schedule() {
  const char* given = std::getenv("GEMMWATCH_SCHEDULE");
  return given ? std::strtoull(given, nullptr, 10) : 1;
}
std::uint64_t next_schedule = first_schedule();

}  // namespace

void restart_schedules() { next_schedule = first_schedule(); }

void run_grid(const char* name, const Configuration& configuration, const void* kernel,
              void (*body)(void*), void* argument) {
  last_error = refusal(configuration, kernel);
  if (last_error != cudaSuccess) return;
  const std::uint64_t schedule = next_schedule++;
  geometry = {configuration.grid, configuration.block, configuration.cluster,
              configuration.may_overlap};
  for (;;) {
    last_error = cluster_refusal(geometry.grid, geometry.cluster);
    if (last_error != cudaSuccess) return;
    luck = Random(schedule);
    try {
      return run_clusters(configuration.dynamic_bytes, body, argument);
    } catch (const ClusterDeclared& declared) {
      geometry.cluster = declared.cluster;  // once more: nothing has happened yet
    } catch (const Violation& error) {
      throw Violation(std::string(name) + ", schedule " + std::to_string(schedule) + ": " +
                      error.what());
    }
  }
}

void declare_cluster(unsigned x, unsigned y, unsigned z) {
  const dim3& now = geometry.cluster;
  if (now.x == x && now.y == y && now.z == z) return;
  if (count(now) != 1) violation("launched with another cluster than __cluster_dims__ declares");
  throw ClusterDeclared{dim3(x, y, z)};
}

namespace {

std::byte* allocated(const SharedVariable& variable) {
  SharedMemory& memory = *self().block->memory;
  memory.allocate(variable);
  return memory.at(variable.at);
}

}  // namespace

std::byte* static_shared(const char* name, unsigned bytes, unsigned alignment) {
  return allocated(layout->static_variable(name, bytes, alignment));
}

std::byte* dynamic_shared(unsigned alignment) {
  return allocated(layout->dynamic_array(alignment));
}

// ---------------------------------------------------------------------------------------------

cudaError_t cudaGetDevice(int* device) {
  *device = 0;
  return cudaSuccess;
}

// Few, so that a kernel that stays on its SM walks through a small problem; and not always even.
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int) {
  if (attribute != cudaDevAttrMultiProcessorCount)
    violation("cudaDeviceGetAttribute: the emulator knows the number of SMs only");
  *value = first_schedule() % 2 == 0 ? 3 : 2;
  return cudaSuccess;
}

cudaError_t cudaGetLastError() { return std::exchange(last_error, cudaSuccess); }

const char* cudaGetErrorString(cudaError_t error) {
  switch (error) {
    case cudaErrorInvalidConfiguration:
      return "invalid configuration";
    case cudaErrorInvalidValue:
      return "invalid value, such as more dynamic shared memory than was asked for";
    case cudaErrorInvalidClusterSize:
      return "invalid cluster size";
    default:
      return "an error of the CUDA runtime";
  }
}

cudaError_t cudaGetDriverEntryPointByVersion(const char* name, void** function, unsigned,
                                             unsigned long long,
                                             cudaDriverEntryPointQueryResult* result) {
  const bool known = std::string_view(name) == "cuTensorMapEncodeTiled";
  *function = known ? reinterpret_cast<void*>(encode_tiled) : nullptr;
  *result = known ? cudaDriverEntryPointSuccess : cudaDriverEntryPointSymbolNotFound;
  return known ? cudaSuccess : cudaErrorSymbolNotFound;
}

cudaError_t set_attribute(const void* kernel, cudaFuncAttribute attribute, int value) {
  if (attribute == cudaFuncAttributeNonPortableClusterSizeAllowed) return cudaSuccess;
  if (attribute != cudaFuncAttributeMaxDynamicSharedMemorySize)
    violation("cudaFuncSetAttribute: the emulator knows the dynamic shared memory only");
  if (value < 0 || static_cast<unsigned>(value) > most_shared_bytes) return cudaErrorInvalidValue;
  granted_dynamic_bytes()[kernel] = value;
  return cudaSuccess;
}

Configuration configuration_of(const cudaLaunchConfig_t& config) {
  Configuration made(config.gridDim, config.blockDim, config.dynamicSmemBytes, config.stream);
  for (unsigned i = 0; i < config.numAttrs; ++i) {
    const cudaLaunchAttribute& attribute = config.attrs[i];
    switch (attribute.id) {
      case cudaLaunchAttributeClusterDimension:
        made.cluster = {attribute.val.clusterDim.x, attribute.val.clusterDim.y,
                        attribute.val.clusterDim.z};
        break;
      case cudaLaunchAttributeProgrammaticStreamSerialization:
        made.may_overlap = attribute.val.programmaticStreamSerializationAllowed != 0;
        break;
      default:
        violation("cudaLaunchKernelEx: the emulator does not know attribute " +
                  std::to_string(attribute.id));
    }
  }
  return made;
}

}  // namespace gemm::emulation
