// Which applications are memory intensive, by what came of their isolated runs.
#pragma once

namespace gpumux::database {

/// An application is of class M (memory intensive) when the load/store units of its isolated run stall in
/// more than this share of the SM cycles, otherwise C (compute intensive). Source: dai18 section 2.4.
inline constexpr double kMemoryStallShare = 0.2;

}  // namespace gpumux::database
