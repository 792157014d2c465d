// The GPU's load: half of its multiprocessors walk through twice the L2 cache.
#include "correctness/cuda_check.hpp"
#include "correctness/load.hpp"
#include "correctness/memory.hpp"

namespace gemm {
namespace {

constexpr int block_size = 1024;
constexpr int passes = 2;  // about 0.2 ms

__global__ void walk(uint4* words, long long count) {
  const long long stride = static_cast<long long>(gridDim.x) * blockDim.x;
  for (int pass = 0; pass < passes; ++pass)
    for (long long i = blockIdx.x * static_cast<long long>(blockDim.x) + threadIdx.x; i < count;
         i += stride)
      ++words[i].x;
}

int attribute(cudaDeviceAttr which) {
  int value = 0;
  GEMM_CUDA(cudaDeviceGetAttribute(&value, which, 0));
  return value;
}

cudaStream_t independent_stream() {
  cudaStream_t stream = nullptr;
  GEMM_CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  return stream;
}

class GpuLoad : public Load {
 public:
  GpuLoad() { fill(walked_, 0); }

  void* stream() const override { return stream_; }

  void begin() override {
    const auto words = static_cast<long long>(walked_.bytes() / sizeof(uint4));
    walk<<<blocks_, block_size, 0, walking_>>>(static_cast<uint4*>(walked_.data()), words);
    GEMM_CUDA(cudaGetLastError());
  }

 private:
  cudaStream_t stream_ = independent_stream(), walking_ = independent_stream();
  Buffer walked_{Space::gpu, 2 * static_cast<std::size_t>(attribute(cudaDevAttrL2CacheSize))};
  unsigned blocks_ = static_cast<unsigned>(attribute(cudaDevAttrMultiProcessorCount) + 1) / 2;
};

}  // namespace

Load& gpu_load() {
  static GpuLoad& gpu = *new GpuLoad;  // never destroyed: the context may be gone by then
  return gpu;
}

}  // namespace gemm
