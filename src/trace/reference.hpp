// Reference kernels for which other simulators' figures are known, made from their description: three whose
// simulation speed is reported (one bound by arithmetic, one by memory bandwidth, one by divergent loads),
// and fourteen of other character.
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
  MixLatency,      // chains of double precision, special functions, floating point and integers, few warps
  MixThroughput,   // the same, all warps
  Shared2,         // 2-way bank conflicts of shared memory
  Shared32,        // 32-way
  Stencil,         // shared tile, barriers, reuse in L1
  Sgemm,           // tiles in shared memory, accesses of 128 bits
  L2Random,        // random reads that hit L2
  Uneven,          // long and short blocks, a small grid
  Write128,        // stores of 128 bits
  WritePart,       // stores of part of a sector
  AtomicReduce,    // atomics without a result, a warp's all to one address
  AtomicHistogram  // atomics with a result, over 1 KB
};
inline constexpr std::size_t kReferenceKernelCount = 17;
[[nodiscard]] const char* name(ReferenceKernel kernel);
/// The kernel of this name, or none.
[[nodiscard]] std::optional<ReferenceKernel> reference_kernel(std::string_view name);
/// Those that `gpumux bench` times.
inline constexpr std::array<ReferenceKernel, 3> kTimedKernels = {
    ReferenceKernel::Compute, ReferenceKernel::Stream, ReferenceKernel::Diverge};

/// Thread blocks of a usual launch,
[[nodiscard]] std::uint32_t usual_blocks(ReferenceKernel kernel);
/// which for those that are timed are
inline constexpr std::uint32_t kReferenceBlocks = 2048;

/// The kernel's trace in compact form, of so many blocks.
void write_reference(ReferenceKernel kernel, std::uint32_t blocks, Output& output);
/// The same as the text of an Accel-Sim kernel file (tracer version 4, sm_70),
[[nodiscard]] std::string reference_text(ReferenceKernel kernel, std::uint32_t blocks);
/// and of the kernelslist.g beside it, where it is kernel-1.traceg: what is copied before, and the launch.
[[nodiscard]] std::string reference_commands(ReferenceKernel kernel);

}  // namespace gpumux::trace
