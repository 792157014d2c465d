// In place of CUDA's <mma.h>: what wmma.cu takes of it. Which lane holds which element of a
// fragment is nobody's business there, and plain here.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <type_traits>

#include "kernels/device/ptx_sm80.cuh"

namespace nvcuda::wmma {

struct matrix_a;
struct matrix_b;
struct accumulator;
struct row_major;
struct col_major;
namespace precision {
struct tf32;
}
enum layout_t { mem_row_major, mem_col_major };

/// The rows x columns of one operand, a 32nd in each lane.
template <class Use, int m, int n, int k, class Element, class Layout = void>
struct fragment {
  static constexpr int rows = std::is_same_v<Use, matrix_b> ? k : m;
  static constexpr int columns = std::is_same_v<Use, matrix_a> ? k : n;
  static constexpr int num_elements = rows * columns / 32;
  using Stored = std::conditional_t<std::is_same_v<Element, precision::tf32>, float, Element>;
  Stored x[num_elements];

  /// Calls visit(element of this lane, row, column).
  template <class Visit>
  static void for_each(Visit visit) {
    for (int i = 0; i < num_elements; ++i) {
      const int at = static_cast<int>(threadIdx.x % 32) * num_elements + i;
      visit(i, at / columns, at % columns);
    }
  }
};

template <class Fragment, class Value>
void fill_fragment(Fragment& fragment, Value value) {
  for (auto& x : fragment.x) x = value;
}

/// As the API wants it: 32 bytes, and lines 16 apart.
template <class Stored>
void check_alignment(const Stored* pointer, unsigned ld) {
  if (reinterpret_cast<std::uintptr_t>(pointer) % 32 != 0 || ld * sizeof(Stored) % 16 != 0)
    gemm::emulation::violation("a fragment's matrix is not aligned to 32 bytes, its lines to 16");
}

template <class Use, int m, int n, int k, class Element, class Layout, class Stored>
void load_matrix_sync(fragment<Use, m, n, k, Element, Layout>& to, const Stored* from,
                      unsigned ld) {
  check_alignment(from, ld);
  to.for_each([&](int i, int row, int column) {
    to.x[i] = std::is_same_v<Layout, row_major> ? from[row * ld + column] : from[column * ld + row];
  });
}

template <int m, int n, int k>
void store_matrix_sync(float* to, const fragment<accumulator, m, n, k, float>& from, unsigned ld,
                       layout_t layout) {
  check_alignment(to, ld);
  from.for_each([&](int i, int row, int column) {
    to[layout == mem_row_major ? row * ld + column : column * ld + row] = from.x[i];
  });
}

template <int m, int n, int k, class Element, class LayoutA, class LayoutB>
void mma_sync(fragment<accumulator, m, n, k, float>& d,
              const fragment<matrix_a, m, n, k, Element, LayoutA>& a,
              const fragment<matrix_b, m, n, k, Element, LayoutB>& b,
              const fragment<accumulator, m, n, k, float>& c) {
  using Stored = typename fragment<matrix_a, m, n, k, Element, LayoutA>::Stored;
  if (&d != &c)
    for (int i = 0; i < d.num_elements; ++i) d.x[i] = c.x[i];
  gemm::emulation::multiply_fragments(gemm::device::tensor_core_element<Stored>, m, n, k, d.x, a.x,
                                      b.x);
}

}  // namespace nvcuda::wmma
