#include "experiment/series_output.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/dump_json.hpp"
#include "base/error.hpp"
#include "base/text.hpp"

namespace gpumux::experiment {
namespace {

using arch::KernelCounters;
using arch::Series;
using nlohmann::ordered_json;
using Scope = CounterValue::Scope;

KernelCounters whole_gpu(const Series::Sample& sample) {
  KernelCounters sum;
  for (const KernelCounters& app : sample.apps) sum.add(app);
  return sum;
}

/// Calls emit(scope, app, name, unit, meaning, value) for each counter of a sample.
template <typename Emit>
void for_each_counter(const Series::Sample& sample, const Emit& emit) {
  const auto kernel = [&](Scope scope, std::size_t app, const KernelCounters& c) {
#define GPUMUX_FIELD(field, unit, description) emit(scope, app, #field, unit, description, c.field);
    GPUMUX_KERNEL_COUNTERS(GPUMUX_FIELD)
#undef GPUMUX_FIELD
  };
  for (std::size_t app = 0; app < sample.apps.size(); ++app) kernel(Scope::App, app, sample.apps[app]);
  kernel(Scope::Gpu, 0, whole_gpu(sample));
#define GPUMUX_FIELD(field, unit, description) \
  emit(Scope::Schedulers, std::size_t{0}, #field, unit, description, sample.schedulers.field);
  GPUMUX_SCHEDULER_COUNTERS(GPUMUX_FIELD)
#undef GPUMUX_FIELD
#define GPUMUX_FIELD(field, unit, description) \
  emit(Scope::Partitions, std::size_t{0}, #field, unit, description, sample.partitions.field);
  GPUMUX_PARTITION_COUNTERS(GPUMUX_FIELD)
#undef GPUMUX_FIELD
}

}  // namespace

std::vector<CounterSeries> counter_series(const RunResult& result) {
  std::vector<CounterSeries> all;
  if (result.series.interval == 0) return all;
  Series::Sample none;
  none.apps.resize(result.apps.size());
  for_each_counter(none, [&](Scope scope, std::size_t app, std::string_view name, std::string_view unit,
                             std::string_view meaning, std::uint64_t) {
    all.push_back({{scope, app, name, 0, unit, meaning}, {}});
    all.back().samples.reserve(result.series.samples.size());
  });
  for (const Series::Sample& sample : result.series.samples) {
    std::size_t at = 0;
    for_each_counter(sample, [&](Scope, std::size_t, std::string_view, std::string_view, std::string_view,
                                 std::uint64_t value) {
      all[at].samples.push_back(value);
      all[at++].counter.value += value;
    });
  }
  return all;
}

ordered_json series_document(const RunResult& result) {
  if (result.series.interval == 0) return nullptr;
  ordered_json document = {{"interval", result.series.interval}, {"apps", ordered_json::array()}};
  for (std::size_t i = 0; i < result.apps.size(); ++i) document["apps"].push_back(ordered_json::object());
  for (const CounterSeries& series : counter_series(result)) {
    const CounterValue& c = series.counter;
    ordered_json& scope =
        c.scope == Scope::App ? document["apps"][c.app] : document[std::string(scope_name(c.scope))];
    scope[std::string(c.name)] = series.samples;
  }
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
    const std::string name(scope_name(whole));
    text += fmt::format(",\n    \"{}\": {}", name, scope(series.at(name), "    "));
  }
  return text + "\n  }\n}\n";
}

std::string series_csv_head() {
  std::string head = "policy,position,app,begin,end";
  for_each_counter({}, [&](Scope scope, std::size_t, std::string_view name, std::string_view,
                           std::string_view, std::uint64_t) {
    head += scope == Scope::Gpu ? fmt::format(",{}", name) : fmt::format(",{}.{}", scope_name(scope), name);
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
    std::string empty;  // what applications do not have
    for_each_counter(sample, [&](Scope scope, std::size_t app, std::string_view, std::string_view,
                                 std::string_view, std::uint64_t value) {
      (scope == Scope::App ? apps[app] : gpu) += fmt::format(",{}", value);
      if (scope == Scope::Schedulers || scope == Scope::Partitions) empty += ',';
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
