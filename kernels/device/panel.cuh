// Panels: the tile_k-thick slices of A and B that a block multiplies, brought by 16-byte accesses.
//
// Both operands are seen the same way, as outer x k: outer is m for A and n for B. In shared memory
// a panel is [k][outer] in FP32, so that one step of k reads neighbours, whatever the layout was.
#pragma once

#include <type_traits>

#include "matrix.cuh"
#include "number.cuh"
#include "panel_map.hpp"

namespace gemm::device {

/// An operand of one matrix of the batch as outer x k. One of the two strides is 1.
template <class Storage>
struct Operand {
  const Storage* data;
  long long outer_extent, k_extent;
  long long line_stride;  // between lines along the contiguous direction
  bool aligned;           // every line starts on 16 bytes
};

template <class Storage>
__device__ Operand<Storage> operand_a(const Product<Storage>& p, long long batch,
                                      bool k_contiguous) {
  const Storage* data = p.a.at(batch, 0, 0);
  const long long line = k_contiguous ? p.a.row_stride : p.a.column_stride;
  return {data, p.m, p.k, line, lines_aligned(data, line)};
}

template <class Storage>
__device__ Operand<Storage> operand_b(const Product<Storage>& p, long long batch,
                                      bool k_contiguous) {
  const Storage* data = p.b.at(batch, 0, 0);
  const long long line = k_contiguous ? p.b.column_stride : p.b.row_stride;
  return {data, p.n, p.k, line, lines_aligned(data, line)};
}

/// A thread's share of the panels of one operand, through registers: from device memory, and on to
/// shared memory, transposed and widened where that is needed.
template <class Storage, bool k_contiguous, int outer, int tile_k, int threads>
class PanelShare {
 public:
  /// The first panel is the one at (outer0, 0).
  __device__ PanelShare(const Operand<Storage>& from, long long outer0)
      : line_stride_(from.line_stride),
        outer_left_(static_cast<int>(min(from.outer_extent - outer0, 1LL * outer)) -
                    Map::outer_of(threadIdx.x)),
        whole_(from.aligned && outer0 + outer <= from.outer_extent) {
    next_ = from.data + at(outer0 + Map::outer_of(threadIdx.x), Map::k_of(threadIdx.x));
  }

  /// Reads the next panel, of whose rows `k_left` exist, and more may follow. Beyond the operand's
  /// edges it is zero.
  __device__ void load(long long k_left) {
    if (whole_ && k_left >= tile_k) {  // alike in all threads of a block
#pragma unroll
      for (int v = 0; v < Map::vectors; ++v)
        reinterpret_cast<Vector&>(elements_[v]) =
            __ldg(reinterpret_cast<const Vector*>(next_ + at(Map::outer_step(v), Map::k_step(v))));
    } else {
      const int k_here = static_cast<int>(min(k_left, 1LL * tile_k)) - Map::k_of(threadIdx.x);
#pragma unroll
      for (int v = 0; v < Map::vectors; ++v) {
        const int o = outer_left_ - Map::outer_step(v), k = k_here - Map::k_step(v);
        const int lines = k_contiguous ? o : k, length = k_contiguous ? k : o;
        const Storage* address = next_ + at(Map::outer_step(v), Map::k_step(v));
#pragma unroll
        for (int e = 0; e < width; ++e)
          elements_[v][e] = lines > 0 && e < length ? address[e] : round_to<Storage>(0.0f);
      }
    }
    next_ += at(0, tile_k);
  }

  /// Writes what was read to shared memory, widened to FP32.
  template <int pitch>
  __device__ void store(float (*panel)[pitch]) const {
#pragma unroll
    for (int v = 0; v < Map::vectors; ++v) {
      const int o = Map::outer_of(threadIdx.x) + Map::outer_step(v);
      const int k = Map::k_of(threadIdx.x) + Map::k_step(v);
      if constexpr (k_contiguous) {
#pragma unroll
        for (int e = 0; e < width; ++e) panel[k + e][o] = widen(elements_[v][e]);
      } else {
        *reinterpret_cast<float4*>(&panel[k][o]) =
            make_float4(widen(elements_[v][0]), widen(elements_[v][1]), widen(elements_[v][2]),
                        widen(elements_[v][3]));
      }
    }
  }

 private:
  // 16 bytes, or what becomes 16 bytes of shared memory where that is less.
  static constexpr int width = k_contiguous ? 16 / sizeof(Storage) : 4;
  using Map = PanelMap<k_contiguous, outer, tile_k, threads, width>;
  using Vector = std::conditional_t<width * sizeof(Storage) == 16, uint4, uint2>;

  __device__ long long at(long long o, long long k) const {
    return k_contiguous ? o * line_stride_ + k : k * line_stride_ + o;
  }

  const Storage* next_;  // this thread's first element of the next panel
  long long line_stride_;
  int outer_left_;  // lines or elements of the panel from this thread's first that exist
  bool whole_;
  alignas(16) Storage elements_[Map::vectors][width];
};

/// Four neighbours of one row of a panel in shared memory.
template <int pitch>
__device__ void read_four(float (&to)[4], const float (*panel)[pitch], int k, int o) {
  reinterpret_cast<float4&>(to) = *reinterpret_cast<const float4*>(&panel[k][o]);
}

/// The linear epilogue for four neighbours of one row of C, in one access where that is possible.
template <class Storage>
__device__ void store_four(const Product<Storage>& p, long long batch, long long row,
                           long long column, const float (&product)[4]) {
  if (row >= p.m) return;
  Storage* address = p.c.at(batch, row, column);
  struct alignas(4 * sizeof(Storage)) Four {
    Storage element[4];
  };
  const bool whole =
      column + 4 <= p.n && reinterpret_cast<unsigned long long>(address) % sizeof(Four) == 0;
  if (whole) {
    Four four;
    if (p.beta != 0.0f) four = *reinterpret_cast<const Four*>(address);
#pragma unroll
    for (int j = 0; j < 4; ++j) store_linear(&four.element[j], product[j], p.alpha, p.beta);
    *reinterpret_cast<Four*>(address) = four;
  } else {
#pragma unroll
    for (int j = 0; j < 4; ++j)
      if (column + j < p.n) store_linear(address + j, product[j], p.alpha, p.beta);
  }
}

}  // namespace gemm::device
