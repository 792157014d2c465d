#include "kernels/emulation/mbarrier.hpp"

#include "kernels/emulation/machine.hpp"
#include "kernels/emulation/ptx.hpp"

namespace gemm::emulation {
namespace {

constexpr int most_arrivals = (1 << 20) - 1;
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
  const Mbarrier& barrier = found->second;
  if (!self().present.knows(barrier.initialised_by->present.unit, barrier.initialised))
    violation(std::string(what) + ": nothing orders mbarrier_init of " + spelled(place.at) +
              " by " + name_of(*barrier.initialised_by) + " before this");
  if (place.block != self().block && !barrier.fenced)
    violation(std::string(what) + ": the mbarrier of another block at " + spelled(place.at) +
              " has not passed fence_mbarrier_init");
  return {found->second, place};
}

void end_phase_if_complete(Mbarrier& barrier) {
  if (barrier.pending != 0 || barrier.bytes != 0) return;
  barrier.pending = barrier.expected;
  ++barrier.phases;
  barrier.arrivals.add(barrier.copies, static_cast<Time>(barrier.phases));
  barrier.reached = barrier.arrivals.known();
  wake_all(barrier.waiting);
}

void arrive_at(unsigned address, std::int64_t bytes, const char* what) {
  auto [barrier, place] = find(address, what);
  if (barrier.pending == 0)
    violation(std::string(what) + ": more arrivals at " + spelled(place.at) + " than the " +
              std::to_string(barrier.expected) + " that it expects in a phase");
  barrier.bytes += bytes;
  --barrier.pending;
  barrier.arrivals.arrive(self().present);
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
  barrier = Mbarrier{};
  barrier.expected = barrier.pending = arrivals;
  barrier.initialised_by = &self();
  barrier.initialised = self().present.now;
  barrier.copies =
      self().block->cluster->new_helper("a copy to the mbarrier at " + spelled(place.at));
  place.block->memory->accesses.reserve(place.at, 8);
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
void mbarrier_arrive_cluster(unsigned barrier) { arrive_at(barrier, 0, "mbarrier_arrive_cluster"); }

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
  barrier.lesson.teach(self().present, barrier.reached);
}

void complete_bytes(Block& block, unsigned at, unsigned bytes) {
  Mbarrier& barrier = block.mbarriers.at(at);
  barrier.bytes -= bytes;
  end_phase_if_complete(barrier);
}

Ordered end_of_copy(unsigned address) {
  const auto [barrier, place] = find(address, "cp_async_bulk_tensor");
  if (!barrier.fenced)
    violation("cp_async_bulk_tensor: the mbarrier at " + spelled(place.at) +
              " has not passed fence_mbarrier_init");
  return {barrier.copies, static_cast<Time>(barrier.phases + 1)};
}

}  // namespace gemm::emulation
