// All counters of a run, or of an interval of it, as one table: by application, SMs, partitions, and pairs of
// applications. Whoever writes, keeps or reads counters walks it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>
#include <vector>

#include "arch/statistics.hpp"

namespace gpumux::arch {

/// Whose a counter is.
enum class Scope : std::uint8_t {
  App,         // an application's
  Gpu,         // the sum over all applications
  Schedulers,  // the sum over all SMs
  Partitions,  // the sum over all memory partitions
  Pair,        // what one application did to another, or to itself
  Sm           // of one SM that is viewed
};
[[nodiscard]] constexpr std::string_view scope_name(Scope scope) {
  constexpr std::string_view kNames[] = {"app", "gpu", "schedulers", "partitions", "pair", "sm"};
  return kNames[static_cast<std::size_t>(scope)];
}

/// A row of the table.
struct Counter {
  Scope scope = Scope::Gpu;
  std::size_t app = 0;      // App: its index in the run; Pair: of the victim; Sm: the SM
  std::size_t culprit = 0;  // Pair: index of who did it
  std::string_view name;
  std::string_view unit;
  std::string_view meaning;
};

struct CounterTable {
  /// Of an SM that is viewed.
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
  std::vector<LedgerAppCounters> ledger;  // by AppId; empty: the run keeps no ledger
  std::vector<OfSm> sms;                  // those that are viewed

  [[nodiscard]] const PairCounters& pair(std::size_t victim, std::size_t culprit) const {
    return pairs[victim * apps.size() + culprit];
  }
  /// `other`: earlier counts of the same run.
  void subtract(const CounterTable& other);
};

/// Calls visit(counter, value) for each row, in an order that depends on the number of applications, on
/// whether there is a ledger, and on the SMs that are viewed. Of a table that is not const, values may be
/// set, but for those of Scope::Gpu, which are sums.
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

/// Is it one of those that an application has for its ledger alone?
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
