// A launch of a kernel that the emulator executes, as a KernelSource.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "base/error.hpp"
#include "emulator/block.hpp"
#include "ptx/idempotence.hpp"
#include "workload/stream.hpp"

namespace gpumux::emulator {

class KernelLaunch final : public workload::KernelSource {
 public:
  explicit KernelLaunch(std::shared_ptr<LaunchData> data) : data_(std::move(data)) {}

  [[nodiscard]] const std::string& name() const override { return data_->program->kernel->code.name; }
  [[nodiscard]] std::uint64_t blocks() const override { return data_->config.grid.count(); }
  [[nodiscard]] Dim3 grid() const override { return data_->config.grid; }
  [[nodiscard]] Dim3 block() const override { return data_->config.block; }
  [[nodiscard]] workload::BlockResources resources() const override { return data_->resources; }
  [[nodiscard]] const std::vector<isa::StaticInst>& static_table() const override {
    return data_->program->kernel->table;
  }
  [[nodiscard]] std::string describe_pc(std::uint32_t pc) const override {
    const isa::Function& code = data_->program->kernel->code;
    if (pc >= code.code.size()) return fmt::format("{}+{}", code.name, pc);
    const isa::Module& module = data_->module->compiled->module;
    return fmt::format("{}+{} {}, {}", code.name, pc, isa::to_text(module, code, code.code[pc]),
                       module.place(code.code[pc].line));
  }
  [[nodiscard]] Address code_address() const override { return data_->code_address; }
  [[nodiscard]] bool has_notices() const override { return data_->program->kernel->has_notices; }
  [[nodiscard]] bool launches() const override { return data_->program->has_streams; }
  [[nodiscard]] bool is_cooperative() const override { return data_->config.cooperative; }
  [[nodiscard]] bool is_idempotent() override { return ptx::is_idempotent(data_->program->kernel->code); }
  std::unique_ptr<workload::BlockStream> begin_block(std::uint64_t index, std::uint32_t residency, SmId sm,
                                                     Cycle now) override {
    GPUMUX_CHECK(index < blocks());
    return std::make_unique<Block>(data_, index, residency, sm, now);
  }
  /// Starts a block without records, which is executed by Block::advance().
  std::unique_ptr<Block> begin_untimed(std::uint64_t index, std::uint32_t residency) {
    GPUMUX_CHECK(index < blocks());
    return std::make_unique<Block>(data_, index, residency, 0, 0, false);
  }

 private:
  std::shared_ptr<LaunchData> data_;
};

}  // namespace gpumux::emulator
