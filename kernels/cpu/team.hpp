// Threads that stay: they sleep until the next product, since making them anew for each would cost
// as much as a small product takes.
#pragma once

#include <barrier>
#include <functional>
#include <iterator>
#include <mutex>
#include <thread>
#include <vector>

namespace gemm::cpu {

/// `size` threads, the caller's among them. Asleep between two calls of run(), so that a team that
/// waits takes nothing from a kernel that runs.
class Team {
 public:
  /// Throws std::system_error if the system has no thread to give.
  explicit Team(int size) : begin_(size), end_(size) {
    try {
      for (int rank = 1; rank < size; ++rank) threads_.emplace_back([this, rank] { serve(rank); });
    } catch (...) {
      // Those there are wait for a whole team: the caller arrives for all that are missing.
      static_cast<void>(begin_.arrive(size - std::ssize(threads_)));
      throw;
    }
  }

  ~Team() {
    work_ = nullptr;
    begin_.arrive_and_wait();
  }

  /// Calls work(rank) on every thread of the team and returns when all are done; work must not
  /// throw. Callers take turns.
  void run(const std::function<void(int rank)>& work) {
    const std::lock_guard turn(mutex_);
    work_ = &work;
    begin_.arrive_and_wait();
    work(0);
    end_.arrive_and_wait();
  }

 private:
  void serve(int rank) {
    for (;;) {
      begin_.arrive_and_wait();
      if (!work_) return;
      (*work_)(rank);
      end_.arrive_and_wait();
    }
  }

  std::mutex mutex_;
  std::barrier<> begin_, end_;
  const std::function<void(int)>* work_ = nullptr;
  std::vector<std::jthread> threads_;  // last, so that they end before what they use
};

}  // namespace gemm::cpu
