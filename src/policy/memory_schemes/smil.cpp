// SMIL: a fixed limit of memory instructions in flight for each application. Source: dai18 section 3.3.1.
#include <optional>

#include "base/text.hpp"
#include "policy/memory_schemes/settings.hpp"

namespace gpumux::policy {
namespace {

using arch::MemoryScheme;

constexpr std::uint64_t kMostInFlight = 24;  // dai18 section 3.3.1 tries 1 to 24 and no limit

bool set_limit(std::uint32_t& limit, const std::string& value) {
  const std::optional<std::uint64_t> number = parse_uint(value);
  if (value != "inf" && (!number || *number == 0 || *number > kMostInFlight)) return false;
  limit = number ? static_cast<std::uint32_t>(*number) : arch::kNoMemoryLimit;
  return true;
}

const bool registered_smil = register_memory_scheme(
    {"smil",
     "a fixed limit of memory instructions in flight for each application (dai18 3.3.1)",
     {stores_setting()},
     [](MemoryScheme& scheme) { scheme.limit = MemoryScheme::Limit::Static; },
     {"k", "limit of application 0, 1, ... of the command line, 1 to 24 or inf (default)",
      "an integer from 1 to 24, or inf", "inf", set_limit}});

}  // namespace
}  // namespace gpumux::policy
