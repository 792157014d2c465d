// The order in which blocks that stay on their SM walk the tiles of C.
#pragma once

#include "matrix.cuh"

namespace gemm::device {

/// The tiles of all products of a batch, in stacks of `stack` tiles one above the other, which a
/// cluster takes at once. Stacks are walked in bands of 2048 rows, so that what runs at the same
/// time reads the same rows of A and columns of B from L2: 132 tiles of 128 x 256 are then about as
/// high as wide. A stack at the lower edge may hold tiles that have no row in C.
template <int tile_m, int tile_n, int stack>
struct TileList {
  unsigned down, across, count;  // in stacks; the host has seen to it that they fit 31 bits

  template <class Storage>
  __device__ TileList(const Product<Storage>& p, unsigned batches)
      : down(static_cast<unsigned>((p.m + stack * tile_m - 1) / (stack * tile_m))),
        across(static_cast<unsigned>((p.n + tile_n - 1) / tile_n)),
        count(down * across * batches) {}

  /// Where tile `place` of stack i starts.
  __device__ TileOrigin origin(unsigned i, unsigned place) const {
    constexpr unsigned band = 2048 / (tile_m * stack);
    const unsigned batch = i / (down * across), in_batch = i % (down * across);
    const unsigned first = in_batch / (band * across) * band, rows = min(band, down - first);
    const unsigned in_band = in_batch % (band * across);
    return {batch, static_cast<long long>((first + in_band % rows) * stack + place) * tile_m,
            static_cast<long long>(in_band / rows) * tile_n};
  }
};

}  // namespace gemm::device
