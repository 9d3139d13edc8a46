// What a program's static constructors have registered: fat binaries, and the kernels and variables in them
// by the addresses that stand for them on the host. And modules that a program loads itself, whose kernels
// and variables it names.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "session.hpp"

namespace gpumux::cudart {

struct Module {
  const void* wrapper = nullptr;  // of one that was registered
  bool loaded = false;
  Error error = Error::Success;  // of loading it
  std::uint32_t number = 0;
  std::vector<std::pair<void**, std::string>> managed;  // host pointers to be set, variables' names
};

struct Kernel {
  Module* module = nullptr;
  std::string name;  // as in the PTX
  bool found = false;
  program::KernelDescription description{};
  std::vector<program::KernelParameter> parameters;
  std::uint32_t dynamic_shared_limit = 0;  // bytes that cudaFuncSetAttribute has allowed; 0: the usual
};

struct Variable {
  Module* module = nullptr;
  std::string name;
  bool managed = false;
  bool found = false;
  program::VariableDescription description{};
  void* address = nullptr;  // for the host: of constants, too (constants.hpp)
};

/// Finds a kernel by its host function, or by the handle that __cudaGetKernel gave; its module is loaded.
/// nullptr: `error` says why.
[[nodiscard]] Kernel* find_kernel(const void* function, Error& error);
/// The same of a variable, by its host variable.
[[nodiscard]] Variable* find_variable(const void* host_variable, Error& error);

/// PTX text that ends with 0, a fat binary or what wraps it, or what link_images() made. nullptr: `error`
/// says why, and for InvalidPtx `message` what is wrong with it.
[[nodiscard]] Module* load_image(const void* image, Error& error, std::string& message);
/// Its kernels and variables are known no longer.
void unload(Module* module);
/// Loaded by load_image(), and still there.
[[nodiscard]] bool is_loaded(const Module* module);
/// By name, in such a module.
[[nodiscard]] Kernel* find_kernel(Module* module, const char* name, Error& error);
[[nodiscard]] Variable* find_variable(Module* module, const char* name, Error& error);
/// PTX that is to be in an image with others; `message` as above.
Error check_ptx(const std::string& text, std::string& message);
/// An image of several texts of PTX, each of which is a translation unit of its own.
[[nodiscard]] std::string link_images(const std::vector<std::string>& texts);

}  // namespace gpumux::cudart
