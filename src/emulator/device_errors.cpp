// Names and texts of errors of the device run time.
#include <algorithm>
#include <iterator>

#include "emulator/device_runtime.hpp"

namespace gpumux::emulator {
namespace {

struct Text {
  std::uint32_t number;
  const char* name;
  const char* text;
};

/// Errors that calls in kernels return, and others that a program may query.
constexpr Text kTexts[] = {
    {0, "cudaSuccess", "no error"},
    {1, "cudaErrorInvalidValue", "invalid argument"},
    {2, "cudaErrorMemoryAllocation", "out of memory"},
    {9, "cudaErrorInvalidConfiguration", "invalid configuration argument"},
    {65, "cudaErrorLaunchMaxDepthExceeded", "launch would exceed maximum depth of nested launches"},
    {69, "cudaErrorLaunchPendingCountExceeded",
     "launch failed because launch would exceed cudaLimitDevRuntimePendingLaunchCount"},
    {98, "cudaErrorInvalidDeviceFunction", "invalid device function"},
    {101, "cudaErrorInvalidDevice", "invalid device ordinal"},
    {215, "cudaErrorUnsupportedLimit", "limit is not supported on this architecture"},
    {400, "cudaErrorInvalidResourceHandle", "invalid resource handle"},
    {700, "cudaErrorIllegalAddress", "an illegal memory access was encountered"},
    {701, "cudaErrorLaunchOutOfResources", "too many resources requested for launch"},
    {719, "cudaErrorLaunchFailure", "unspecified launch failure"},
    {801, "cudaErrorNotSupported", "operation not supported"},
    {999, "cudaErrorUnknown", "unknown error"},
};

const Text* find(std::uint32_t error) {
  const auto* const found = std::ranges::find(kTexts, error, [](const Text& text) { return text.number; });
  return found == std::end(kTexts) ? nullptr : found;
}

}  // namespace

const char* error_name(std::uint32_t error) {
  const Text* const text = find(error);
  return text == nullptr ? "unrecognized error code" : text->name;
}

const char* error_text(std::uint32_t error) {
  const Text* const text = find(error);
  return text == nullptr ? "unrecognized error code" : text->text;
}

}  // namespace gpumux::emulator
