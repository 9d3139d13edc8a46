// packed: fills one SM after the other, so that small grids leave SMs free for others.
// The worked example of docs/adding-a-block-scheduler.md; moved to src/policy/block_schedulers/ it would be
// complete.
#include "policy/block_scheduler.hpp"

namespace gpumux::policy {
namespace {

class Packed final : public BlockScheduler {
 public:
  void order(std::uint32_t sms, std::vector<SmId>& order) override {
    for (std::uint32_t i = 0; i < sms; ++i) order.push_back(static_cast<SmId>(i));
  }
};

const bool registered_packed = register_block_scheduler(
    {"packed", "fills one SM after the other (worked example)", "",
     [](const std::string&) -> std::unique_ptr<BlockScheduler> { return std::make_unique<Packed>(); }});

}  // namespace
}  // namespace gpumux::policy
