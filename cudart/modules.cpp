#include "modules.hpp"

#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <set>

#include "abi.hpp"
#include "constants.hpp"

namespace gpumux::cudart {
namespace {

constexpr std::uint32_t kWrapperMagic = 0x466243b1;
constexpr std::uint32_t kBinaryMagic = 0xba55ed50;
constexpr std::uint32_t kElfMagic = 0x464c457f;

/// __fatBinC_Wrapper_t.
struct Wrapper {
  std::uint32_t magic;
  std::uint32_t version;  // 2: relocatable device code, `linked` has one binary per translation unit
  const void* binary;
  const void* const* linked;
};
struct BinaryHead {
  std::uint32_t magic;
  std::uint16_t version;
  std::uint16_t head_bytes;
  std::uint64_t bytes;  // bytes after the head
};

struct ModuleRegistry {
  std::deque<std::unique_ptr<Module>> modules;
  std::map<const void*, std::unique_ptr<Kernel>> kernels;      // by host function
  std::map<const void*, std::unique_ptr<Variable>> variables;  // by host variable
  std::set<const void*> handles;                               // all kernels
  // Modules that the program has loaded, and kernels and variables in them.
  std::map<const Module*, std::unique_ptr<Module>> loaded;
  std::map<std::pair<const Module*, std::string>, std::unique_ptr<Kernel>> named_kernels;
  std::map<std::pair<const Module*, std::string>, std::unique_ptr<Variable>> named_variables;
};
ModuleRegistry& module_registry() {
  // Never destroyed, since static destructors of the program unregister modules.
  static auto* const all = new ModuleRegistry;
  return *all;
}

/// Header of an image of link_images(). `texts` strings follow, each terminated by 0.
struct LinkedHead {
  std::uint32_t magic;
  std::uint32_t texts;
};
constexpr std::uint32_t kLinkedMagic = 0x4b4e4c47;

std::uint32_t magic_of(const void* image) {
  std::uint32_t magic = 0;
  std::memcpy(&magic, image, sizeof(magic));
  return magic;
}

/// Sends a part of a module. `message`: nullptr if invalid PTX must end the run.
Error send_part(Module& module, program::ModuleImage kind, std::span<const std::byte> image,
                std::uint32_t part, std::uint32_t parts, std::string* message) {
  const program::LoadModuleArguments arguments{part, parts, module.number, kind, message != nullptr ? 1U : 0U,
                                               0};
  program::LoadModuleResult result{module.number};
  const Error error = Session::get().call(Call::LoadModule, arguments, &result, image, message);
  module.number = result.module;
  return error;
}

Error load_part(Module& module, const void* binary, std::uint32_t part, std::uint32_t parts,
                std::string* message) {
  BinaryHead head;
  std::memcpy(&head, binary, sizeof(head));
  if (head.magic != kBinaryMagic) return Error::InvalidKernelImage;
  const auto* const first = static_cast<const std::byte*>(binary);
  return send_part(module, program::ModuleImage::FatBinary, {first, head.head_bytes + head.bytes}, part,
                   parts, message);
}

Error load_wrapped(Module& module, const void* wrapped, std::string* message) {
  Wrapper wrapper;
  std::memcpy(&wrapper, wrapped, sizeof(wrapper));
  if (wrapper.magic != kWrapperMagic) return Error::InvalidKernelImage;
  if (wrapper.version != 2) return load_part(module, wrapper.binary, 0, 1, message);
  // nvcc's linked binary has only machine code. The PTX is in the binaries of the translation units.
  std::uint32_t parts = 0;
  while (wrapper.linked != nullptr && wrapper.linked[parts] != nullptr) ++parts;
  for (std::uint32_t part = 0; part < parts; ++part) {
    const Error error = load_part(module, wrapper.linked[part], part, parts, message);
    if (error != Error::Success) return error;
  }
  BinaryHead head;
  std::memcpy(&head, wrapper.binary, sizeof(head));
  if (parts == 0 || head.magic != kBinaryMagic) return Error::Success;
  const std::span<const std::byte> linked(static_cast<const std::byte*>(wrapper.binary),
                                          head.head_bytes + head.bytes);
  return Session::get().call(Call::TakeRegisters, program::TakeRegistersArguments{module.number}, linked);
}

Error load_text(Module& module, const char* text, std::uint32_t part, std::uint32_t parts,
                std::string* message) {
  return send_part(module, program::ModuleImage::Ptx, std::as_bytes(std::span(text, std::strlen(text))), part,
                   parts, message);
}

Error load_parts(Module& module, const void* image, std::string* message) {
  switch (magic_of(image)) {
    case kWrapperMagic: return load_wrapped(module, image, message);
    case kBinaryMagic: return load_part(module, image, 0, 1, message);
    case kElfMagic: return send_part(module, program::ModuleImage::MachineCode, {}, 0, 1, message);
    case kLinkedMagic: {
      LinkedHead head;
      std::memcpy(&head, image, sizeof(head));
      const char* text = static_cast<const char*>(image) + sizeof(head);
      for (std::uint32_t part = 0; part < head.texts; ++part) {
        if (const Error error = load_text(module, text, part, head.texts, message); error != Error::Success)
          return error;
        text += std::strlen(text) + 1;
      }
      return Error::Success;
    }
    default: return load_text(module, static_cast<const char*>(image), 0, 1, message);
  }
}

Error describe(Variable& variable) {
  const program::FindVariableArguments arguments{variable.module->number, variable.managed ? 1U : 0U};
  const Error error =
      Session::get().call(Call::FindVariable, arguments, &variable.description, bytes_of(variable.name));
  variable.found = error == Error::Success;
  if (variable.found) {
    variable.address = variable.description.address != 0
                           ? reinterpret_cast<void*>(variable.description.address)
                           : place_constant(variable.description);
  }
  return error;
}

Error load(Module& module) {
  const std::scoped_lock lock(Session::get().lock());
  if (const Error error = Session::get().connect(); error != Error::Success) return error;
  if (module.loaded) return module.error;
  module.loaded = true;
  module.error = load_wrapped(module, module.wrapper, nullptr);
  for (const auto& [pointer, name] : module.managed) {
    if (module.error != Error::Success) break;
    Variable variable{&module, name, true, false, {}, nullptr};
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
  ModuleRegistry& all = module_registry();
  if (const auto found = all.kernels.find(function); found != all.kernels.end())
    return ready(found->second.get(), error);
  if (all.handles.contains(function)) return ready(static_cast<Kernel*>(const_cast<void*>(function)), error);
  error = Error::InvalidDeviceFunction;
  return nullptr;
}

Variable* find_variable(const void* host_variable, Error& error) {
  const std::scoped_lock lock(Session::get().lock());
  ModuleRegistry& all = module_registry();
  const auto found = all.variables.find(host_variable);
  if (found != all.variables.end()) return ready(found->second.get(), error);
  error = Error::InvalidSymbol;
  return nullptr;
}

Module* load_image(const void* image, Error& error, std::string& message) {
  Session& session = Session::get();
  const std::scoped_lock lock(session.lock());
  error = session.connect();
  if (error != Error::Success) return nullptr;
  auto module = std::make_unique<Module>();
  module->loaded = true;
  error = load_parts(*module, image, &message);
  if (error != Error::Success) return nullptr;
  const Module* const key = module.get();
  return (module_registry().loaded[key] = std::move(module)).get();
}

void unload(Module* module) {
  const std::scoped_lock lock(Session::get().lock());
  ModuleRegistry& all = module_registry();
  std::erase_if(all.named_kernels, [&](const auto& entry) {
    if (entry.first.first != module) return false;
    all.handles.erase(entry.second.get());
    return true;
  });
  std::erase_if(all.named_variables, [&](const auto& entry) { return entry.first.first == module; });
  all.loaded.erase(module);
}

bool is_loaded(const Module* module) {
  const std::scoped_lock lock(Session::get().lock());
  return module_registry().loaded.contains(module);
}

namespace {

/// Looks up a name in a module. A new name is requested from gpumux and kept in `all`.
template <class Thing>
Thing* named(std::map<std::pair<const Module*, std::string>, std::unique_ptr<Thing>>& all, Module* module,
             const char* name, Error& error) {
  const std::pair<const Module*, std::string> key(module, name);
  if (const auto found = all.find(key); found != all.end()) return found->second.get();
  auto thing = std::make_unique<Thing>();
  thing->module = module;
  thing->name = name;
  error = describe(*thing);
  return error == Error::Success ? (all[key] = std::move(thing)).get() : nullptr;
}

}  // namespace

Kernel* find_kernel(Module* module, const char* name, Error& error) {
  const std::scoped_lock lock(Session::get().lock());
  Kernel* const kernel = named(module_registry().named_kernels, module, name, error);
  if (kernel != nullptr) module_registry().handles.insert(kernel);
  return kernel;
}

Variable* find_variable(Module* module, const char* name, Error& error) {
  const std::scoped_lock lock(Session::get().lock());
  return named(module_registry().named_variables, module, name, error);
}

Error check_ptx(const std::string& text, std::string& message) {
  Session& session = Session::get();
  const std::scoped_lock lock(session.lock());
  if (const Error error = session.connect(); error != Error::Success) return error;
  const program::LoadModuleArguments arguments{0, 1, 0, program::ModuleImage::Ptx, 1, 1};
  program::LoadModuleResult none{};
  return session.call(Call::LoadModule, arguments, &none, bytes_of(text), &message);
}

std::string link_images(const std::vector<std::string>& texts) {
  const LinkedHead head{kLinkedMagic, static_cast<std::uint32_t>(texts.size())};
  std::string image(reinterpret_cast<const char*>(&head), sizeof(head));
  for (const std::string& text : texts) (image += text) += '\0';
  return image;
}

GPUMUX_CUDART_API void** __cudaRegisterFatBinary(void* wrapper) {
  const std::scoped_lock lock(Session::get().lock());
  auto& modules = module_registry().modules;
  modules.push_back(std::make_unique<Module>());
  modules.back()->wrapper = wrapper;
  return reinterpret_cast<void**>(modules.back().get());
}

// Kernels are looked up at their first use, so there is nothing to do at the end of registration.
GPUMUX_CUDART_API void __cudaRegisterFatBinaryEnd(void**) {}

GPUMUX_CUDART_API void __cudaUnregisterFatBinary(void** handle) {
  const std::scoped_lock lock(Session::get().lock());
  ModuleRegistry& all = module_registry();
  std::erase_if(all.kernels, [&](const auto& entry) {
    if (entry.second->module != module_of(handle)) return false;
    all.handles.erase(entry.second.get());
    return true;
  });
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
  module_registry().handles.insert(kernel.get());
  module_registry().kernels[host_function] = std::move(kernel);
}

GPUMUX_CUDART_API void __cudaRegisterVar(void** handle, char* host_variable, char*, const char* name, int,
                                         std::size_t, int, int) {
  const std::scoped_lock lock(Session::get().lock());
  auto variable = std::make_unique<Variable>();
  variable->module = module_of(handle);
  variable->name = name;
  module_registry().variables[host_variable] = std::move(variable);
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
  module_registry().variables[host_pointer] = std::move(variable);
}

GPUMUX_CUDART_API Error __cudaGetKernel(void** kernel, const void* host_function) {
  Error error = Error::Success;
  *kernel = find_kernel(host_function, error);
  return returned(error);
}

// Kernel handles of the driver and of the run time are the same.
GPUMUX_CUDART_API Error cudaGetKernel(void** kernel, const void* host_function) {
  return __cudaGetKernel(kernel, host_function);
}
GPUMUX_CUDART_API Error cudaGetFuncBySymbol(void** function, const void* host_function) {
  return __cudaGetKernel(function, host_function);
}

GPUMUX_CUDART_API Error cudaGetSymbolAddress(void** address, const void* symbol) {
  Error error = Error::Success;
  const Variable* const variable = find_variable(symbol, error);
  if (variable == nullptr) return returned(error);
  *address = variable->address;
  return Error::Success;
}

GPUMUX_CUDART_API Error cudaGetSymbolSize(std::size_t* bytes, const void* symbol) {
  Error error = Error::Success;
  const Variable* const variable = find_variable(symbol, error);
  if (variable != nullptr) *bytes = variable->description.bytes;
  return returned(error);
}

}  // namespace gpumux::cudart
