// A matrix of a batch, addressed by (row, column) whatever its layout: the two strides say which of
// them is contiguous. 64-bit throughout, since operands pass 2^31 elements.
#pragma once

#include "number.cuh"

namespace gemm::device {

template <class Element>
struct Matrix {
  Element* data;
  long long row_stride, column_stride, batch_stride;

  __device__ Element* at(long long batch, long long row, long long column) const {
    return data + batch * batch_stride + row * row_stride + column * column_stride;
  }
};

/// Do all lines start on 16 bytes?
template <class Storage>
__device__ bool lines_aligned(const Storage* data, long long line_stride) {
  return (reinterpret_cast<unsigned long long>(data) | line_stride * sizeof(Storage)) % 16 == 0;
}

/// One product as a rung takes it: by value, in parameter memory.
template <class Storage>
struct Product {
  long long m, n, k;
  Matrix<const Storage> a, b;
  Matrix<Storage> c;
  float alpha, beta;

  // Elements as FP32. Beyond an edge they are zero, which adds nothing to a sum.
  __device__ float a_or_zero(long long batch, long long row, long long kk) const {
    return row < m && kk < k ? widen(*a.at(batch, row, kk)) : 0.0f;
  }
  __device__ float b_or_zero(long long batch, long long kk, long long column) const {
    return kk < k && column < n ? widen(*b.at(batch, kk, column)) : 0.0f;
  }
};

/// The first element of the tile of C that this block computes. Tiles are counted in one grid
/// dimension, row of tiles by row of tiles, then by batch.
struct TileOrigin {
  long long batch, row, column;
};
template <int tile_m, int tile_n, class Storage>
__device__ TileOrigin tile_origin(const Product<Storage>& p) {
  const long long across = (p.n + tile_n - 1) / tile_n, down = (p.m + tile_m - 1) / tile_m;
  const long long tile = blockIdx.x % (across * down);
  return {blockIdx.x / (across * down), tile / across * tile_m, tile % across * tile_n};
}

}  // namespace gemm::device
