// Modules, libraries, and the kernels and variables in them. A library is a module. A CUfunction, a CUkernel
// and the run time's cudaKernel_t are the same handle.
#include "cudart/modules.hpp"

#include <fstream>
#include <sstream>

#include "cudart/api.hpp"
#include "driver/call.hpp"
#include "driver/jit.hpp"

namespace gpumux::driver {
namespace {

using cudart::Kernel;
using cudart::Module;
using cudart::Variable;

Result load(Module** module, const void* image, const JitOptions& options) {
  return with_context([&] {
    if (module == nullptr || image == nullptr) return Result::InvalidValue;
    Error error = Error::Success;
    std::string message;
    *module = cudart::load_image(image, error, message);
    options.finish(error == Error::InvalidPtx ? message : std::string());
    return result_of(error);
  });
}

Result load_file(Module** module, const char* name, const JitOptions& options) {
  return with_context([&] {
    if (module == nullptr || name == nullptr) return Result::InvalidValue;
    std::ifstream file(name, std::ios::binary);
    if (!file) return Result::FileNotFound;
    std::stringstream content;
    content << file.rdbuf();
    return load(module, content.str().c_str(), options);
  });
}

Result unload_module(Module* module) {
  return initialized([=] {
    if (!cudart::is_loaded(module)) return Error::InvalidResourceHandle;
    // Kernels of the module may still run.
    const Error error = cudart::cudaDeviceSynchronize();
    cudart::unload(module);
    return error;
  });
}

/// Runs `call`, which returns an Error, if the module is loaded.
template <class Function>
Result in_module(const Module* module, const Function& call) {
  return initialized([&] { return cudart::is_loaded(module) ? call() : Error::InvalidResourceHandle; });
}

Result get_kernel(Kernel** kernel, Module* module, const char* name) {
  return in_module(module, [=] {
    if (kernel == nullptr || name == nullptr) return Error::InvalidValue;
    Error error = Error::Success;
    *kernel = cudart::find_kernel(module, name, error);
    return error == Error::InvalidDeviceFunction ? Error::SymbolNotFound : error;
  });
}

Result get_variable(DevicePointer* address, std::size_t* bytes, Module* module, const char* name) {
  return in_module(module, [=] {
    if (name == nullptr) return Error::InvalidValue;
    Error error = Error::Success;
    const Variable* const variable = cudart::find_variable(module, name, error);
    if (variable == nullptr) return error;
    if (address != nullptr) *address = reinterpret_cast<DevicePointer>(variable->address);
    if (bytes != nullptr) *bytes = variable->description.bytes;
    return Error::Success;
  });
}

/// Runs `call`, which returns an Error, for a valid kernel.
template <class Function>
Result of_kernel(const Kernel* handle, const Function& call) {
  return initialized([&] {
    Error error = Error::Success;
    Kernel* const kernel = cudart::find_kernel(handle, error);
    return kernel == nullptr ? error : call(*kernel);
  });
}

Result get_name(const char** name, const Kernel* handle) {
  return of_kernel(handle, [=](const Kernel& kernel) {
    if (name == nullptr) return Error::InvalidValue;
    *name = kernel.name.c_str();
    return Error::Success;
  });
}
Result get_parameter(const Kernel* handle, std::size_t index, std::size_t* offset, std::size_t* bytes) {
  return of_kernel(handle, [=](const Kernel& kernel) {
    if (offset == nullptr || index >= kernel.parameters.size()) return Error::InvalidValue;
    *offset = kernel.parameters[index].offset;
    if (bytes != nullptr) *bytes = kernel.parameters[index].bytes;
    return Error::Success;
  });
}
Result get_module(Module** module, const Kernel* handle) {
  return of_kernel(handle, [=](const Kernel& kernel) {
    if (module == nullptr) return Error::InvalidValue;
    *module = kernel.module;
    return Error::Success;
  });
}

/// Reads a CUfunction_attribute.
Result get_attribute(int* value, int attribute, const Kernel* handle) {
  return of_kernel(handle, [=](const Kernel&) {
    cudart::FunctionAttributes of;
    if (const Error error = cudart::cudaFuncGetAttributes(&of, handle); error != Error::Success) return error;
    if (value == nullptr) return Error::InvalidValue;
    switch (attribute) {
      case 0: *value = of.max_threads; break;
      case 1: *value = static_cast<int>(of.shared_bytes); break;
      case 2: *value = static_cast<int>(of.constant_bytes); break;
      case 3: *value = static_cast<int>(of.local_bytes); break;
      case 4: *value = of.registers; break;
      case 5: *value = of.ptx_version; break;
      case 6: *value = of.binary_version; break;
      case 7: *value = of.caches_global; break;
      case 8: *value = of.max_dynamic_shared_bytes; break;
      case 9: *value = of.preferred_shared_carveout; break;
      case 10:
      case 11:
      case 12:
      case 13:
      case 14:
      case 15: *value = 0; break;  // cluster attributes
      default: return Error::InvalidValue;
    }
    return Error::Success;
  });
}
Result set_attribute(const Kernel* handle, int attribute, int value) {
  return initialized([=] { return cudart::cudaFuncSetAttribute(handle, attribute, value); });
}

}  // namespace

GPUMUX_DRIVER_API Result cuModuleLoad(Module** module, const char* file) {
  return load_file(module, file, {0, nullptr, nullptr});
}
GPUMUX_DRIVER_API Result cuModuleLoadData(Module** module, const void* image) {
  return load(module, image, {0, nullptr, nullptr});
}
GPUMUX_DRIVER_API Result cuModuleLoadDataEx(Module** module, const void* image, unsigned count,
                                            const int* options, void** values) {
  return load(module, image, {count, options, values});
}
GPUMUX_DRIVER_API Result cuModuleLoadFatBinary(Module** module, const void* binary) {
  return load(module, binary, {0, nullptr, nullptr});
}
GPUMUX_DRIVER_API Result cuModuleUnload(Module* module) { return unload_module(module); }
GPUMUX_DRIVER_API Result cuModuleGetFunction(Kernel** function, Module* module, const char* name) {
  return get_kernel(function, module, name);
}
GPUMUX_DRIVER_API Result cuModuleGetGlobal_v2(DevicePointer* address, std::size_t* bytes, Module* module,
                                              const char* name) {
  return get_variable(address, bytes, module, name);
}
GPUMUX_DRIVER_API Result cuModuleGetLoadingMode(int* mode) {
  return initialized([=] {
    *mode = 1;  // eager loading
    return Error::Success;
  });
}

GPUMUX_DRIVER_API Result cuLibraryLoadData(Module** library, const void* code, const int* options,
                                           void** values, unsigned count, const int*, void**, unsigned) {
  return load(library, code, {count, options, values});
}
GPUMUX_DRIVER_API Result cuLibraryLoadFromFile(Module** library, const char* file, const int* options,
                                               void** values, unsigned count, const int*, void**, unsigned) {
  return load_file(library, file, {count, options, values});
}
GPUMUX_DRIVER_API Result cuLibraryUnload(Module* library) { return unload_module(library); }
GPUMUX_DRIVER_API Result cuLibraryGetModule(Module** module, Module* library) {
  return in_module(library, [=] {
    *module = library;
    return Error::Success;
  });
}
GPUMUX_DRIVER_API Result cuLibraryGetKernel(Kernel** kernel, Module* library, const char* name) {
  return get_kernel(kernel, library, name);
}
GPUMUX_DRIVER_API Result cuLibraryGetGlobal(DevicePointer* address, std::size_t* bytes, Module* library,
                                            const char* name) {
  return get_variable(address, bytes, library, name);
}
GPUMUX_DRIVER_API Result cuLibraryGetManaged(DevicePointer* address, std::size_t* bytes, Module* library,
                                             const char* name) {
  return get_variable(address, bytes, library, name);
}

GPUMUX_DRIVER_API Result cuKernelGetFunction(Kernel** function, Kernel* kernel) {
  return of_kernel(kernel, [=](const Kernel&) {
    *function = kernel;
    return Error::Success;
  });
}
GPUMUX_DRIVER_API Result cuKernelGetLibrary(Module** library, const Kernel* kernel) {
  return get_module(library, kernel);
}
GPUMUX_DRIVER_API Result cuKernelGetName(const char** name, const Kernel* kernel) {
  return get_name(name, kernel);
}
GPUMUX_DRIVER_API Result cuKernelGetParamInfo(const Kernel* kernel, std::size_t index, std::size_t* offset,
                                              std::size_t* bytes) {
  return get_parameter(kernel, index, offset, bytes);
}
GPUMUX_DRIVER_API Result cuKernelGetAttribute(int* value, int attribute, const Kernel* kernel, DeviceNumber) {
  return get_attribute(value, attribute, kernel);
}
GPUMUX_DRIVER_API Result cuKernelSetAttribute(int attribute, int value, const Kernel* kernel, DeviceNumber) {
  return set_attribute(kernel, attribute, value);
}
GPUMUX_DRIVER_API Result cuKernelSetCacheConfig(const Kernel* kernel, int, DeviceNumber) {
  return of_kernel(kernel, [](const Kernel&) { return Error::Success; });
}

GPUMUX_DRIVER_API Result cuFuncGetModule(Module** module, const Kernel* function) {
  return get_module(module, function);
}
GPUMUX_DRIVER_API Result cuFuncGetName(const char** name, const Kernel* function) {
  return get_name(name, function);
}
GPUMUX_DRIVER_API Result cuFuncGetParamInfo(const Kernel* function, std::size_t index, std::size_t* offset,
                                            std::size_t* bytes) {
  return get_parameter(function, index, offset, bytes);
}
GPUMUX_DRIVER_API Result cuFuncGetAttribute(int* value, int attribute, const Kernel* function) {
  return get_attribute(value, attribute, function);
}
GPUMUX_DRIVER_API Result cuFuncSetAttribute(const Kernel* function, int attribute, int value) {
  return set_attribute(function, attribute, value);
}
// Hints, which have no effect (cudart/launch.cpp).
GPUMUX_DRIVER_API Result cuFuncSetCacheConfig(const Kernel* function, int) {
  return of_kernel(function, [](const Kernel&) { return Error::Success; });
}
GPUMUX_DRIVER_API Result cuFuncSetSharedMemConfig(const Kernel* function, int) {
  return of_kernel(function, [](const Kernel&) { return Error::Success; });
}
GPUMUX_DRIVER_API Result cuFuncIsLoaded(int* state, const Kernel* function) {
  return of_kernel(function, [=](const Kernel&) {
    *state = 1;
    return Error::Success;
  });
}
GPUMUX_DRIVER_API Result cuFuncLoad(const Kernel* function) {
  return of_kernel(function, [](const Kernel&) { return Error::Success; });
}

}  // namespace gpumux::driver
