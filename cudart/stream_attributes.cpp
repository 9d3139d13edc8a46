// Priorities and other attributes of streams.
#include <cstring>

#include "streams.hpp"

namespace gpumux::cudart {
namespace {

constexpr int kSynchronizationPolicy = 3;
constexpr int kMostPolicy = 4;  // auto, spin, yield, blocking sync

/// The properties of a stream, or nullptr if there is no such stream. Default streams have default
/// properties.
StreamInfo* info_of(StreamHandle stream) {
  static StreamInfo of_default;
  const auto found = streams().find(stream);
  if (found != streams().end()) return &found->second;
  of_default = {};
  return reinterpret_cast<std::uintptr_t>(stream) <= kPerThreadStream ? &of_default : nullptr;
}

Error get_flags(StreamHandle stream, unsigned* flags) {
  const std::scoped_lock lock(Session::get().lock());
  const StreamInfo* const of = info_of(stream);
  if (flags == nullptr) return returned(Error::InvalidValue);
  if (of == nullptr) return returned(Error::InvalidResourceHandle);
  *flags = of->flags;
  return Error::Success;
}

Error get_priority(StreamHandle stream, int* priority) {
  const std::scoped_lock lock(Session::get().lock());
  const StreamInfo* const of = info_of(stream);
  if (priority == nullptr) return returned(Error::InvalidValue);
  if (of == nullptr) return returned(Error::InvalidResourceHandle);
  *priority = of->priority;
  return Error::Success;
}

/// Reads an attribute. `value`: a union, whose int member is used.
Error get_attribute(StreamHandle stream, int attribute, void* value) {
  const std::scoped_lock lock(Session::get().lock());
  const StreamInfo* const of = info_of(stream);
  if (of == nullptr) return returned(Error::InvalidResourceHandle);
  if (value == nullptr) return returned(Error::InvalidValue);
  if (attribute != kAttributePriority && attribute != kSynchronizationPolicy)
    return returned(not_supported("an attribute of streams other than priority and synchronization policy"));
  const int has = attribute == kAttributePriority ? of->priority : of->synchronization_policy;
  std::memcpy(value, &has, sizeof(has));
  return Error::Success;
}

Error set_attribute(StreamHandle stream, int attribute, const void* value) {
  const std::scoped_lock lock(Session::get().lock());
  if (value == nullptr) return returned(Error::InvalidValue);
  int wanted = 0;
  std::memcpy(&wanted, value, sizeof(wanted));
  if (attribute == kAttributePriority) return set_priority(stream, wanted);
  if (attribute != kSynchronizationPolicy)
    return returned(not_supported("an attribute of streams other than priority and synchronization policy"));
  StreamInfo* const of = info_of(stream);
  if (of == nullptr) return returned(Error::InvalidResourceHandle);
  if (wanted < 1 || wanted > kMostPolicy) return returned(Error::InvalidValue);
  of->synchronization_policy = wanted;
  return Error::Success;
}

Error copy_attributes(StreamHandle to, StreamHandle from) {
  const std::scoped_lock lock(Session::get().lock());
  StreamInfo* const there = info_of(to);
  if (there == nullptr || info_of(from) == nullptr) return returned(Error::InvalidResourceHandle);
  const StreamInfo of = *info_of(from);
  there->synchronization_policy = of.synchronization_policy;
  return set_priority(to, of.priority);
}

Error give_number(StreamHandle stream, bool per_thread, unsigned long long* number) {
  const std::scoped_lock lock(Session::get().lock());
  if (number == nullptr) return returned(Error::InvalidValue);
  if (info_of(stream) == nullptr) return returned(Error::InvalidResourceHandle);
  *number = stream_number(stream, per_thread);
  return Error::Success;
}

Error give_device(StreamHandle stream, int* device) {
  const std::scoped_lock lock(Session::get().lock());
  if (device == nullptr) return returned(Error::InvalidValue);
  if (info_of(stream) == nullptr) return returned(Error::InvalidResourceHandle);
  *device = 0;
  return Error::Success;
}

}  // namespace

GPUMUX_CUDART_API Error cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  if (least != nullptr) *least = 0;
  if (greatest != nullptr) *greatest = kGreatestPriority;
  return Error::Success;
}
GPUMUX_CUDART_API Error cudaStreamCreateWithPriority(StreamHandle* stream, unsigned flags, int priority) {
  return create_stream(stream, flags, priority);
}
GPUMUX_CUDART_API Error cudaStreamGetFlags(StreamHandle stream, unsigned* flags) {
  return get_flags(stream, flags);
}
GPUMUX_CUDART_API Error cudaStreamGetFlags_ptsz(StreamHandle stream, unsigned* flags) {
  return get_flags(stream, flags);
}
GPUMUX_CUDART_API Error cudaStreamGetPriority(StreamHandle stream, int* priority) {
  return get_priority(stream, priority);
}
GPUMUX_CUDART_API Error cudaStreamGetPriority_ptsz(StreamHandle stream, int* priority) {
  return get_priority(stream, priority);
}
GPUMUX_CUDART_API Error cudaStreamGetAttribute(StreamHandle stream, int attribute, void* value) {
  return get_attribute(stream, attribute, value);
}
GPUMUX_CUDART_API Error cudaStreamGetAttribute_ptsz(StreamHandle stream, int attribute, void* value) {
  return get_attribute(stream, attribute, value);
}
GPUMUX_CUDART_API Error cudaStreamSetAttribute(StreamHandle stream, int attribute, const void* value) {
  return set_attribute(stream, attribute, value);
}
GPUMUX_CUDART_API Error cudaStreamSetAttribute_ptsz(StreamHandle stream, int attribute, const void* value) {
  return set_attribute(stream, attribute, value);
}
GPUMUX_CUDART_API Error cudaStreamCopyAttributes(StreamHandle to, StreamHandle from) {
  return copy_attributes(to, from);
}
GPUMUX_CUDART_API Error cudaStreamCopyAttributes_ptsz(StreamHandle to, StreamHandle from) {
  return copy_attributes(to, from);
}
GPUMUX_CUDART_API Error cudaStreamGetId(StreamHandle stream, unsigned long long* number) {
  return give_number(stream, false, number);
}
GPUMUX_CUDART_API Error cudaStreamGetId_ptsz(StreamHandle stream, unsigned long long* number) {
  return give_number(stream, true, number);
}
GPUMUX_CUDART_API Error cudaStreamGetDevice(StreamHandle stream, int* device) {
  return give_device(stream, device);
}
GPUMUX_CUDART_API Error cudaStreamGetDevice_ptsz(StreamHandle stream, int* device) {
  return give_device(stream, device);
}

}  // namespace gpumux::cudart
