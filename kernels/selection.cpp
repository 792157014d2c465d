// Which kernels visit which problems: rungs x problems x precisions x layouts would not end, so
// points are chosen by rule.
#include <algorithm>
#include <array>
#include <cstdio>
#include <set>
#include <sstream>
#include <stdexcept>

#include "kernels/gemm.hpp"
#include "kernels/lesson.hpp"

namespace gemm {
namespace {

// A point whose launch would take longer than this at its stage's slowest rate is refused: one
// such point would cost more than all fast ones together.
constexpr double launch_limit_s = 0.5;

bool selected(const Problem& problem, Selection selection) {
  switch (selection) {
    case Selection::smoke:
      return problem.groups & smoke_set;
    case Selection::pr:
      return problem.groups & pr_set;
    case Selection::full:
      return true;
    case Selection::tune:
      return problem.groups & tune_set;
    case Selection::lessons:
      return false;  // it lists points, not problems
  }
  return false;
}

// What visits nothing in the selection, whatever it accepts.
bool takes_part(const Kernel& kernel, Selection selection) {
  if (selection == Selection::lessons) return true;
  if (selection == Selection::tune)
    return kernel.tile.m > 0 || kernel.stage == Stage::dispatch || kernel.vendor();
  return !kernel.configuration;
}

Refusal too_slow(const Kernel& kernel, const Problem& problem) {
  const double seconds = longest_launch_s(kernel, problem);
  if (seconds <= launch_limit_s) return std::nullopt;
  std::array<char, 160> text{};
  std::snprintf(text.data(), text.size(),
                "too slow for the plan: a launch of %.3g GFLOP could take %.2g s at the stage's "
                "slowest rate; the limit is %g s",
                problem.flops() / 1e9, seconds, launch_limit_s);
  return std::string(text.data());
}

Refusal refusal(const Kernel& kernel, const Problem& problem) {
  if (Refusal reason = kernel.refuses(problem)) return reason;
  return too_slow(kernel, problem);
}

// Everybody climbs the ladder and the smoke set; elsewhere only the best rung is of interest.
bool all_rungs_visit(const Problem& problem, Selection selection) {
  return selection == Selection::smoke || selection == Selection::tune || (problem.groups & ladder);
}

void add_problem(Plan& plan, const std::vector<const Kernel*>& candidates, const Problem& problem,
                 Selection selection) {
  bool top_rung_found = false;
  // From the top of the ladder down, so that the first rung that accepts is the top one.
  for (auto kernel = candidates.rbegin(); kernel != candidates.rend(); ++kernel) {
    const bool rung = !(*kernel)->vendor();
    if (rung && top_rung_found && !all_rungs_visit(problem, selection)) continue;
    if (Refusal reason = refusal(**kernel, problem)) {
      plan.refused.push_back({{*kernel, problem}, *reason});
    } else {
      plan.points.push_back({*kernel, problem});
      top_rung_found = top_rung_found || rung;
    }
  }
}

// The points of all lessons whose kernels are in this build and run here.
Plan points_of_lessons(const std::vector<const Kernel*>& candidates) {
  Plan plan;
  std::set<std::string> seen;  // two lessons may share a point
  for (const Lesson& lesson : lessons) {
    std::istringstream ids{std::string(lesson.points)};
    for (std::string id; ids >> id;) {
      const std::string name = id.substr(0, id.find('/'));
      const auto kernel = std::find_if(candidates.begin(), candidates.end(),
                                       [&](const Kernel* one) { return one->name == name; });
      if (kernel == candidates.end() || !seen.insert(id).second) continue;
      const Point point = parse_point(id);
      if (Refusal reason = refusal(*point.kernel, point.problem))
        plan.refused.push_back({point, *reason});
      else
        plan.points.push_back(point);
    }
  }
  return plan;
}

}  // namespace

double longest_launch_s(const Kernel& kernel, const Problem& problem) {
  return problem.flops() / (info(kernel.stage).slowest_tflops * 1e12);
}

bool runs_on(Arch arch, const Device& device) {
  if (space(arch) != device.space) return false;
  switch (arch) {
    case Arch::host:
      return true;
    case Arch::any:
    case Arch::sm80:
      return device.compute_capability >= 80;
    case Arch::sm90a:
      return device.compute_capability == 90;
  }
  return false;
}

std::string Point::id() const { return std::string(kernel->name) + "/" + problem.id(); }

Selection parse_selection(std::string_view name) {
  if (name == "smoke") return Selection::smoke;
  if (name == "pr") return Selection::pr;
  if (name == "full") return Selection::full;
  if (name == "tune") return Selection::tune;
  if (name == "lessons") return Selection::lessons;
  throw std::invalid_argument("no selection is named \"" + std::string(name) +
                              "\"; there are smoke, pr, full, tune and lessons");
}

Plan select(Selection selection, const Device& device) {
  std::vector<const Kernel*> candidates;
  for (const Kernel& kernel : kernels())
    if (runs_on(kernel.arch, device) && takes_part(kernel, selection))
      candidates.push_back(&kernel);
  if (selection == Selection::lessons) return points_of_lessons(candidates);
  Plan plan;
  for (const Problem& problem : problems())
    if (selected(problem, selection)) add_problem(plan, candidates, problem, selection);
  return plan;
}

Point parse_point(std::string_view id) {
  const std::size_t slash = id.find('/');
  if (slash == std::string_view::npos)
    throw std::invalid_argument("cannot read \"" + std::string(id) +
                                "\": expected <kernel>/<precision>/<layout>/<m>x<n>x<k>");
  return {&find_kernel(id.substr(0, slash)), parse_problem(id.substr(slash + 1))};
}

}  // namespace gemm
