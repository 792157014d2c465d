// The checked longjmp takes a jump to another stack for a mistake.
#undef _FORTIFY_SOURCE
#include "kernels/emulation/fiber.hpp"

#include <sys/mman.h>

#include <new>

namespace gemm::emulation {
namespace {

constexpr std::size_t stack_bytes = 128 << 10, guard_bytes = 4 << 10;

Fiber* entering = nullptr;  // a context's function takes no pointer

/// Stacks begin at different places of their pages: a cache holds few lines of the same place.
std::size_t unused_bytes() {
  static std::size_t stacks = 0;
  return stacks++ * 1088 % (32 << 10) / 64 * 64;
}

}  // namespace

Fiber::Fiber()
    : stack_(mmap(nullptr, stack_bytes, PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)) {
  if (stack_ == MAP_FAILED) throw std::bad_alloc();
  mprotect(stack_, guard_bytes, PROT_NONE);  // a stack that overflows ends the process
  getcontext(&first_);
  first_.uc_stack.ss_sp = stack_;
  first_.uc_stack.ss_size = stack_bytes - unused_bytes();
  first_.uc_link = nullptr;
}

Fiber::~Fiber() { munmap(stack_, stack_bytes); }

void Fiber::start(void (*function)(void*), void* argument) {
  function_ = function;
  argument_ = argument;
  if (waits_for_function_) return;
  entered_ = false;
  makecontext(&first_, enter, 0);
}

// Contexts only make the first step onto a stack: switching them asks the kernel for the signal
// mask, each time. Jumps do not.
void Fiber::resume() {
  if (_setjmp(outside_) != 0) return;
  if (entered_) _longjmp(inside_, 1);
  entered_ = true;
  entering = this;
  setcontext(&first_);
}

void Fiber::suspend() {
  if (_setjmp(inside_) == 0) _longjmp(outside_, 1);
}

void Fiber::enter() { entering->run_one_after_another(); }

// Stays on its stack from one function to the next: another entry costs more than a short function.
void Fiber::run_one_after_another() {
  for (;;) {
    waits_for_function_ = false;
    function_(argument_);
    waits_for_function_ = true;
    suspend();
  }
}

}  // namespace gemm::emulation
