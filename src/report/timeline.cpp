#include "report/timeline.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "base/dump_json.hpp"
#include "base/error.hpp"
#include "report/base64.hpp"

namespace gpumux::report {
namespace {

using nlohmann::ordered_json;

/// Base64 text of an array. Typed arrays of a page are little endian, like every machine that runs this
/// program.
template <typename T>
std::string packed(const std::vector<T>& values) {
  static_assert(std::endian::native == std::endian::little);
  return base64({reinterpret_cast<const std::uint8_t*>(values.data()), values.size() * sizeof(T)});
}

class Texts {
 public:
  std::uint32_t index(const std::string& text) {
    const auto [entry, is_new] = indices_.try_emplace(text, static_cast<std::uint32_t>(texts_.size()));
    if (is_new) texts_.push_back(text);
    return entry->second;
  }
  [[nodiscard]] const std::vector<std::string>& texts() const { return texts_; }

 private:
  std::unordered_map<std::string, std::uint32_t> indices_;
  std::vector<std::string> texts_;
};

/// Process and thread id as texts; in the trace, ids may be numbers or texts.
using Thread = std::pair<std::string, std::string>;
std::string id_text(const ordered_json& event, const char* key) {
  const auto id = event.find(key);
  if (id == event.end()) return "0";
  return id->is_string() ? id->get<std::string>() : id->dump();
}

struct Span {
  double start = 0, duration = 0;
  std::uint32_t name = 0, category = 0, arguments = 0;
  std::uint32_t row = 0;
};

struct Lane {
  std::string name;
  double order = 0;
  std::vector<Span> spans;
  std::vector<Span> open;  // started, not ended
};

class Packer {
 public:
  Packer(std::string where, std::optional<double> core_mhz) : where_(std::move(where)), core_mhz_(core_mhz) {
    arguments_.index("");
  }

  void take(const ordered_json& event) {
    const std::string phase = text(event, "ph");
    const Thread thread = {id_text(event, "pid"), id_text(event, "tid")};
    if (phase == "M") return metadata(event, thread);
    if (phase == "C") return counter(event, thread);
    if (phase == "E") {
      std::vector<Span>& open = lanes_[thread].open;
      if (open.empty()) fail("an event ends that has not begun");
      Span span = open.back();
      open.pop_back();
      span.duration = time(event, "ts") - span.start;
      if (!(span.duration >= 0)) fail("an event ends before it begins");
      lanes_[thread].spans.push_back(span);
      return;
    }
    if (phase != "X" && phase != "B" && phase != "i" && phase != "I") return;
    Span span;
    span.start = time(event, "ts");
    if (phase == "X") span.duration = time(event, "dur");
    span.name = names_.index(text(event, "name"));
    span.category = categories_.index(text(event, "cat"));
    if (const auto found = event.find("args"); found != event.end() && found->is_object()) {
      ordered_json arguments = *found;
      if (core_mhz_ && phase == "X") take_cycles(arguments, span);
      if (!arguments.empty()) {
        span.arguments = arguments_.index(dump_json(arguments));
      }
    }
    if (!(span.duration >= 0)) fail("an event ends before it begins");
    (phase == "B" ? lanes_[thread].open : lanes_[thread].spans).push_back(span);
  }

  /// Returns the JSON. `left_out`: thread blocks that the trace does not have.
  std::string finish(double left_out) {
    std::vector<std::pair<const Thread*, Lane*>> order;
    for (auto& [thread, lane] : lanes_) order.emplace_back(&thread, &lane);
    const auto rank = [&](const auto& entry) {
      const auto process = processes_.find(entry.first->first);
      return std::tuple(process == processes_.end() ? 0.0 : process->second.order,
                        natural(entry.first->first), entry.second->order, natural(entry.first->second));
    };
    std::stable_sort(order.begin(), order.end(),
                     [&](const auto& a, const auto& b) { return rank(a) < rank(b); });
    ordered_json rows = ordered_json::array();
    std::vector<Span> all;
    for (const auto& [thread, lane] : order) {
      if (lane->spans.empty()) continue;
      const auto process = processes_.find(thread->first);
      const std::uint32_t first = static_cast<std::uint32_t>(rows.size());
      const std::size_t levels = stack(lane->spans, first);
      for (std::size_t level = 0; level < levels; ++level) {
        rows.push_back({{"process", process == processes_.end() ? thread->first : process->second.name},
                        {"thread", lane->name.empty() ? thread->second : lane->name},
                        {"level", level}});
      }
      std::stable_sort(lane->spans.begin(), lane->spans.end(),
                       [](const Span& a, const Span& b) { return a.row < b.row; });
      all.insert(all.end(), lane->spans.begin(), lane->spans.end());
    }
    ordered_json counters = ordered_json::array();
    for (const auto& [name, points] : counters_) {
      counters.push_back({{"name", name}, {"start", packed(points.first)}, {"value", packed(points.second)}});
    }
    const ordered_json document = {{"unit", core_mhz_ ? "core cycles" : "µs"},
                                   {"left_out", left_out},
                                   {"rows", rows},
                                   {"names", names_.texts()},
                                   {"categories", categories_.texts()},
                                   {"arguments", arguments_.texts()},
                                   {"spans",
                                    {{"count", all.size()},
                                     {"start", column(all, &Span::start)},
                                     {"duration", column(all, &Span::duration)},
                                     {"row", column(all, &Span::row)},
                                     {"name", column(all, &Span::name)},
                                     {"category", column(all, &Span::category)},
                                     {"arguments", column(all, &Span::arguments)}}},
                                   {"counters", counters}};
    return dump_json(document);
  }

