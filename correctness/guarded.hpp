// The memory that a kernel under examination works in.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "correctness/memory.hpp"

namespace gemm {

/// Bytes with a guard band before and behind them, which a kernel must neither change nor depend
/// on. The first byte is aligned to 256 bytes and, as far as that can be arranged, to no more.
class Guarded {
 public:
  static constexpr std::size_t band_bytes = 4096 + 256;

  Guarded(Space space, std::size_t bytes, bool bands = true);

  void* data() const { return static_cast<char*>(memory_.data()) + band_; }
  std::size_t bytes() const { return bytes_; }
  Space space() const { return memory_.space(); }
  bool has_bands() const { return band_ > 0; }

 private:
  std::size_t bytes_, band_;
  Buffer memory_;
};

/// The guard bands of several operands.
class Guards {
 public:
  /// Up to four of the same space, each with the name that a message gives it.
  struct Operand {
    const Guarded* memory;
    const char* name;
  };
  explicit Guards(std::vector<Operand> operands);

  /// Sets every byte of every band, in the order of the default stream.
  void set(unsigned char byte) const;

  /// Which band is no longer as set(byte) left it, the first of them: "bytes before A changed"; or
  /// "" if all are. Complete on return.
  std::string changed(unsigned char byte) const;

 private:
  std::vector<Operand> operands_;  ///< those with bands
};

}  // namespace gemm
