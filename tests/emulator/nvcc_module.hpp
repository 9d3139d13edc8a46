// Loads modules that nvcc compiled from tests/emulator/data.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/files.hpp"
#include "emulator/kernel_builder.hpp"

namespace gpumux::emulator::test {

/// A device with the module. `optimize`: the member of ptx::CompileOptions.
class NvccModule {
 public:
  Device device;

  explicit NvccModule(const std::string& file, int optimize = 1, RaceLog* races = nullptr) {
    ptx::CompileOptions options;
    options.optimize = optimize;
    const std::string path = std::string(GPUMUX_SOURCE_DIR) + "/tests/emulator/data/" + file;
    compiled_ = compile_module(read_file(path), file, options);
    module_ = std::make_unique<LoadedModule>(compiled_, device.memory, AppId{0}, &device.sink,
                                             std::span<const workload::PlacedVariable>{}, nullptr, races);
  }
  [[nodiscard]] LoadedModule& module() { return *module_; }

  template <class T>
  Address put(const std::vector<T>& values) {
    const Address at = device.memory.allocate(values.size() * sizeof(T));
    device.memory.write(at, std::as_bytes(std::span(values)));
    return at;
  }
  template <class T>
  [[nodiscard]] std::vector<T> get(Address at, std::size_t count) {
    std::vector<T> values(count);
    device.memory.read(at, std::as_writable_bytes(std::span(values)));
    return values;
  }
  /// Runs a kernel. All parameters have 64 bits; the last one can have 32 bits. Returns the number of warp
  /// instructions.
  std::uint64_t run(const std::string& kernel, Dim3 grid, Dim3 block, std::vector<std::uint64_t> parameters,
                    bool cooperative = false) {
    const KernelInfo* const info = module_->find(kernel);
    EXPECT_NE(info, nullptr) << kernel;
    LaunchConfig config;
    config.grid = grid;
    config.block = block;
    config.cooperative = cooperative;
    config.parameters.assign(reinterpret_cast<const char*>(parameters.data()), parameters.size() * 8);
    config.parameters.resize(info->code.param_bytes);
    config.max_warp_instructions = 4'000'000;
    return execute(module_->launch(*info, config));
  }

 private:
  std::shared_ptr<const CompiledModule> compiled_;
  std::unique_ptr<LoadedModule> module_;
};

}  // namespace gpumux::emulator::test
