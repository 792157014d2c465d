#include "correctness/faults/trial.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <set>
#include <stdexcept>

#include "correctness/examine.hpp"

namespace gemm {
namespace {

constexpr unsigned deadline_s = 300;  // many times what the slowest rung takes
constexpr std::uint64_t seed = 1;

// What the child prints: a line for each check that fails, and one at its end.
constexpr std::string_view failed_mark = "failed ", end_mark = "end";

std::string_view check_name(const Failure& failure, const Problem& problem, Regime regime) {
  if (failure.check != checks::result) return failure.check;
  return problem.shape.k == 0 || problem.alpha == 0 ? "contract" : name(regime);
}

std::string one_line(std::string text) {
  for (char& character : text)
    if (character == '\n') character = ' ';
  return text;
}

void read_line(std::string_view line, Evidence& evidence) {
  if (line == end_mark) evidence.complete = true;
  if (!line.starts_with(failed_mark)) return;
  line.remove_prefix(failed_mark.size());
  const std::size_t space = line.find(' ');
  evidence.failed.emplace(line.substr(0, space), line.substr(space + 1));
}

/// How a child ended that did not come to its end. `status` is waitpid's.
void blame(int status, Evidence& evidence) {
  if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM) {
    evidence.failed["hang"] = "not done after " + std::to_string(deadline_s) + " s";
  } else if (WIFSIGNALED(status)) {
    evidence.failed["crash"] = strsignal(WTERMSIG(status));
  } else {
    evidence.failed["crash"] = "exit status " + std::to_string(WEXITSTATUS(status));
  }
}

}  // namespace

std::vector<std::string> all_checks() {
  std::vector<std::string> all;
  for (const Regime regime : all_regimes()) all.emplace_back(name(regime));
  all.emplace_back("contract");
  for (const std::string_view check : checks::all)
    if (check != checks::result) all.emplace_back(check);
  return all;
}

void examine_and_print(const std::vector<Case>& cases, std::string_view last) {
  alarm(deadline_s);
  std::set<std::string_view> printed;
  const auto print_new = [&](const Problem& problem, Regime regime, const Examination& found) {
    for (const Failure& failure : found.failures) {
      const std::string_view check = check_name(failure, problem, regime);
      if (!printed.insert(check).second) continue;
      std::cout << failed_mark << check << ' ' << problem.id() << ", " << name(regime)
                << " inputs: " << one_line(failure.message) << std::endl;  // it may be its last
    }
  };
  for (const auto& [kernel, problem, regimes, refusal] : cases)
    for (const Regime regime : regimes)
      if (!refusal && !printed.count(last))
        print_new(problem, regime, examine(*kernel, problem, regime, seed));
  std::cout << end_mark << std::endl;
}

Evidence examine_in_process(const std::string& command) {
  // exec: the status is the program's, not the shell's.
  FILE* output = popen(("exec " + command).c_str(), "r");
  if (!output) throw std::runtime_error("cannot start " + command);
  Evidence evidence;
  std::string line;
  for (int character; (character = std::fgetc(output)) != EOF;) {
    if (character != '\n') {
      line.push_back(static_cast<char>(character));
      continue;
    }
    read_line(line, evidence);
    line.clear();
  }
  const int status = pclose(output);
  if (!evidence.complete) blame(status, evidence);
  return evidence;
}

}  // namespace gemm
