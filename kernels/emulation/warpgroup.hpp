// wgmma: what four warps have started together, and where its accumulators are meanwhile.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "kernels/emulation/order.hpp"

namespace gemm::emulation {

struct Warp;
struct Block;

enum class Element { fp16, bf16, tf32 };

/// What an instruction names. Equal in all threads of the warpgroup but for the registers.
struct WgmmaShape {
  Element element;
  int n;
  bool a_m_contiguous, b_n_contiguous;
  std::uint64_t a, b;  ///< descriptors
  bool operator==(const WgmmaShape&) const = default;
};

/// 64 x n accumulators between the instruction that takes them and the wait that gives them back.
struct Accumulators {
  int n = 0;
  std::vector<float> value;                ///< row-major
  float* registers[128] = {};              ///< of each thread, n / 2 of them
  bool taken[4] = {}, given_back[4] = {};  ///< by warp
  std::size_t last_use[4] = {};            ///< the last product of each warp that uses them
};

struct Wgmma {
  WgmmaShape shape;
  std::shared_ptr<Accumulators> sum;
  Knowledge started_by;  ///< what the warp knew whose start was checked last
};

/// Products of a warpgroup by their number since the block began.
struct Warpgroup {
  std::vector<Wgmma> started;
  std::size_t done = 0;
  Unit unit = 0;  ///< that reads the operands; its time counts the products
  unsigned reader = 0;
  Meeting over;  ///< what those know who have waited
  Lesson lesson;
};

/// How far one warp is in the same sequence.
struct WgmmaWarp {
  std::size_t started = 0;
  std::vector<std::size_t> committed;               ///< products before the end of each group
  bool fenced = false;                              ///< since its registers were its own
  std::vector<std::shared_ptr<Accumulators>> sums;  ///< that hold registers of the warp
  std::vector<struct Thread*> waiting;              ///< for this warp to get further
};

/// The running thread accesses memory of its own: no accumulator that wgmma holds.
void check_registers(const void* pointer);

}  // namespace gemm::emulation
