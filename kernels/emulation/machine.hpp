// The machine: threads of the blocks of one cluster, which of them runs, and what happens besides.
//
// Threads are fibers of one thread of the operating system. One runs until it waits for something,
// then chance picks the next among those that can run. What the hardware does by itself, a copy or
// a product, is an event: chance lets it happen somewhere between the instruction that starts it
// and the moment in which nobody can go on without it.
#pragma once

#include <vector_types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "kernels/emulation/copies.hpp"
#include "kernels/emulation/fiber.hpp"
#include "kernels/emulation/mbarrier.hpp"
#include "kernels/emulation/order.hpp"
#include "kernels/emulation/random.hpp"
#include "kernels/emulation/shared_memory.hpp"
#include "kernels/emulation/warpgroup.hpp"

namespace gemm::emulation {

inline constexpr unsigned warp_size = 32, warpgroup_warps = 4;

/// What a kernel must not do, and who did it.
class Violation : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct Thread;
struct Warp;
struct Block;
struct Cluster;

struct Thread {
  Block* block = nullptr;
  Warp* warp = nullptr;
  unsigned linear = 0, lane = 0;
  uint3 index{};
  std::unique_ptr<Fiber> fiber;
  bool exited = false;
  std::function<std::string()> waits_for;  ///< for the message of a deadlock
  Present present;
  AsyncCopies copies;
  bool waited_for_grids = false;
  bool arrived_in_cluster = false;
  std::uint64_t cluster_phase = 0;  ///< at its last arrival
};

/// The lanes of a warp on their way into one instruction that they execute together.
struct Rendezvous {
  const char* name;
  std::uint32_t wanted, arrived = 0;
  void* arguments[warp_size] = {};
};

struct Warp {
  Block* block = nullptr;
  unsigned number = 0;
  Thread* threads = nullptr;  ///< of its lanes
  std::uint32_t exists = 0, exited = 0, runnable = 0;
  std::vector<Rendezvous> rendezvous;
  double priority = 0;
  WgmmaWarp wgmma;
  int registers = 0;  ///< of each thread
};

/// bar.sync and bar.arrive.
struct NamedBarrier {
  unsigned arrived = 0, wanted = 0;  ///< wanted = 0: all threads that have not exited
  std::vector<Thread*> waiting;
  Meeting meeting;
};

struct Block {
  static constexpr int named_barriers = 16;

  Cluster* cluster = nullptr;
  unsigned rank = 0;  ///< in the cluster
  uint3 index{};
  std::vector<Thread> threads;
  std::vector<Warp> warps;
  std::vector<Warpgroup> warpgroups;
  unsigned running = 0;  ///< threads that have not exited
  std::unique_ptr<SharedMemory> memory;
  unsigned readers = 0;  ///< beside its warps, see Accesses
  Mbarriers mbarriers;
  NamedBarrier barriers[named_barriers];
  int free_registers = 0;
  std::vector<Thread*> wait_for_registers;

  bool over() const { return running == 0; }
};

/// A place among those who read a block's shared memory, for one that is no warp.
unsigned new_reader(Block&);

struct Cluster {
  std::vector<std::unique_ptr<Block>> blocks;
  unsigned arrived = 0;  ///< at the barrier of the cluster
  std::uint64_t phases = 0;
  std::vector<Thread*> waiting;
  Meeting meeting;
  Knowledge met;  ///< in the last phase
  Lesson lesson;
  std::vector<std::string> helpers;  ///< units that are not threads, by name

  unsigned running() const;
  Unit new_helper(std::string name);
};

/// Grid, block and cluster as the launch gave them.
struct Geometry {
  dim3 grid, block, cluster;
  bool may_overlap = false;  ///< the grid before, until griddepcontrol_wait
};

/// The thread that runs. Outside any, there is none to ask for.
extern Thread* running_thread;
extern Cluster* running_cluster;
extern Geometry geometry;
extern Random luck;

inline Thread& self() { return *running_thread; }

/// "block 3, warp 2, lane 5"
std::string name_of(const Thread&);
/// The name of the running thread and what is wrong. The thread does not go on.
[[noreturn]] void violation(const std::string& what);

/// The running thread stands still until somebody wakes it.
void stand_still(std::function<std::string()> waits_for);
void wake(Thread&);
void wake_all(std::vector<Thread*>&);  ///< and forgets them

/// Nobody waits for the thread any more.
void leave_barriers(Thread&);

/// A moment in which others may run.
void pause();

/// Lets something happen at a moment that chance picks: at once, or any time until nobody can run.
void later(std::function<void()> event);

/// How likely a copy of cp.async lands at once.
double early_copies();

/// Runs work() once, when all lanes of `wanted` have come with their arguments: for the last of
/// them, before any goes on. work is called with the lanes' arguments, null where there is no lane.
template <class Argument, class Work>
void together(const char* name, std::uint32_t wanted, Argument* argument, Work work);

/// Every lane of the warp, for instructions that are .aligned.
std::uint32_t whole_warp(const char* name);

/// Runs every thread of the cluster from its beginning to its end. Throws Violation.
void run(Cluster&, void (*kernel)(void*), void* argument);

// ---------------------------------------------------------------------------------------------

/// The arguments of all lanes if the caller is the last of them; else null, when the work is done.
Rendezvous* arrive(const char* name, std::uint32_t wanted, void* argument);
void leave(Rendezvous*);

template <class Argument, class Work>
void together(const char* name, std::uint32_t wanted, Argument* argument, Work work) {
  using Plain = std::remove_const_t<Argument>;
  Rendezvous* all = arrive(name, wanted, const_cast<Plain*>(argument));
  if (!all) return;
  work(reinterpret_cast<Argument* const*>(all->arguments));
  leave(all);
}

}  // namespace gemm::emulation
