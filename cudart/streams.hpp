// Handles of streams and events: what a program has, and what gpumux numbers.
#pragma once

#include <cstdint>
#include <map>

#include "abi.hpp"
#include "graphs.hpp"
#include "session.hpp"

namespace gpumux::cudart {

/// Of a call with this handle; `per_thread`: of the variants of the API (_ptsz, _ptds) in which the null
/// stream is the calling thread's. The thread's stream is made when it is first used.
[[nodiscard]] std::uint32_t stream_number(StreamHandle stream, bool per_thread = false);

/// The other way round; 0 is the legacy default stream.
[[nodiscard]] StreamHandle stream_handle(std::uint32_t number);

/// Of streams that were made; handles come again, with other contents.
struct StreamInfo {
  unsigned flags = 0;
  int priority = 0;                // as CUDA has it
  int synchronization_policy = 1;  // cudaSynchronizationPolicy: how the host waits, which takes no time here
};
[[nodiscard]] std::map<StreamHandle, StreamInfo>& streams();

/// CUDA's priorities: 0 is the least, and lower numbers come before higher ones.
inline constexpr int kGreatestPriority = -static_cast<int>(program::kGreatestPriority);
/// What gpumux knows it as; what is outside of the range is taken as the nearest in it.
[[nodiscard]] std::uint32_t priority_number(int priority);

[[nodiscard]] program::EventNumber event_number(const void* event);

// As the calls of the API, but for streams of graphs: nothing of it is captured.
// `of_body`: for what is kept (Call::BeginBody).
Error create_stream(StreamHandle* stream, unsigned flags, int priority = 0, bool of_body = false);
Error set_priority(StreamHandle stream, int priority);
Error create_event(EventHandle* event, unsigned flags, bool of_body = false);
Error destroy_stream(StreamHandle stream);
void destroy_event(EventHandle event);
Error record_event(EventHandle event, std::uint32_t stream);
Error wait_for_event(std::uint32_t stream, EventHandle event);

/// As cudaLaunchHostFunc.
[[nodiscard]] Work host_work(void (*function)(void*), void* data);

}  // namespace gpumux::cudart
