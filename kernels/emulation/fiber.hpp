// A stack of its own on which a function runs, stops in the middle and goes on later.
#pragma once

#include <ucontext.h>

#include <csetjmp>
#include <cstddef>

namespace gemm::emulation {

/// One function at a time. A fiber that is not run to its end is abandoned by the next start():
/// what lies on its stack is not destroyed.
class Fiber {
 public:
  Fiber();  ///< Throws std::bad_alloc if there is no memory for a stack.
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  /// Prepares to run function(argument), which must not throw.
  void start(void (*function)(void*), void* argument);
  /// Goes on until the function suspends or returns. Called from outside any fiber.
  void resume();
  /// Back to the caller of resume(). Called by the function that this fiber runs.
  void suspend();

 private:
  static void enter();
  [[noreturn]] void run_one_after_another();

  void* stack_;
  void (*function_)(void*) = nullptr;
  void* argument_ = nullptr;
  bool waits_for_function_ = false;  ///< on its own stack
  bool entered_ = false;
  ucontext_t first_{};
  std::jmp_buf inside_, outside_;
};

}  // namespace gemm::emulation
