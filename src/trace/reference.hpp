// Reference kernels with known figures of other simulators, rebuilt from their descriptions. Three kernels
// have a reported simulation speed (one bound by arithmetic, one by memory bandwidth, one by divergent
// loads), fourteen more have other characters.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "trace/builder.hpp"

namespace gpumux::trace {

enum class ReferenceKernel : std::uint8_t {
  Compute,         // ten rounds of 40 arithmetic instructions in four chains
  Stream,          // two coalesced loads and a store a round, no reuse
  Diverge,         // loads over 8 lines of 64 KB and 16 of 16 MB
  ChaseL2,         // dependent loads that hit L2
  ChaseDram,       // dependent loads from DRAM
  MixLatency,      // chains of double precision, special functions, floating point and integers; few warps
  MixThroughput,   // chains of double precision, special functions, floating point and integers; all warps
  Shared2,         // 2-way bank conflicts of shared memory
  Shared32,        // 32-way bank conflicts of shared memory
  Stencil,         // shared tile, barriers, reuse in L1
  Sgemm,           // tiles in shared memory, accesses of 128 bits
  L2Random,        // random reads that hit L2
  Uneven,          // long and short blocks, a small grid
  Write128,        // stores of 128 bits
  WritePart,       // stores of part of a sector
  AtomicReduce,    // atomics without a result; all lanes of a warp use one address
  AtomicHistogram  // atomics with a result, over 1 KB
};
inline constexpr std::size_t kReferenceKernelCount = 17;
[[nodiscard]] const char* name(ReferenceKernel kernel);
/// The kernel with this name, or nothing.
[[nodiscard]] std::optional<ReferenceKernel> reference_kernel(std::string_view name);
/// The kernels that `gpumux bench` times.
inline constexpr std::array<ReferenceKernel, 3> kTimedKernels = {
    ReferenceKernel::Compute, ReferenceKernel::Stream, ReferenceKernel::Diverge};

/// Number of thread blocks of a usual launch.
[[nodiscard]] std::uint32_t usual_blocks(ReferenceKernel kernel);
/// Number of thread blocks of a usual launch of the timed kernels.
inline constexpr std::uint32_t kReferenceBlocks = 2048;

/// Writes the kernel's trace in compact form, with this number of blocks.
void write_reference(ReferenceKernel kernel, std::uint32_t blocks, Output& output);
/// The kernel's trace as the text of an Accel-Sim kernel file (tracer version 4, sm_70).
[[nodiscard]] std::string reference_text(ReferenceKernel kernel, std::uint32_t blocks);
/// The text of a kernelslist.g for the kernel file kernel-1.traceg: copies to the device, then the launch.
[[nodiscard]] std::string reference_commands(ReferenceKernel kernel);

}  // namespace gpumux::trace
