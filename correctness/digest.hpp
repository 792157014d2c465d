#pragma once

#include <cstdint>

#include "correctness/memory.hpp"

namespace gemm {

/// A number below 2^53, which a double holds whole: equal for equal bytes, in any space, on any
/// machine. Computed where the bytes are.
std::uint64_t digest(const Buffer& buffer);

}  // namespace gemm
