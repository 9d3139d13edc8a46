#include "streams.hpp"

#include <algorithm>
#include <utility>

namespace gpumux::cudart {
namespace {

/// Handles are numbers, not pointers, which programs cannot notice. Stream handles are above the two
/// predefined ones.
constexpr std::uintptr_t kFirstHandle = 0x1000;
constexpr unsigned kHandleShift = 4;

void* handle_of(std::uint32_t number) {
  return reinterpret_cast<void*>(kFirstHandle + (std::uintptr_t{number} << kHandleShift));
}
/// The number of a handle, or an unused number for an invalid handle.
std::uint32_t number_of(const void* handle) {
  const auto value = reinterpret_cast<std::uintptr_t>(handle);
  if (value < kFirstHandle || value % (1U << kHandleShift) != 0) return ~0U;
  return static_cast<std::uint32_t>((value - kFirstHandle) >> kHandleShift);
}

template <class Arguments>
Error simple(Call call, const Arguments& arguments) {
  Session& session = Session::get();
  const std::scoped_lock lock(session.lock());
  if (const Error error = session.connect(); error != Error::Success) return returned(error);
  return returned(session.call(call, arguments));
}

}  // namespace

std::map<StreamHandle, StreamInfo>& streams() {
  static auto* const all = new std::map<StreamHandle, StreamInfo>;
  return *all;
}

std::uint32_t priority_number(int priority) {
  return static_cast<std::uint32_t>(-std::clamp(priority, kGreatestPriority, 0));
}

Error create_stream(StreamHandle* stream, unsigned flags, int priority, bool of_body) {
  Session& session = Session::get();
  const std::scoped_lock lock(session.lock());
  if (stream == nullptr || flags > 1) return returned(Error::InvalidValue);
  if (const Error error = session.connect(); error != Error::Success) return returned(error);
  program::StreamNumber made{};
  const program::CreateStreamArguments arguments{flags, priority_number(priority), of_body ? 1U : 0U};
  const Error error = session.call(Call::CreateStream, arguments, &made);
  *stream = handle_of(made.stream);
  streams()[*stream] = {flags, std::clamp(priority, kGreatestPriority, 0)};
  return returned(error);
}

Error create_event(EventHandle* event, unsigned flags, bool of_body) {
  constexpr unsigned kEventFlags = 7;  // blocking sync, no timing, interprocess
  Session& session = Session::get();
  const std::scoped_lock lock(session.lock());
  if (event == nullptr || flags > kEventFlags) return returned(Error::InvalidValue);
  if (const Error error = session.connect(); error != Error::Success) return returned(error);
  program::EventNumber made{};
  const Error error =
      session.call(Call::CreateEvent, program::CreateEventArguments{of_body ? 1U : 0U}, &made);
  *event = handle_of(made.event);
  return returned(error);
}

Error destroy_stream(StreamHandle stream) {
  const std::scoped_lock lock(Session::get().lock());
  const Error error = simple(Call::DestroyStream, program::StreamNumber{number_of(stream)});
  if (error == Error::Success) streams().erase(stream);
  return error;
}
Error set_priority(StreamHandle stream, int priority) {
  const std::scoped_lock lock(Session::get().lock());
  const auto found = streams().find(stream);
  if (found == streams().end()) return returned(Error::InvalidResourceHandle);
  const int taken = std::clamp(priority, kGreatestPriority, 0);
  if (std::exchange(found->second.priority, taken) == taken) return Error::Success;
  return simple(Call::SetStreamPriority,
                program::SetStreamPriorityArguments{number_of(stream), priority_number(taken)});
}
program::EventNumber event_number(const void* event) { return {number_of(event)}; }
void destroy_event(EventHandle event) {
  static_cast<void>(simple(Call::DestroyEvent, program::EventNumber{number_of(event)}));
}
Error record_event(EventHandle event, std::uint32_t stream) {
  return simple(Call::RecordEvent, program::EventInStream{number_of(event), stream});
}
Error wait_for_event(std::uint32_t stream, EventHandle event) {
  return simple(Call::StreamWaitsForEvent, program::EventInStream{number_of(event), stream});
}

Work host_work(void (*function)(void*), void* data) {
  return [=](std::uint32_t stream) {
    const Error error = simple(Call::WaitForStream, program::StreamNumber{stream});
    if (error == Error::Success) function(data);
    return error;
  };
}

namespace {

constexpr auto kCaptureUnsupported = static_cast<Error>(900);  // cudaErrorStreamCaptureUnsupported

Error record(EventHandle event, StreamHandle stream, bool per_thread) {
  const std::scoped_lock lock(Session::get().lock());
  const std::uint32_t number = stream_number(stream, per_thread);
  return captured_record(number, event) ? Error::Success : record_event(event, number);
}
Error wait_for_event(StreamHandle stream, EventHandle event, bool per_thread) {
  const std::scoped_lock lock(Session::get().lock());
  const std::uint32_t number = stream_number(stream, per_thread);
  return captured_wait(number, event) ? Error::Success : gpumux::cudart::wait_for_event(number, event);
}
/// Makes a call about a stream at once, which is an error under capture.
Error ask(Call call, StreamHandle stream, bool per_thread) {
  const std::scoped_lock lock(Session::get().lock());
  const std::uint32_t number = stream_number(stream, per_thread);
  return is_under_capture(number) ? returned(kCaptureUnsupported)
                                  : simple(call, program::StreamNumber{number});
}
Error synchronize(StreamHandle stream, bool per_thread) {
  return ask(Call::WaitForStream, stream, per_thread);
}
Error query(StreamHandle stream, bool per_thread) { return ask(Call::QueryStream, stream, per_thread); }
Error call_host(StreamHandle stream, void (*function)(void*), void* data, bool per_thread) {
  const std::uint32_t number = stream_number(stream, per_thread);
  const Work work = host_work(function, data);
  {
    const std::scoped_lock lock(Session::get().lock());
    if (captured(number, {NodeType::Host, HostNode{function, data}, work})) return Error::Success;
  }
  return work(number);
}

Error call_back(StreamHandle stream, void (*function)(StreamHandle, Error, void*), void* data,
                bool per_thread) {
  const Error error = synchronize(stream, per_thread);
  if (error == Error::Success) function(stream, error, data);
  return error;
}

}  // namespace

std::uint32_t stream_number(StreamHandle stream, bool per_thread) {
  const auto value = reinterpret_cast<std::uintptr_t>(stream);
  if (value == kLegacyStream || (value == 0 && !per_thread)) return 0;
  if (value != 0 && value != kPerThreadStream) return number_of(stream);
  thread_local StreamHandle own = nullptr;
  if (own == nullptr && create_stream(&own, 0) != Error::Success) return ~0U;
  return number_of(own);
}

StreamHandle stream_handle(std::uint32_t number) {
  return number == 0 ? reinterpret_cast<StreamHandle>(kLegacyStream) : handle_of(number);
}

GPUMUX_CUDART_API Error cudaStreamCreate(StreamHandle* stream) { return create_stream(stream, 0); }
GPUMUX_CUDART_API Error cudaStreamCreateWithFlags(StreamHandle* stream, unsigned flags) {
  return create_stream(stream, flags);
}
GPUMUX_CUDART_API Error cudaStreamDestroy(StreamHandle stream) { return destroy_stream(stream); }
GPUMUX_CUDART_API Error cudaStreamSynchronize(StreamHandle stream) { return synchronize(stream, false); }
GPUMUX_CUDART_API Error cudaStreamSynchronize_ptsz(StreamHandle stream) { return synchronize(stream, true); }
GPUMUX_CUDART_API Error cudaStreamQuery(StreamHandle stream) { return query(stream, false); }
GPUMUX_CUDART_API Error cudaStreamQuery_ptsz(StreamHandle stream) { return query(stream, true); }
GPUMUX_CUDART_API Error cudaStreamWaitEvent(StreamHandle stream, EventHandle event, unsigned) {
  return wait_for_event(stream, event, false);
}
GPUMUX_CUDART_API Error cudaStreamWaitEvent_ptsz(StreamHandle stream, EventHandle event, unsigned) {
  return wait_for_event(stream, event, true);
}

GPUMUX_CUDART_API Error cudaEventCreate(EventHandle* event) { return create_event(event, 0); }
GPUMUX_CUDART_API Error cudaEventCreateWithFlags(EventHandle* event, unsigned flags) {
  return create_event(event, flags);
}
GPUMUX_CUDART_API Error cudaEventDestroy(EventHandle event) {
  return simple(Call::DestroyEvent, program::EventNumber{number_of(event)});
}
GPUMUX_CUDART_API Error cudaEventRecord(EventHandle event, StreamHandle stream) {
  return record(event, stream, false);
}
GPUMUX_CUDART_API Error cudaEventRecord_ptsz(EventHandle event, StreamHandle stream) {
  return record(event, stream, true);
}
GPUMUX_CUDART_API Error cudaEventRecordWithFlags(EventHandle event, StreamHandle stream, unsigned) {
  return record(event, stream, false);
}
GPUMUX_CUDART_API Error cudaEventRecordWithFlags_ptsz(EventHandle event, StreamHandle stream, unsigned) {
  return record(event, stream, true);
}
GPUMUX_CUDART_API Error cudaEventSynchronize(EventHandle event) {
  return simple(Call::WaitForEvent, program::EventNumber{number_of(event)});
}
GPUMUX_CUDART_API Error cudaEventQuery(EventHandle event) {
  return simple(Call::QueryEvent, program::EventNumber{number_of(event)});
}
GPUMUX_CUDART_API Error cudaEventElapsedTime(float* milliseconds, EventHandle begin, EventHandle end) {
  Session& session = Session::get();
  const std::scoped_lock lock(session.lock());
  if (milliseconds == nullptr) return returned(Error::InvalidValue);
  if (const Error error = session.connect(); error != Error::Success) return returned(error);
  program::ElapsedTimeResult elapsed{};
  const program::ElapsedTimeArguments arguments{number_of(begin), number_of(end)};
  const Error error = session.call(Call::ElapsedTime, arguments, &elapsed);
  if (error == Error::Success) *milliseconds = static_cast<float>(elapsed.milliseconds);
  return returned(error);
}

// Host functions run in the calling thread once the stream has reached them. A program whose host function
// waits for a later action of the caller would wait forever.
GPUMUX_CUDART_API Error cudaLaunchHostFunc(StreamHandle stream, void (*function)(void*), void* data) {
  return call_host(stream, function, data, false);
}
GPUMUX_CUDART_API Error cudaLaunchHostFunc_ptsz(StreamHandle stream, void (*function)(void*), void* data) {
  return call_host(stream, function, data, true);
}
GPUMUX_CUDART_API Error cudaStreamAddCallback(StreamHandle stream,
                                              void (*function)(StreamHandle, Error, void*), void* data,
                                              unsigned) {
  return call_back(stream, function, data, false);
}
GPUMUX_CUDART_API Error cudaStreamAddCallback_ptsz(StreamHandle stream,
                                                   void (*function)(StreamHandle, Error, void*), void* data,
                                                   unsigned) {
  return call_back(stream, function, data, true);
}

GPUMUX_CUDART_API Error cudaDeviceSynchronize() { return simple(Call::WaitForDevice, program::Nothing{}); }
GPUMUX_CUDART_API Error cudaThreadSynchronize() { return simple(Call::WaitForDevice, program::Nothing{}); }

}  // namespace gpumux::cudart
