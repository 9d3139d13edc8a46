// All counters of a run, or of an interval of it, as one table: by application, SMs, partitions, and pairs of
// applications. Code that writes, stores or reads counters iterates over this table.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>
#include <vector>

#include "arch/statistics.hpp"

namespace gpumux::arch {

/// The object to which a counter belongs.
enum class Scope : std::uint8_t {
  App,         // one application
  Gpu,         // sum over all applications
  Schedulers,  // sum over all SMs
  Partitions,  // sum over all memory partitions
  Pair,        // effect of one application on another, or on itself
  Sm           // one viewed SM
};
[[nodiscard]] constexpr std::string_view scope_name(Scope scope) {
  constexpr std::string_view kNames[] = {"app", "gpu", "schedulers", "partitions", "pair", "sm"};
  return kNames[static_cast<std::size_t>(scope)];
}

/// A row of the table, without its value.
struct Counter {
  Scope scope = Scope::Gpu;
  std::size_t app = 0;      // App: index within the run; Pair: index of the victim; Sm: number of the SM
  std::size_t culprit = 0;  // Pair: index of the culprit
  std::string_view name;
  std::string_view unit;
  std::string_view meaning;
};

struct CounterTable {
  /// Counters of one viewed SM.
  struct OfSm {
    SmId sm = 0;
    SchedulerCounters schedulers;
    SmViewCounters view;
  };
  CounterTable() = default;
  explicit CounterTable(std::size_t applications, bool has_ledger = false,
                        const std::vector<SmId>& viewed = {})
      : apps(applications),
        memory(applications),
        pairs(applications * applications),
        ledger(has_ledger ? applications : 0) {
    for (const SmId sm : viewed) sms.push_back({sm, {}, {}});
  }

  std::vector<KernelCounters> apps;    // by AppId; sums over SMs and kernels
  std::vector<MemoryCounters> memory;  // by AppId; sums over partitions
  SchedulerCounters schedulers;
  PartitionCounters partitions;
  std::vector<PairCounters> pairs;        // victim * applications + culprit
  std::vector<LedgerAppCounters> ledger;  // by AppId; empty if the run keeps no ledger
  std::vector<OfSm> sms;                  // viewed SMs

  [[nodiscard]] const PairCounters& pair(std::size_t victim, std::size_t culprit) const {
    return pairs[victim * apps.size() + culprit];
  }
  /// Subtracts earlier counts of the same run.
  void subtract(const CounterTable& other);
};

/// Calls visit(counter, value) for each row. The order depends only on the number of applications, on whether
/// there is a ledger, and on the viewed SMs. If the table is not const, visit() may change the values, except
/// those of Scope::Gpu, which are sums.
template <typename Table, typename Visit>
void for_each_counter(Table&& table, const Visit& visit) {
  const std::size_t apps = table.apps.size();
#define GPUMUX_VISIT(field, unit, description) \
  visit(Counter{scope, app, culprit, #field, unit, description}, counters.field);
  const auto kernel = [&visit](Scope scope, std::size_t app, auto& counters) {
    constexpr std::size_t culprit = 0;
    GPUMUX_KERNEL_COUNTERS(GPUMUX_VISIT)
  };
  const auto memory = [&visit](Scope scope, std::size_t app, auto& counters) {
    constexpr std::size_t culprit = 0;
    GPUMUX_MEMORY_COUNTERS(GPUMUX_VISIT)
  };
  const auto pair = [&visit, &table](std::size_t app, std::size_t culprit, auto& counters) {
    constexpr Scope scope = Scope::Pair;
    GPUMUX_PAIR_COUNTERS(GPUMUX_VISIT)
    if (table.ledger.empty() || app == culprit) return;
    GPUMUX_LEDGER_COUNTERS(GPUMUX_VISIT)
  };
  const auto ledger = [&visit](std::size_t app, auto& counters) {
    constexpr Scope scope = Scope::App;
    constexpr std::size_t culprit = 0;
    GPUMUX_LEDGER_APP_COUNTERS(GPUMUX_VISIT)
  };
  const auto of_sm = [&visit](std::size_t app, auto& counters) {
    constexpr Scope scope = Scope::Sm;
    constexpr std::size_t culprit = 0;
    GPUMUX_SCHEDULER_COUNTERS(GPUMUX_VISIT)
  };
  const auto view = [&visit](std::size_t app, auto& counters) {
    constexpr Scope scope = Scope::Sm;
    constexpr std::size_t culprit = 0;
    GPUMUX_ALL_SM_VIEW_COUNTERS(GPUMUX_VISIT)
  };
  KernelCounters issued;
  MemoryCounters moved;
  for (std::size_t i = 0; i < apps; ++i) {
    kernel(Scope::App, i, table.apps[i]);
    memory(Scope::App, i, table.memory[i]);
    if (!table.ledger.empty()) ledger(i, table.ledger[i]);
    issued.add(table.apps[i]);
    moved.add(table.memory[i]);
  }
  kernel(Scope::Gpu, 0, issued);
  memory(Scope::Gpu, 0, moved);
  constexpr std::size_t app = 0, culprit = 0;
  {
    constexpr Scope scope = Scope::Schedulers;
    auto& counters = table.schedulers;
    GPUMUX_SCHEDULER_COUNTERS(GPUMUX_VISIT)
  }
  {
    constexpr Scope scope = Scope::Partitions;
    auto& counters = table.partitions;
    GPUMUX_PARTITION_COUNTERS(GPUMUX_VISIT)
  }
  for (std::size_t i = 0; i < apps; ++i) {
    for (std::size_t j = 0; j < apps; ++j) pair(i, j, table.pairs[i * apps + j]);
  }
  for (auto& of : table.sms) {
    of_sm(of.sm, of.schedulers);
    view(of.sm, of.view);
  }
#undef GPUMUX_VISIT
}

/// True if the counter belongs to an application and exists only in runs with a ledger.
[[nodiscard]] inline bool is_ledger_counter(std::string_view name) {
#define GPUMUX_FIELD(field, unit, description) \
  if (name == #field) return true;
  GPUMUX_LEDGER_APP_COUNTERS(GPUMUX_FIELD)
#undef GPUMUX_FIELD
  return false;
}

inline void CounterTable::subtract(const CounterTable& other) {
  for (std::size_t i = 0; i < apps.size(); ++i) {
    apps[i].subtract(other.apps[i]);
    memory[i].subtract(other.memory[i]);
    if (!ledger.empty()) ledger[i].subtract(other.ledger[i]);
  }
  schedulers.subtract(other.schedulers);
  partitions.subtract(other.partitions);
  for (std::size_t i = 0; i < pairs.size(); ++i) pairs[i].subtract(other.pairs[i]);
  for (std::size_t i = 0; i < sms.size(); ++i) {
    sms[i].schedulers.subtract(other.sms[i].schedulers);
    sms[i].view.subtract(other.sms[i].view);
  }
}

}  // namespace gpumux::arch
