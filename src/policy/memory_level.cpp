// The level `memory`: who issues memory instructions first, how many may be in flight, and how L1 is divided,
// over any partition of thread blocks and any warp scheduler. The mechanisms are the SM's
// (sm/memory_control.hpp, sm/way_partition.hpp); here are their names and settings.
// Source: dai18 sections 3.1 to 3.4 and 4.5.
#include <algorithm>
#include <bit>
#include <functional>
#include <optional>

#include "base/error.hpp"
#include "base/text.hpp"
#include "policy/policy.hpp"

namespace gpumux::policy {
namespace {

using arch::MemoryScheme;
using Limit = MemoryScheme::Limit;
using Order = MemoryScheme::Order;

constexpr std::uint64_t kMostStaticLimit = 24;  // dai18 section 3.3.1 tries 1 to 24 and no limit

UserError bad_value(const std::string& scheme, const std::string& key, const std::string& value,
                    const std::string& wanted) {
  return UserError(fmt::format("memory={}: {}='{}' must be {}", scheme, key, value, wanted));
}

/// A setting: how its text changes the scheme (false: a bad value), and what its default is.
struct Setting {
  const char* key;
  const char* description;
  const char* wanted;
  const char* initial;
  bool (*apply)(MemoryScheme& scheme, const std::string& value);
};

bool set_flag(bool& flag, const std::string& value, const char* yes, const char* no) {
  if (value != yes && value != no) return false;
  flag = value == yes;
  return true;
}

constexpr Setting kInterval = {
    "interval",
    "requests of an application between updates of its values, a power of two from 64 to 65536, default 1024",
    "a power of two from 64 to 65536", "1024", [](MemoryScheme& scheme, const std::string& value) {
      const std::optional<std::uint64_t> requests = parse_uint(value);
      if (!requests || *requests < 64 || *requests > 65536 || !std::has_single_bit(*requests)) return false;
      scheme.interval = static_cast<std::uint32_t>(*requests);
      return true;
    }};
constexpr Setting kUnbounded = {"unbounded",
                                "false (default): the failure counter saturates at 4 failures per request, "
                                "so a limit falls to a third at most; "
                                "true: it does not",
                                "true or false", "false", [](MemoryScheme& scheme, const std::string& value) {
                                  return set_flag(scheme.unbounded, value, "true", "false");
                                }};
constexpr Setting kStores = {"stores",
                             "accepted (default): a store is in flight until L1 has taken its last request; "
                             "performed: until its acknowledgement",
                             "accepted or performed", "accepted",
                             [](MemoryScheme& scheme, const std::string& value) {
                               return set_flag(scheme.stores_performed, value, "performed", "accepted");
                             }};
constexpr Setting kOffers = {
    "offers",
    "ready (default): schedulers offer their ready memory instructions, and the chosen "
    "one goes before arithmetic; wanted: only when their own order picks one",
    "ready or wanted", "ready", [](MemoryScheme& scheme, const std::string& value) {
      return set_flag(scheme.offers_ready, value, "ready", "wanted");
    }};
constexpr Setting kOrders = {"orders",
                             "lsu (default): all instructions for the load/store unit take turns, those of "
                             "shared and constant memory too; "
                             "l1: only those that access L1",
                             "lsu or l1", "lsu", [](MemoryScheme& scheme, const std::string& value) {
                               return set_flag(scheme.orders_all, value, "lsu", "l1");
                             }};
constexpr Setting kMonitor = {"monitor", "the SM that works the limits out for all, default 0",
                              "the number of an SM", "0", [](MemoryScheme& scheme, const std::string& value) {
                                const std::optional<std::uint64_t> sm = parse_uint(value);
                                if (!sm || *sm > 0xffff) return false;
                                scheme.monitor = static_cast<SmId>(*sm);
                                return true;
                              }};
constexpr Setting kWaysInterval = {
    "interval", "cycles after which the ways are divided anew, 100 to 1000000000, default 10000",
    "a number of cycles from 100 to 1000000000", "10000", [](MemoryScheme& scheme, const std::string& value) {
      const std::optional<std::uint64_t> cycles = parse_uint(value);
      if (!cycles || *cycles < 100 || *cycles > 1'000'000'000) return false;
      scheme.ways_interval = *cycles;
      return true;
    }};

struct Scheme {
  const char* name;
  const char* description;
  void (*begin)(MemoryScheme& scheme);
  std::vector<Setting> settings;
  bool limits = false;  // takes k0=, k1= and so on
};

const std::vector<Scheme>& schemes() {
  static const std::vector<Scheme> all = {
      {"dmil",
       "memory instructions in flight limited by each SM's reservation failures (dai18 3.3.2)",
       [](MemoryScheme& s) { s.limit = Limit::Dynamic; },
       {kInterval, kUnbounded, kStores}},
      {"dmil-global",
       "the same limits on all SMs, worked out by one of them (dai18 3.3.2)",
       [](MemoryScheme& s) { s.limit = Limit::DynamicGlobal; },
       {kInterval, kUnbounded, kStores, kMonitor}},
      {"mshr",
       "MSHRs and miss queue divided evenly among applications (dai18 4.5)",
       [](MemoryScheme& s) { s.divides_misses = true; },
       {}},
      {"qbmi",
       "memory instructions in order of quotas that balance requests (dai18 3.2)",
       [](MemoryScheme& s) { s.order = Order::Quota; },
       {kInterval, kOffers, kOrders}},
      {"qbmi-dmil",
       "dmil says who may issue a memory instruction, qbmi who goes first (dai18 3.4)",
       [](MemoryScheme& s) {
         s.order = Order::Quota;
         s.limit = Limit::Dynamic;
       },
       {kInterval, kOffers, kOrders, kUnbounded, kStores}},
      {"rbmi",
       "memory instructions of the applications in turn (dai18 3.2)",
       [](MemoryScheme& s) { s.order = Order::RoundRobin; },
       {kOffers, kOrders}},
      {"smil",
       "a fixed limit of memory instructions in flight for each application (dai18 3.3.1)",
       [](MemoryScheme& s) { s.limit = Limit::Static; },
       {kStores},
       true},
      {"ucp",
       "ways of L1 divided by utility (dai18 3.1)",
       [](MemoryScheme& s) { s.divides_ways = true; },
       {kWaysInterval}},
  };
  return all;
}

const Scheme& find(const std::string& name) {
  std::vector<std::string> known;
  for (const Scheme& scheme : schemes()) {
    if (name == scheme.name) return scheme;
    known.emplace_back(scheme.name);
  }
  throw UserError(unknown_choice("memory scheme", name, known));
}

/// Ways of a unified L1 while shared memory has its largest part.
std::uint32_t fewest_ways(const arch::L1Config& l1) {
  const std::uint32_t sets = std::max(1U, l1.bytes / (std::max(1U, l1.ways) * kLineBytes));
  const std::uint32_t shared = l1.shared_carveouts.empty() ? 0 : l1.shared_carveouts.back();
  return (l1.unified_bytes - std::min(shared, l1.unified_bytes)) / (sets * kLineBytes);
}

/// "k12": 12.
std::optional<std::uint32_t> application(const std::string& key) {
  if (key.size() < 2 || key.size() > 3 || key[0] != 'k') return std::nullopt;
  if (!std::all_of(key.begin() + 1, key.end(), [](char c) { return c >= '0' && c <= '9'; }))
    return std::nullopt;
  if (key.size() == 3 && key[1] == '0') return std::nullopt;
  return static_cast<std::uint32_t>(*parse_uint(key.substr(1)));
}

}  // namespace

const std::vector<MemorySchemeInfo>& memory_schemes() {
  static const std::vector<MemorySchemeInfo> infos = [] {
    std::vector<MemorySchemeInfo> made;
    for (const Scheme& scheme : schemes()) {
      MemorySchemeInfo info{scheme.name, scheme.description, {}};
      if (scheme.limits)
        info.settings.emplace_back(
            "k0, k1, ...", "limit of application 0, 1, ... of the command line, 1 to 24 or inf (default)");
      for (const Setting& setting : scheme.settings)
        info.settings.emplace_back(setting.key, setting.description);
      made.push_back(std::move(info));
    }
    return made;
  }();
  return infos;
}

bool is_memory_setting(const MemorySchemeInfo& info, const std::string& key) {
  const Scheme& scheme = find(info.name);
  return (scheme.limits && application(key)) ||
         std::any_of(scheme.settings.begin(), scheme.settings.end(),
                     [&](const Setting& setting) { return key == setting.key; });
}

MemoryScheme memory_scheme(const std::string& name, const Settings& settings) {
  MemoryScheme made;
  if (name.empty()) return made;
  const Scheme& scheme = find(name);
  scheme.begin(made);
  for (const auto& [key, value] : settings) {
    if (const std::optional<std::uint32_t> app = application(key); scheme.limits && app) {
      if (*app >= kMaxApps)
        throw UserError(fmt::format("memory={}: a run has at most {} applications, k0 to k{}; there is no {}",
                                    name, kMaxApps, kMaxApps - 1, key));
      const std::optional<std::uint64_t> limit = parse_uint(value);
      if (value != "inf" && (!limit || *limit == 0 || *limit > kMostStaticLimit))
        throw bad_value(name, key, value, fmt::format("an integer from 1 to {}, or inf", kMostStaticLimit));
      made.limits[*app] = limit ? static_cast<std::uint32_t>(*limit) : arch::kNoMemoryLimit;
      continue;
    }
    for (const Setting& setting : scheme.settings)
      if (key == setting.key && !setting.apply(made, value))
        throw bad_value(name, key, value, setting.wanted);
  }
  return made;
}

Settings canonical_memory_settings(const std::string& name, const Settings& settings) {
  Settings canonical;
  if (name.empty()) return canonical;
  const Scheme& scheme = find(name);
  for (const auto& [key, value] : settings) {
    const std::optional<std::uint64_t> number = parse_uint(value);
    const std::string text = number ? std::to_string(*number) : value;
    std::string initial = "inf";  // of a limit
    for (const Setting& setting : scheme.settings)
      if (key == setting.key) initial = setting.initial;
    if (text != initial) canonical[key] = text;
  }
  return canonical;
}

void check_memory_scheme(const PolicyChoice& choice, const arch::MachineConfig& config, std::size_t apps) {
  if (choice.memory.empty()) return;
  const MemoryScheme scheme = memory_scheme(choice.memory, choice.memory_settings);
  for (const auto& [key, value] : choice.memory_settings) {
    const std::optional<std::uint32_t> app = application(key);
    if (scheme.limit == Limit::Static && app && *app >= apps)
      throw UserError(fmt::format("memory={}: {}={}, but the run has {} application{}: k0{}", choice.memory,
                                  key, value, apps, apps == 1 ? "" : "s",
                                  apps == 1 ? std::string() : fmt::format(" to k{}", apps - 1)));
  }
  if (scheme.limit == Limit::DynamicGlobal && scheme.monitor >= config.sms)
    throw UserError(fmt::format("memory={}: monitor={}, but the machine has SMs 0 to {}", choice.memory,
                                scheme.monitor, config.sms - 1));
  if ((scheme.divides_ways) && config.l1.bytes == 0 && config.l1.unified_bytes == 0)
    throw UserError(
        fmt::format("memory={}: the machine has no L1 whose ways could be divided", choice.memory));
  const auto enough = [&](std::uint32_t have, const char* what) {
    if (apps > have)
      throw UserError(fmt::format("memory={}: {} applications cannot share {} {}: each needs one; run fewer",
                                  choice.memory, apps, have, what));
  };
  if (scheme.divides_ways && config.l1.unified_bytes == 0) enough(config.l1.ways, "ways of L1 (l1.ways)");
  if (scheme.divides_ways && config.l1.unified_bytes > 0)
    enough(fewest_ways(config.l1), "ways, which the largest of l1.shared_carveouts leaves of L1");
  if (scheme.divides_misses) {
    enough(config.l1.mshr_entries, "MSHRs (l1.mshr_entries)");
    enough(config.l1.miss_queue, "places of the miss queue (l1.miss_queue)");
  }
}

}  // namespace gpumux::policy
