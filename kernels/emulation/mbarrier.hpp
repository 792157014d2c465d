// Barriers in shared memory: they count arrivals and bytes, and change phase when both are
// complete.
#pragma once

#include <cstdint>
#include <functional>
#include <unordered_map>
#include <vector>

#include "kernels/emulation/order.hpp"

namespace gemm::emulation {

struct Ordered;
struct Thread;
struct Block;

struct Mbarrier {
  int expected = 0, pending = 0;  ///< arrivals
  std::int64_t bytes = 0;         ///< announced and not here yet; below zero if here before
  std::uint64_t phases = 0;       ///< complete ones
  Thread* initialised_by = nullptr;
  Time initialised = 0;
  bool fenced = false;  ///< the copy engine and other blocks may use it
  std::vector<Thread*> waiting;
  Unit copies = 0;    ///< the unit of the copies that it counts; its time is the phases
  Meeting arrivals;   ///< what those know who arrive
  Knowledge reached;  ///< what they knew when the last phase ended
  Lesson lesson;
};

/// Of one block, by their offset.
using Mbarriers = std::unordered_map<unsigned, Mbarrier>;

/// Bytes of a copy are here.
void complete_bytes(Block&, unsigned at, unsigned bytes);
/// When a copy to this barrier is over. Checks that the barrier can take one.
Ordered end_of_copy(unsigned barrier);

}  // namespace gemm::emulation
