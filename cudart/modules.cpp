#include "modules.hpp"

#include <cstring>
#include <deque>
#include <map>
#include <memory>

#include "abi.hpp"

namespace gpumux::cudart {
namespace {

constexpr std::uint32_t kWrapperMagic = 0x466243b1;
constexpr std::uint32_t kBinaryMagic = 0xba55ed50;

/// __fatBinC_Wrapper_t.
struct Wrapper {
  std::uint32_t magic;
  std::uint32_t version;  // 2: of relocatable device code, `linked` are the binaries of its translation units
  const void* binary;
  const void* const* linked;
};
struct BinaryHead {
  std::uint32_t magic;
  std::uint16_t version;
  std::uint16_t head_bytes;
  std::uint64_t bytes;  // behind the head
};

struct Registry {
  std::deque<std::unique_ptr<Module>> modules;
  std::map<const void*, std::unique_ptr<Kernel>> kernels;      // by host function
  std::map<const void*, std::unique_ptr<Variable>> variables;  // by host variable
};
Registry& registry() {
  static Registry* const registry = new Registry;  // outlives static destructors, which unregister
  return *registry;
}

Error load_part(Module& module, const void* binary, std::uint32_t part, std::uint32_t parts) {
  BinaryHead head;
  std::memcpy(&head, binary, sizeof(head));
  if (head.magic != kBinaryMagic) return Error::InvalidKernelImage;
  const program::LoadModuleArguments arguments{part, parts, module.number};
  program::LoadModuleResult result{};
  const auto* const first = static_cast<const std::byte*>(binary);
  const Error error =
      Session::get().call(Call::LoadModule, arguments, &result, {first, head.head_bytes + head.bytes});
  module.number = result.module;
  return error;
}

Error load_parts(Module& module) {
  Wrapper wrapper;
  std::memcpy(&wrapper, module.wrapper, sizeof(wrapper));
  if (wrapper.magic != kWrapperMagic) return Error::InvalidKernelImage;
  if (wrapper.version != 2) return load_part(module, wrapper.binary, 0, 1);
  // What nvcc has linked is machine code; the PTX is in the binaries of the translation units.
  std::uint32_t parts = 0;
  while (wrapper.linked != nullptr && wrapper.linked[parts] != nullptr) ++parts;
  for (std::uint32_t part = 0; part < parts; ++part) {
    if (const Error error = load_part(module, wrapper.linked[part], part, parts); error != Error::Success)
      return error;
  }
  return Error::Success;
}

Error describe(Variable& variable) {
  const program::FindVariableArguments arguments{variable.module->number, variable.managed ? 1U : 0U};
  const Error error =
      Session::get().call(Call::FindVariable, arguments, &variable.description, bytes_of(variable.name));
  variable.found = error == Error::Success;
  return error;
}

Error load(Module& module) {
  const std::scoped_lock lock(Session::get().lock());
  if (const Error error = Session::get().connect(); error != Error::Success) return error;
  if (module.loaded) return module.error;
  module.loaded = true;
  module.error = load_parts(module);
  for (const auto& [pointer, name] : module.managed) {
    if (module.error != Error::Success) break;
    Variable variable{&module, name, true, false, {}};
    module.error = describe(variable);
    *pointer = reinterpret_cast<void*>(variable.description.address);
  }
  return module.error;
}

Error describe(Kernel& kernel) {
  std::string parameters;
  const program::FindKernelArguments arguments{kernel.module->number};
  const Error error = Session::get().call(Call::FindKernel, arguments, &kernel.description,
                                          bytes_of(kernel.name), &parameters);
  if (error != Error::Success) return error;
  kernel.parameters.resize(parameters.size() / sizeof(program::KernelParameter));
  std::memcpy(kernel.parameters.data(), parameters.data(), parameters.size());
  kernel.found = true;
  return error;
}

template <class Thing>
Thing* ready(Thing* thing, Error& error) {
  error = load(*thing->module);
  if (error == Error::Success && !thing->found) error = describe(*thing);
  return error == Error::Success ? thing : nullptr;
}

Module* module_of(void** handle) { return reinterpret_cast<Module*>(handle); }

}  // namespace

Kernel* find_kernel(const void* function, Error& error) {
  const std::scoped_lock lock(Session::get().lock());
  Registry& all = registry();
  if (const auto found = all.kernels.find(function); found != all.kernels.end())
    return ready(found->second.get(), error);
  for (const auto& [host, kernel] : all.kernels)
    if (kernel.get() == function) return ready(kernel.get(), error);
  error = Error::InvalidDeviceFunction;
  return nullptr;
}

Variable* find_variable(const void* host_variable, Error& error) {
  const std::scoped_lock lock(Session::get().lock());
  Registry& all = registry();
  const auto found = all.variables.find(host_variable);
  if (found != all.variables.end()) return ready(found->second.get(), error);
  error = Error::InvalidSymbol;
  return nullptr;
}

GPUMUX_CUDART_API void** __cudaRegisterFatBinary(void* wrapper) {
  const std::scoped_lock lock(Session::get().lock());
  auto& modules = registry().modules;
  modules.push_back(std::make_unique<Module>());
  modules.back()->wrapper = wrapper;
  return reinterpret_cast<void**>(modules.back().get());
}

// Kernels are looked up when they are first used, so that nothing remains to be done when all are known.
GPUMUX_CUDART_API void __cudaRegisterFatBinaryEnd(void**) {}

GPUMUX_CUDART_API void __cudaUnregisterFatBinary(void** handle) {
  const std::scoped_lock lock(Session::get().lock());
  Registry& all = registry();
  std::erase_if(all.kernels, [&](const auto& entry) { return entry.second->module == module_of(handle); });
  std::erase_if(all.variables, [&](const auto& entry) { return entry.second->module == module_of(handle); });
}

GPUMUX_CUDART_API char __cudaInitModule(void** handle) {
  return static_cast<char>(returned(load(*module_of(handle))) == Error::Success);
}

GPUMUX_CUDART_API void __cudaRegisterFunction(void** handle, const char* host_function, char*,
                                              const char* name, int, void*, void*, void*, void*, int*) {
  const std::scoped_lock lock(Session::get().lock());
  auto kernel = std::make_unique<Kernel>();
  kernel->module = module_of(handle);
  kernel->name = name;
  registry().kernels[host_function] = std::move(kernel);
}

GPUMUX_CUDART_API void __cudaRegisterVar(void** handle, char* host_variable, char*, const char* name, int,
                                         std::size_t, int, int) {
  const std::scoped_lock lock(Session::get().lock());
  auto variable = std::make_unique<Variable>();
  variable->module = module_of(handle);
  variable->name = name;
  registry().variables[host_variable] = std::move(variable);
}

GPUMUX_CUDART_API void __cudaRegisterManagedVar(void** handle, void** host_pointer, char*, const char* name,
                                                int, std::size_t, int, int) {
  const std::scoped_lock lock(Session::get().lock());
  Module& module = *module_of(handle);
  module.managed.emplace_back(host_pointer, name);
  auto variable = std::make_unique<Variable>();
  variable->module = &module;
  variable->name = name;
  variable->managed = true;
  registry().variables[host_pointer] = std::move(variable);
}

GPUMUX_CUDART_API Error __cudaGetKernel(void** kernel, const void* host_function) {
  Error error = Error::Success;
  *kernel = find_kernel(host_function, error);
  return returned(error);
}

GPUMUX_CUDART_API Error cudaGetSymbolAddress(void** address, const void* symbol) {
  Error error = Error::Success;
  const Variable* const variable = find_variable(symbol, error);
  if (variable == nullptr) return returned(error);
  if (variable->description.address == 0)
    return returned(not_supported("cudaGetSymbolAddress of a __constant__"));
  *address = reinterpret_cast<void*>(variable->description.address);
  return Error::Success;
}

GPUMUX_CUDART_API Error cudaGetSymbolSize(std::size_t* bytes, const void* symbol) {
  Error error = Error::Success;
  const Variable* const variable = find_variable(symbol, error);
  if (variable != nullptr) *bytes = variable->description.bytes;
  return returned(error);
}

}  // namespace gpumux::cudart
