// Runs kernels given as PTX text.
#pragma once

#include <memory>
#include <string>

#include "emulator/kernel_builder.hpp"

namespace gpumux::emulator::test {

/// Adds the usual header of a PTX file.
inline std::string with_header(const std::string& body) {
  return ".version 8.0\n.target sm_75\n.address_size 64\n" + body;
}

/// A device with a module from PTX text. Kernels take 64-bit parameters.
class PtxRunner {
 public:
  Device device;
  KernelClock clock;

  explicit PtxRunner(const std::string& body, int optimize = 0, RaceLog* races = nullptr) {
    ptx::CompileOptions options;
    options.optimize = optimize;
    compiled_ = compile_module(with_header(body), "test.ptx", options);
    module_ = std::make_unique<LoadedModule>(compiled_, device.memory, AppId{0}, &device.sink,
                                             std::span<const workload::PlacedVariable>{}, nullptr, races);
  }
  LoadedModule& module() { return *module_; }

  std::unique_ptr<workload::KernelSource> launch(const std::string& kernel, Dim3 grid, Dim3 block,
                                                 const std::vector<std::uint64_t>& parameters,
                                                 std::uint32_t dynamic_shared = 0, std::uint64_t limit = 0) {
    LaunchConfig config;
    config.grid = grid;
    config.block = block;
    config.dynamic_shared_bytes = dynamic_shared;
    config.parameters.assign(reinterpret_cast<const char*>(parameters.data()), parameters.size() * 8);
    config.max_warp_instructions = limit;
    config.clock = clock;
    config.textures_time = device.memory.textures().time();
    return module_->launch(*module_->find(kernel), config);
  }
  std::uint64_t run(const std::string& kernel, Dim3 grid, Dim3 block,
                    const std::vector<std::uint64_t>& parameters, std::uint32_t dynamic_shared = 0,
                    std::uint64_t limit = 0) {
    return execute(launch(kernel, grid, block, parameters, dynamic_shared, limit));
  }
  std::string fault_of(const std::string& kernel, Dim3 grid, Dim3 block,
                       const std::vector<std::uint64_t>& parameters, std::uint32_t dynamic_shared = 0,
                       std::uint64_t limit = 0) {
    try {
      run(kernel, grid, block, parameters, dynamic_shared, limit);
    } catch (const SimulationFault& fault) {
      return fault.what();
    }
    return "";
  }

 private:
  std::shared_ptr<const CompiledModule> compiled_;
  std::unique_ptr<LoadedModule> module_;
};

}  // namespace gpumux::emulator::test
