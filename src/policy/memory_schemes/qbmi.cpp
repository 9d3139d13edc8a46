// QBMI: memory instructions in the order of quotas that balance requests. Source: dai18 section 3.2.
#include "policy/memory_schemes/settings.hpp"

namespace gpumux::policy {
namespace {

using arch::MemoryScheme;

const bool registered_qbmi =
    register_memory_scheme({"qbmi",
                            "memory instructions in order of quotas that balance requests (dai18 3.2)",
                            {interval_setting(), offers_setting(), orders_setting()},
                            [](MemoryScheme& scheme) { scheme.order = MemoryScheme::Order::Quota; }});

}  // namespace
}  // namespace gpumux::policy
