// Panels: the tile_k-thick slices of A and B that a block multiplies, brought by 16-byte accesses.
//
// Both operands are seen the same way, as outer x k: outer is m for A and n for B. In shared memory
// a panel is [k][outer] in FP32, so that one step of k reads neighbours, whatever the layout was.
#pragma once

#include "matrix.cuh"
#include "number.cuh"

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

/// Where element (k, outer) of a panel lies within its row of shared memory. The exclusive or
/// spreads the rows that one warp writes when it transposes (4 or 8 values of k at once) over all
/// 32 banks; it moves groups of 8 as a whole, so that reads of 4 neighbours stay 16-byte accesses.
__device__ inline int swizzled(int k, int outer) { return outer ^ (k / 4 % 4 * 8); }

/// A thread's share of a panel of outer x tile_k elements, between device and shared memory.
template <class Storage, bool k_contiguous, int outer, int tile_k, int threads>
class PanelShare {
 public:
  /// Reads the panel that starts at (outer0, k0). Beyond the operand's edges it is zero.
  __device__ void load(const Operand<Storage>& from, long long outer0, long long k0) {
#pragma unroll
    for (int v = 0; v < vectors; ++v) {
      const long long o = outer0 + outer_of(v), k = k0 + k_of(v);
      const long long line = k_contiguous ? o : k, along = k_contiguous ? k : o;
      const long long lines = k_contiguous ? from.outer_extent : from.k_extent;
      const long long length = k_contiguous ? from.k_extent : from.outer_extent;
      const Storage* address = from.data + line * from.line_stride + along;
      const int valid = line < lines ? static_cast<int>(min(length - along, 16LL)) : 0;
      if (from.aligned && valid >= width) {
        reinterpret_cast<uint4&>(elements_[v]) = __ldg(reinterpret_cast<const uint4*>(address));
      } else {
#pragma unroll
        for (int e = 0; e < width; ++e)
          elements_[v][e] = e < valid ? address[e] : round_to<Storage>(0.0f);
      }
    }
  }

  /// Writes the share to shared memory, widened to FP32.
  __device__ void store(float (*panel)[outer]) const {
#pragma unroll
    for (int v = 0; v < vectors; ++v) {
      const int o = outer_of(v), k = k_of(v);
      if constexpr (k_contiguous) {
#pragma unroll
        for (int e = 0; e < width; ++e) panel[k + e][swizzled(k + e, o)] = widen(elements_[v][e]);
      } else {
#pragma unroll
        for (int e = 0; e < width; e += 4)
          *reinterpret_cast<float4*>(&panel[k][swizzled(k, o + e)]) =
              make_float4(widen(elements_[v][e]), widen(elements_[v][e + 1]),
                          widen(elements_[v][e + 2]), widen(elements_[v][e + 3]));
      }
    }
  }

 private:
  static constexpr int width = 16 / sizeof(Storage);  // elements of a 16-byte access
  static constexpr int vectors = outer * tile_k / width / threads;
  static constexpr int per_line = (k_contiguous ? tile_k : outer) / width;
  static_assert(vectors * width * threads == outer * tile_k, "threads share a panel evenly");

  // Neighbouring threads take neighbouring vectors of a line.
  static __device__ int outer_of(int v) {
    const int index = threadIdx.x + v * threads;
    return k_contiguous ? index / per_line : index % per_line * width;
  }
  static __device__ int k_of(int v) {
    const int index = threadIdx.x + v * threads;
    return k_contiguous ? index % per_line * width : index / per_line;
  }

  alignas(16) Storage elements_[vectors][width];
};

/// Four neighbours of one row of a panel in shared memory.
template <int outer>
__device__ void read_four(float (&to)[4], const float (*panel)[outer], int k, int o) {
  reinterpret_cast<float4&>(to) = *reinterpret_cast<const float4*>(&panel[k][swizzled(k, o)]);
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
