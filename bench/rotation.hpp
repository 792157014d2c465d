// Copies of one problem's matrices, enough of them that a launch never finds its operands in the
// cache because an earlier launch left them there.
#pragma once

#include <cstddef>
#include <cstdint>

#include "correctness/inputs.hpp"
#include "kernels/gemm.hpp"

namespace gemm {

/// Sets of (A, B, C) with equal contents at different addresses. They live in one arena per process
/// that only grows, since allocating gigabytes a problem would cost more than measuring it: a
/// Rotation is valid until the next one is made.
class Rotation {
 public:
  /// As many sets as it takes to exceed `footprint` bytes, two at the least.
  Rotation(const Inputs& inputs, std::size_t footprint);

  std::int64_t sets() const { return sets_; }

  /// The operands of set i mod sets(), with the workspace.
  Operands operands(std::int64_t i) const;

 private:
  std::size_t b_offset_, c_offset_, set_bytes_;
  std::int64_t sets_;
  std::byte* sets_begin_ = nullptr;
  void* workspace_ = nullptr;
};

}  // namespace gemm
