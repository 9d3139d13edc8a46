// Only the first N SMs serve, throughout the run. An exhaustive search for the best number uses this control.
// Source: awatramani17 section 4.4.1.
#include "base/error.hpp"
#include "base/text.hpp"
#include "policy/core_control.hpp"

namespace gpumux::policy {
namespace {

constexpr std::uint32_t kMostFirst = 1024;  // SMs of any machine

class First final : public CoreControl {
 public:
  explicit First(std::uint32_t sms) : sms_(sms) {}
  void check(const arch::MachineConfig& config) const override {
    if (sms_ > config.sms)
      throw UserError(fmt::format("cores=first:{}: {} has {} SMs", sms_, config.name, config.sms));
  }
  [[nodiscard]] std::uint32_t most_sms(const arch::MachineConfig&) const override { return sms_; }
  [[nodiscard]] Needs needs(const View&) const override { return {.kernel_ends = false}; }
  void kernel_arrived(Control& control, const RunningKernel&) override {
    for (std::uint32_t sm = sms_; sm < control.config().sms; ++sm)
      control.set_duty(static_cast<SmId>(sm), SmDuty::Gated);
  }

 private:
  std::uint32_t sms_;
};

std::unique_ptr<CoreControl> create_first(const std::string& argument) {
  const std::optional<std::uint64_t> sms = parse_uint(argument);
  if (!sms || *sms == 0 || *sms > kMostFirst)
    throw UserError(fmt::format("cores=first:{}: a number of SMs from 1 to {} must follow, as in first:4",
                                argument, kMostFirst));
  return std::make_unique<First>(static_cast<std::uint32_t>(*sms));
}

const bool registered_first =
    register_core_control({"first", "the first N SMs alone serve; the others' power is gated (awatramani17)",
                           "N: SMs, 1 to the machine's", create_first, "2"});

}  // namespace
}  // namespace gpumux::policy
