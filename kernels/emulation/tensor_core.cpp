// What warps do together with matrices: ldmatrix, stmatrix and mma.sync.
#include <cuda_fp16.h>

#include <cstring>
#include <memory>

#include "kernels/emulation/element.hpp"
#include "kernels/emulation/machine.hpp"
#include "kernels/emulation/ptx.hpp"

namespace gemm::emulation {
namespace {

constexpr unsigned row_bytes = 16, matrices = 4, matrix_rows = 8;

/// A lane's row and its registers.
struct MatrixAccess {
  Place row;
  unsigned* registers;
};

/// Where lane `lane`'s element e (0 or 1) of an 8 x 8 matrix of 16-bit elements lies.
struct Element16 {
  unsigned row, column;
};
Element16 element_of(unsigned lane, unsigned e, bool transposed) {
  const Element16 plain{lane / 4, lane % 4 * 2 + e};
  return transposed ? Element16{plain.column, plain.row} : plain;
}

struct MmaRegisters {
  float* d;
  const unsigned* a;
  unsigned b[2];
};

}  // namespace

void ldmatrix_x4(unsigned (&to)[4], unsigned address, bool transposed) {
  const char* const name = transposed ? "ldmatrix_x4_trans" : "ldmatrix_x4";
  MatrixAccess mine{place_of(address, row_bytes, row_bytes, name), to};
  mine.row.block->memory->accesses.read(mine.row.at, row_bytes);
  together(name, whole_warp(name), &mine, [&](MatrixAccess* const* lanes) {
    std::uint16_t element[matrices][matrix_rows][8];
    for (unsigned i = 0; i < warp_size; ++i)
      std::memcpy(element[i / matrix_rows][i % matrix_rows], lanes[i]->row.data, row_bytes);
    for (unsigned lane = 0; lane < warp_size; ++lane)
      for (unsigned m = 0; m < matrices; ++m) {
        const Element16 low = element_of(lane, 0, transposed),
                        high = element_of(lane, 1, transposed);
        lanes[lane]->registers[m] = element[m][low.row][low.column] |
                                    static_cast<unsigned>(element[m][high.row][high.column]) << 16;
      }
  });
}

void stmatrix_x4(unsigned address, const unsigned (&from)[4]) {
  MatrixAccess mine{place_of(address, row_bytes, row_bytes, "stmatrix_x4"),
                    const_cast<unsigned*>(from)};
  mine.row.block->memory->accesses.write(mine.row.at, row_bytes);
  together("stmatrix_x4", whole_warp("stmatrix_x4"), &mine, [&](MatrixAccess* const* lanes) {
    std::uint16_t element[matrices][matrix_rows][8];
    for (unsigned lane = 0; lane < warp_size; ++lane)
      for (unsigned m = 0; m < matrices; ++m)
        for (unsigned e = 0; e < 2; ++e) {
          const Element16 at = element_of(lane, e, false);
          element[m][at.row][at.column] =
              static_cast<std::uint16_t>(lanes[lane]->registers[m] >> 16 * e);
        }
    for (unsigned i = 0; i < warp_size; ++i)
      std::memcpy(lanes[i]->row.data, element[i / matrix_rows][i % matrix_rows], row_bytes);
  });
}

// A register of A or B holds 4 bytes of k: two 16-bit elements, or one of TF32. Lane l holds row
// l / 4 and the l % 4-th 4 bytes; a's registers 0 and 1 are rows 0 and 8 of the first 16 bytes of
// k, 2 and 3 the same of the next, as are b's 0 and 1.
void mma_16x8(Element kind, float (&d)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
  MmaRegisters mine{d, a, {b0, b1}};
  together("mma_16x8", whole_warp("mma_16x8"), &mine, [&](MmaRegisters* const* lanes) {
    const int per_register = kind == Element::tf32 ? 1 : 2, k = 8 * per_register;
    float rows_of_a[16][16], columns_of_b[8][16];
    for (unsigned lane = 0; lane < warp_size; ++lane)
      for (int half = 0; half < 2; ++half) {
        const unsigned row = lane / 4;
        const int k0 = (half * 4 + static_cast<int>(lane % 4)) * per_register;
        for (int e = 0; e < per_register; ++e) {
          rows_of_a[row][k0 + e] = value_of(kind, lanes[lane]->a[half * 2], e);
          rows_of_a[row + 8][k0 + e] = value_of(kind, lanes[lane]->a[half * 2 + 1], e);
          columns_of_b[row][k0 + e] = value_of(kind, lanes[lane]->b[half], e);
        }
      }
    for (unsigned lane = 0; lane < warp_size; ++lane)
      for (unsigned i = 0; i < 4; ++i) {
        const float* x = rows_of_a[lane / 4 + i / 2 * 8];
        const float* y = columns_of_b[lane % 4 * 2 + i % 2];
        float sum = 0;
        for (int kk = 0; kk < k; ++kk) sum += x[kk] * y[kk];
        lanes[lane]->d[i] += sum;
      }
  });
}

void multiply_fragments(Element element, int m, int n, int k, float* d, const void* a,
                        const void* b) {
  struct Fragments {
    float* d;
    const void *a, *b;
  } mine{d, a, b};
  together("mma_sync", whole_warp("mma_sync"), &mine, [&](Fragments* const* lanes) {
    const int in_a = m * k / warp_size, in_b = k * n / warp_size, in_d = m * n / warp_size;
    const auto value = [&](const void* stored, int i) {
      return element == Element::tf32
                 ? value_of_tf32(static_cast<const std::uint32_t*>(stored)[i])
                 : value_of_bits16(element, static_cast<const std::uint16_t*>(stored)[i]);
    };
    for (int row = 0; row < m; ++row)
      for (int column = 0; column < n; ++column) {
        float sum = 0;
        for (int kk = 0; kk < k; ++kk) {
          const int at_a = row * k + kk, at_b = kk * n + column;
          sum +=
              value(lanes[at_a / in_a]->a, at_a % in_a) * value(lanes[at_b / in_b]->b, at_b % in_b);
        }
        const int at = row * n + column;
        lanes[at / in_d]->d[at % in_d] += sum;
      }
  });
}

}  // namespace gemm::emulation
