// The CPU applications that kayiran14 names, as generated traces.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "cpu/trace/generated.hpp"

namespace gpumux::cpu {

/// Classes of L2 misses per 1000 instructions (kayiran14, Table III).
enum class MpkiClass : std::uint8_t { Low, Medium, High };

struct CpuApplication {
  std::string_view name;
  double l2_mpki;
  MpkiClass type;
};

/// The 34 applications of kayiran14, Table III, in the order of its rows.
[[nodiscard]] std::span<const CpuApplication> cpu_applications();

/// A mix of kayiran14, Table IV: the application that each of 14 cores executes. The table's
/// cactusADM is Table III's cactus.
struct CpuMix {
  std::string_view name;
  std::array<std::string_view, 14> applications;
};
[[nodiscard]] std::span<const CpuMix> cpu_mixes();

/// Find an application or a mix by its name. Throw UserError that lists the known names for an unknown one.
[[nodiscard]] const CpuApplication& cpu_application(std::string_view name);
[[nodiscard]] const CpuMix& cpu_mix(std::string_view name);

/// The application's trace for a core: a TraceModel with the application's L2 MPKI and default values
/// otherwise. Two applications of the same MPKI differ in their seed, which contains the name.
[[nodiscard]] std::unique_ptr<TraceSource> generated_trace(const CpuApplication& application,
                                                           std::uint64_t seed, std::uint32_t core);

}  // namespace gpumux::cpu
