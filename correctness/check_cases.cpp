#include "correctness/check_cases.hpp"

#include "correctness/check_problems.hpp"
#include "correctness/huge.hpp"

namespace gemm {
namespace {

std::vector<Regime> chosen(const CheckOptions& options, const std::vector<Regime>& of_the_list) {
  return options.regime ? std::vector{*options.regime} : of_the_list;
}

std::vector<Case> cases_of_selection(const CheckOptions& options, const Device& device) {
  const std::vector<Regime> regimes = chosen(options, {Regime::symmetric, Regime::wide_integer});
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

/// All kernels but the vendors', which are not ours to mend, on a short list.
template <class Regimes>
std::vector<Case> cases_of_list(const CheckOptions& options, const Device& device,
                                const std::vector<Problem>& problems, Regimes regimes) {
  std::vector<Case> cases;
  for (const Kernel* kernel : kernels_to_check(options, device)) {
    if (kernel->vendor()) continue;
    for (const Problem& problem : problems)
      cases.push_back(
          {kernel, problem, chosen(options, regimes(problem)), kernel->refuses(problem)});
  }
  return cases;
}

std::vector<Regime> regimes_under_sanitizer(const Problem&) { return {Regime::symmetric}; }

/// Integers find what lies elsewhere; how often is rounded shows where the epilogue computes.
std::vector<Regime> regimes_under_emulation(const Problem& problem) {
  if (problem.alpha == 1 && problem.beta == 0) return {Regime::wide_integer};
  return {Regime::wide_integer, Regime::symmetric};
}

std::vector<Case> cases_of_huge(const CheckOptions& options, const Device& device) {
  std::vector<Case> cases;
  for (const Kernel* kernel : kernels_to_check(options, device))
    for (const Problem& problem : huge_problems()) {
      const Regime exact = needs_sample(problem) ? Regime::sparse_integer : Regime::wide_integer;
      cases.push_back({kernel, problem, chosen(options, {exact, Regime::symmetric}),
                       refuses_huge(*kernel, problem, device)});
    }
  return cases;
}

std::vector<Case> cases_of_edges(const CheckOptions& options, const Device& device) {
  const std::vector<Problem> problems = check_problems(device.space);
  std::vector<Case> cases;
  for (const Kernel* kernel : kernels_to_check(options, device)) {
    for (std::size_t i = 0; i < problems.size(); ++i)
      cases.push_back(
          {kernel, problems[i], chosen(options, check_regimes(i)), kernel->refuses(problems[i])});
    for (const Problem& problem : scalar_problems())
      cases.push_back({kernel, problem, chosen(options, all_regimes()), kernel->refuses(problem)});
    if (device.space == Space::gpu)
      for (const Problem& problem : wave_problems())
        cases.push_back(
            {kernel, problem, chosen(options, {Regime::wide_integer}), kernel->refuses(problem)});
  }
  return cases;
}

std::vector<Case> cases_of_problem(const CheckOptions& options, const Device& device) {
  std::vector<Case> cases;
  for (const Kernel* kernel : kernels_to_check(options, device))
    cases.push_back({kernel, *options.problem, chosen(options, all_regimes()),
                     kernel->refuses(*options.problem)});
  return cases;
}

}  // namespace

std::vector<const Kernel*> kernels_to_check(const CheckOptions& options, const Device& device) {
  std::vector<const Kernel*> kernels_here;
  for (const Kernel& kernel : kernels())
    if (runs_on(kernel.arch, device) && (!options.kernel || options.kernel == &kernel))
      kernels_here.push_back(&kernel);
  return kernels_here;
}

std::vector<Case> cases_to_check(const CheckOptions& options, const Device& device) {
  if (options.fuzz > 0) return {};
  if (options.problem) return cases_of_problem(options, device);
  if (options.selection) return cases_of_selection(options, device);
  if (options.huge) return cases_of_huge(options, device);
  if (options.under_sanitizer)
    return cases_of_list(options, device, sanitizer_problems(), regimes_under_sanitizer);
  if (options.under_emulation)
    return cases_of_list(options, device, emulation_problems(), regimes_under_emulation);
  return cases_of_edges(options, device);
}

}  // namespace gemm
