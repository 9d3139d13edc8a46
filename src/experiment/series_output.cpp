#include "experiment/series_output.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "base/dump_json.hpp"
#include "base/error.hpp"
#include "base/text.hpp"

namespace gpumux::experiment {
namespace {

using arch::Scope;
using arch::Series;
using nlohmann::ordered_json;

}  // namespace

std::vector<CounterSeries> counter_series(const RunResult& result) {
  std::vector<CounterSeries> all;
  if (result.series.interval == 0) return all;
  std::vector<SmId> viewed;
  for (const arch::CounterTable::OfSm& of : result.viewed) viewed.push_back(of.sm);
  const Series::Sample none(result.apps.size(), !result.ledger.empty(), viewed);
  arch::for_each_counter(none, [&](const arch::Counter& counter, std::uint64_t) {
    if (lacks(result, counter)) return;
    all.push_back({{counter, 0}, {}});
    all.back().samples.reserve(result.series.samples.size());
  });
  for (const Series::Sample& sample : result.series.samples) {
    std::size_t at = 0;
    arch::for_each_counter(sample, [&](const arch::Counter& counter, std::uint64_t value) {
      if (lacks(result, counter)) return;
      all[at].samples.push_back(value);
      all[at++].counter.value += value;
    });
  }
  std::erase_if(
      all, [](const CounterSeries& series) { return is_unused_phase(series.counter, series.counter.value); });
  return all;
}

ordered_json series_document(const RunResult& result) {
  if (result.series.interval == 0) return nullptr;
  ordered_json document = {{"interval", result.series.interval}, {"apps", ordered_json::array()}};
  for (std::size_t i = 0; i < result.apps.size(); ++i) document["apps"].push_back(ordered_json::object());
  for (const CounterSeries& series : counter_series(result)) {
    const CounterValue& c = series.counter;
    if (c.scope == Scope::Pair) {
      ordered_json& pairs = document["pairs"];
      if (pairs.empty() || pairs.back()["victim"] != c.app || pairs.back()["culprit"] != c.culprit)
        pairs.push_back({{"victim", c.app}, {"culprit", c.culprit}});
      pairs.back()[std::string(c.name)] = series.samples;
      continue;
    }
    if (c.scope == Scope::Sm) {
      ordered_json& views = document["views"];
      if (views.empty() || views.back()["sm"] != c.app)
        views.push_back(ordered_json::object({{"sm", c.app}}));
      views.back()[std::string(c.name)] = series.samples;
      continue;
    }
    ordered_json& scope =
        c.scope == Scope::App ? document["apps"][c.app] : document[std::string(arch::scope_name(c.scope))];
    scope[std::string(c.name)] = series.samples;
  }
  if (!document.contains("pairs")) document["pairs"] = ordered_json::array();
  return document;
}

std::string with_series(std::string text, const ordered_json& series) {
  if (series.is_null()) return text;
  const auto scope = [](const ordered_json& counters, const std::string& indent) {
    std::string out;
    for (const auto& [name, samples] : counters.items()) {
      out += fmt::format("{}\n{}  {}: {}", out.empty() ? "" : ",", indent, dump_json(ordered_json(name)),
                         samples.dump());
    }
    return fmt::format("{{{}\n{}}}", out, indent);
  };
  text.erase(text.find_last_of('}'));
  text.erase(text.find_last_not_of(" \n") + 1);
  text += fmt::format(",\n  \"series\": {{\n    \"interval\": {},\n    \"apps\": [",
                      series.at("interval").get<Cycle>());
  const char* separator = "";
  for (const ordered_json& app : series.at("apps")) {
    text += fmt::format("{}\n      {}", separator, scope(app, "      "));
    separator = ",";
  }
  text += "\n    ]";
  for (const Scope whole : {Scope::Gpu, Scope::Schedulers, Scope::Partitions}) {
    const std::string name(arch::scope_name(whole));
    text += fmt::format(",\n    \"{}\": {}", name, scope(series.at(name), "    "));
  }
  text += ",\n    \"pairs\": [";
  separator = "";
  for (const ordered_json& pair : series.at("pairs")) {
    text += fmt::format("{}\n      {}", separator, scope(pair, "      "));
    separator = ",";
  }
  text += "\n    ]";
  if (series.contains("views")) {
    text += ",\n    \"views\": [";
    separator = "";
    for (const ordered_json& sm : series.at("views")) {
      text += fmt::format("{}\n      {}", separator, scope(sm, "      "));
      separator = ",";
    }
    text += "\n    ]";
  }
  return text + "\n  }\n}\n";
}

std::string series_csv_head() {
  std::string head = "policy,position,app,begin,end";
  arch::for_each_counter(Series::Sample(), [&](const arch::Counter& c, std::uint64_t) {
    head += c.scope == Scope::Gpu ? fmt::format(",{}", c.name)
                                  : fmt::format(",{}.{}", arch::scope_name(c.scope), c.name);
  });
  return head + "\n";
}

std::string series_csv(const RunResult& result) {
  std::string out;
  const Cycle interval = result.series.interval;
  for (std::size_t k = 0; k < result.series.samples.size(); ++k) {
    const Series::Sample& sample = result.series.samples[k];
    std::vector<std::string> apps(sample.apps.size());
    std::string gpu;
    std::string empty;  // columns that applications leave empty
    arch::for_each_counter(sample, [&](const arch::Counter& c, std::uint64_t value) {
      // Pairs and SMs have no rows. Counters of the ledger are left out, so that columns are the same with
      // and without a ledger.
      if (c.scope == Scope::Pair || c.scope == Scope::Sm ||
          (c.scope == Scope::App && arch::is_ledger_counter(c.name)))
        return;
      std::string& row = c.scope == Scope::App ? apps[c.app] : gpu;
      row += lacks(result, c) ? std::string(",") : fmt::format(",{}", value);
      if (c.scope == Scope::Schedulers || c.scope == Scope::Partitions) empty += ',';
    });
    const std::string times =
        fmt::format("{},{}", k * interval, std::min((k + 1) * interval, result.series.end));
    const std::string policy = csv_field(result.policy);
    for (std::size_t app = 0; app < apps.size(); ++app) {
      out += fmt::format("{},{},{},{}{}{}\n", policy, app, csv_field(result.apps[app].app), times, apps[app],
                         empty);
    }
    out += fmt::format("{},-1,,{}{}\n", policy, times, gpu);
  }
  return out;
}

}  // namespace gpumux::experiment
