// Round robin over the SMs, with as many blocks as fit, as on GPUs. Source: awatramani17 section 2.2.2.
#include "policy/block_schedulers/round_robin.hpp"

namespace gpumux::policy {
namespace {

const bool registered_max = register_block_scheduler(
    {"max", "round robin over the SMs, each as many blocks as fit (awatramani17)", "",
     [](const std::string&) -> std::unique_ptr<BlockScheduler> { return std::make_unique<RoundRobin>(); }});

}  // namespace
}  // namespace gpumux::policy
