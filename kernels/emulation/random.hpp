// What the emulator leaves to chance, the same for the same seed.
#pragma once

#include <cstdint>

namespace gemm::emulation {

class Random {
 public:
  explicit Random(std::uint64_t seed = 0) : state_(seed) {}

  std::uint64_t next() {
    std::uint64_t x = state_ += 0x9e3779b97f4a7c15;  // splitmix64
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
    x = (x ^ x >> 27) * 0x94d049bb133111eb;
    return x ^ x >> 31;
  }
  /// 0 to n - 1, for n > 0.
  unsigned below(std::size_t n) { return static_cast<unsigned>((next() >> 32) * n >> 32); }
  bool chance(double probability) {
    return static_cast<double>(next() >> 11) * 0x1p-53 < probability;
  }

 private:
  std::uint64_t state_;
};

}  // namespace gemm::emulation
