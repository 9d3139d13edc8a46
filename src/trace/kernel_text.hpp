// Reader of one kernel file of an Accel-Sim trace (.traceg, .traceg.xz).
#pragma once

#include <cstdint>
#include <string>

#include "trace/builder.hpp"

namespace gpumux::trace {

/// Versions that all kernels of a trace share. 0: not known yet.
struct TraceVersions {
  std::uint32_t tracer = 0;
  std::uint32_t sm = 0;
};

/// Reads the file into the builder as one launch. The first kernel sets `versions`, later kernels must have
/// the same. Throws UserError with file and line.
void read_kernel(const std::string& path, TraceVersions& versions, TraceBuilder& builder);

}  // namespace gpumux::trace
