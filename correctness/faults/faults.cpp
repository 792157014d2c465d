// gemmwatch-faults: does the gate kill every planted fault, and spare the sound kernels?
//
// It links every sound rung and, under the name <kernel>+<fault>, each rung once more for each of
// its faults in kernels/fault.hpp. All of them go through the checks of gemmwatch-check, each in a
// process of its own: this program, started again.
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "correctness/check_cases.hpp"
#include "correctness/examine.hpp"
#include "correctness/faults/trial.hpp"
#include "correctness/memory.hpp"
#include "kernels/fault.hpp"

namespace {

using namespace gemm;

enum ExitCode { all_killed = 0, one_lives = 1, bad_usage = 2, nothing_examined = 4 };

// Linked with emulated rungs, which the emulator may end before their result is judged: it names
// the mistake itself.
#ifdef GEMMWATCH_EMULATED
constexpr bool emulated = true;
#else
constexpr bool emulated = false;
#endif

constexpr const char* usage =
    "gemmwatch-faults: puts every planted fault before the gate, which must kill it.\n"
    "  --device=auto|host|gpu   faults of the host's rungs, or of the GPU's; auto: what there is\n"
    "  --fault=NAME             this one only\n"
    "  --quick                  each fault until the check that was meant to has killed it; no\n"
    "                           sound kernels, which gemmwatch-check examines\n"
    "  --examine=KERNEL         what the gate sees in one kernel, such as cpu_naive or\n"
    "                           cpu_tiled+cpu_last_k_dropped; in this process\n"
    "  --until=CHECK            ends --examine when this check fails\n"
    "Exit status: 0 all faults killed and all sound kernels spared, 1 not so, 2 bad usage, 4 "
    "there\n"
    "was nothing to examine.\n";

struct Options {
  bool want_gpu = true, need_gpu = false, quick = false, help = false;
  std::string fault, examine, until;
};

/// A kernel that goes through the gate. `fault` is null for a sound one.
struct Subject {
  const Kernel* kernel;
  const Fault* fault;
  Evidence evidence{};

  /// Killed by the check that was meant to, or sound and spared.
  bool as_it_should() const {
    if (!fault) return evidence.failed.empty();
    return evidence.failed.count(std::string(fault->meant)) > 0 ||
           (emulated && evidence.failed.count(std::string(checks::launch)) > 0);
  }
};

Options parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string_view flag = argv[i];
    const std::string value(flag.substr(std::min(flag.find('=') + 1, flag.size())));
    if (flag == "--help") {
      options.help = true;
    } else if (flag == "--quick") {
      options.quick = true;
    } else if (flag.starts_with("--fault=")) {
      options.fault = value;
    } else if (flag.starts_with("--examine=")) {
      options.examine = value;
    } else if (flag.starts_with("--until=")) {
      options.until = value;
    } else if (flag == "--device=auto" || flag == "--device=host" || flag == "--device=gpu") {
      options.want_gpu = value != "host";
      options.need_gpu = value == "gpu";
    } else {
      throw std::invalid_argument("unknown flag " + std::string(flag) + "; --help lists them");
    }
  }
  return options;
}

bool sound(const Kernel& kernel) { return kernel.name.find('+') == std::string_view::npos; }

/// The fault's name in "<kernel>+<fault>", the kernel's in front of it.
std::string_view fault_name(const Kernel& kernel) {
  return kernel.name.substr(std::min(kernel.name.find('+') + 1, kernel.name.size()));
}
std::string_view sound_name(const Kernel& kernel) {
  return kernel.name.substr(0, kernel.name.find('+'));
}

const Fault* find_fault(std::string_view name) {
  for (const Fault& fault : faults)
    if (fault.name == name) return &fault;
  return nullptr;
}

/// What is wrong with the kernel: nothing with a sound one, nor with one that shows a lesson.
const Fault* fault_of(const Kernel& kernel) { return find_fault(fault_name(kernel)); }

/// A fault that needs a problem of its own is shown by the rung: a further tile of it may never
/// come to the place, as one that does not split k has no first part to drop.
bool can_show(const Kernel& kernel, const Fault& fault) {
  return fault.problem.empty() || !kernel.configuration;
}

/// Every faulty kernel of the device, and behind them the sound ones from which they were made.
std::vector<Subject> subjects(const Options& options, const Device& device) {
  if (!options.fault.empty() && !find_fault(options.fault))
    throw std::invalid_argument("no fault is named \"" + options.fault +
                                "\"; kernels/fault.hpp lists them");
  std::vector<Subject> faulty, spared;
  for (const Kernel& kernel : kernels()) {
    const Fault* fault = fault_of(kernel);
    const bool wanted = options.fault.empty() || fault_name(kernel) == options.fault;
    if (!fault || !wanted || !runs_on(kernel.arch, device)) continue;
    if (can_show(kernel, *fault)) faulty.push_back({&kernel, fault});
  }
  for (const Kernel& kernel : kernels())
    if (sound(kernel) && !options.quick &&
        std::any_of(faulty.begin(), faulty.end(), [&](const Subject& subject) {
          return sound_name(*subject.kernel) == kernel.name;
        }))
      spared.push_back({&kernel, nullptr});
  faulty.insert(faulty.end(), spared.begin(), spared.end());
  return faulty;
}

/// What gemmwatch-check would do with the kernel.
std::vector<Case> usual_cases(const Kernel& kernel, const Device& device) {
  CheckOptions options;
  options.kernel = &kernel;
  options.under_emulation = emulated;
  return cases_to_check(options, device);
}

