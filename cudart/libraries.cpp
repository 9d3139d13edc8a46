// Libraries of kernels that the program loads by the run time, which are modules, and queries of kernels by
// their handles.
#include <cstring>
#include <fstream>
#include <sstream>
#include <vector>

#include "api.hpp"
#include "driver/jit.hpp"
#include "modules.hpp"

namespace gpumux::cudart {
namespace {

constexpr auto kFileNotFound = static_cast<Error>(301);

/// Loads a library. Its options are ignored: they concern the lifetime of the image and its compilation for
/// other GPUs.
Error load(Module** library, const void* image, const driver::JitOptions& options) {
  if (library == nullptr || image == nullptr) return returned(Error::InvalidValue);
  Error error = Error::Success;
  std::string message;
  *library = load_image(image, error, message);
  options.finish(error == Error::InvalidPtx ? message : std::string());
  return returned(error);
}

/// Runs `call`, which returns an Error, if the library is loaded.
template <class Function>
Error in_library(const Module* library, const Function& call) {
  const std::scoped_lock lock(Session::get().lock());
  return returned(is_loaded(library) ? call() : Error::InvalidResourceHandle);
}

Error get_variable(void** address, std::size_t* bytes, Module* library, const char* name) {
  return in_library(library, [=] {
    if (name == nullptr) return Error::InvalidValue;
    Error error = Error::Success;
    const Variable* const variable = find_variable(library, name, error);
    if (variable == nullptr) return error;
    if (address != nullptr) *address = variable->address;
    if (bytes != nullptr) *bytes = variable->description.bytes;
    return Error::Success;
  });
}

/// The names of all kernels of a library, in sorted order.
Error names_of(const Module& library, std::vector<std::string>& names) {
  std::string all;
  const Error error =
      Session::get().call(Call::KernelNames, program::KernelNamesArguments{library.number}, {}, &all);
  std::istringstream lines(all);
  for (std::string name; std::getline(lines, name);) names.push_back(name);
  return error;
}

}  // namespace

GPUMUX_CUDART_API Error cudaLibraryLoadData(Module** library, const void* code, const int* options,
                                            void** values, unsigned count, const int*, void**, unsigned) {
  return load(library, code, {count, options, values});
}
GPUMUX_CUDART_API Error cudaLibraryLoadFromFile(Module** library, const char* name, const int* options,
                                                void** values, unsigned count, const int*, void**, unsigned) {
  if (name == nullptr) return returned(Error::InvalidValue);
  std::ifstream file(name, std::ios::binary);
  if (!file) return returned(kFileNotFound);
  std::stringstream content;
  content << file.rdbuf();
  return load(library, content.str().c_str(), {count, options, values});
}
GPUMUX_CUDART_API Error cudaLibraryUnload(Module* library) {
  return in_library(library, [=] {
    const Error error = cudaDeviceSynchronize();  // its kernels may still run
    unload(library);
    return error;
  });
}
GPUMUX_CUDART_API Error cudaLibraryGetKernel(Kernel** kernel, Module* library, const char* name) {
  return in_library(library, [=] {
    if (kernel == nullptr || name == nullptr) return Error::InvalidValue;
    Error error = Error::Success;
    *kernel = find_kernel(library, name, error);
    return error == Error::InvalidDeviceFunction ? Error::SymbolNotFound : error;
  });
}
GPUMUX_CUDART_API Error cudaLibraryGetKernelCount(unsigned* count, Module* library) {
  return in_library(library, [=] {
    if (count == nullptr) return Error::InvalidValue;
    std::vector<std::string> names;
    const Error error = names_of(*library, names);
    *count = static_cast<unsigned>(names.size());
    return error;
  });
}
GPUMUX_CUDART_API Error cudaLibraryEnumerateKernels(Kernel** kernels, unsigned count, Module* library) {
  return in_library(library, [=] {
    if (kernels == nullptr) return Error::InvalidValue;
    std::vector<std::string> names;
    Error error = names_of(*library, names);
    for (unsigned i = 0; i < count && i < names.size() && error == Error::Success; ++i)
      kernels[i] = find_kernel(library, names[i].c_str(), error);
    return error;
  });
}
GPUMUX_CUDART_API Error cudaLibraryGetGlobal(void** address, std::size_t* bytes, Module* library,
                                             const char* name) {
  return get_variable(address, bytes, library, name);
}
// The host can access managed variables at their device addresses, like all device memory.
GPUMUX_CUDART_API Error cudaLibraryGetManaged(void** address, std::size_t* bytes, Module* library,
                                              const char* name) {
  return get_variable(address, bytes, library, name);
}

GPUMUX_CUDART_API Error cudaKernelSetAttributeForDevice(const void* kernel, int attribute, int value,
                                                        int device) {
  return device == 0 ? cudaFuncSetAttribute(kernel, attribute, value) : returned(Error::InvalidDevice);
}
GPUMUX_CUDART_API Error cudaFuncGetName(const char** name, const void* function) {
  Error error = Error::Success;
  const Kernel* const kernel = find_kernel(function, error);
  if (kernel != nullptr && name == nullptr) error = Error::InvalidValue;
  if (error == Error::Success) *name = kernel->name.c_str();
  return returned(error);
}
GPUMUX_CUDART_API Error cudaFuncGetParamInfo(const void* function, std::size_t index, std::size_t* offset,
                                             std::size_t* bytes) {
  Error error = Error::Success;
  const Kernel* const kernel = find_kernel(function, error);
  if (kernel == nullptr) return returned(error);
  if (offset == nullptr || index >= kernel->parameters.size()) return returned(Error::InvalidValue);
  *offset = kernel->parameters[index].offset;
  if (bytes != nullptr) *bytes = kernel->parameters[index].bytes;
  return Error::Success;
}

/// Returns the largest dynamic shared memory per block, in steps of 256 bytes, such that this number of
/// blocks is resident on an SM together.
GPUMUX_CUDART_API Error cudaOccupancyAvailableDynamicSMemPerBlock(std::size_t* bytes, const void* function,
                                                                  int blocks, int threads) {
  const std::scoped_lock lock(Session::get().lock());
  Error error = Error::Success;
  const Kernel* const kernel = find_kernel(function, error);
  if (kernel == nullptr) return returned(error);
  if (bytes == nullptr || blocks <= 0 || threads <= 0) return returned(Error::InvalidValue);
  constexpr std::size_t kStep = 256;
  const auto fits = [&](std::size_t steps) {
    int resident = 0;
    error = cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, function, threads, steps * kStep);
    return error == Error::Success && resident >= blocks;
  };
  if (!fits(0)) return returned(error == Error::Success ? Error::InvalidValue : error);
  std::size_t most = 0;  // largest value that fits; the fit is monotonic
  for (std::size_t step = std::size_t{1} << 12U; step != 0; step /= 2)
    if (fits(most + step)) most += step;
  *bytes = most * kStep;
  return returned(error);
}

}  // namespace gpumux::cudart
