// Conversion between the program's handles of streams and events and gpumux's numbers.
#pragma once

#include <cstdint>
#include <map>

#include "abi.hpp"
#include "graphs.hpp"
#include "session.hpp"

namespace gpumux::cudart {

/// The number of a stream. `per_thread`: the null stream is the calling thread's, as in the API variants
/// _ptsz and _ptds. The thread's stream is created at its first use.
[[nodiscard]] std::uint32_t stream_number(StreamHandle stream, bool per_thread = false);

/// The handle of a stream's number; 0 is the legacy default stream.
[[nodiscard]] StreamHandle stream_handle(std::uint32_t number);

/// Properties of created streams. Handles may be reused with other properties.
struct StreamInfo {
  unsigned flags = 0;
  int priority = 0;                // CUDA's priority
  int synchronization_policy = 1;  // cudaSynchronizationPolicy, without effect on simulated time
};
[[nodiscard]] std::map<StreamHandle, StreamInfo>& streams();

/// CUDA's greatest priority. 0 is the least, and lower numbers are greater priorities.
inline constexpr int kGreatestPriority = -static_cast<int>(program::kGreatestPriority);
/// gpumux's priority for a CUDA priority, which is clamped to the valid range.
[[nodiscard]] std::uint32_t priority_number(int priority);

[[nodiscard]] program::EventNumber event_number(const void* event);

// Like the calls of the API, but without capture, for the streams of graphs. `of_body`: the stream or event
// is used in a body (Call::BeginBody).
Error create_stream(StreamHandle* stream, unsigned flags, int priority = 0, bool of_body = false);
Error set_priority(StreamHandle stream, int priority);
Error create_event(EventHandle* event, unsigned flags, bool of_body = false);
Error destroy_stream(StreamHandle stream);
void destroy_event(EventHandle event);
Error record_event(EventHandle event, std::uint32_t stream);
Error wait_for_event(std::uint32_t stream, EventHandle event);

/// Work that calls a host function, like cudaLaunchHostFunc.
[[nodiscard]] Work host_work(void (*function)(void*), void* data);

}  // namespace gpumux::cudart