  [[noreturn]] void fail(const std::string& what) const {
    throw UserError({where_}, "the timeline is no Chrome trace: " + what);
  }

 private:
  struct Process {
    std::string name;
    double order = 0;
  };

  [[nodiscard]] std::string text(const ordered_json& event, const char* key) const {
    const auto value = event.find(key);
    return value != event.end() && value->is_string() ? value->get<std::string>() : std::string();
  }
  [[nodiscard]] double number(const ordered_json& event, const char* key) const {
    const auto value = event.find(key);
    if (value == event.end() || !value->is_number()) fail(fmt::format("an event has no number \"{}\"", key));
    return value->get<double>();
  }

  /// Converts a time of the trace, in microseconds, to the unit of the page.
  [[nodiscard]] double time(const ordered_json& event, const char* key) const {
    const double microseconds = number(event, key);
    return core_mhz_ ? std::round(microseconds * *core_mhz_) : microseconds;
  }

  /// Takes the exact cycles of an event, and removes them from its arguments, which need not repeat them.
  static void take_cycles(ordered_json& arguments, Span& span) {
    const auto begin = arguments.find("begin_cycle");
    const auto end = arguments.find("end_cycle");
    if (begin == arguments.end() || end == arguments.end() || !begin->is_number() || !end->is_number())
      return;
    span.start = begin->get<double>();
    span.duration = end->get<double>() - span.start;
    arguments.erase("begin_cycle");
    arguments.erase("end_cycle");
  }

  void metadata(const ordered_json& event, const Thread& thread) {
    const auto arguments = event.find("args");
    if (arguments == event.end() || !arguments->is_object()) return;
    const std::string kind = text(event, "name");
    const auto order = arguments->find("sort_index");
    const double rank = order != arguments->end() && order->is_number() ? order->get<double>() : 0;
    if (kind == "process_name") processes_[thread.first].name = text(*arguments, "name");
    if (kind == "process_sort_index") processes_[thread.first].order = rank;
    if (kind == "thread_name") lanes_[thread].name = text(*arguments, "name");
    if (kind == "thread_sort_index") lanes_[thread].order = rank;
  }

  void counter(const ordered_json& event, const Thread& thread) {
    const auto arguments = event.find("args");
    if (arguments == event.end() || !arguments->is_object()) return;
    const auto process = processes_.find(thread.first);
    for (const auto& [series, value] : arguments->items()) {
      if (!value.is_number()) continue;
      std::string name = text(event, "name");
      if (arguments->size() > 1) name += ", " + series;
      if (process != processes_.end() && !process->second.name.empty())
        name.insert(0, process->second.name + ": ");
      auto& [starts, values] = counters_[name];
      starts.push_back(time(event, "ts"));
      values.push_back(value.get<double>());
    }
  }

  /// A key that sorts ids: numbers by value, then texts.
  static std::tuple<bool, double, std::string> natural(const std::string& id) {
    char* end = nullptr;
    const double value = std::strtod(id.c_str(), &end);
    return *end == '\0' && !id.empty() ? std::tuple(false, value, std::string()) : std::tuple(true, 0.0, id);
  }

  /// Assigns each span the first row, from `first` on, that is free at its start. Returns the number of rows.
  static std::size_t stack(std::vector<Span>& spans, std::uint32_t first) {
    // If two spans start together, the longer one is the outer span.
    std::stable_sort(spans.begin(), spans.end(), [](const Span& a, const Span& b) {
      return a.start != b.start ? a.start < b.start : a.duration > b.duration;
    });
    std::vector<double> ends;
    for (Span& span : spans) {
      std::size_t level = 0;
      while (level < ends.size() && ends[level] > span.start) ++level;
      if (level == ends.size()) ends.push_back(0);
      ends[level] = span.start + span.duration;
      span.row = first + static_cast<std::uint32_t>(level);
    }
    return ends.size();
  }

  template <typename T>
  static std::string column(const std::vector<Span>& spans, T Span::*field) {
    std::vector<T> values;
    values.reserve(spans.size());
    for (const Span& span : spans) values.push_back(span.*field);
    return packed(values);
  }

  std::string where_;
  std::optional<double> core_mhz_;
  Texts names_;
  Texts categories_;
  Texts arguments_;
  std::map<std::string, Process> processes_;
  std::map<Thread, Lane> lanes_;
  std::map<std::string, std::pair<std::vector<double>, std::vector<double>>> counters_;
};

/// A number in the trace's `otherData`.
std::optional<double> other_data(const ordered_json& document, const char* key) {
  if (!document.is_object() || !document.contains("otherData")) return std::nullopt;
  const ordered_json& data = document["otherData"];
  if (!data.is_object() || !data.contains(key) || !data[key].is_number()) return std::nullopt;
  return data[key].get<double>();
}

}  // namespace

std::string pack_timeline(std::string_view trace, const std::string& where) {
  const ordered_json document = ordered_json::parse(trace, nullptr, false);
  const std::optional<double> core_mhz = other_data(document, "core_mhz");
  Packer packer(where, core_mhz && *core_mhz > 0 ? core_mhz : std::nullopt);
  // The format has two forms: an object with the events, or the list of events alone.
  const ordered_json* events = &document;
  if (document.is_object() && document.contains("traceEvents")) events = &document["traceEvents"];
  if (!events->is_array()) packer.fail("it has no array \"traceEvents\"");
  for (const ordered_json& event : *events) {
    if (!event.is_object()) packer.fail("an event is no object");
    packer.take(event);
  }
  return packer.finish(other_data(document, "blocks_left_out").value_or(0));
}

}  // namespace gpumux::report
