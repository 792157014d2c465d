// One kernel before the gate, in a process of its own: a faulty kernel may crash, hang, or leave a
// CUDA context in which nothing works any more.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "correctness/check_cases.hpp"

namespace gemm {

/// What the gate found in one kernel: for each check that failed, the first failure in words.
struct Evidence {
  std::map<std::string, std::string> failed;
  bool complete = false;  ///< the process came to its end
};

/// The checks, as Evidence names them: that of an element's interval by the inputs it was made
/// from, or "contract" where k or alpha is 0; the others by their own names. Where the process did
/// not come to its end, Evidence has a "crash" or a "hang" besides.
std::vector<std::string> all_checks();

/// Puts the kernel through the cases, and prints each check that fails to stdout, when it first
/// does. Ends when check `last` fails, if there is one of this name.
void examine_and_print(const std::vector<Case>& cases, std::string_view last);

/// Runs a command that calls examine_and_print, and reads what it prints. Throws
/// std::runtime_error if the process cannot be started.
Evidence examine_in_process(const std::string& command);

}  // namespace gemm
