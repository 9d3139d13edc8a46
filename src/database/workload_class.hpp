// Classes of applications by their isolated runs: compute intensive (C) or memory intensive (M). A workload's
// class joins those of its applications, as in C+M. Experiments, reports and papers' columns all use these
// classes.
#pragma once

namespace gpumux::database {

/// An application is memory intensive if LSU stalls take more than this share of the SM cycles of its
/// isolated run. Source: dai18 section 2.4.
inline constexpr double kMemoryStallShare = 0.2;

/// The class 'M' or 'C' of an application. `lsu_stall_cycles`: sum over all load/store units; `sm_cycles`:
/// cycles of the run times SMs.
[[nodiscard]] constexpr char application_class(double lsu_stall_cycles, double sm_cycles) {
  return lsu_stall_cycles > kMemoryStallShare * sm_cycles ? 'M' : 'C';
}

}  // namespace gpumux::database
