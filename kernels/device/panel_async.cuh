// Panels of FP32 that travel past the registers: cp.async from device memory to shared memory.
#pragma once

#include "panel.cuh"
#include "ptx_sm80.cuh"

namespace gemm::device {

/// Can the panels of a whole tile be copied without asking for each element whether it exists?
template <bool k_contiguous>
__device__ bool is_inside(const Operand<float>& from, long long outer0, int outer) {
  return outer0 + outer <= from.outer_extent && (k_contiguous || from.aligned);
}

/// A thread's share of the panels of one FP32 operand, by asynchronous copies. Copies of 4 bytes
/// transpose on their way and need no alignment. `inside` says that panels are wholly so; then
/// nothing is masked, and copies are of 16 bytes where nothing is to be transposed.
template <bool inside, bool k_contiguous, int outer, int tile_k, int threads>
class PanelCopy {
 public:
  static constexpr int pitch = panel_pitch<outer>;

  /// The first panel is the one at (outer0, k0).
  __device__ PanelCopy(const Operand<float>& from, long long outer0, long long k0)
      : line_stride_(from.line_stride) {
    const int o = Map::outer_of(threadIdx.x), k = Map::k_of(threadIdx.x);
    next_ = from.data + at(outer0 + o, k0 + k);
    place_ = (k * pitch + o) * 4;
    outer_left_ = static_cast<int>(min(from.outer_extent - outer0, 1LL * outer)) - o;
  }

  /// Starts to copy the next panel, of whose rows `k_left` exist, and more may follow, to the
  /// shared address `panel`. Beyond the operand's edges it will be zero.
  __device__ void start(unsigned panel, long long k_left) {
    const int k_here = static_cast<int>(min(k_left, 1LL * tile_k)) - Map::k_of(threadIdx.x);
    const float* from = next_;
#pragma unroll
    for (int v = 0; v < Map::vectors; ++v) {
      const int o = Map::outer_step(v), k = Map::k_step(v);
      if (v > 0) from += at(o - Map::outer_step(v - 1), k - Map::k_step(v - 1));
      const unsigned to = panel + place_ + (k * pitch + o) * 4;
      if constexpr (width == 4)
        cp_async_16(to, from, 16);
      else
        cp_async_4(to, from, inside || (o < outer_left_ && k < k_here) ? 4 : 0);
    }
    next_ += at(0, tile_k);
  }

 private:
  static constexpr int width = inside && !k_contiguous ? 4 : 1;
  using Map = PanelMap<k_contiguous, outer, tile_k, threads, width>;

  __device__ long long at(long long o, long long k) const {
    return k_contiguous ? o * line_stride_ + k : k * line_stride_ + o;
  }

  const float* next_;  // this thread's first element of the next panel
  long long line_stride_;
  unsigned place_;  // where that goes in the panel, in bytes
  int outer_left_;  // elements along outer from there that exist
};

}  // namespace gemm::device
