// One kernel file of an Accel-Sim trace (.traceg, .traceg.xz).
#pragma once

#include <cstdint>
#include <string>

#include "trace/builder.hpp"

namespace gpumux::trace {

/// The versions that all kernels of a trace share; 0: not known yet.
struct TraceVersions {
  std::uint32_t tracer = 0;
  std::uint32_t sm = 0;
};

/// Reads the file into the builder, as one launch. `versions` is filled by the first kernel and checked by
/// the others. Throws UserError with the file's line.
void read_kernel(const std::string& path, TraceVersions& versions, TraceBuilder& builder);

}  // namespace gpumux::trace
