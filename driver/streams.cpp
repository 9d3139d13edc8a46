// Streams and events: those of the run time.
#include "cudart/api.hpp"
#include "driver/call.hpp"

namespace gpumux::driver {
namespace {

using cudart::EventHandle;
using cudart::StreamHandle;

Result destroy_stream(StreamHandle stream) {
  return in_context([=] { return cudart::cudaStreamDestroy(stream); });
}
Result destroy_event(EventHandle event) {
  return initialized([=] { return cudart::cudaEventDestroy(event); });
}
Result create_stream(StreamHandle* stream, unsigned flags) {
  return in_context([=] { return cudart::cudaStreamCreateWithFlags(stream, flags); });
}
Result record(EventHandle event, StreamHandle stream, bool per_thread) {
  return in_context([=] {
    return per_thread ? cudart::cudaEventRecord_ptsz(event, stream) : cudart::cudaEventRecord(event, stream);
  });
}
Result synchronize(StreamHandle stream, bool per_thread) {
  return in_context([=] {
    return per_thread ? cudart::cudaStreamSynchronize_ptsz(stream) : cudart::cudaStreamSynchronize(stream);
  });
}
Result elapsed(float* milliseconds, EventHandle begin, EventHandle end) {
  return initialized([=] { return cudart::cudaEventElapsedTime(milliseconds, begin, end); });
}
Result call_back(StreamHandle stream, void (*function)(StreamHandle, Result, void*), void* data,
                 bool per_thread) {
  const Result result = synchronize(stream, per_thread);
  if (result == Result::Success) function(stream, result, data);
  return result;
}
Result give_context(Context** context) {
  return with_context([=] {
    if (context == nullptr) return Result::InvalidValue;
    *context = current_context();
    return Result::Success;
  });
}

}  // namespace

GPUMUX_DRIVER_API Result cuStreamCreate(StreamHandle* stream, unsigned flags) {
  return create_stream(stream, flags);
}
GPUMUX_DRIVER_API Result cuStreamCreateWithPriority(StreamHandle* stream, unsigned flags, int priority) {
  return in_context([=] { return cudart::cudaStreamCreateWithPriority(stream, flags, priority); });
}
GPUMUX_DRIVER_API Result cuStreamDestroy(StreamHandle stream) { return destroy_stream(stream); }
GPUMUX_DRIVER_API Result cuStreamDestroy_v2(StreamHandle stream) { return destroy_stream(stream); }
GPUMUX_DRIVER_BOTH(cuStreamSynchronize, _ptsz, (StreamHandle stream), synchronize(stream, per_thread))
GPUMUX_DRIVER_BOTH(cuStreamQuery, _ptsz, (StreamHandle stream), in_context([=] {
                     return per_thread ? cudart::cudaStreamQuery_ptsz(stream)
                                       : cudart::cudaStreamQuery(stream);
                   }))
GPUMUX_DRIVER_BOTH(cuStreamWaitEvent, _ptsz, (StreamHandle stream, EventHandle event, unsigned flags),
                   in_context([=] {
                     return per_thread ? cudart::cudaStreamWaitEvent_ptsz(stream, event, flags)
                                       : cudart::cudaStreamWaitEvent(stream, event, flags);
                   }))
GPUMUX_DRIVER_BOTH(cuStreamGetPriority, _ptsz, (StreamHandle stream, int* priority),
                   (static_cast<void>(per_thread),
                    in_context([=] { return cudart::cudaStreamGetPriority(stream, priority); })))
GPUMUX_DRIVER_BOTH(cuStreamGetFlags, _ptsz, (StreamHandle stream, unsigned* flags),
                   (static_cast<void>(per_thread),
                    in_context([=] { return cudart::cudaStreamGetFlags(stream, flags); })))
GPUMUX_DRIVER_BOTH(cuStreamGetAttribute, _ptsz, (StreamHandle stream, int attribute, void* value),
                   (static_cast<void>(per_thread),
                    in_context([=] { return cudart::cudaStreamGetAttribute(stream, attribute, value); })))
GPUMUX_DRIVER_BOTH(cuStreamSetAttribute, _ptsz, (StreamHandle stream, int attribute, const void* value),
                   (static_cast<void>(per_thread),
                    in_context([=] { return cudart::cudaStreamSetAttribute(stream, attribute, value); })))
GPUMUX_DRIVER_BOTH(cuStreamCopyAttributes, _ptsz, (StreamHandle to, StreamHandle from),
                   (static_cast<void>(per_thread),
                    in_context([=] { return cudart::cudaStreamCopyAttributes(to, from); })))
GPUMUX_DRIVER_BOTH(cuStreamGetId, _ptsz, (StreamHandle stream, unsigned long long* id), in_context([=] {
                     return per_thread ? cudart::cudaStreamGetId_ptsz(stream, id)
                                       : cudart::cudaStreamGetId(stream, id);
                   }))
GPUMUX_DRIVER_BOTH(cuStreamGetCtx, _ptsz, (StreamHandle, Context** context),
                   (static_cast<void>(per_thread), give_context(context)))
GPUMUX_DRIVER_BOTH(cuStreamGetDevice, _ptsz, (StreamHandle, DeviceNumber* device),
                   (static_cast<void>(per_thread), in_context([=] {
                      *device = 0;
                      return Error::Success;
                    })))
GPUMUX_DRIVER_BOTH(cuStreamAddCallback, _ptsz,
                   (StreamHandle stream, void (*function)(StreamHandle, Result, void*), void* data, unsigned),
                   call_back(stream, function, data, per_thread))
GPUMUX_DRIVER_BOTH(cuLaunchHostFunc, _ptsz, (StreamHandle stream, void (*function)(void*), void* data),
                   in_context([=] {
                     return per_thread ? cudart::cudaLaunchHostFunc_ptsz(stream, function, data)
                                       : cudart::cudaLaunchHostFunc(stream, function, data);
                   }))

GPUMUX_DRIVER_API Result cuEventCreate(EventHandle* event, unsigned flags) {
  return in_context([=] { return cudart::cudaEventCreateWithFlags(event, flags); });
}
GPUMUX_DRIVER_API Result cuEventDestroy(EventHandle event) { return destroy_event(event); }
GPUMUX_DRIVER_API Result cuEventDestroy_v2(EventHandle event) { return destroy_event(event); }
GPUMUX_DRIVER_BOTH(cuEventRecord, _ptsz, (EventHandle event, StreamHandle stream),
                   record(event, stream, per_thread))
GPUMUX_DRIVER_BOTH(cuEventRecordWithFlags, _ptsz, (EventHandle event, StreamHandle stream, unsigned),
                   record(event, stream, per_thread))
GPUMUX_DRIVER_API Result cuEventSynchronize(EventHandle event) {
  return initialized([=] { return cudart::cudaEventSynchronize(event); });
}
GPUMUX_DRIVER_API Result cuEventQuery(EventHandle event) {
  return initialized([=] { return cudart::cudaEventQuery(event); });
}
GPUMUX_DRIVER_API Result cuEventElapsedTime(float* milliseconds, EventHandle begin, EventHandle end) {
  return elapsed(milliseconds, begin, end);
}
GPUMUX_DRIVER_API Result cuEventElapsedTime_v2(float* milliseconds, EventHandle begin, EventHandle end) {
  return elapsed(milliseconds, begin, end);
}

}  // namespace gpumux::driver
