// What a program's static constructors have registered: fat binaries, and the kernels and variables in them
// by the addresses that stand for them on the host.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "session.hpp"

namespace gpumux::cudart {

struct Module {
  const void* wrapper = nullptr;
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
};

/// Finds a kernel by its host function, or by the handle that __cudaGetKernel gave; its module is loaded.
/// nullptr: `error` says why.
[[nodiscard]] Kernel* find_kernel(const void* function, Error& error);
/// The same of a variable, by its host variable.
[[nodiscard]] Variable* find_variable(const void* host_variable, Error& error);

}  // namespace gpumux::cudart
