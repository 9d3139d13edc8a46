#include "experiment/policy_report.hpp"

namespace gpumux::experiment {

using nlohmann::ordered_json;

void add_policy_report(ordered_json& document, const policy::Report& report) {
  if (report.empty()) return;
  ordered_json whole = ordered_json::object();
  for (const policy::Report::Number& number : report.numbers) {
    ordered_json& to = number.app ? document["apps"][*number.app]["policy"] : whole;
    to[number.name] = number.value;
  }
  for (const policy::Report::Curve& curve : report.curves) {
    ordered_json points = ordered_json::array();
    for (const auto& [x, y] : curve.points) points.push_back({x, y});
    ordered_json to = {{"name", curve.name}};
    if (curve.app) {
      to["app"] = *curve.app;
      to["kernel"] = curve.kernel;
    }
    if (curve.sm) to["sm"] = *curve.sm;
    to["points"] = std::move(points);
    whole["curves"].push_back(std::move(to));
  }
  document["metrics"]["policy"] = std::move(whole);
}

policy::Report read_policy_report(const ordered_json& document) {
  policy::Report report;
  const auto numbers = [&](const ordered_json& from, std::optional<AppId> app) {
    for (const auto& [name, value] : from.items())
      if (value.is_number()) report.numbers.push_back({name, value.get<double>(), app});
  };
  const ordered_json& metrics = document.at("metrics");
  if (!metrics.contains("policy")) return report;
  numbers(metrics["policy"], std::nullopt);
  const ordered_json& apps = document.at("apps");
  for (std::size_t i = 0; i < apps.size(); ++i)
    if (apps[i].contains("policy")) numbers(apps[i]["policy"], static_cast<AppId>(i));
  if (!metrics["policy"].contains("curves")) return report;
  for (const ordered_json& from : metrics["policy"]["curves"]) {
    policy::Report::Curve& curve = report.curves.emplace_back();
    curve.name = from.at("name").get<std::string>();
    if (from.contains("app")) {
      curve.app = from["app"].get<AppId>();
      curve.kernel = from.at("kernel").get<std::string>();
    }
    if (from.contains("sm")) curve.sm = from["sm"].get<SmId>();
    for (const ordered_json& point : from.at("points"))
      curve.points.emplace_back(point.at(0).get<double>(), point.at(1).get<double>());
  }
  return report;
}

}  // namespace gpumux::experiment
