// Run-time services: the functions that code calls, with their arguments.
#include <algorithm>
#include <iterator>
#include <string>

#include "isa/instruction.hpp"

namespace gpumux::isa {
namespace {

/// If a service has several names, texts use the first.
constexpr ServiceFunction kFunctions[] = {
    {"vprintf", Service::Vprintf, "ll"},
    {"malloc", Service::Malloc, "l"},
    {"free", Service::Free, "l"},
    {"__assertfail", Service::AssertFail, "llill"},
    {"__cudaCDP2GetParameterBufferV2", Service::ParameterBuffer, "lddi"},
    {"__cudaCDP2LaunchDeviceV2", Service::LaunchDevice, "ll"},
    {"__cudaCDP2LaunchDeviceV2_ptsz", Service::LaunchDevice, "ll", true},
    {"__cudaCDP2GetLastError", Service::GetLastError, ""},
    {"__cudaCDP2PeekAtLastError", Service::PeekAtLastError, ""},
    {"__cudaCDP2GetErrorString", Service::GetErrorString, "i"},
    {"__cudaCDP2GetErrorName", Service::GetErrorName, "i"},
    {"__cudaCDP2GetDeviceCount", Service::GetDeviceCount, "l"},
    {"__cudaCDP2GetDevice", Service::GetDevice, "l"},
    {"__cudaCDP2DeviceGetAttribute", Service::DeviceGetAttribute, "lii"},
    {"__cudaCDP2DeviceGetLimit", Service::DeviceGetLimit, "li"},
    {"__cudaCDP2RuntimeGetVersion", Service::RuntimeGetVersion, "l"},
    {"__cudaCDP2StreamCreateWithFlags", Service::StreamCreate, "li"},
    {"__cudaCDP2StreamDestroy", Service::StreamDestroy, "l"},
    {"__cudaCDP2StreamWaitEvent", Service::StreamWaitEvent, "lli"},
    {"__cudaCDP2StreamWaitEvent_ptsz", Service::StreamWaitEvent, "lli", true},
    {"__cudaCDP2EventCreateWithFlags", Service::EventCreate, "li"},
    {"__cudaCDP2EventRecord", Service::EventRecord, "ll"},
    {"__cudaCDP2EventRecord_ptsz", Service::EventRecord, "ll", true},
    {"__cudaCDP2EventRecordWithFlags", Service::EventRecord, "lli"},
    {"__cudaCDP2EventRecordWithFlags_ptsz", Service::EventRecord, "lli", true},
    {"__cudaCDP2EventDestroy", Service::EventDestroy, "l"},
    {"__cudaCDP2FuncGetAttributes", Service::FuncGetAttributes, "ll"},
    {"__cudaCDP2OccupancyMaxActiveBlocksPerMultiprocessor", Service::Occupancy, "llil"},
    {"__cudaCDP2OccupancyMaxActiveBlocksPerMultiprocessorWithFlags", Service::Occupancy, "llili"},
    {"__cudaCDP2Malloc", Service::CudaMalloc, "ll"},
    {"__cudaCDP2Free", Service::CudaFree, "l"},
    {"__cudaCDP2MemcpyAsync", Service::MemcpyAsync, "lllil"},
    {"__cudaCDP2MemcpyAsync_ptsz", Service::MemcpyAsync, "lllil", true},
    {"__cudaCDP2MemsetAsync", Service::MemsetAsync, "lill"},
    {"__cudaCDP2MemsetAsync_ptsz", Service::MemsetAsync, "lill", true},
};

const ServiceFunction* function_of(Service service) {
  const auto* const found =
      std::ranges::find(kFunctions, service, [](const ServiceFunction& of) { return of.service; });
  return found == std::end(kFunctions) ? nullptr : found;
}

}  // namespace

const ServiceFunction* find_service(std::string_view function) {
  const auto* const found = std::ranges::find(
      kFunctions, function, [](const ServiceFunction& of) { return std::string_view(of.name); });
  return found == std::end(kFunctions) ? nullptr : found;
}

bool reads_wide(Service service, std::size_t index) {
  const ServiceFunction* const function = function_of(service);
  if (function == nullptr) return false;
  std::size_t sources = 0;
  for (const char* letter = function->arguments; *letter != 0; ++letter) {
    sources += *letter == 'd' ? 3 : 1;
    if (index < sources) return *letter == 'l';
  }
  return false;
}

bool enqueues(Service service) {
  switch (service) {
    case Service::LaunchDevice:
    case Service::StreamWaitEvent:
    case Service::EventRecord:
    case Service::MemcpyAsync:
    case Service::MemsetAsync: return true;
    default: return false;
  }
}

bool concerns_streams(Service service) {
  return enqueues(service) || service == Service::StreamCreate || service == Service::StreamDestroy ||
         service == Service::EventCreate || service == Service::EventDestroy;
}

bool is_device_runtime(Service service) { return service > Service::AssertFail; }

bool gives_address(Service service) {
  return service == Service::ParameterBuffer || service == Service::GetErrorString ||
         service == Service::GetErrorName;
}

const char* name(Service service) {
  const ServiceFunction* const function = function_of(service);
  return function == nullptr ? "none" : function->name;
}

}  // namespace gpumux::isa
