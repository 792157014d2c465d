// The GPU's clock. A block is a captured graph, replayed between two events: the host's launch cost
// then stays out of the time, for kernel and control alike.
#include <algorithm>

#include "bench/graph_functions.hpp"
#include "bench/protocol.hpp"
#include "bench/stopwatch.hpp"
#include "correctness/cuda_check.hpp"

namespace gemm {
namespace {

/// Keeps the stream busy for a time: an injected slowdown that costs real GPU time.
__global__ void delay(unsigned long long nanoseconds) {
  unsigned long long start, now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(start));
  do {
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  } while (now - start < nanoseconds);
}

struct GpuBlock : PreparedBlock {
  GpuBlock() = default;
  GpuBlock(const GpuBlock&) = delete;
  GpuBlock& operator=(const GpuBlock&) = delete;
  ~GpuBlock() override {
    if (graph) cudaGraphExecDestroy(graph);
  }
  cudaGraphExec_t graph = nullptr;
  std::int64_t replays = 1;
  double delay_s = 0;
};

/// A pair of events' worth of timestamps for a sequence of blocks.
class Marks {
 public:
  explicit Marks(std::size_t count) : events_(count) {
    for (cudaEvent_t& event : events_) GEMM_CUDA(cudaEventCreate(&event));
  }
  Marks(const Marks&) = delete;
  Marks& operator=(const Marks&) = delete;
  ~Marks() {
    for (cudaEvent_t event : events_) cudaEventDestroy(event);
  }

  void record(std::size_t i, cudaStream_t stream) {
    GEMM_CUDA(cudaEventRecord(events_[i], stream));
  }
  bool reached(std::size_t i) const {
    const cudaError_t state = cudaEventQuery(events_[i]);
    if (state != cudaErrorNotReady) GEMM_CUDA(state);
    return state == cudaSuccess;
  }
  double seconds_to_next(std::size_t i) const {
    float milliseconds = 0;
    GEMM_CUDA(cudaEventElapsedTime(&milliseconds, events_[i], events_[i + 1]));
    return milliseconds * 1e-3;
  }

 private:
  std::vector<cudaEvent_t> events_;
};

class GpuStopwatch : public Stopwatch {
 public:
  GpuStopwatch(const Problem& problem, const Rotation& rotation)
      : problem_(problem), rotation_(rotation) {
    GEMM_CUDA(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
  }
  GpuStopwatch(const GpuStopwatch&) = delete;
  GpuStopwatch& operator=(const GpuStopwatch&) = delete;
  ~GpuStopwatch() override { cudaStreamDestroy(stream_); }

  std::unique_ptr<PreparedBlock> prepare(const Block& block) override {
    auto prepared = std::make_unique<GpuBlock>();
    // A graph visits every set of the rotation where the block is long enough for that.
    const std::int64_t nodes = std::min(
        block.launches, std::max<std::int64_t>(rotation_.sets(), protocol::graph_launches));
    capture(block, nodes, *prepared);
    prepared->replays = (block.launches + nodes - 1) / nodes;
    prepared->launches = nodes * prepared->replays;
    prepared->delay_s = block.delay_s;
    return prepared;
  }

  std::vector<double> time(const std::vector<PreparedBlock*>& order,
                           const std::function<void()>& meanwhile) override {
    Marks marks(order.size() + 1);
    keep_busy(
        protocol::head_start_s);  // or the first block would wait for the host within its time
    marks.record(0, stream_);
    for (std::size_t i = 0; i < order.size(); ++i) {
      enqueue(*static_cast<GpuBlock*>(order[i]));
      marks.record(i + 1, stream_);
    }
    while (!marks.reached(order.size())) meanwhile();
    std::vector<double> seconds(order.size());
    for (std::size_t i = 0; i < order.size(); ++i) seconds[i] = marks.seconds_to_next(i);
    return seconds;
  }

 private:
  void enqueue(const GpuBlock& block) {
    for (std::int64_t i = 0; i < block.replays; ++i)
      GEMM_CUDA(cudaGraphLaunch(block.graph, stream_));
    if (block.delay_s > 0) keep_busy(block.delay_s);
  }

  void keep_busy(double seconds) {
    delay<<<1, 1, 0, stream_>>>(static_cast<unsigned long long>(seconds * 1e9));
    GEMM_CUDA(cudaGetLastError());
  }

  void capture(const Block& block, std::int64_t nodes, GpuBlock& into) {
    GEMM_CUDA(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal));
    cudaGraph_t graph = nullptr;
    try {
      for (std::int64_t i = 0; i < nodes; ++i) {
        Operands operands = rotation_.operands(i);
        operands.stream = stream_;
        operands.variant = block.variant;
        block.kernel->launch(problem_, operands);
      }
    } catch (...) {
      // The launch's error is the one to tell; these only leave the stream usable.
      cudaStreamEndCapture(stream_, &graph);
      if (graph) cudaGraphDestroy(graph);
      cudaGetLastError();
      throw;
    }
    GEMM_CUDA(cudaStreamEndCapture(stream_, &graph));
    into.functions = graph_functions(graph);
    const cudaError_t error = cudaGraphInstantiate(&into.graph, graph, 0);
    cudaGraphDestroy(graph);
    GEMM_CUDA(error);
    GEMM_CUDA(cudaGraphUpload(into.graph, stream_));  // not within the time of its first launch
  }

  const Problem& problem_;
  const Rotation& rotation_;
  cudaStream_t stream_ = nullptr;
};

}  // namespace

std::unique_ptr<Stopwatch> make_gpu_stopwatch(const Problem& problem, const Rotation& rotation) {
  return std::make_unique<GpuStopwatch>(problem, rotation);
}

}  // namespace gemm
