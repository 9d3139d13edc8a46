// CM-CPU: fewer warps on all SMs while memory controllers or the reply network are congested, and more while
// neither is, whatever the cost for the GPU. Source: kayiran14 section 4.1.
#include "policy/concurrency_controls/warp_limiter.hpp"
#include "policy/concurrency_controls/warp_steps.hpp"

namespace gpumux::policy {
namespace {

class CmCpu final : public WarpLimiter {
 public:
  CmCpu(const CongestionSettings& settings, WarpSteps steps, std::uint32_t start)
      : WarpLimiter("cm-cpu", settings, start), steps_(steps) {}

 private:
  void interval_ended(Control& control, Change change) override {
    const std::uint32_t next = steps_.next(limit(0), change, most_warps(control.config()));
    for (std::uint32_t sm = 0; sm < control.config().sms; ++sm) set_limit(control, sm, next);
  }

  WarpSteps steps_;
};

std::unique_ptr<ConcurrencyControl> create_cm_cpu(const std::string& argument) {
  LevelArguments read("concurrency", "cm-cpu", argument);
  const CongestionSettings settings = CongestionSettings::read(read);
  const auto start = static_cast<std::uint32_t>(read.whole("start", 0, 1, 256));
  WarpSteps steps;
  steps.edge = static_cast<std::uint32_t>(read.whole("edge", steps.edge, 1, 256));
  const std::string at_edge = read.choice("at_edge", "direction", {"direction", "small", "large"});
  steps.at_edge = at_edge == "small"   ? WarpSteps::AtEdge::Small
                  : at_edge == "large" ? WarpSteps::AtEdge::Large
                                       : WarpSteps::AtEdge::ByDirection;
  read.done();
  return std::make_unique<CmCpu>(settings, steps, start);
}

const bool registered_cm_cpu = register_concurrency_control(
    {"cm-cpu",
     "fewer warps on all SMs while memory controllers or the reply network are congested (CM-CPU, kayiran14)",
     "interval=1024: core cycles between decisions, 64 to 1000000; high=1/low=0.25: partitions that are "
     "stalled on average, from which on there are to be fewer warps, and below which more; at_high=high "
     "or medium: a metric that is high=; stall_mc=queue or partition: a memory controller is stalled "
     "while its DRAM queue takes no miss, or while its partition takes no packet; counters=saturate or "
     "exact; start=: warps of an SM at first [all]; edge=8: warps from which on steps are of two; "
     "at_edge=direction: up two, down one, or small, or large",
     create_cm_cpu, "interval=1024"});

}  // namespace
}  // namespace gpumux::policy
