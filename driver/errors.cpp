// Error names and texts, and their correspondence to errors of the run time.
#include <algorithm>
#include <iterator>

#include "cudart/api.hpp"
#include "driver/call.hpp"

namespace gpumux::driver {
namespace {

struct Name {
  int number;
  const char* name;
};

/// By number, with names of CUDA's documentation. Texts are those of the run time's errors of the same
/// number.
constexpr Name kNames[] = {
    {0, "CUDA_SUCCESS"},
    {1, "CUDA_ERROR_INVALID_VALUE"},
    {2, "CUDA_ERROR_OUT_OF_MEMORY"},
    {3, "CUDA_ERROR_NOT_INITIALIZED"},
    {4, "CUDA_ERROR_DEINITIALIZED"},
    {100, "CUDA_ERROR_NO_DEVICE"},
    {101, "CUDA_ERROR_INVALID_DEVICE"},
    {200, "CUDA_ERROR_INVALID_IMAGE"},
    {201, "CUDA_ERROR_INVALID_CONTEXT"},
    {209, "CUDA_ERROR_NO_BINARY_FOR_GPU"},
    {214, "CUDA_ERROR_ECC_UNCORRECTABLE"},
    {215, "CUDA_ERROR_UNSUPPORTED_LIMIT"},
    {217, "CUDA_ERROR_PEER_ACCESS_UNSUPPORTED"},
    {218, "CUDA_ERROR_INVALID_PTX"},
    {301, "CUDA_ERROR_FILE_NOT_FOUND"},
    {400, "CUDA_ERROR_INVALID_HANDLE"},
    {401, "CUDA_ERROR_ILLEGAL_STATE"},
    {500, "CUDA_ERROR_NOT_FOUND"},
    {600, "CUDA_ERROR_NOT_READY"},
    {700, "CUDA_ERROR_ILLEGAL_ADDRESS"},
    {701, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES"},
    {702, "CUDA_ERROR_LAUNCH_TIMEOUT"},
    {704, "CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED"},
    {705, "CUDA_ERROR_PEER_ACCESS_NOT_ENABLED"},
    {708, "CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE"},
    {709, "CUDA_ERROR_CONTEXT_IS_DESTROYED"},
    {710, "CUDA_ERROR_ASSERT"},
    {712, "CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED"},
    {713, "CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED"},
    {716, "CUDA_ERROR_MISALIGNED_ADDRESS"},
    {719, "CUDA_ERROR_LAUNCH_FAILED"},
    {720, "CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE"},
    {800, "CUDA_ERROR_NOT_PERMITTED"},
    {801, "CUDA_ERROR_NOT_SUPPORTED"},
    {900, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED"},
    {903, "CUDA_ERROR_STREAM_CAPTURE_UNMATCHED"},
    {910, "CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE"},
    {999, "CUDA_ERROR_UNKNOWN"},
};

const Name* find(Result result) {
  const auto* const found = std::ranges::find(kNames, static_cast<int>(result), &Name::number);
  return found == std::end(kNames) ? nullptr : found;
}

}  // namespace

Result result_of(Error error) {
  constexpr auto kInvalidPitch = static_cast<Error>(12);
  if (error == kInvalidPitch) return Result::InvalidValue;
  switch (error) {  // errors that only the run time has
    case Error::InvalidConfiguration:
    case Error::InvalidMemcpyDirection: return Result::InvalidValue;
    case Error::InvalidSymbol: return Result::NotFound;
    case Error::InvalidDeviceFunction: return Result::InvalidHandle;
    default: return static_cast<Result>(error);
  }
}

GPUMUX_DRIVER_API Result cuGetErrorName(Result error, const char** name) {
  const Name* const found = find(error);
  if (name == nullptr) return Result::InvalidValue;
  *name = found == nullptr ? nullptr : found->name;
  return found == nullptr ? Result::InvalidValue : Result::Success;
}
GPUMUX_DRIVER_API Result cuGetErrorString(Result error, const char** text) {
  if (text == nullptr) return Result::InvalidValue;
  if (find(error) == nullptr) {
    *text = nullptr;
    return Result::InvalidValue;
  }
  *text = cudart::cudaGetErrorString(static_cast<Error>(error));
  return Result::Success;
}

}  // namespace gpumux::driver
