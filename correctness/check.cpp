// gemmwatch-check: is every kernel correct? A GoogleTest program whose tests are the registry's
// kernels times the check problems; suite = kernel, test = problem id and regime.
#include <gtest/gtest.h>

#include <cstdio>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "correctness/check_options.hpp"
#include "correctness/check_problems.hpp"
#include "correctness/examine.hpp"

namespace {

using namespace gemm;

enum ExitCode { all_correct = 0, bad_usage = 2, incorrect = 3, nothing_checked = 4 };

struct Case {
  const Kernel* kernel;
  Problem problem;
  std::vector<Regime> regimes;
  Refusal refusal;
};

/// The kernel's workspace, allocated once. Its contents are unspecified, so what one launch leaves
/// in it is what the next one finds.
const Buffer& workspace(Space space) {
  static const Buffer* const lent = [&] {
    auto* buffer = new Buffer(space, workspace_bytes);
    fill(*buffer, 0xff);
    return buffer;
  }();
  return *lent;
}

std::string reproduction(const Kernel& kernel, const Problem& problem, std::uint64_t seed) {
  return "gemmwatch-check --kernel=" + std::string(kernel.name) + " --problem=" + problem.id() +
         " --seed=" + std::to_string(seed);
}

class CorrectOn : public testing::Test {
 public:
  CorrectOn(const Case& subject, Regime regime, std::uint64_t seed)
      : subject_(subject), regime_(regime), seed_(seed) {}

  void TestBody() override {
    if (subject_.refusal) GTEST_SKIP() << *subject_.refusal;
    const auto& [kernel, problem, regimes, refusal] = subject_;
    const Buffer& lent = workspace(space(kernel->arch));
    for (const auto& [check, message] : examine(*kernel, problem, regime_, seed_, lent).failures)
      ADD_FAILURE() << kernel->name << " on " << problem.id() << ", " << name(regime_)
                    << " inputs, seed " << seed_ << "\n  " << check << ": " << message
                    << "\n  reproduce: " << reproduction(*kernel, problem, seed_);
  }

 private:
  const Case& subject_;
  Regime regime_;
  std::uint64_t seed_;
};

std::vector<const Kernel*> kernels_to_check(const CheckOptions& options, const Device& device) {
  std::vector<const Kernel*> chosen;
  for (const Kernel& kernel : kernels())
    if (runs_on(kernel.arch, device) && (!options.kernel || options.kernel == &kernel))
      chosen.push_back(&kernel);
  return chosen;
}

std::vector<Case> cases_of_selection(const CheckOptions& options, const Device& device) {
  const std::vector<Regime> regimes{Regime::symmetric, Regime::wide_integer};
  const Plan plan = select(*options.selection, device);
  std::vector<Case> cases;
  for (const Point& point : plan.points)
    cases.push_back({point.kernel, point.problem, regimes, {}});
  for (const auto& [point, reason] : plan.refused)
    cases.push_back({point.kernel, point.problem, regimes, reason});
  std::erase_if(cases, [&](const Case& subject) {
    return options.kernel && options.kernel != subject.kernel;
  });
  return cases;
}

std::vector<Case> cases_to_check(const CheckOptions& options, const Device& device) {
  if (options.selection) return cases_of_selection(options, device);
  const std::vector<Problem> problems =
      options.problem ? std::vector{*options.problem} : check_problems(device.space);
  std::vector<Case> cases;
  for (const Kernel* kernel : kernels_to_check(options, device))
    for (std::size_t i = 0; i < problems.size(); ++i)
      cases.push_back({kernel, problems[i], options.problem ? all_regimes() : check_regimes(i),
                       kernel->refuses(problems[i])});
  return cases;
}

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

void register_tests(const std::vector<Case>& cases, std::uint64_t seed) {
  for (const Case& subject : cases)
    for (const Regime regime : subject.regimes)
      register_test(*subject.kernel, subject.problem.id() + "/" + std::string(name(regime)),
                    [&subject, regime, seed] { return new CorrectOn(subject, regime, seed); });
}

void register_acceptance(const std::vector<Case>& cases) {
  std::map<const Kernel*, bool> accepts;
  for (const Case& subject : cases) accepts[subject.kernel] |= !subject.refusal;
  for (const auto& [kernel, accepted] : accepts)
    register_test(*kernel, "accepts_some_check_problem",
                  [accepted = accepted] { return new AcceptsSomething(accepted); });
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
  const std::vector<Case> cases = cases_to_check(options, choice.device);
  if (cases.empty())
    return nothing("no selected kernel runs on this device" +
                   (choice.why_host ? " (host: " + std::string(choice.why_host) + ")" : ""));
  register_tests(cases, options.seed);
  if (!options.problem && !options.selection) register_acceptance(cases);
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
