// QBMI with DMIL. Source: dai18 section 3.4.
#include "policy/memory_schemes/settings.hpp"

namespace gpumux::policy {
namespace {

using arch::MemoryScheme;

const bool registered_qbmi_dmil = register_memory_scheme(
    {"qbmi-dmil",
     "dmil says who may issue a memory instruction, qbmi who goes first (dai18 3.4)",
     {interval_setting(), offers_setting(), orders_setting(), unbounded_setting(), stores_setting()},
     [](MemoryScheme& scheme) {
       scheme.order = MemoryScheme::Order::Quota;
       scheme.limit = MemoryScheme::Limit::Dynamic;
     }});

}  // namespace
}  // namespace gpumux::policy
