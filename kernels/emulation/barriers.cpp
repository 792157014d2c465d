// Barriers of a block, of a warp and of a cluster, and the registers that warpgroups exchange.
#include <string>

#include "kernels/emulation/machine.hpp"
#include "kernels/emulation/ptx.hpp"

namespace gemm::emulation {
namespace {

void end_phase(Cluster& cluster) {
  cluster.arrived = 0;
  ++cluster.phases;
  cluster.met = cluster.meeting.known();
  cluster.meeting.clear();
  wake_all(cluster.waiting);
}

/// What all of them knew, all of them know.
void tell(const std::vector<Thread*>& threads, const Meeting& meeting) {
  ++latest_time;
  for (Thread* thread : threads) {
    thread->present.known = meeting.known();
    thread->present.now = latest_time;
  }
}

/// Those who met at a barrier go on.
void let_go(NamedBarrier& barrier) {
  tell(barrier.waiting, barrier.meeting);
  barrier.meeting.clear();
  std::erase(barrier.waiting, running_thread);
  wake_all(barrier.waiting);
}

void check_barrier(int id, int threads, const char* what) {
  if (id < 0 || id >= Block::named_barriers)
    violation(std::string(what) + ": there are barriers 0 to 15, not " + std::to_string(id));
  if (threads <= 0 || threads % static_cast<int>(warp_size) != 0)
    violation(std::string(what) + ": a barrier is for whole warps, not for " +
              std::to_string(threads) + " threads");
}

/// True if the caller was the last. `wanted` = 0: everybody who has not exited.
bool arrive_at(NamedBarrier& barrier, unsigned wanted, int id) {
  Block& block = *self().block;
  if (barrier.arrived == 0) barrier.wanted = wanted;
  if (barrier.wanted != wanted)
    violation("barrier " + std::to_string(id) + " is for " + std::to_string(wanted) +
              " threads here, for " + std::to_string(barrier.wanted) +
              " where others wait (0: for all)");
  ++barrier.arrived;
  barrier.meeting.arrive(self().present);
  if (barrier.arrived < (wanted == 0 ? block.running : wanted)) return false;
  barrier.arrived = 0;
  return true;
}

void sync_at(int id, unsigned wanted) {
  NamedBarrier& barrier = self().block->barriers[id];
  const bool last = arrive_at(barrier, wanted, id);
  barrier.waiting.push_back(&self());
  if (last) return let_go(barrier);
  stand_still([&barrier, id] {
    return "barrier " + std::to_string(id) + ", at which " + std::to_string(barrier.arrived) +
           " threads are of " +
           (barrier.wanted == 0 ? std::string("all") : std::to_string(barrier.wanted));
  });
}

}  // namespace

void leave_barriers(Thread& thread) {
  Block& block = *thread.block;
  NamedBarrier& everybody = block.barriers[0];
  if (everybody.wanted == 0 && everybody.arrived > 0 && everybody.arrived == block.running) {
    everybody.arrived = 0;
    let_go(everybody);
  }
  Cluster& cluster = *block.cluster;
  if (cluster.arrived > 0 && cluster.arrived == cluster.running()) end_phase(cluster);
}

void fence_proxy_async_shared() {
  Present& present = self().present;
  present.fenced = present.now;
  present.now = ++latest_time;
  pause();
}

void block_sync() { sync_at(0, 0); }

void warp_sync(std::uint32_t lanes) {
  lanes &= self().warp->exists;
  together("__syncwarp", lanes, static_cast<void*>(nullptr), [&](auto) {
    Meeting meeting;
    std::vector<Thread*> all;
    for (unsigned lane = 0; lane < warp_size; ++lane)
      if (lanes >> lane & 1) all.push_back(&self().warp->threads[lane]);
    for (Thread* thread : all) meeting.arrive(thread->present);
    tell(all, meeting);
  });
}

std::uint64_t shuffle(std::uint32_t lanes, std::uint64_t bits, unsigned source) {
  lanes &= self().warp->exists;
  struct Exchange {
    std::uint64_t bits;
    unsigned source;
  } mine{bits, source};
  if (source >= warp_size || !(lanes >> source & 1))
    violation("__shfl_sync from lane " + std::to_string(source) + ", which does not take part");
  together("__shfl_sync", lanes, &mine, [](Exchange* const* all) {
    std::uint64_t given[warp_size] = {};
    for (unsigned lane = 0; lane < warp_size; ++lane)
      if (all[lane]) given[lane] = all[lane]->bits;
    for (unsigned lane = 0; lane < warp_size; ++lane)
      if (all[lane]) all[lane]->bits = given[all[lane]->source];
  });
  return mine.bits;
}

void barrier_sync(int id, int threads) {
  check_barrier(id, threads, "barrier_sync");
  sync_at(id, static_cast<unsigned>(threads));
}

void barrier_arrive(int id, int threads) {
  check_barrier(id, threads, "barrier_arrive");
  NamedBarrier& barrier = self().block->barriers[id];
  if (arrive_at(barrier, static_cast<unsigned>(threads), id)) let_go(barrier);
  pause();
}

unsigned cluster_rank() { return self().block->rank; }

void cluster_arrive() {
  Thread& thread = self();
  Cluster& cluster = *thread.block->cluster;
  together("cluster_arrive", whole_warp("cluster_arrive"), static_cast<void*>(nullptr),
           [](auto) {});
  if (thread.arrived_in_cluster) violation("cluster_arrive twice without cluster_wait");
  thread.arrived_in_cluster = true;
  thread.cluster_phase = cluster.phases;
  cluster.meeting.arrive(thread.present);
  if (++cluster.arrived == cluster.running()) end_phase(cluster);
}

void cluster_wait() {
  Thread& thread = self();
  Cluster& cluster = *thread.block->cluster;
  together("cluster_wait", whole_warp("cluster_wait"), static_cast<void*>(nullptr), [](auto) {});
  if (!thread.arrived_in_cluster) violation("cluster_wait without cluster_arrive");
  while (cluster.phases == thread.cluster_phase) {
    cluster.waiting.push_back(&thread);
    stand_still([&cluster] {
      return "the barrier of the cluster, at which " + std::to_string(cluster.arrived) +
             " threads are of " + std::to_string(cluster.running());
    });
  }
  thread.arrived_in_cluster = false;
  cluster.lesson.teach(thread.present, cluster.met);
}

void griddepcontrol_wait() { self().waited_for_grids = true; }

void set_registers(int count, bool more) {
  Warp& warp = *self().warp;
  Block& block = *warp.block;
  together("setmaxnreg", whole_warp("setmaxnreg"), static_cast<void*>(nullptr), [&](auto) {
    const int change = (count - warp.registers) * static_cast<int>(warp_size);
    if (more ? change < 0 : change > 0)
      violation(std::string("setmaxnreg.") + (more ? "inc" : "dec") + " to " +
                std::to_string(count) + " from " + std::to_string(warp.registers) + " registers");
    while (change > block.free_registers) {
      block.wait_for_registers.push_back(&self());
      stand_still([&block, change] {
        return std::to_string(change) + " registers, of which " +
               std::to_string(block.free_registers) + " are free";
      });
    }
    block.free_registers -= change;
    warp.registers = count;
    wake_all(block.wait_for_registers);
  });
}

}  // namespace gemm::emulation
