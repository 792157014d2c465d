// gemmwatch-check: is every kernel correct? A GoogleTest program whose tests are the registry's
// kernels times the check problems; suite = kernel, test = problem id and regime.
#include <gtest/gtest.h>

#include <cstdio>
#include <functional>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "correctness/check_cases.hpp"
#include "correctness/check_options.hpp"
#include "correctness/examine.hpp"
#include "correctness/fuzz.hpp"
#include "correctness/huge.hpp"
#include "correctness/mask_file.hpp"

namespace {

using namespace gemm;

enum ExitCode { all_correct = 0, bad_usage = 2, incorrect = 3, nothing_checked = 4 };

std::string reproduction(const Kernel& kernel, const Subject& subject) {
  return "gemmwatch-check --kernel=" + std::string(kernel.name) +
         " --problem=" + subject.problem.id() + " --regime=" + std::string(name(subject.regime)) +
         " --seed=" + std::to_string(subject.seed);
}

ExamineOptions examine_options(const CheckOptions& options) {
  if (options.under_sanitizer) return {.launches = 1, .watched = true};
  return {.launches = options.launches};
}

Examination examined(const Kernel& kernel, const Subject& subject, const CheckOptions& options) {
  const auto& [problem, regime, seed] = subject;
  if (needs_sample(problem)) return examine_by_sample(kernel, problem, regime, seed);
  return examine(kernel, problem, regime, seed, examine_options(options));
}

void report(const Kernel& kernel, const Subject& subject, const Examination& examination,
            const std::string& mask_dir) {
  for (const auto& [check, message] : examination.failures)
    ADD_FAILURE() << kernel.name << " on " << subject.problem.id() << ", " << name(subject.regime)
                  << " inputs, seed " << subject.seed << "\n  " << check << ": " << message
                  << "\n  reproduce: " << reproduction(kernel, subject);
  if (examination.mask && !mask_dir.empty())
    std::printf("  where: %s\n",
                write_mask(mask_dir, kernel.name, subject, *examination.mask).c_str());
}

class CorrectOn : public testing::Test {
 public:
  CorrectOn(const Case& subject, Regime regime, const CheckOptions& options)
      : subject_(subject), regime_(regime), options_(options) {}

  void TestBody() override {
    if (subject_.refusal) GTEST_SKIP() << *subject_.refusal;
    const Subject subject{subject_.problem, regime_, options_.seed};
    report(*subject_.kernel, subject, examined(*subject_.kernel, subject, options_),
           options_.mask_dir);
  }

 private:
  const Case& subject_;
  Regime regime_;
  const CheckOptions& options_;
};

/// Random problems until one fails or enough have passed.
class CorrectOnRandomProblems : public testing::Test {
 public:
  CorrectOnRandomProblems(const Kernel& kernel, const CheckOptions& options)
      : kernel_(kernel), options_(options) {}

  void TestBody() override {
    const int most_draws = 100 * options_.fuzz;  // a kernel may refuse most of them
    int accepted = 0;
    for (int i = 0; i < most_draws && accepted < options_.fuzz; ++i) {
      const Subject drawn =
          random_subject(options_.seed, static_cast<std::uint64_t>(i), space(kernel_.arch));
      if (kernel_.refuses(drawn.problem)) continue;
      ++accepted;
      if (!fails(drawn)) continue;
      const Subject smallest = device_works() ? shrink(drawn, fails) : drawn;
      std::printf("  problem %d of seed %llu, %s, shrunk to %s\n", i,
                  static_cast<unsigned long long>(options_.seed), drawn.problem.id().c_str(),
                  smallest.problem.id().c_str());
      return report(kernel_, smallest, examined(kernel_, smallest, options_), options_.mask_dir);
    }
    EXPECT_GT(accepted, 0) << "the kernel refuses all of " << most_draws << " random problems";
  }

 private:
  /// After a lost context everything fails, and there is nothing to learn from it.
  bool device_works() const {
    try {
      synchronize(space(kernel_.arch));
      return true;
    } catch (const std::runtime_error&) {
      return false;
    }
  }

