// Handles of streams and events: what a program has, and what gpumux numbers.
#pragma once

#include <cstdint>

#include "abi.hpp"
#include "graphs.hpp"
#include "session.hpp"

namespace gpumux::cudart {

/// Of a call with this handle; `per_thread`: of the variants of the API (_ptsz, _ptds) in which the null
/// stream is the calling thread's. The thread's stream is made when it is first used.
[[nodiscard]] std::uint32_t stream_number(StreamHandle stream, bool per_thread = false);

/// The other way round; 0 is the legacy default stream.
[[nodiscard]] StreamHandle stream_handle(std::uint32_t number);

// As the calls of the API, but for streams of graphs: nothing of it is captured.
Error create_stream(StreamHandle* stream, unsigned flags);
Error create_event(EventHandle* event, unsigned flags);
void destroy_stream(StreamHandle stream);
void destroy_event(EventHandle event);
Error record_event(EventHandle event, std::uint32_t stream);
Error wait_for_event(std::uint32_t stream, EventHandle event);

/// As cudaLaunchHostFunc.
[[nodiscard]] Work host_work(void (*function)(void*), void* data);

}  // namespace gpumux::cudart
