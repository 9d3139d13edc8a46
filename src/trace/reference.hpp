// The three reference kernels whose simulation speed other simulators report, made from their description:
// one bound by arithmetic, one by memory bandwidth, one by divergent loads.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "trace/builder.hpp"

namespace gpumux::trace {

enum class ReferenceKernel : std::uint8_t { Compute, Stream, Diverge };
inline constexpr std::array<ReferenceKernel, 3> kReferenceKernels = {
    ReferenceKernel::Compute, ReferenceKernel::Stream, ReferenceKernel::Diverge};
[[nodiscard]] const char* name(ReferenceKernel kernel);

/// The usual number of thread blocks, each of 256 threads.
inline constexpr std::uint32_t kReferenceBlocks = 2048;

/// The kernel's trace in compact form.
void write_reference(ReferenceKernel kernel, std::uint32_t blocks, Output& output);
/// The same as the text of an Accel-Sim kernel file (tracer version 4, sm_70).
[[nodiscard]] std::string reference_text(ReferenceKernel kernel, std::uint32_t blocks);

}  // namespace gpumux::trace
