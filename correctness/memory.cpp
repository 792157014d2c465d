#include "correctness/memory.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>
#include <utility>

#ifdef GEMMWATCH_WITH_CUDA
#include "correctness/cuda_check.hpp"
#endif

namespace gemm {
namespace {

constexpr std::size_t alignment = 256;  // cudaMalloc promises no less

#ifdef GEMMWATCH_WITH_CUDA
void* allocate_gpu(std::size_t bytes) {
  void* data = nullptr;
  GEMM_CUDA(cudaMalloc(&data, bytes));
  return data;
}
// The status is dropped on purpose: a destructor cannot throw, a broken context has been reported
// by the call that broke it, and static buffers are freed after the runtime has shut down.
void free_gpu(void* data) { static_cast<void>(cudaFree(data)); }
void fill_gpu(void* data, unsigned char byte, std::size_t bytes) {
  GEMM_CUDA(cudaMemsetAsync(data, byte, bytes, nullptr));
}
void copy_gpu(void* to, Space to_space, const void* from, Space from_space, std::size_t bytes) {
  GEMM_CUDA(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, nullptr));
  const bool within_gpu = to_space == Space::gpu && from_space == Space::gpu;
  if (!within_gpu) GEMM_CUDA(cudaStreamSynchronize(nullptr));
}
void synchronize_gpu() { GEMM_CUDA(cudaDeviceSynchronize()); }
std::size_t free_on_gpu() {
  std::size_t free = 0, total = 0;
  GEMM_CUDA(cudaMemGetInfo(&free, &total));
  return free;
}

DeviceChoice choose_gpu() {
  int count = 0;
  const cudaError_t found = cudaGetDeviceCount(&count);
  cudaGetLastError();  // having no GPU is an answer, not an error to be reported later
  if (found == cudaErrorInsufficientDriver)
    return {{}, "there is no NVIDIA driver, or it is older than this build's CUDA runtime needs"};
  if (found == cudaErrorNoDevice) return {{}, "there is no GPU"};
  if (found != cudaSuccess) return {{}, cudaGetErrorString(found)};
  if (count == 0) return {{}, "there is no GPU"};

  int major = 0, minor = 0;
  GEMM_CUDA(cudaSetDevice(0));
  GEMM_CUDA(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0));
  GEMM_CUDA(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, 0));
  if (major < 8) return {{}, "the GPU is too old: compute capability 8.0 is needed"};
  return {{.space = Space::gpu, .compute_capability = 10 * major + minor}};
}
#else
[[noreturn]] void no_cuda() {
  throw std::runtime_error("this build has no CUDA: configure with -DGEMMWATCH_CUDA=ON");
}
void* allocate_gpu(std::size_t) { no_cuda(); }
void free_gpu(void*) {}
void fill_gpu(void*, unsigned char, std::size_t) { no_cuda(); }
void copy_gpu(void*, Space, const void*, Space, std::size_t) { no_cuda(); }
void synchronize_gpu() { no_cuda(); }
std::size_t free_on_gpu() { no_cuda(); }
DeviceChoice choose_gpu() { return {{}, "this build has no CUDA"}; }
#endif

void* allocate(Space space, std::size_t bytes) {
  if (space == Space::gpu) return allocate_gpu(bytes);
  void* data = nullptr;
  if (posix_memalign(&data, alignment, bytes) != 0) throw std::runtime_error("out of memory");
  return data;
}

}  // namespace

Buffer::Buffer(Space space, std::size_t bytes) : space_(space), bytes_(bytes) {
  try {
    // An empty matrix still has an address: libraries refuse null pointers even when m n k = 0.
    data_ = allocate(space, std::max<std::size_t>(bytes, 1));
  } catch (const std::runtime_error& error) {
    throw std::runtime_error("cannot allocate " + std::to_string(bytes) + " bytes of " +
                             (space == Space::gpu ? "GPU" : "host") + " memory: " + error.what());
  }
}

Buffer::~Buffer() {
  if (space_ == Space::gpu) {
    free_gpu(data_);
  } else {
    std::free(data_);
  }
}

Buffer::Buffer(Buffer&& other) noexcept
    : space_(other.space_),
      data_(std::exchange(other.data_, nullptr)),
      bytes_(std::exchange(other.bytes_, 0)) {}

Buffer& Buffer::operator=(Buffer&& other) noexcept {
  std::swap(space_, other.space_);
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

void fill(const Buffer& buffer, unsigned char byte) {
  if (buffer.bytes() == 0) return;
  if (buffer.space() == Space::gpu) return fill_gpu(buffer.data(), byte, buffer.bytes());
  std::memset(buffer.data(), byte, buffer.bytes());
}

void copy(void* to, Space to_space, const void* from, Space from_space, std::size_t bytes) {
  if (bytes == 0) return;
  if (to_space == Space::host && from_space == Space::host) {
    std::memcpy(to, from, bytes);
  } else {
    copy_gpu(to, to_space, from, from_space, bytes);
  }
}

void synchronize(Space space) {
  if (space == Space::gpu) synchronize_gpu();
}

std::size_t free_gpu_bytes() { return free_on_gpu(); }

DeviceChoice choose_device(bool want_gpu) {
  if (!want_gpu) return {{}, "the host was asked for"};
  return choose_gpu();
}

}  // namespace gemm
