// Modules: those registered by a program's static constructors, with fat binaries, kernels and variables that
// are identified by host addresses, and those that a program loads itself, with kernels and variables
// identified by name.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "session.hpp"

namespace gpumux::cudart {

struct Module {
  const void* wrapper = nullptr;  // only for a registered module
  bool loaded = false;
  Error error = Error::Success;  // result of loading it
  std::uint32_t number = 0;
  std::vector<std::pair<void**, std::string>> managed;  // host pointers to set, with names of variables
};

struct Kernel {
  Module* module = nullptr;
  std::string name;  // name in the PTX
  bool found = false;
  program::KernelDescription description{};
  std::vector<program::KernelParameter> parameters;
  std::uint32_t dynamic_shared_limit = 0;  // bytes allowed by cudaFuncSetAttribute; 0: the default
};

struct Variable {
  Module* module = nullptr;
  std::string name;
  bool managed = false;
  bool found = false;
  program::VariableDescription description{};
  void* address = nullptr;  // for the host, also for constants (constants.hpp)
};

/// Finds a kernel by its host function, or by its handle from __cudaGetKernel. Loads its module. nullptr:
/// `error` has the reason.
[[nodiscard]] Kernel* find_kernel(const void* function, Error& error);
/// Finds a variable by its host variable. Loads its module. nullptr: `error` has the reason.
[[nodiscard]] Variable* find_variable(const void* host_variable, Error& error);

/// Loads an image: PTX text terminated by 0, a fat binary, a wrapper of one, or an image of link_images().
/// nullptr: `error` has the reason, and for InvalidPtx `message` describes the error.
[[nodiscard]] Module* load_image(const void* image, Error& error, std::string& message);
/// Removes a module with its kernels and variables.
void unload(Module* module);
/// True for a module of load_image() that was not unloaded.
[[nodiscard]] bool is_loaded(const Module* module);
/// Finds a kernel or variable by name in a module of load_image().
[[nodiscard]] Kernel* find_kernel(Module* module, const char* name, Error& error);
[[nodiscard]] Variable* find_variable(Module* module, const char* name, Error& error);
/// Checks PTX that will be linked with other texts. `message`: the error in invalid PTX.
Error check_ptx(const std::string& text, std::string& message);
/// Makes an image of several PTX texts, each of which is a translation unit.
[[nodiscard]] std::string link_images(const std::vector<std::string>& texts);

}  // namespace gpumux::cudart
