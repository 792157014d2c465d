// Barriers in shared memory: they count arrivals and bytes, and change phase when both are complete.
#pragma once

#include <cstdint>
#include <functional>
#include <unordered_map>
#include <vector>

namespace gemm::emulation {

struct Thread;
struct Block;

struct Mbarrier {
  int expected = 0, pending = 0;  ///< arrivals
  std::int64_t bytes = 0;         ///< announced and not here yet; below zero if here before
  std::uint64_t phases = 0;       ///< complete ones
  Thread* initialised_by = nullptr;
  bool fenced = false;  ///< the copy engine and other blocks may use it
  std::vector<Thread*> waiting;
};

/// Of one block, by their offset.
using Mbarriers = std::unordered_map<unsigned, Mbarrier>;

/// Bytes of a copy are here.
void complete_bytes(Block&, unsigned at, unsigned bytes);
/// The barrier of a copy, which must exist there.
void check_barrier_of_copy(unsigned barrier);

}  // namespace gemm::emulation
