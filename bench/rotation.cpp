#include "bench/rotation.hpp"

#include <algorithm>

namespace gemm {
namespace {

constexpr std::size_t alignment = 256;  // what Operands promises

std::size_t aligned(std::size_t bytes) { return (bytes + alignment - 1) / alignment * alignment; }

/// The process's arena: at least `bytes`, contents unspecified.
std::byte* arena(Space space, std::size_t bytes) {
  static Buffer buffer;
  if (buffer.space() != space || buffer.bytes() < bytes) {
    buffer = Buffer();  // first give back, then take: both at once may not fit
    buffer = Buffer(space, bytes);
  }
  return static_cast<std::byte*>(buffer.data());
}

}  // namespace

Rotation::Rotation(const Inputs& inputs, std::size_t footprint)
    : b_offset_(aligned(inputs.a.bytes())),
      c_offset_(b_offset_ + aligned(inputs.b.bytes())),
      set_bytes_(std::max(c_offset_ + aligned(inputs.c.bytes()), alignment)),
      sets_(std::max<std::int64_t>(2, static_cast<std::int64_t>(footprint / set_bytes_) + 1)) {
  const Space space = inputs.a.space();
  const auto count = static_cast<std::size_t>(sets_);
  std::byte* base = arena(space, workspace_bytes + count * set_bytes_);
  workspace_ = base;
  sets_begin_ = base + workspace_bytes;

  copy(sets_begin_, space, inputs.a.data(), space, inputs.a.bytes());
  copy(sets_begin_ + b_offset_, space, inputs.b.data(), space, inputs.b.bytes());
  copy(sets_begin_ + c_offset_, space, inputs.c.data(), space, inputs.c.bytes());
  // Doubling: few large copies in place of one a matrix.
  for (std::size_t done = 1; done < count;) {
    const std::size_t more = std::min(done, count - done);
    copy(sets_begin_ + done * set_bytes_, space, sets_begin_, space, more * set_bytes_);
    done += more;
  }
  synchronize(space);
}

Operands Rotation::operands(std::int64_t i) const {
  std::byte* set = sets_begin_ + static_cast<std::size_t>(i % sets_) * set_bytes_;
  return {.a = set, .b = set + b_offset_, .c = set + c_offset_, .workspace = workspace_};
}

}  // namespace gemm
