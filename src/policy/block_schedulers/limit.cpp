// Round robin over the SMs with a fixed number of blocks of each kernel per SM, for studies of how much
// parallelism a kernel should use. Source: awatramani17 section 4.2.
#include <fmt/core.h>

#include "base/error.hpp"
#include "base/text.hpp"
#include "policy/block_schedulers/round_robin.hpp"

namespace gpumux::policy {
namespace {

constexpr std::uint64_t kMost = 255;  // blocks per SM

class Limit final : public RoundRobin {
 public:
  explicit Limit(std::uint32_t blocks) : blocks_(blocks) {}
  [[nodiscard]] std::optional<KernelSlot> choose(SmId, const arch::SmProbes& sm,
                                                 std::span<const KernelSlot> kernels) override {
    for (const KernelSlot kernel : kernels)
      if (sm.resident_blocks(kernel) < blocks_) return kernel;
    return std::nullopt;
  }
  [[nodiscard]] std::uint32_t most_blocks() const override { return blocks_; }

 private:
  std::uint32_t blocks_;
};

std::unique_ptr<BlockScheduler> create_limit(const std::string& argument) {
  const std::optional<std::uint64_t> blocks = parse_uint(argument);
  if (!blocks || *blocks == 0 || *blocks > kMost)
    throw UserError(fmt::format("blocks=limit:{}: a number of blocks from 1 to {} must follow, as in limit:4",
                                argument, kMost));
  return std::make_unique<Limit>(static_cast<std::uint32_t>(*blocks));
}

const bool registered_limit = register_block_scheduler(
    {"limit", "round robin over the SMs, each at most N blocks of a kernel (awatramani17)",
     "N: blocks of each kernel per SM, 1 to 255", create_limit, "2"});

}  // namespace
}  // namespace gpumux::policy
