// The parts of `inspect` for a kernel of PTX.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "arch/config.hpp"
#include "emulator/program.hpp"
#include "workload/stream.hpp"

namespace gpumux::cli {

/// A kernel, and its launch if known.
struct Subject {
  std::string kernel;
  std::optional<Dim3> grid;
  std::optional<Dim3> block;
  std::uint32_t dynamic_shared_bytes = 0;
  workload::BlockMetadata metadata;
};

/// The kernel's figures, and values that depend on machine and launch. For a kernel that cannot be compiled:
/// "error".
[[nodiscard]] nlohmann::ordered_json describe_kernel(const Subject& subject, const isa::Module& module,
                                                     const emulator::KernelInfo& kernel,
                                                     const arch::MachineConfig& machine);
/// Prints the document of describe_kernel() as text.
void print_kernel(const nlohmann::ordered_json& kernel);
[[nodiscard]] std::string disassembly(const emulator::CompiledModule& module, const isa::Function& code);

}  // namespace gpumux::cli
