// Copies of one problem's matrices, enough of them that a launch never finds its operands in the
// cache because an earlier launch left them there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "correctness/inputs.hpp"
#include "kernels/gemm.hpp"

namespace gemm {

/// How the sets of a problem lie in memory.
struct SetLayout {
  std::size_t b_offset, c_offset, bytes;  ///< of one set
  std::int64_t sets;

  /// As many sets as it takes to exceed `footprint` bytes, two at the least.
  SetLayout(std::size_t a_bytes, std::size_t b_bytes, std::size_t c_bytes, std::size_t footprint);
};

/// Takes the arena at once for the largest of these points that the device has room for. An arena
/// that grows from problem to problem lies where their order puts it, and where matrices lie in
/// device memory is worth up to 7% of a kernel's time: wgmma_pingpong took 51.4 us or 55.2 us for
/// tf32/nt/16x4096x4096 on an H200, by what had been measured before.
void reserve_arena(Space, const std::vector<Point>&, std::size_t footprint);

/// Sets of (A, B, C) with equal contents at different addresses. They live in one arena per process
/// that only grows, since allocating gigabytes a problem would cost more than measuring it: a
/// Rotation is valid until the next one is made.
class Rotation {
 public:
  Rotation(const Inputs& inputs, std::size_t footprint);

  std::int64_t sets() const { return layout_.sets; }

  /// The operands of set i mod sets(), with the workspace.
  Operands operands(std::int64_t i) const;

 private:
  SetLayout layout_;
  std::byte* sets_begin_ = nullptr;
  void* workspace_ = nullptr;
};

}  // namespace gemm
