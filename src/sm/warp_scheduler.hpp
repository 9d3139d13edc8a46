// The warp schedulers of arch/warp_scheduler.hpp, bound at compile time.
#pragma once

#include "arch/warp_scheduler.hpp"
#include "warp_scheduler_headers.hpp"  // all of src/sm/warp_schedulers, by the build

namespace gpumux::sm {

/// The states of all warp schedulers, of which one is used.
struct WarpSchedulerStates {
  explicit WarpSchedulerStates(const arch::SmConfig& config) {
#define GPUMUX_CONFIGURE(name, type, description) type::configure(name, config);
    GPUMUX_WARP_SCHEDULERS(GPUMUX_CONFIGURE)
#undef GPUMUX_CONFIGURE
  }
#define GPUMUX_STATE(name, type, description)                    \
  type::State name;                                              \
  [[nodiscard]] type::State& of(type /*which*/) { return name; } \
  [[nodiscard]] const type::State& of(type /*which*/) const { return name; }
  GPUMUX_WARP_SCHEDULERS(GPUMUX_STATE)
#undef GPUMUX_STATE
  /// The warp has exited. Its number may be reused by another warp.
  void left(std::uint32_t warp) {
#define GPUMUX_LEFT(name, type, description) type::left(name, warp);
    GPUMUX_WARP_SCHEDULERS(GPUMUX_LEFT)
#undef GPUMUX_LEFT
  }
};

/// Calls `work` with an object of the scheduler's class.
template <typename Work>
[[gnu::always_inline]] inline auto with_warp_scheduler(arch::WarpScheduler which, Work&& work) {
  switch (which) {
#define GPUMUX_CASE(name, type, description) \
  case arch::WarpScheduler::name: return work(type{});
    GPUMUX_WARP_SCHEDULERS(GPUMUX_CASE)
#undef GPUMUX_CASE
  }
  __builtin_unreachable();
}

}  // namespace gpumux::sm
