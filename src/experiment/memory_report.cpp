#include "experiment/memory_report.hpp"

#include <algorithm>

namespace gpumux::experiment {

using nlohmann::ordered_json;

namespace {

ordered_json limit_json(std::uint32_t limit) {
  return limit == arch::kNoMemoryLimit ? ordered_json(nullptr) : ordered_json(limit);
}

std::uint32_t limit_of(const ordered_json& value) {
  return value.is_null() ? arch::kNoMemoryLimit : value.get<std::uint32_t>();
}

}  // namespace

MemoryReport memory_report(const machine::Gpu& gpu, AppId app) {
  MemoryReport report;
  for (std::uint32_t sm = 0; sm < gpu.config().sms; ++sm) {
    const arch::MemoryClient client = gpu.sm(sm).memory_client(app);
    report.peak_in_flight = std::max(report.peak_in_flight, client.peak);
    report.lowest_limit = std::min(report.lowest_limit, client.lowest_limit);
    report.limit_updates += client.limit_updates;
    report.quota_rounds += client.quota_rounds;
    report.limits.push_back(client.limit);
    report.requests_per_instruction.push_back(client.requests_per_instruction);
    report.ways.push_back(client.ways);
  }
  return report;
}

ordered_json memory_json(const MemoryReport& report) {
  ordered_json limits = ordered_json::array();
  for (const std::uint32_t limit : report.limits) limits.push_back(limit_json(limit));
  return {{"peak_in_flight", report.peak_in_flight},
          {"lowest_limit", limit_json(report.lowest_limit)},
          {"limit_updates", report.limit_updates},
          {"quota_rounds", report.quota_rounds},
          {"limits", std::move(limits)},
          {"requests_per_instruction", report.requests_per_instruction},
          {"ways", report.ways}};
}

std::optional<MemoryReport> read_memory(const ordered_json& app) {
  const auto found = app.find("memory_control");
  if (found == app.end()) return std::nullopt;
  MemoryReport report;
  report.peak_in_flight = found->at("peak_in_flight").get<std::uint32_t>();
  report.lowest_limit = limit_of(found->at("lowest_limit"));
  report.limit_updates = found->at("limit_updates").get<std::uint64_t>();
  report.quota_rounds = found->at("quota_rounds").get<std::uint64_t>();
  for (const ordered_json& limit : found->at("limits")) report.limits.push_back(limit_of(limit));
  report.requests_per_instruction = found->at("requests_per_instruction").get<std::vector<std::uint32_t>>();
  report.ways = found->at("ways").get<std::vector<std::uint32_t>>();
  return report;
}

}  // namespace gpumux::experiment
