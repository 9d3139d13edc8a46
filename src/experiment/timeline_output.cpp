#include "experiment/timeline_output.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <set>
#include <utility>

#include "base/dump_json.hpp"
#include "base/error.hpp"
#include "experiment/series_output.hpp"

namespace gpumux::experiment {
namespace {

using arch::Timeline;
using nlohmann::ordered_json;

// Process numbers, which also give the order of the viewer's list.
constexpr std::uint32_t kFirstApp = 1;
constexpr std::uint32_t kGpu = kFirstApp + kMaxApps;
constexpr std::uint32_t kFirstSm = kGpu + 1;
/// Threads of different processes have different numbers, because some viewers require this.
constexpr std::uint32_t kThreadsPerProcess = 1024;

/// JSON text of a file's or kernel's name, which need not be UTF-8.
std::string quoted(const std::string& text) { return dump_json(ordered_json(text)); }

std::string dimensions(const Dim3& d) { return fmt::format("{}x{}x{}", d.x, d.y, d.z); }

std::string cycle_or_null(Cycle cycle) { return cycle == kNever ? "null" : fmt::format("{}", cycle); }

class Writer {
 public:
  Writer(const RunResult& result, double core_mhz)
      : run_(result), timeline_(*result.timeline), core_mhz_(core_mhz) {}

  [[nodiscard]] std::string text() && {
    name_applications();
    for (const Timeline::Kernel& kernel : timeline_.kernels) add_kernel(kernel);
    for (const Timeline::Block& block : timeline_.blocks) {
      if (block.begin < run_.cycles) add_block(block);  // the others were placed, but the run ended first
    }
    for (const Timeline::Stall& stall : timeline_.stalls) add_stall(stall);
    for (const policy::Report::Preemption& preemption : run_.policy_report.preemptions)
      add_preemption(preemption);
    add_counters();
    return fmt::format(
        "{{\"displayTimeUnit\": \"ns\", \"otherData\": {{\"machine\": {}, \"policy\": {}, \"seed\": {}, "
        "\"cycles\": {}, \"core_mhz\": {}, \"series_interval\": {}, \"blocks_left_out\": {}}}, "
        "\"traceEvents\": [\n{}\n]}}\n",
        quoted(run_.machine), quoted(run_.policy), run_.seed, run_.cycles, core_mhz_, run_.series.interval,
        timeline_.blocks_left_out, events_);
  }

 private:
  template <typename... Args>
  void event(fmt::format_string<Args...> format, Args&&... args) {
    if (!events_.empty()) events_ += ",\n";
    fmt::format_to(std::back_inserter(events_), format, std::forward<Args>(args)...);
  }
  /// Time in whole nanoseconds. Spans that meet in a cycle thus do not overlap after a viewer has rounded
  /// their times.
  [[nodiscard]] std::uint64_t nanoseconds(Cycle cycle) const {
    return static_cast<std::uint64_t>(std::llround(static_cast<double>(cycle) * 1000.0 / core_mhz_));
  }
  [[nodiscard]] static std::string microseconds(std::uint64_t ns) {
    return fmt::format("{}.{:03}", ns / 1000, ns % 1000);
  }
  [[nodiscard]] std::string span(Cycle begin, Cycle end) const {
    const std::uint64_t from = nanoseconds(begin);
    return fmt::format("\"ts\": {}, \"dur\": {}", microseconds(from),
                       microseconds(std::max(nanoseconds(std::min(end, run_.cycles)), from) - from));
  }
  void name_process(std::uint32_t process, const std::string& name) {
    event(R"({{"ph": "M", "name": "process_name", "pid": {}, "args": {{"name": {}}}}})", process,
          quoted(fmt::format("{}: {}", run_.policy, name)));
    event(R"({{"ph": "M", "name": "process_sort_index", "pid": {0}, "args": {{"sort_index": {0}}}}})",
          process);
  }
  /// The id of a thread. Names the thread when it is new.
  std::uint32_t thread(std::uint32_t process, std::uint32_t number, const std::string& name) {
    const std::uint32_t id = process * kThreadsPerProcess + number % kThreadsPerProcess;
    if (threads_.insert(id).second) {
      event(R"({{"ph": "M", "name": "thread_name", "pid": {}, "tid": {}, "args": {{"name": "{}"}}}})",
            process, id, name);
      event(
          R"({{"ph": "M", "name": "thread_sort_index", "pid": {}, "tid": {}, "args": {{"sort_index": {}}}}})",
          process, id, number);
    }
    return id;
  }

