// A run time without a machine. Every launch is executed immediately by the emulator.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "emulator/program.hpp"
#include "runtime/host.hpp"
#include "workload/device_memory.hpp"

namespace gpumux::testing_support {

class FunctionalHost : public runtime::Host {
 public:
  /// `optimize`: the member of ptx::CompileOptions.
  explicit FunctionalHost(int optimize) { options_.optimize = optimize; }
  explicit FunctionalHost(const ptx::CompileOptions& options) : options_(options) {}

  std::uint32_t load_module(std::string_view ptx_text, const std::string& file) override {
    modules_.push_back(std::make_unique<emulator::LoadedModule>(
        emulator::compile_module(ptx_text, file, options_), memory_, AppId{0}, nullptr));
    if (modules_.size() == 1) module_bytes_ = memory_.allocated_bytes();
    return static_cast<std::uint32_t>(modules_.size() - 1);
  }
  Address malloc_bytes(std::uint64_t bytes) override { return memory_.allocate(bytes); }
  using Host::free;
  void free(Address address) override { memory_.free(address); }
  void copy_to_device(Address to, std::span<const std::byte> from, runtime::StreamId) override {
    memory_.write(to, from);
  }
  void copy_from_device(std::span<std::byte> to, Address from, runtime::StreamId) override {
    memory_.read(from, to);
  }
  void copy_on_device(Address to, Address from, std::uint64_t bytes, runtime::StreamId) override {
    std::vector<std::byte> copy(bytes);
    memory_.read(from, copy);
    memory_.write(to, copy);
  }
  void fill(Address to, std::uint8_t value, std::uint64_t bytes, runtime::StreamId) override {
    memory_.fill(to, std::byte{value}, bytes);
  }
  void copy_to_symbol(std::uint32_t module, const std::string& symbol, std::uint64_t offset,
                      std::span<const std::byte> from, runtime::StreamId) override {
    if (const Address address = modules_.at(module)->global_address(symbol); address != 0) {
      memory_.write(address + offset, from);
    } else {
      modules_.at(module)->write_const(symbol, offset, from);
    }
  }
  [[nodiscard]] Address symbol_address(std::uint32_t module, const std::string& symbol) override {
    return modules_.at(module)->global_address(symbol);
  }
  void launch_raw(std::uint32_t module, const std::string& kernel, const runtime::LaunchSpec& spec,
                  std::string parameters) override {
    const emulator::KernelInfo* info = modules_.at(module)->find(kernel);
    if (info == nullptr) throw UserError("unknown kernel " + kernel);
    emulator::LaunchConfig config;
    config.grid = spec.grid;
    config.block = spec.block;
    config.dynamic_shared_bytes = spec.shared_bytes;
    config.parameters = std::move(parameters);
    config.textures_time = memory_.textures().time();
    const auto launch = modules_.at(module)->launch(*info, std::move(config));
    warp_instructions_[kernel] += run(*launch);
  }
  [[nodiscard]] workload::TextureTable& textures() override { return memory_.textures(); }
  void copy_on_device_to_array(const workload::TextureArray& array, Address from,
                               runtime::StreamId) override {
    std::vector<std::byte> texels(array.texel_bytes());
    memory_.read(from, texels);
    memory_.write(array.address, workload::lay_out(array, texels));
  }
  runtime::StreamId create_stream() override { return 1; }
  runtime::EventId create_event() override { return 0; }
  void record_event(runtime::EventId, runtime::StreamId) override {}
  void stream_wait_event(runtime::StreamId, runtime::EventId) override {}
  [[nodiscard]] Cycle event_cycle(runtime::EventId) const override { return 0; }

  [[nodiscard]] const std::map<std::string, std::uint64_t>& warp_instructions() const {
    return warp_instructions_;
  }
  /// Bytes that the host program allocated and did not free.
  [[nodiscard]] std::uint64_t leaked_bytes() const { return memory_.allocated_bytes() - module_bytes_; }

 protected:
  /// Executes a kernel. Returns the number of warp instructions.
  virtual std::uint64_t run(workload::KernelSource& kernel) { return emulator::run_functionally(kernel); }
  [[nodiscard]] bool is_idle(WaitFor::What, std::uint32_t) const override { return true; }
  void wait_until_idle(WaitFor::What, std::uint32_t) override {}

 private:
  ptx::CompileOptions options_;
  workload::DeviceMemory memory_{AppId{0}};
  std::vector<std::unique_ptr<emulator::LoadedModule>> modules_;
  std::uint64_t module_bytes_ = 0;  // the module's own symbols
  std::map<std::string, std::uint64_t> warp_instructions_;
};

}  // namespace gpumux::testing_support
