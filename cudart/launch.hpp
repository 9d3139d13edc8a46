// Launches, for other parts of the library.
#pragma once

#include "graphs.hpp"

namespace gpumux::cudart {

/// A launch with these arguments, whose values are taken now.
Error launch_work(const void* function, Dim3 grid, Dim3 block, std::size_t shared_bytes, void** arguments,
                  Work& work);

}  // namespace gpumux::cudart
