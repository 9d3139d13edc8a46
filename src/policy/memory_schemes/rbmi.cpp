// RBMI: memory instructions of the applications in turn. Source: dai18 section 3.2.
#include "policy/memory_schemes/settings.hpp"

namespace gpumux::policy {
namespace {

using arch::MemoryScheme;

const bool registered_rbmi =
    register_memory_scheme({"rbmi",
                            "memory instructions of the applications in turn (dai18 3.2)",
                            {offers_setting(), orders_setting()},
                            [](MemoryScheme& scheme) { scheme.order = MemoryScheme::Order::RoundRobin; }});

}  // namespace
}  // namespace gpumux::policy
