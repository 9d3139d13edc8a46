// Runs kernels of tests/ptx/suite without a timing model, for comparison with references on the host.
#pragma once

#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "base/files.hpp"
#include "emulator/program.hpp"
#include "runtime/host.hpp"
#include "workload/device_memory.hpp"

namespace gpumux::testing_support {

/// One module and its memory. Arguments of launch() must have the kernel's own types.
class SuiteDevice {
 public:
  explicit SuiteDevice(const std::string& name, int optimize = 1)
      : memory_(0),
        path_(std::string(GPUMUX_SOURCE_DIR) + "/tests/ptx/suite/" + name + ".ptx"),
        module_(emulator::compile_module(read_file(path_), path_, {.optimize = optimize}), memory_, 0,
                nullptr) {}

  template <typename T>
  Address upload(const std::vector<T>& values) {
    const Address at = memory_.allocate(values.size() * sizeof(T));
    memory_.write(at, std::as_bytes(std::span(values)));
    return at;
  }
  template <typename T>
  Address zeros(std::size_t count) {
    return upload(std::vector<T>(count));
  }
  template <typename T>
  std::vector<T> download(Address from, std::size_t count) const {
    std::vector<T> values(count);
    memory_.read(from, std::as_writable_bytes(std::span(values)));
    return values;
  }
  template <typename T>
  void set_constant(const std::string& symbol, const std::vector<T>& values) {
    module_.write_const(symbol, 0, std::as_bytes(std::span(values)));
  }
  template <typename... Args>
  void launch(const std::string& kernel, Dim3 grid, Dim3 block, std::uint32_t dynamic_shared,
              const Args&... args) {
    const emulator::KernelInfo* info = module_.find(kernel);
    if (info == nullptr) throw std::runtime_error("no kernel " + kernel);
    emulator::LaunchConfig config;
    config.grid = grid;
    config.block = block;
    config.dynamic_shared_bytes = dynamic_shared;
    config.max_warp_instructions = 10'000'000;
    (append(config.parameters, args), ...);
    const auto source = module_.launch(*info, std::move(config));
    emulator::run_functionally(*source);
  }

 private:
  template <typename T>
  static void append(std::string& bytes, const T& value) {
    static_assert(std::is_trivially_copyable_v<T>);
    bytes.resize((bytes.size() + alignof(T) - 1) / alignof(T) * alignof(T));
    bytes.append(reinterpret_cast<const char*>(&value), sizeof(T));
  }

  workload::DeviceMemory memory_;
  std::string path_;
  emulator::LoadedModule module_;
};

}  // namespace gpumux::testing_support
