// same-limit: at most N memory instructions of each application in flight on an SM, the same N for all.
// The worked example of docs/adding-a-memory-scheme.md; moved to src/policy/memory_schemes/ it would be
// complete.
#include <optional>

#include "base/text.hpp"
#include "policy/memory_scheme.hpp"

namespace gpumux::policy {
namespace {

using arch::MemoryScheme;

bool set_limit(MemoryScheme& scheme, const std::string& value) {
  const std::optional<std::uint64_t> limit = parse_uint(value);
  if (!limit || *limit == 0 || *limit > 64) return false;
  scheme.limits.fill(static_cast<std::uint32_t>(*limit));
  return true;
}

const bool registered_same_limit = register_memory_scheme(
    {"same-limit",
     "the same limit of memory instructions in flight for all applications (worked example)",
     {{"limit", "memory instructions, 1 to 64, default 8", "an integer from 1 to 64", "8", set_limit}},
     [](MemoryScheme& scheme) {
       scheme.limit = MemoryScheme::Limit::Static;
       scheme.limits.fill(8);
     }});

}  // namespace
}  // namespace gpumux::policy
