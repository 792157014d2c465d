// Lessons: pitfalls that a reader can switch on and see measured.
//
// A lesson is an entry of the table below. Most spoil a rung in one statement of its own file,
//     gemm::lesson("name") ? the pitfall : what the rung does
// CMake reads the table and compiles the rung once more for the lesson, as a kernel called
// <rung>+<name>. It computes the same, and passes the same gate; the selection `lessons` measures
// it beside the sound rung, and no other selection visits it. The statement vanishes from the rung.
#pragma once

#include <string_view>

namespace gemm {

struct Lesson {
  std::string_view name;
  std::string_view source;  ///< the rung that it spoils, a file of this folder; empty: none
  std::string_view title;
  std::string_view points;  ///< what is compared, the sound one first; ids with a space between
  std::string_view moral;
};

// The first two strings stay on the first line: CMake reads them there.
inline constexpr Lesson lessons[] = {
    {"bank_conflicts", "simt/vectorized.cu", "Rows of shared memory that begin in one bank",
     "vectorized/fp32/nn/4096x4096x4096 vectorized+bank_conflicts/fp32/nn/4096x4096x4096",
     "Without the 16 bytes of padding a row, the rows that a warp writes at once when it "
     "transposes A "
     "lie in the same banks: a store takes two passes here, where a thread brings 16 bytes, and up "
     "to "
     "eight where it brings single words. Nothing else changes."},
    {"register_spills", "simt/warp_tiled.cu", "A second block an SM, paid in registers",
     "warp_tiled/fp32/nn/4096x4096x4096 warp_tiled+register_spills/fp32/nn/4096x4096x4096",
     "Two blocks an SM leave a thread 128 registers, as many as it has sums: the compiler puts "
     "what is "
     "over into local memory, which is device memory. More occupancy is no aim in itself."},
    {"thin_k_slice", "simt/pretransposed.cu", "A slice of k too thin for the pipeline",
     "pretransposed/fp32/nn/4096x4096x4096 pretransposed+thin_k_slice/fp32/nn/4096x4096x4096",
     "With slices of 8 in place of 16 there are twice as many barriers, and what is multiplied "
     "while a "
     "copy is on its way is half. A pipeline hides a latency only if its stages are long enough. "
     "(autotuned gains by slices of 8: there the loop of 16 does not fit the instruction cache.)"},
    {"compiler_scheduling", "simt/autotuned.cu", "Reads that are left to the compiler",
     "autotuned/fp32/nn/4096x4096x4096 autotuned+compiler_scheduling/fp32/nn/4096x4096x4096",
     "The rung reads the operands of a step while it multiplies the one before, across the barrier "
     "too. "
     "Written the plain way, the compiler does the same within a slice, where it may move a read; "
     "at "
     "each barrier the multiply-adds wait."},
    {"bf16_accuracy", "", "BF16 keeps eight bits of the result, whatever the sum was",
     "dispatch/fp32/nn/4096x4096x4096 dispatch/tf32/nt/4096x4096x4096 "
     "dispatch/fp16/nn/4096x4096x4096 dispatch/bf16/nn/4096x4096x4096 "
     "cpu_packed/fp32/nn/512x512x512 cpu_packed/fp16/nn/512x512x512 cpu_packed/bf16/nn/512x512x512",
     "All sums are FP32, so the error of a 16-bit result is that of its last rounding: up to 2^-8 "
     "of it in BF16, 2^-11 in FP16. A check with one tolerance for both is too loose for one of "
     "them."},
};

namespace detail {
consteval bool is_lesson(std::string_view name) {
  for (const Lesson& lesson : lessons) {
    if (lesson.name == name) return true;
  }
  return false;
}
}  // namespace detail

// Not inline: each object has its own.
#ifdef GEMMWATCH_LESSON
constexpr std::string_view taught_lesson = GEMMWATCH_LESSON;
static_assert(detail::is_lesson(taught_lesson),
              "GEMMWATCH_LESSON is not in the table of lesson.hpp");
#else
constexpr std::string_view taught_lesson;
#endif

/// Is this object the one that shows the pitfall?
static consteval bool lesson(std::string_view name) {
  if (!detail::is_lesson(name)) throw "this lesson is not in the table of lesson.hpp";
  return name == taught_lesson;
}

}  // namespace gemm
