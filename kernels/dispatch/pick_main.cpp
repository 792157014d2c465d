// gemmwatch-pick: what the model of dispatch picks, given rates that are not in tuned.cpp.
//
// `gemmwatch tune` asks it about the rates that it is about to write, so that the model is written
// once, and the regret that is reported is that of what will run. It launches nothing and needs no
// GPU, only the rungs in its build. Standard input, a line each, the first of these first:
//   multiprocessors 132
//   rate wgmma_persistent bf16 730.5
//   problem bf16/nn/4096x4096x4096
// Each problem is answered by a line: the kernel, or "none". Exit code 2: a line that is none of
// these.
#include <iostream>
#include <sstream>
#include <stdexcept>
#include <string>

#include "kernels/dispatch/pick.hpp"

namespace {

using namespace gemm;

// All architectures of the ladder: what has a rate was measured, and so runs where it was.
constexpr Device where_measured{Space::gpu, 90};

Precision parse_precision(std::string_view text) {
  for (const Precision precision :
       {Precision::fp32, Precision::tf32, Precision::fp16, Precision::bf16})
    if (name(precision) == text) return precision;
  throw std::invalid_argument("no precision is named \"" + std::string(text) + "\"");
}

void answer(std::istream& lines, std::ostream& picks) {
  int multiprocessors = 0;
  dispatch::Table table;
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string kind, subject, precision;
    double tflops = 0;
    words >> kind;
    if (kind == "multiprocessors" && words >> multiprocessors && multiprocessors > 0) continue;
    if (kind == "rate" && words >> subject >> precision >> tflops && tflops > 0) {
      table.rates.push_back({find_kernel(subject).name, parse_precision(precision), tflops});
    } else if (kind == "problem" && words >> subject && multiprocessors > 0) {
      const Kernel* kernel =
          dispatch::pick(kernels(), parse_problem(subject), table, where_measured, multiprocessors);
      picks << (kernel ? kernel->name : "none") << '\n';
    } else {
      throw std::invalid_argument("cannot use the line \"" + line + "\"");
    }
  }
}

}  // namespace

int main() {
  try {
    answer(std::cin, std::cout);
    return 0;
  } catch (const std::invalid_argument& error) {
    std::cerr << "gemmwatch-pick: " << error.what() << '\n';
    return 2;
  }
}
