#include "bench/catalog.hpp"

#include <set>

#include "kernels/lesson.hpp"

namespace gemm {
namespace {

using nlohmann::json;

json kernel_json(const Kernel& kernel, const Device& device) {
  const StageInfo& stage = info(kernel.stage);
  return {{"name", kernel.name},
          {"stage", stage.name},
          {"order", static_cast<int>(kernel.stage)},
          {"title", stage.title},
          {"idea", kernel.idea},
          {"arch", name(kernel.arch)},
          {"vendor", kernel.vendor()},
          {"control", kernel.control},
          {"available", runs_on(kernel.arch, device)}};
}

json problem_json(const Problem& problem) {
  return {{"id", problem.id()},
          {"m", problem.shape.m},
          {"n", problem.shape.n},
          {"k", problem.shape.k},
          {"batch", problem.batch},
          {"precision", name(problem.precision)},
          {"layout", name(problem.layout)},
          {"groups", group_names(problem.groups)},
          {"why", problem.why},
          {"flops", problem.flops()},
          {"bytes", problem.bytes()}};
}

json point_json(const Point& point) {
  return {{"id", point.id()}, {"kernel", point.kernel->name}, {"problem", point.problem.id()}};
}

}  // namespace

json machine_json(const Machine& machine, const std::string& injected) {
  return {{"schema", 1},
          {"device", machine.device.space == Space::gpu ? "gpu" : "host"},
          {"device_note", machine.device_note},
          {"fingerprint", machine.fingerprint},
          {"environment", machine.environment},
          {"injected", injected},
          {"peaks", machine.peaks}};
}

json catalog_json(const Machine& machine, const std::string& injected, const Plan& plan) {
  json catalog = machine_json(machine, injected);
  json& kernel_list = catalog["kernels"] = json::array();
  for (const Kernel& kernel : kernels()) kernel_list.push_back(kernel_json(kernel, machine.device));

  std::set<std::string> listed;
  json& problem_list = catalog["problems"] = json::array();
  const auto list_problem = [&](const Problem& problem) {
    if (listed.insert(problem.id()).second) problem_list.push_back(problem_json(problem));
  };
  json& points = catalog["points"] = json::array();
  for (const Point& point : plan.points) {
    list_problem(point.problem);
    points.push_back(point_json(point));
  }
  json& refused = catalog["refused"] = json::array();
  for (const RefusedPoint& refusal : plan.refused) {
    list_problem(refusal.point.problem);
    refused.push_back(point_json(refusal.point));
    refused.back()["reason"] = refusal.reason;
  }
  json& lesson_list = catalog["lessons"] = json::array();
  for (const Lesson& lesson : lessons)
    lesson_list.push_back({{"name", lesson.name},
                           {"title", lesson.title},
                           {"points", lesson.points},
                           {"moral", lesson.moral}});
  return catalog;
}

}  // namespace gemm
