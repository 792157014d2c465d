#include "kernels/emulation/mbarrier.hpp"

#include <cstring>

#include "kernels/emulation/machine.hpp"
#include "kernels/emulation/ptx.hpp"

namespace gemm::emulation {
namespace {

constexpr int most_arrivals = (1 << 20) - 1;
// What the object itself holds: whoever writes over it is found.
constexpr std::uint64_t mark = 0x7fa5b00b5a11d00d;

struct Found {
  Mbarrier& barrier;
  Place place;
};

Found find(unsigned address, const char* what) {
  const Place place = place_of(address, 8, 8, what);
  const auto found = place.block->mbarriers.find(place.at);
  if (found == place.block->mbarriers.end())
    violation(std::string(what) + ": there is no mbarrier at " + spelled(place.at) +
              ": mbarrier_init is missing or comes later");
  std::uint64_t bits;
  std::memcpy(&bits, place.data, sizeof bits);
  if (bits != mark) violation(std::string(what) + ": the mbarrier at " + spelled(place.at) +
                              " was overwritten");
  if (place.block != self().block && !found->second.fenced)
    violation(std::string(what) + ": the mbarrier of another block at " + spelled(place.at) +
              " has not passed fence_mbarrier_init");
  return {found->second, place};
}

void end_phase_if_complete(Mbarrier& barrier) {
  if (barrier.pending != 0 || barrier.bytes != 0) return;
  barrier.pending = barrier.expected;
  ++barrier.phases;
  wake_all(barrier.waiting);
}

void arrive_at(unsigned address, std::int64_t bytes, const char* what) {
  auto [barrier, place] = find(address, what);
  if (barrier.pending == 0)
    violation(std::string(what) + ": more arrivals at " + spelled(place.at) + " than the " +
              std::to_string(barrier.expected) + " that it expects in a phase");
  barrier.bytes += bytes;
  --barrier.pending;
  end_phase_if_complete(barrier);
  pause();
}

std::string state(unsigned at, const Mbarrier& barrier, unsigned parity) {
  return "parity " + std::to_string(parity) + " of the mbarrier at " + spelled(at) +
         ", which is in phase " + std::to_string(barrier.phases) + " with " +
         std::to_string(barrier.pending) + " of " + std::to_string(barrier.expected) +
         " arrivals and " + std::to_string(barrier.bytes) + " bytes to come";
}

}  // namespace

void mbarrier_init(unsigned address, int arrivals) {
  const Place place = place_of(address, 8, 8, "mbarrier_init");
  if (arrivals < 1 || arrivals > most_arrivals)
    violation("mbarrier_init: " + std::to_string(arrivals) + " arrivals");
  Mbarrier& barrier = place.block->mbarriers[place.at];
  if (!barrier.waiting.empty()) violation("mbarrier_init: somebody waits for this mbarrier");
  barrier = {.expected = arrivals, .pending = arrivals, .initialised_by = &self(), .waiting = {}};
  std::memcpy(place.data, &mark, sizeof mark);
}

void fence_mbarrier_init() {
  for (auto& [at, barrier] : self().block->mbarriers)
    if (barrier.initialised_by == &self()) barrier.fenced = true;
  pause();
}

void mbarrier_arrive_expect_tx(unsigned barrier, int bytes) {
  arrive_at(barrier, bytes, "mbarrier_arrive_expect_tx");
}
void mbarrier_arrive(unsigned barrier) { arrive_at(barrier, 0, "mbarrier_arrive"); }
void mbarrier_arrive_cluster(unsigned barrier) {
  arrive_at(barrier, 0, "mbarrier_arrive_cluster");
}

void mbarrier_wait_parity(unsigned address, unsigned parity) {
  pause();
  auto [barrier, place] = find(address, "mbarrier_wait_parity");
  if (parity > 1) violation("mbarrier_wait_parity: a parity is 0 or 1");
  if (place.block != self().block)
    violation("mbarrier_wait_parity: a thread waits for barriers of its own block only");
  while (barrier.phases % 2 == parity) {
    barrier.waiting.push_back(&self());
    stand_still([&barrier = barrier, at = static_cast<std::uint32_t>(place.at << 1 | parity)] {
      return state(at >> 1, barrier, at & 1);
    });
  }
}

void complete_bytes(Block& block, unsigned at, unsigned bytes) {
  Mbarrier& barrier = block.mbarriers.at(at);
  barrier.bytes -= bytes;
  end_phase_if_complete(barrier);
}

void check_barrier_of_copy(unsigned address) {
  const auto [barrier, place] = find(address, "cp_async_bulk_tensor");
  if (!barrier.fenced)
    violation("cp_async_bulk_tensor: the mbarrier at " + spelled(place.at) +
              " has not passed fence_mbarrier_init");
}

}  // namespace gemm::emulation
