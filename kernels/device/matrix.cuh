// A matrix of a batch, addressed by (row, column) whatever its layout: the two strides say which of
// them is contiguous. 64-bit throughout, since operands pass 2^31 elements.
#pragma once

namespace gemm::device {

template <class Element>
struct Matrix {
  Element* data;
  long long row_stride, column_stride, batch_stride;

  __device__ Element* at(long long batch, long long row, long long column) const {
    return data + batch * batch_stride + row * row_stride + column * column_stride;
  }
};

/// One product as the CUDA-core rungs take it: by value, in parameter memory.
template <class Storage>
struct Product {
  long long m, n, k;
  Matrix<const Storage> a, b;
  Matrix<Storage> c;
  float alpha, beta;
};

}  // namespace gemm::device
