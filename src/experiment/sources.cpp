#include "experiment/sources.hpp"

#include "embedded/sources.hpp"
#include "policy/policy.hpp"

namespace gpumux::experiment {

std::string_view policy_sources(std::string_view policy) {
  for (const policy::PolicyInfo& info : policy::policies()) {
    if (info.name != policy) continue;
    for (const auto& [file, hash] : embedded::policy_sources)
      if (file == info.file) return hash;
  }
  return {};
}

}  // namespace gpumux::experiment
