// Interface of copies for other parts of the library.
#pragma once

#include "cudart/abi.hpp"
#include "driver/call.hpp"

namespace gpumux::driver {

/// Converts CUDA_MEMCPY3D to the run time's structure. InvalidValue: there is no such memory.
Error describe_copy(const Copy3D* of, cudart::Copy3D& out);

}  // namespace gpumux::driver