  const Kernel& kernel_;
  const CheckOptions& options_;
  const std::function<bool(const Subject&)> fails = [this](const Subject& subject) {
    return !kernel_.refuses(subject.problem) && !examined(kernel_, subject, options_).passed();
  };
};

/// A kernel that refuses everything would pass every test by being skipped.
class AcceptsSomething : public testing::Test {
 public:
  explicit AcceptsSomething(bool accepts) : accepts_(accepts) {}
  void TestBody() override { EXPECT_TRUE(accepts_) << "the kernel refuses every check problem"; }

 private:
  bool accepts_;
};

// Factories return the base class: GoogleTest wants one class for all tests of a suite.
template <class Factory>
void register_test(const Kernel& kernel, const std::string& test, Factory factory) {
  testing::RegisterTest(std::string(kernel.name).c_str(), test.c_str(), nullptr, nullptr, __FILE__,
                        __LINE__, [factory]() -> testing::Test* { return factory(); });
}

void register_cases(const std::vector<Case>& cases, const CheckOptions& options) {
  for (const Case& subject : cases)
    for (const Regime regime : subject.regimes)
      register_test(
          *subject.kernel, subject.problem.id() + "/" + std::string(name(regime)),
          [&subject, regime, &options] { return new CorrectOn(subject, regime, options); });
}

void register_acceptance(const std::vector<Case>& cases) {
  std::map<const Kernel*, bool> accepts;
  for (const Case& subject : cases) accepts[subject.kernel] |= !subject.refusal;
  for (const auto& [kernel, accepted] : accepts)
    register_test(*kernel, "accepts_some_check_problem",
                  [accepted = accepted] { return new AcceptsSomething(accepted); });
}

void register_random_problems(const std::vector<const Kernel*>& kernels,
                              const CheckOptions& options) {
  for (const Kernel* kernel : kernels)
    register_test(*kernel, "random_problems",
                  [kernel, &options] { return new CorrectOnRandomProblems(*kernel, options); });
}

ExitCode nothing(const std::string& why) {
  std::fprintf(stderr, "gemmwatch-check: nothing was checked: %s\n", why.c_str());
  return nothing_checked;
}

ExitCode run_tests() {
  const bool passed = RUN_ALL_TESTS() == 0;
  if (!passed) return incorrect;
  if (testing::GTEST_FLAG(list_tests)) return all_correct;
  const testing::UnitTest& unit = *testing::UnitTest::GetInstance();
  if (unit.test_to_run_count() == 0) return nothing("no test has this name");
  if (unit.successful_test_count() == 0) return nothing("every kernel refused, see the reasons");
  return all_correct;
}

ExitCode check(const CheckOptions& options) {
  const DeviceChoice choice = choose_device(options.want_gpu);
  if (options.need_gpu && choice.device.space == Space::host) return nothing(choice.why_host);
  if (kernels().empty()) return nothing("no kernel is registered in this build");
  const std::vector<const Kernel*> kernels = kernels_to_check(options, choice.device);
  if (kernels.empty())
    return nothing("no selected kernel runs on this device" +
                   (choice.why_host ? " (host: " + std::string(choice.why_host) + ")" : ""));

  if (options.fuzz > 0) {
    register_random_problems(kernels, options);
    return run_tests();
  }
  const std::vector<Case> cases = cases_to_check(options, choice.device);
  register_cases(cases, options);
  const bool whole_list = !options.problem && !options.selection && !options.huge;
  if (whole_list) register_acceptance(cases);
  return run_tests();
}

}  // namespace

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  try {
    const CheckOptions options = parse_check_options(argc, argv);
    if (!options.help) return check(options);
    std::fputs(check_usage, stdout);
    return all_correct;
  } catch (const std::invalid_argument& error) {
    std::fprintf(stderr, "gemmwatch-check: %s\n", error.what());
    return bad_usage;
  }
}
