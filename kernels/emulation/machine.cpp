#include "kernels/emulation/machine.hpp"

#include <algorithm>
#include <bit>
#include <map>
#include <sstream>

namespace gemm::emulation {

Thread* running_thread = nullptr;
Cluster* running_cluster = nullptr;
Geometry geometry;
Random luck;

namespace {

/// How chance goes about one run. No single way finds every mistake: what must wait is found by
/// whoever comes too early, what must not lie about by what comes too late.
struct Tempo {
  double event;      ///< probability that an event happens before the next step of a thread
  double pause;      ///< probability that a thread lets others run where it may
  double early;      ///< probability that a copy of cp.async lands at once
  bool by_priority;  ///< one warp runs as far as it gets, or all in turn
};

class Scheduler {
 public:
  explicit Scheduler(Cluster& cluster) : cluster_(cluster) {
    constexpr double events[] = {0, 0, 0.001, 0.03, 0.5, 1}, pauses[] = {0, 0.05, 0.5},
                     earlies[] = {0, 0, 0.5, 1};
    tempo_ = {events[luck.below(std::size(events))], pauses[luck.below(std::size(pauses))],
              earlies[luck.below(std::size(earlies))], luck.chance(0.5)};
    for (const auto& block : cluster.blocks)
      for (Warp& warp : block->warps) {
        warp.runnable = warp.exists;
        warp.priority = luck.chance(0.5) ? 0 : static_cast<double>(luck.below(1000));
        runnable_.push_back(&warp);
      }
  }

  void run() {
    while (cluster_.running() > 0) {
      if (!events_.empty() && (runnable_.empty() || luck.chance(tempo_.event))) {
        happen();
      } else if (runnable_.empty()) {
        deadlock();
      } else {
        step();
      }
    }
    while (!events_.empty()) happen();  // a copy that nobody waited for lands all the same
  }

  void made_runnable(Thread& thread) {
    Warp& warp = *thread.warp;
    if (warp.runnable == 0) runnable_.push_back(&warp);
    warp.runnable |= 1u << thread.lane;
  }

  void suspend() {
    Thread& thread = *running_thread;
    thread.fiber->suspend();
    running_thread = &thread;
  }

  void add(std::function<void()> event) { events_.push_back(std::move(event)); }
  double early() const { return tempo_.early; }
  bool pauses() { return luck.chance(tempo_.pause); }
  void failed(std::exception_ptr error) { error_ = std::move(error); }

 private:
  void step() {
    Warp& warp = choose();
    const unsigned turn = luck.below(warp_size);
    const unsigned lane = (std::countr_zero(std::rotr(warp.runnable, turn)) + turn) % warp_size;
    warp.runnable &= ~(1u << lane);
    if (warp.runnable == 0) std::erase(runnable_, &warp);
    running_thread = &warp.threads[lane];
    running_thread->fiber->resume();
    running_thread = nullptr;
    if (error_) std::rethrow_exception(error_);
  }

  // A warp mostly goes on with its next lane: what a warp does together is quickly complete.
  Warp& choose() {
    if (last_ && last_->runnable && luck.below(16) != 0) return *last_;
    last_ = runnable_[luck.below(runnable_.size())];
    if (tempo_.by_priority) {
      for (Warp* warp : runnable_)
        if (warp->priority > last_->priority) last_ = warp;
      if (luck.below(64) == 0) last_->priority = luck.below(1000);
    }
    return *last_;
  }

  void happen() {
    const std::size_t which = luck.below(events_.size());
    std::swap(events_[which], events_.back());
    const std::function<void()> event = std::move(events_.back());
    events_.pop_back();
    event();
  }

  [[noreturn]] void deadlock() {
    std::map<std::string, std::vector<const Thread*>> by_reason;
    for (const auto& block : cluster_.blocks)
      for (const Thread& thread : block->threads)
        if (!thread.exited)
          by_reason["block " + std::to_string(block->index.x) + ", warp " +
                    std::to_string(thread.warp->number) + " waits for " + thread.waits_for()]
              .push_back(&thread);
    std::ostringstream text;
    text << "deadlock: nobody can run";
    for (const auto& [reason, threads] : by_reason)
      text << "\n    " << reason << " (" << threads.size() << " lanes, first "
           << threads.front()->lane << ")";
    throw Violation(text.str());
  }

