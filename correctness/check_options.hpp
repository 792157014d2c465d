// The command line of gemmwatch-check.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "correctness/regime.hpp"
#include "kernels/gemm.hpp"

namespace gemm {

struct CheckOptions {
  bool want_gpu = true;                ///< --device=auto or gpu
  bool need_gpu = false;               ///< --device=gpu
  std::uint64_t seed = 1;              ///< --seed=N
  const Kernel* kernel = nullptr;      ///< --kernel=NAME, else all
  std::optional<Problem> problem;      ///< --problem=ID
  std::optional<Selection> selection;  ///< --selection=NAME
  bool huge = false;                   ///< --huge
  int fuzz = 0;                        ///< --fuzz=N
  bool under_sanitizer = false;        ///< --under-sanitizer
  bool under_emulation = false;        ///< --under-emulation
  std::optional<Regime> regime;        ///< --regime=NAME, else those of the list
  int launches = 2;                    ///< --launches=N
  std::string mask_dir;                ///< --mask-dir=DIR, else no masks are written
  bool help = false;                   ///< --help
};

extern const char* const check_usage;

/// Reads what GoogleTest left of the command line. Throws std::invalid_argument that names the flag
/// and what it takes.
CheckOptions parse_check_options(int argc, const char* const* argv);

}  // namespace gemm
