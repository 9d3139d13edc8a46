// Handles of streams and events: what a program has, and what gpumux numbers.
#pragma once

#include <cstdint>

#include "abi.hpp"
#include "session.hpp"

namespace gpumux::cudart {

/// Of a call with this handle; `per_thread`: of the variants of the API (_ptsz, _ptds) in which the null
/// stream is the calling thread's. The thread's stream is made when it is first used.
[[nodiscard]] std::uint32_t stream_number(StreamHandle stream, bool per_thread = false);

}  // namespace gpumux::cudart
