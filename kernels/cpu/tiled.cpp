// Rung 2 of the host ladder: a tile is used many times while it is in the cache.
//
// What changed: the outputs are computed a tile at a time, and the sum is cut into blocks. A block
// of A (tile x depth) and of B (depth x tile) then meets every output of its tile before the next
// block is touched: 2 tile^2 depth flops for 2 tile depth elements from memory, tile/4 = 16 flops a
// byte in FP32 against 0.25 before. The partial sums of a tile are FP32 in an array of its own, so
// that the storage type rounds once, at the end.
//
// Inside a tile the loops run i, p, j: the innermost adds a multiple of a row of B to a row of
// sums. Its additions do not depend on each other and its addresses are consecutive, so the
// compiler can use vector instructions; where B is stored transposed, or in 16 bits, it still
// cannot do it well. Each addition also loads and stores its sum. Both are what the next rung
// mends.
#include <algorithm>
#include <bit>

#include "kernels/cpu/product.hpp"
#include "kernels/fault.hpp"

namespace gemm::cpu {
namespace {

constexpr std::int64_t tile = 64;    // sums: 16 KiB, in the first-level cache with a row of B
constexpr std::int64_t depth = 128;  // blocks of A and B: 32 KiB each, in the second-level cache

/// Adds A(i0:, 0:k) B(0:k, j0:) to the sums of the tile at (i0, j0), which has rows x columns.
template <typename T>
void sum_tile(const Product<T>& product, std::int64_t i0, std::int64_t j0, std::int64_t rows,
              std::int64_t columns, float (&sums)[tile][tile]) {
  std::int64_t k = product.k;
  if constexpr (fault("cpu_last_k_dropped")) k = std::max<std::int64_t>(k - 1, 0);
  if constexpr (fault("cpu_k_tail_unmasked")) k = (k + 3) / 4 * 4;
  if constexpr (fault("cpu_k_tail_wrong_in_one_block")) k -= i0 == tile && j0 == 0 ? k % depth : 0;
  for (std::int64_t p0 = 0; p0 < k; p0 += depth) {
    const std::int64_t p1 = std::min(p0 + depth, k);
    for (std::int64_t i = 0; i < rows; ++i) {
      for (std::int64_t p = p0; p < p1; ++p) {
        const float a = product.a(i0 + i, p);
        for (std::int64_t j = 0; j < columns; ++j) sums[i][j] += a * product.b(p, j0 + j);
      }
    }
  }
}

template <typename T>
void multiply(const Product<T>& product) {
  for (std::int64_t i0 = 0; i0 < product.m; i0 += tile) {
    for (std::int64_t j0 = 0; j0 < product.n; j0 += tile) {
      const std::int64_t rows = std::min(tile, product.m - i0);
      const std::int64_t columns = std::min(tile, product.n - j0);
      float sums[tile][tile] = {};
      if constexpr (fault("cpu_block_never_written"))
        if (i0 == tile && j0 == 0) continue;
      sum_tile(product, i0, j0, rows, columns, sums);
      if constexpr (fault("cpu_patch_transposed"))
        Eigen::Map<Eigen::Matrix<float, 8, 8>, 0, Eigen::OuterStride<tile>>(sums[0])
            .transposeInPlace();
      for (std::int64_t i = 0; i < rows; ++i) {
        for (std::int64_t j = 0; j < columns; ++j) {
          if constexpr (fault("cpu_epilogue_truncates") && std::is_same_v<T, Eigen::bfloat16>)
            sums[i][j] =
                std::bit_cast<float>(std::bit_cast<std::uint32_t>(sums[i][j]) & 0xffff0000);
          product.store(i0 + i, j0 + j, sums[i][j]);
        }
      }
    }
  }
}

void launch(const Problem& problem, const Operands& operands) {
  for_each_product(problem, operands, [](const auto& product) { multiply(product); });
}

const Register registered{{.name = "cpu_tiled",
                           .stage = Stage::cpu_tiled,
                           .idea = "a tile of A and B is reused while it is in the cache",
                           .arch = Arch::host,
                           .refuses = refuses,
                           .launch = launch}};

}  // namespace
}  // namespace gemm::cpu
