// Panels and patches: what the packed rung is made of, and the threaded one as well.
//
// A patch is the small piece of C whose sums live in vector registers. A panel is a strip of op(A),
// patch_rows high, or of op(B), patch_columns wide, copied into the order in which the
// micro-kernel reads it. Below: copy, multiply, store.
//
// All of it is static: gemmwatch-faults links rungs that were compiled for other vector units than
// the sound ones, so that their patches differ.
#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/cpu/product.hpp"

namespace gemm::cpu {

// The widest vector that the build may use, and the largest patch that its registers hold: the
// sums, a row of B and one element of A.
#if defined(__AVX512F__)
constexpr std::int64_t vector_bytes = 64, patch_rows = 12;  // 32 registers
#elif defined(__AVX__)
constexpr std::int64_t vector_bytes = 32, patch_rows = 6;  // 16 registers
#else
constexpr std::int64_t vector_bytes = 16, patch_rows = 6;
#endif
using Vector = float __attribute__((vector_size(vector_bytes), may_alias));
constexpr std::int64_t lanes = vector_bytes / sizeof(float);
constexpr std::int64_t vectors = 2;  // in a row of the patch
constexpr std::int64_t patch_columns = vectors * lanes;

static constexpr std::int64_t round_up(std::int64_t value, std::int64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

/// Copies rows x depth elements of the view, from (row0, p0) on, into panels of `width` rows: all
/// rows of a panel for one p lie together. Missing rows of the last panel become zeros, so that
/// what the workspace held cannot slow the arithmetic. The source is read along its own rows, since
/// a cache line of it may not survive until a second visit.
template <std::int64_t width, typename T>
static void pack(View<T> view, std::int64_t row0, std::int64_t rows, std::int64_t p0,
                 std::int64_t depth, float* panel) {
  for (std::int64_t r = 0; r < rows; r += width, panel += width * depth) {
    const std::int64_t present = std::min(width, rows - r);
    if (present < width) std::fill_n(panel, width * depth, 0.0f);
    const auto copy = [&](std::int64_t i, std::int64_t p) {
      panel[p * width + i] = view(row0 + r + i, p0 + p);
    };
    if (view.row_stride == 1) {
      for (std::int64_t p = 0; p < depth; ++p) {
        for (std::int64_t i = 0; i < present; ++i) copy(i, p);
      }
    } else {
      for (std::int64_t i = 0; i < present; ++i) {
        for (std::int64_t p = 0; p < depth; ++p) copy(i, p);
      }
    }
  }
}

/// Adds the product of two panels to a patch of sums.
static void micro_kernel(std::int64_t depth, const float* a, const float* b, float* sums) {
  Vector patch[patch_rows][vectors] = {};
  for (std::int64_t p = 0; p < depth; ++p, a += patch_rows, b += patch_columns) {
    const Vector* row = reinterpret_cast<const Vector*>(b);
    for (std::int64_t i = 0; i < patch_rows; ++i) {
      for (std::int64_t v = 0; v < vectors; ++v) patch[i][v] += a[i] * row[v];
    }
  }
  Vector* out = reinterpret_cast<Vector*>(sums);
  for (std::int64_t i = 0; i < patch_rows; ++i) {
    for (std::int64_t v = 0; v < vectors; ++v) out[i * vectors + v] += patch[i][v];
  }
}

/// Adds the product of the panels that hold `rows` of A and `columns` of B to a block of sums.
/// Its patches lie one after another, by columns of patches.
static void macro_kernel(std::int64_t rows, std::int64_t columns, std::int64_t depth,
                         const float* a, const float* b, float* sums) {
  for (std::int64_t j = 0; j < columns; j += patch_columns) {
    for (std::int64_t i = 0; i < rows; i += patch_rows, sums += patch_rows * patch_columns) {
      micro_kernel(depth, a + i * depth, b + j * depth, sums);
    }
  }
}

/// Stores the finished sums of the block at (i0, j0) into C, without the zeros that filled it up.
template <typename T>
static void store(const Product<T>& product, std::int64_t i0, std::int64_t j0, std::int64_t rows,
                  std::int64_t columns, const float* sums) {
  for (std::int64_t j = 0; j < columns; j += patch_columns) {
    for (std::int64_t i = 0; i < rows; i += patch_rows, sums += patch_rows * patch_columns) {
      const std::int64_t rows_here = std::min(patch_rows, rows - i);
      const std::int64_t columns_here = std::min(patch_columns, columns - j);
      for (std::int64_t r = 0; r < rows_here; ++r) {
        for (std::int64_t c = 0; c < columns_here; ++c) {
          product.store(i0 + i + r, j0 + j + c, sums[r * patch_columns + c]);
        }
      }
    }
  }
}

}  // namespace gemm::cpu
