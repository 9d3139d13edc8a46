// The CPU applications that kayiran14 names, as generated traces.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "cpu/trace/generated.hpp"

namespace gpumux::cpu {

/// Misses beyond L2: kayiran14, Table III.
enum class MpkiClass : std::uint8_t { Low, Medium, High };

struct CpuApplication {
  std::string_view name;
  double l2_mpki;
  MpkiClass type;
};

/// kayiran14, Table III: 34 applications in the order of its rows.
[[nodiscard]] std::span<const CpuApplication> cpu_applications();

/// kayiran14, Table IV: what each of 14 cores executes. Its cactusADM is Table III's cactus.
struct CpuMix {
  std::string_view name;
  std::array<std::string_view, 14> applications;
};
[[nodiscard]] std::span<const CpuMix> cpu_mixes();

/// Throws UserError that names the known ones for another name.
[[nodiscard]] const CpuApplication& cpu_application(std::string_view name);
[[nodiscard]] const CpuMix& cpu_mix(std::string_view name);

/// The application's trace on a core: TraceModel with its L2 MPKI, and nothing else of its own. Two
/// applications of the same MPKI differ by their seed, which has the name in it.
[[nodiscard]] std::unique_ptr<TraceSource> generated_trace(const CpuApplication& application,
                                                           std::uint64_t seed, std::uint32_t core);

}  // namespace gpumux::cpu
