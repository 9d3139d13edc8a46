// Error names, error texts, and each thread's last error.
#include <algorithm>
#include <array>
#include <cstdio>
#include <iterator>
#include <set>
#include <string>
#include <utility>

#include "session.hpp"

namespace gpumux::cudart {
namespace {

struct Text {
  int number;
  const char* name;
  const char* text;
};

/// By number, with names and texts of CUDA's documentation.
constexpr Text kTexts[] = {
    {0, "cudaSuccess", "no error"},
    {1, "cudaErrorInvalidValue", "invalid argument"},
    {2, "cudaErrorMemoryAllocation", "out of memory"},
    {3, "cudaErrorInitializationError", "initialization error"},
    {4, "cudaErrorCudartUnloading", "driver shutting down"},
    {9, "cudaErrorInvalidConfiguration", "invalid configuration argument"},
    {12, "cudaErrorInvalidPitchValue", "invalid pitch argument"},
    {13, "cudaErrorInvalidSymbol", "invalid device symbol"},
    {17, "cudaErrorInvalidDevicePointer", "invalid device pointer"},
    {18, "cudaErrorInvalidTexture", "invalid texture reference"},
    {21, "cudaErrorInvalidMemcpyDirection", "invalid copy direction for memcpy"},
    {35, "cudaErrorInsufficientDriver", "CUDA driver version is insufficient for CUDA runtime version"},
    {52, "cudaErrorMissingConfiguration", "__global__ function call is not configured"},
    {65, "cudaErrorLaunchMaxDepthExceeded", "launch would exceed maximum depth of nested launches"},
    {69, "cudaErrorLaunchPendingCountExceeded",
     "launch failed because launch would exceed cudaLimitDevRuntimePendingLaunchCount"},
    {98, "cudaErrorInvalidDeviceFunction", "invalid device function"},
    {100, "cudaErrorNoDevice", "no CUDA-capable device is detected"},
    {101, "cudaErrorInvalidDevice", "invalid device ordinal"},
    {200, "cudaErrorInvalidKernelImage", "device kernel image is invalid"},
    {201, "cudaErrorDeviceUninitialized", "invalid device context"},
    {209, "cudaErrorNoKernelImageForDevice", "no kernel image is available for execution on the device"},
    {214, "cudaErrorECCUncorrectable", "uncorrectable ECC error encountered"},
    {215, "cudaErrorUnsupportedLimit", "limit is not supported on this architecture"},
    {217, "cudaErrorPeerAccessUnsupported", "peer access is not supported between these two devices"},
    {218, "cudaErrorInvalidPtx", "a PTX JIT compilation failed"},
    {400, "cudaErrorInvalidResourceHandle", "invalid resource handle"},
    {401, "cudaErrorIllegalState", "the operation cannot be performed in the present state"},
    {500, "cudaErrorSymbolNotFound", "named symbol not found"},
    {600, "cudaErrorNotReady", "device not ready"},
    {700, "cudaErrorIllegalAddress", "an illegal memory access was encountered"},
    {701, "cudaErrorLaunchOutOfResources", "too many resources requested for launch"},
    {702, "cudaErrorLaunchTimeout", "the launch timed out and was terminated"},
    {704, "cudaErrorPeerAccessAlreadyEnabled", "peer access is already enabled"},
    {705, "cudaErrorPeerAccessNotEnabled", "peer access has not been enabled"},
    {710, "cudaErrorAssert", "device-side assert triggered"},
    {712, "cudaErrorHostMemoryAlreadyRegistered",
     "part or all of the requested memory range is already mapped"},
    {713, "cudaErrorHostMemoryNotRegistered", "pointer does not correspond to a registered memory region"},
    {716, "cudaErrorMisalignedAddress", "misaligned address"},
    {719, "cudaErrorLaunchFailure", "unspecified launch failure"},
    {720, "cudaErrorCooperativeLaunchTooLarge", "too many blocks in cooperative launch"},
    {800, "cudaErrorNotPermitted", "operation not permitted"},
    {801, "cudaErrorNotSupported", "operation not supported"},
    {999, "cudaErrorUnknown", "unknown error"},
};

const Text* find(Error error) {
  const auto* const found =
      std::ranges::find(kTexts, static_cast<int>(error), [](const Text& text) { return text.number; });
  return found == std::end(kTexts) ? nullptr : found;
}

/// True for an error of a kernel that makes the context unusable: all later calls return it.
bool lasts(Error error) {
  return error == Error::IllegalAddress || error == Error::Assert || error == Error::MisalignedAddress ||
         error == Error::LaunchFailure;
}

}  // namespace

Error& last_error() {
  thread_local Error error = Error::Success;
  return error;
}

Error returned(Error error) {
  if (error != Error::Success) last_error() = error;
  return error;
}

Error not_supported(const char* what) {
  static auto* const said = new std::set<std::string>;
  const std::scoped_lock lock(Session::get().lock());
  if (said->insert(what).second) std::fprintf(stderr, "gpumux: %s is not supported\n", what);
  return Error::NotSupported;
}

Error refuse_launch(const char* what) {
  Session& session = Session::get();
  const std::scoped_lock lock(session.lock());
  if (session.connect() == Error::Success)
    static_cast<void>(session.call(Call::RefusedLaunch, program::Nothing{}, bytes_of(std::string(what))));
  return not_supported(what);
}

Error refuse_library(const std::string& library) {
  static auto* const said = new std::set<std::string>;
  Session& session = Session::get();
  const std::scoped_lock lock(session.lock());
  if (!said->insert(library).second) return Error::NotSupported;
  std::fprintf(stderr,
               "gpumux: %s brings a CUDA run time of its own, which is not supported: NVIDIA's libraries "
               "have machine code "
               "without PTX; compile your own with -cudart shared\n",
               library.c_str());
  const DriverCall here;
  if (session.connect() == Error::Success)
    static_cast<void>(session.call(Call::RefusedLibrary, program::Nothing{}, bytes_of(library)));
  return Error::NotSupported;
}

GPUMUX_CUDART_API Error cudaGetLastError() {
  const Error error = last_error();
  if (!lasts(error)) last_error() = Error::Success;
  return error;
}
GPUMUX_CUDART_API Error cudaPeekAtLastError() { return last_error(); }

GPUMUX_CUDART_API const char* cudaGetErrorName(Error error) {
  const Text* const text = find(error);
  return text == nullptr ? "unrecognized error code" : text->name;
}
GPUMUX_CUDART_API const char* cudaGetErrorString(Error error) {
  const Text* const text = find(error);
  return text == nullptr ? "unrecognized error code" : text->text;
}

}  // namespace gpumux::cudart