  Cluster& cluster_;
  Tempo tempo_{};
  std::vector<Warp*> runnable_;
  Warp* last_ = nullptr;
  std::vector<std::function<void()>> events_;
  std::exception_ptr error_;
};

Scheduler* scheduler = nullptr;
void (*running_kernel)(void*) = nullptr;
void* kernel_argument = nullptr;

void exit_thread(Thread& thread) {
  Block& block = *thread.block;
  Warp& warp = *thread.warp;
  if (geometry.may_overlap && !thread.waited_for_grids)
    violation("the thread ends without griddepcontrol_wait, but the grid may overlap the last");
  if (!warp.wgmma.sums.empty())
    violation("the thread ends while wgmma still holds its registers: wgmma_wait_group is missing");
  if (thread.arrived_in_cluster)
    violation("the thread ends between cluster_arrive and cluster_wait");
  if (!thread.copies.open_stores.empty() || !thread.copies.committed_stores.empty())
    violation(
        "the thread ends while its bulk stores may still read shared memory:"
        " cp_async_bulk_wait_group_read is missing");
  thread.exited = true;
  warp.exited |= 1u << thread.lane;
  --block.running;
  leave_barriers(thread);
}

void thread_body(void*) {
  try {
    running_kernel(kernel_argument);
    exit_thread(*running_thread);
  } catch (...) {
    scheduler->failed(std::current_exception());
  }
}

std::string lanes_text(std::uint32_t lanes) {
  std::ostringstream text;
  text << "lanes 0x" << std::hex << lanes;
  return text.str();
}

}  // namespace

unsigned Cluster::running() const {
  unsigned sum = 0;
  for (const auto& block : blocks) sum += block->running;
  return sum;
}

Unit Cluster::new_helper(std::string name) {
  helpers.push_back(std::move(name));
  return static_cast<Unit>(blocks.size() * blocks.front()->threads.size() + helpers.size() - 1);
}

unsigned new_reader(Block& block) {
  const auto reader = static_cast<unsigned>(block.warps.size()) + block.readers++;
  if (reader >= Accesses::most_readers)
    violation("more readers of shared memory than the emulator can tell apart");
  return reader;
}

std::string name_of(const Thread& thread) {
  return "block " + std::to_string(thread.block->index.x) + ", warp " +
         std::to_string(thread.warp->number) + ", lane " + std::to_string(thread.lane);
}

// A thread is left where it is, since an access to memory, which may be what is wrong, is no place
// from which the compiler lets an exception out.
void violation(const std::string& what) {
  if (!running_thread) throw Violation(what);
  scheduler->failed(std::make_exception_ptr(Violation(name_of(*running_thread) + ": " + what)));
  for (;;) running_thread->fiber->suspend();
}

void stand_still(std::function<std::string()> waits_for) {
  running_thread->waits_for = std::move(waits_for);
  scheduler->suspend();
}

void wake(Thread& thread) { scheduler->made_runnable(thread); }

void wake_all(std::vector<Thread*>& threads) {
  for (Thread* thread : threads) wake(*thread);
  threads.clear();
}

void pause() {
  if (!scheduler->pauses()) return;
  wake(self());
  scheduler->suspend();
}

double early_copies() { return scheduler->early(); }

void later(std::function<void()> event) { scheduler->add(std::move(event)); }

std::uint32_t whole_warp(const char* name) {
  const Warp& warp = *self().warp;
  if (warp.exited != 0)
    violation(std::string(name) + " wants the whole warp, of which " + lanes_text(warp.exited) +
              " have ended");
  return warp.exists;
}

Rendezvous* arrive(const char* name, std::uint32_t wanted, void* argument) {
  Thread& thread = self();
  Warp& warp = *thread.warp;
  const std::uint32_t mine = 1u << thread.lane;
  if (!(wanted & mine)) violation(std::string(name) + " of lanes that leave the caller out");
  Rendezvous* all = nullptr;
  for (Rendezvous& other : warp.rendezvous) {
    if (!(other.wanted & wanted)) continue;
    if (other.name != name || other.wanted != wanted || (other.arrived & mine))
      violation("the warp diverges: this lane is at " + std::string(name) + ", " +
                lanes_text(other.arrived) + " at " + other.name);
    all = &other;
  }
  if (!all) all = &warp.rendezvous.emplace_back(Rendezvous{.name = name, .wanted = wanted});
  all->arrived |= mine;
  all->arguments[thread.lane] = argument;
  if (all->arrived == wanted) return all;
  stand_still([&warp, name] {
    for (const Rendezvous& waiting : warp.rendezvous)
      if (waiting.name == name)
        return std::string(name) + " of all lanes, without " +
               lanes_text(waiting.wanted & ~waiting.arrived);
    return std::string(name);
  });
  return nullptr;
}

void leave(Rendezvous* all) {
  Warp& warp = *self().warp;
  const std::uint32_t others = all->arrived & ~(1u << self().lane);
  for (unsigned lane = 0; lane < warp_size; ++lane)
    if (others >> lane & 1) wake(warp.threads[lane]);
  std::swap(*all, warp.rendezvous.back());
  warp.rendezvous.pop_back();
}

void run(Cluster& cluster, void (*kernel)(void*), void* argument) {
  running_kernel = kernel;
  kernel_argument = argument;
  for (const auto& block : cluster.blocks)
    for (Thread& thread : block->threads) thread.fiber->start(thread_body, nullptr);
  Scheduler of_this_run(cluster);
  scheduler = &of_this_run;
  running_cluster = &cluster;
  struct Over {
    ~Over() {
      scheduler = nullptr;
      running_cluster = nullptr;
      running_thread = nullptr;
    }
  } over;
  of_this_run.run();
}

}  // namespace gemm::emulation