/// The kernel on the problem that alone shows the fault, on the inputs that are meant to.
std::vector<Case> special_cases(const Kernel& kernel, const Fault& fault, const Device& device) {
  CheckOptions options;
  options.kernel = &kernel;
  options.problem = parse_problem(fault.problem);
  options.regime = parse_regime(fault.meant);
  return cases_to_check(options, device);
}

/// For a fault that one problem alone shows, that; and for a sound kernel those of all its faults
/// besides.
std::vector<Case> cases_for(const Kernel& kernel) {
  const Device device = choose_device(kernel.arch != Arch::host).device;
  if (const Fault* fault = fault_of(kernel))
    return fault->problem.empty() ? usual_cases(kernel, device)
                                  : special_cases(kernel, *fault, device);
  std::vector<Case> cases = usual_cases(kernel, device);
  for (const Kernel& other : kernels()) {
    const Fault* fault = fault_of(other);
    if (!fault || sound_name(other) != kernel.name || fault->problem.empty()) continue;
    const std::vector<Case> special = special_cases(kernel, *fault, device);
    cases.insert(cases.end(), special.begin(), special.end());
  }
  return cases;
}

/// A few at a time: most of a trial is one thread of host work.
void examine_all(std::vector<Subject>& all, const std::string& program, bool quick) {
  std::atomic<std::size_t> next = 0;
  const auto work = [&] {
    for (std::size_t i = next++; i < all.size(); i = next++) {
      std::string command =
          "'" + program + "' '--examine=" + std::string(all[i].kernel->name) + "'";
      if (quick) command += " --until=" + std::string(all[i].fault->meant);
      all[i].evidence = examine_in_process(command);
      std::fprintf(stderr, ".");
    }
  };
  std::vector<std::thread> workers(std::clamp(std::thread::hardware_concurrency(), 1u, 4u));
  for (std::thread& worker : workers) worker = std::thread(work);
  for (std::thread& worker : workers) worker.join();
  std::fprintf(stderr, "\n");
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  return text.empty() ? "-" : text;
}

void print(const Subject& subject, bool quick) {
  std::vector<std::string> killed_by, survived;
  for (const auto& [check, message] : subject.evidence.failed) killed_by.push_back(check);
  for (const std::string& check : all_checks())
    if (!subject.evidence.failed.count(check)) survived.push_back(check);
  const char* const bad = !subject.fault ? "FALSE ALARM" : killed_by.empty() ? "LIVES" : "MISSED";
  const char* const good = subject.fault ? "killed" : "spared";
  std::printf("%-40s %s\n", std::string(subject.kernel->name).c_str(),
              subject.as_it_should() ? good : bad);
  std::printf("    killed by  %s\n", joined(killed_by).c_str());
  if (!quick) std::printf("    survived   %s\n", joined(survived).c_str());
}

/// What must be known of a subject that is not as it should be.
void explain(const Subject& subject) {
  if (subject.as_it_should()) return;
  std::printf("\n%s: ", std::string(subject.kernel->name).c_str());
  if (subject.fault)
    std::printf("%s; the check \"%s\" was meant to see it\n",
                std::string(subject.fault->effect).c_str(),
                std::string(subject.fault->meant).c_str());
  else
    std::printf("a sound kernel, and the gate found\n");
  for (const auto& [check, message] : subject.evidence.failed)
    std::printf("  %s: %s\n", check.c_str(), message.c_str());
}

ExitCode report(const std::vector<Subject>& all, bool quick) {
  for (const Subject& subject : all) print(subject, quick);
  for (const Subject& subject : all) explain(subject);
  const auto faulty = std::count_if(
      all.begin(), all.end(), [](const Subject& subject) { return subject.fault != nullptr; });
  const auto killed = std::count_if(all.begin(), all.end(), [](const Subject& subject) {
    return subject.fault && subject.as_it_should();
  });
  const auto alarms = std::count_if(all.begin(), all.end(), [](const Subject& subject) {
    return !subject.fault && !subject.as_it_should();
  });
  if (!quick)
    std::printf("\n%td sound kernels, %td false alarms\n",
                static_cast<std::ptrdiff_t>(all.size()) - faulty, alarms);
  std::printf("%td faults, %td killed\n", faulty, killed);
  return killed == faulty && alarms == 0 ? all_killed : one_lives;
}

ExitCode run(const Options& options, const std::string& program) {
  if (!options.examine.empty()) {
    examine_and_print(cases_for(find_kernel(options.examine)), options.until);
    return all_killed;
  }
  const DeviceChoice choice = choose_device(options.want_gpu);
  std::vector<Subject> all = subjects(options, choice.device);
  if (all.empty() || (options.need_gpu && choice.why_host)) {
    std::fprintf(stderr, "gemmwatch-faults: nothing to examine on this device%s%s\n",
                 choice.why_host ? ": " : "", choice.why_host ? choice.why_host : "");
    return nothing_examined;
  }
  examine_all(all, program, options.quick);
  return report(all, options.quick);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const Options options = parse(argc, argv);
    if (!options.help) return run(options, std::filesystem::read_symlink("/proc/self/exe"));
    std::fputs(usage, stdout);
    return all_killed;
  } catch (const std::invalid_argument& error) {
    std::fprintf(stderr, "gemmwatch-faults: %s\n", error.what());
    return bad_usage;
  }
}