  void name_applications() {
    for (std::size_t i = 0; i < run_.apps.size(); ++i) {
      name_process(kFirstApp + static_cast<std::uint32_t>(i), fmt::format("app {}: {}", i, run_.apps[i].app));
    }
    name_process(kGpu, "GPU");
  }

  void add_kernel(const Timeline::Kernel& kernel) {
    const std::uint32_t process = kFirstApp + kernel.app;
    event(
        R"({{"ph": "X", "cat": "kernel", "name": {}, "pid": {}, "tid": {}, {}, "args": {{"grid": "{}", )"
        R"("block": "{}", "begin_cycle": {}, "arrival_cycle": {}, "first_block_cycle": {}, "end_cycle": {}}}}})",
        quoted(kernel.name), process, thread(process, kernel.stream, fmt::format("stream {}", kernel.stream)),
        span(kernel.submitted, kernel.end), dimensions(kernel.grid), dimensions(kernel.block),
        kernel.submitted, kernel.arrival,
        cycle_or_null(kernel.first_block < run_.cycles ? kernel.first_block : kNever),
        cycle_or_null(kernel.end));
  }

  std::uint32_t process_of(SmId sm) {
    if (sms_.insert(sm).second) name_process(kFirstSm + sm, fmt::format("SM {}", sm));
    return kFirstSm + sm;
  }

  /// Adds a stall, below the block slots of its SM.
  void add_stall(const Timeline::Stall& stall) {
    const std::uint32_t process = process_of(stall.sm);
    event(R"({{"ph": "X", "cat": "stall", "name": "LSU stalls", "pid": {}, "tid": {}, {}, "args": )"
          R"({{"stalled_cycles": {}, "begin_cycle": {}, "end_cycle": {}}}}})",
          process, thread(process, kThreadsPerProcess - 1, "LSU stalls"), span(stall.begin, stall.end),
          stall.cycles, stall.begin, stall.end);
  }

  /// Adds a preemption: a span from the decision until the SM is handed over.
  void add_preemption(const policy::Report::Preemption& preemption) {
    const std::uint32_t process = process_of(preemption.sm);
    const auto& [switched, drained, flushed] = preemption.blocks;
    std::string how;
    for (const auto& [blocks, name] : {std::pair{switched, "switch"}, {drained, "drain"}, {flushed, "flush"}})
      if (blocks != 0) how += (how.empty() ? "" : " + ") + std::string(name);
    event(
        R"({{"ph": "X", "cat": "preemption", "name": "{}", "pid": {}, "tid": {}, {}, "args": {{"app": {}, )"
        R"("switched": {}, "drained": {}, "flushed": {}, "begin_cycle": {}, "end_cycle": {}, "done": {}}}}})",
        how.empty() ? "preempt" : how, process, thread(process, kThreadsPerProcess - 2, "preemption"),
        span(preemption.asked, preemption.end), preemption.app, switched, drained, flushed, preemption.asked,
        preemption.end, preemption.done);
  }

