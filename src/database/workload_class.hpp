// Classes of applications by what came of their isolated runs: compute intensive (C) or memory intensive (M).
// A workload's class joins its applications', C+M. Experiments, reports and papers' columns all tell them
// apart in this way.
#pragma once

namespace gpumux::database {

/// More than this share of the SM cycles of its isolated run, in which the load/store units stall, makes an
/// application memory intensive. Source: dai18 section 2.4.
inline constexpr double kMemoryStallShare = 0.2;

/// 'M' or 'C', from an isolated run's stall cycles of all load/store units and its cycles times SMs.
[[nodiscard]] constexpr char application_class(double lsu_stall_cycles, double sm_cycles) {
  return lsu_stall_cycles > kMemoryStallShare * sm_cycles ? 'M' : 'C';
}

}  // namespace gpumux::database
