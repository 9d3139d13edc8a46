#include "experiment/sources.hpp"

#include "embedded/sources.hpp"
#include "policy/block_scheduler.hpp"
#include "policy/concurrency_control.hpp"
#include "policy/core_control.hpp"
#include "policy/memory_scheme.hpp"
#include "policy/policy.hpp"

namespace gpumux::experiment {
namespace {

std::string_view sources_of(const std::string& registering_file) {
  for (const auto& [file, hash] : embedded::policy_sources)
    if (file == registering_file) return hash;
  return {};
}

}  // namespace

std::string_view policy_sources(std::string_view policy) {
  for (const policy::PolicyInfo& info : policy::policies())
    if (info.name == policy) return sources_of(info.file);
  return {};
}

std::string_view block_scheduler_sources(std::string_view text) {
  const policy::BlockSchedulerInfo& info = policy::block_scheduler(text);
  return info.name == policy::kUsualBlockScheduler ? std::string_view{} : sources_of(info.file);
}

std::string_view core_control_sources(std::string_view text) {
  const policy::CoreControlInfo* info = policy::core_control(text);
  return info == nullptr ? std::string_view{} : sources_of(info->file);
}

std::string_view concurrency_control_sources(std::string_view text) {
  const policy::ConcurrencyControlInfo* info = policy::concurrency_control(text);
  return info == nullptr ? std::string_view{} : sources_of(info->file);
}

std::string_view memory_scheme_sources(const std::string& name) {
  return name.empty() ? std::string_view{} : sources_of(policy::memory_scheme_info(name).file);
}

}  // namespace gpumux::experiment
