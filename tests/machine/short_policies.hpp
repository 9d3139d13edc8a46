// All policies and levels of the program, with settings with which they make decisions in a short run.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include <fmt/core.h>

#include "arch/warp_scheduler.hpp"
#include "policy/block_scheduler.hpp"
#include "policy/concurrency_control.hpp"
#include "policy/core_control.hpp"
#include "policy/memory_scheme.hpp"
#include "policy/policy.hpp"

namespace gpumux::test {

/// True for mechanisms of the program, false for mechanisms that tests define.
inline bool is_ours(const std::string& file) { return !file.ends_with("_test.cpp"); }

inline std::string short_run(const policy::PolicyInfo& info) {
  std::string text = info.name;
  const auto add = [&](const char* key, const char* value) {
    const bool known = std::any_of(info.settings.begin(), info.settings.end(),
                                   [&](const auto& setting) { return setting.first == key; });
    if (known) text += fmt::format("{}{}={}", text == info.name ? ':' : ',', key, value);
  };
  if (info.name == "interleaved") add("split", "optimum");
  add("profile_cycles", "2000");
  add("warmup", "1000");
  add("window", "500");
  return text;
}

inline std::vector<std::string> short_policies() {
  std::vector<std::string> all;
  for (const policy::PolicyInfo& info : policy::policies())
    if (is_ours(info.file)) all.push_back(short_run(info));
  return all;
}

/// All block schedulers, in the form of a setting behind a policy: "blocks=...".
inline std::vector<std::string> short_block_schedulers() {
  std::vector<std::string> all;
  for (const policy::BlockSchedulerInfo& info : policy::block_schedulers())
    if (is_ours(info.file))
      all.push_back("blocks=" + info.name + (info.example.empty() ? "" : ":" + info.example));
  return all;
}
inline std::vector<std::string> short_core_controls() {
  std::vector<std::string> all;
  for (const policy::CoreControlInfo& info : policy::core_controls())
    if (is_ours(info.file))
      all.push_back("cores=" + info.name + (info.name == "first" ? ":2" : ":waves=1/warmup=0"));
  return all;
}
inline std::vector<std::string> short_concurrency_controls() {
  std::vector<std::string> all;
  for (const policy::ConcurrencyControlInfo& info : policy::concurrency_controls())
    if (is_ours(info.file))
      all.push_back(
          "concurrency=" + info.name +
          (info.name == "cm-bal" ? ":1/high=0.02/low=0.01/start=8" : ":high=0.02/low=0.01/start=8"));
  return all;
}
inline std::vector<std::string> short_memory_schemes() {
  std::vector<std::string> all;
  for (const policy::MemorySchemeInfo& info : policy::memory_schemes())
    if (is_ours(info.file)) all.push_back("memory=" + info.name + (info.per_app.key.empty() ? "" : ",k0=3"));
  return all;
}
inline std::vector<std::string> short_warp_schedulers() {
  std::vector<std::string> all;
  for (const std::string& name : arch::warp_scheduler_names()) all.push_back("warps=" + name);
  for (const char* warps : {"ccws", "swl:6"}) all.push_back(fmt::format("warps={}", warps));
  return all;
}

}  // namespace gpumux::test