  void add_block(const Timeline::Block& block) {
    const Timeline::Kernel& kernel = timeline_.kernels[block.kernel];
    const std::uint32_t process = process_of(block.sm);
    event(
        R"({{"ph": "X", "cat": "block", "name": {}, "pid": {}, "tid": {}, {}, "args": {{"app": {}, "launch": {}, )"
        R"("block": {}, "begin_cycle": {}, "end_cycle": {}}}}})",
        quoted(kernel.name), process, thread(process, block.place, fmt::format("block slot {}", block.place)),
        span(block.begin, block.end), kernel.app, block.kernel, block.index, block.begin,
        cycle_or_null(block.end));
  }

  /// Adds counter values. A value holds from its time to that of the next value.
  void add_values(std::uint32_t process, const std::string& name,
                  const std::vector<std::pair<std::string, const std::vector<std::uint64_t>*>>& tracks) {
    std::string last;
    for (std::size_t k = 0; k <= run_.series.samples.size(); ++k) {
      std::string values;
      for (const auto& [track, samples] : tracks) {
        fmt::format_to(std::back_inserter(values), "{}\"{}\": {}", values.empty() ? "" : ", ", track,
                       k < samples->size() ? (*samples)[k] : 0);
      }
      if (values == last) continue;
      event(R"({{"ph": "C", "name": "{}", "pid": {}, "ts": {}, "args": {{{}}}}})", name, process,
            microseconds(nanoseconds(std::min(k * run_.series.interval, run_.cycles))), values);
      last = std::move(values);
    }
  }

  void add_counters() {
    using arch::Scope;
    const std::vector<CounterSeries> all = counter_series(run_);
    std::vector<std::pair<std::string, const std::vector<std::uint64_t>*>> states;
    for (const CounterSeries& series : all) {
      const CounterValue& c = series.counter;
      const std::string name = c.scope == Scope::Pair
                                   ? fmt::format("{} of app {} by app {}", c.name, c.app, c.culprit)
                               : c.scope == Scope::Sm ? fmt::format("{} of SM {}", c.name, c.app)
                                                      : std::string(c.name);
      if (c.scope == Scope::Schedulers) states.emplace_back(name, &series.samples);
      if (c.scope == Scope::Gpu || c.scope == Scope::Schedulers || c.value == 0) continue;
      const std::uint32_t process =
          c.scope == Scope::App ? kFirstApp + static_cast<std::uint32_t>(c.app) : kGpu;
      add_values(process, name, {{name, &series.samples}});
    }
    if (!states.empty()) add_values(kGpu, "scheduler cycles", states);
  }

  const RunResult& run_;
  const Timeline& timeline_;
  double core_mhz_;
  std::string events_;
  std::set<std::uint32_t> threads_;
  std::set<SmId> sms_;
};

}  // namespace

std::string timeline_json(const RunResult& result, double core_mhz) {
  GPUMUX_CHECK(result.timeline.has_value());
  return Writer(result, core_mhz).text();
}

std::string join_timelines(const std::vector<std::string>& traces) {
  if (traces.size() == 1) return traces.front();
  ordered_json runs = ordered_json::array();
  std::string events;
  std::uint64_t first = 0;  // process number of the next trace
  for (const std::string& text : traces) {
    ordered_json trace = ordered_json::parse(text);
    runs.push_back(trace.at("otherData"));
    std::uint64_t most = 0;
    for (ordered_json& event : trace.at("traceEvents")) {
      const std::uint64_t process = event.at("pid").get<std::uint64_t>();
      most = std::max(most, process);
      event["pid"] = first + process;
      if (event.contains("tid"))
        event["tid"] = event["tid"].get<std::uint64_t>() + first * kThreadsPerProcess;
      if (event.at("name") == "process_sort_index") event["args"]["sort_index"] = first + process;
      events += (events.empty() ? "" : ",\n") + dump_json(event);
    }
    first += most + 1;
  }
  return fmt::format(
      "{{\"displayTimeUnit\": \"ns\", \"otherData\": {{\"runs\": {}}}, \"traceEvents\": [\n{}\n]}}\n",
      dump_json(runs), events);
}

}  // namespace gpumux::experiment
