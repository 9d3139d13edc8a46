// Small kernels built by hand in the instruction format, and a device to run them.
#pragma once

#include <algorithm>
#include <bit>
#include <cstring>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "emulator/program.hpp"
#include "isa/instruction.hpp"
#include "tests/emulator/timed_run.hpp"
#include "workload/device_memory.hpp"

namespace gpumux::emulator::test {

using isa::Instruction;
using isa::Opcode;
using isa::Operand;
using isa::Space;
using isa::Special;
using isa::Type;

inline Operand r(std::uint32_t index) { return Operand::reg32(index); }
inline Operand rd(std::uint32_t index) { return Operand::reg64(index); }
inline Operand p(std::uint32_t index) { return Operand::pred(index); }
inline Operand not_p(std::uint32_t index) { return Operand::pred(index, true); }
template <class T>
inline Operand imm(T bits) {
  return Operand::immediate(static_cast<std::uint64_t>(bits));
}
inline Operand fimm(float value) { return Operand::immediate(std::bit_cast<std::uint32_t>(value)); }
inline Operand sreg(Special which) { return Operand::special(which); }
inline Operand param(std::uint64_t offset) { return Operand::constant(offset); }

/// Builds a kernel in virtual registers, in its final form.
struct KernelBuilder {
  isa::Function function;
  isa::Module module;

  KernelBuilder() {
    function.name = "kernel";
    function.is_kernel = true;
    function.num_reg32 = 64;
    function.num_reg64 = 32;
    function.num_pred = 16;
    function.final = true;
    module.file = "test.ptx";
  }

  Instruction& add(Opcode op, Type type, std::initializer_list<Operand> dst,
                   std::initializer_list<Operand> src) {
    Instruction inst;
    inst.op = op;
    inst.type = type;
    std::copy(dst.begin(), dst.end(), inst.dst.begin());
    std::copy(src.begin(), src.end(), inst.src.begin());
    inst.line = static_cast<std::uint32_t>(function.code.size() + 1);
    function.code.push_back(inst);
    return function.code.back();
  }
  Instruction& load(Space space, Type type, Operand dst, Operand base, std::int64_t offset = 0) {
    Instruction& inst = add(Opcode::Ld, type, {dst}, {base});
    inst.space = space;
    inst.offset = offset;
    return inst;
  }
  Instruction& store(Space space, Type type, Operand base, Operand value, std::int64_t offset = 0) {
    Instruction& inst = add(Opcode::St, type, {}, {base, value});
    inst.space = space;
    inst.offset = offset;
    return inst;
  }
  Instruction& branch(std::uint32_t target, std::uint32_t reconverge, Operand guard = {}) {
    Instruction& inst = add(Opcode::Bra, Type::None, {}, {});
    inst.target = target;
    inst.reconverge = reconverge;
    inst.guard = guard;
    return inst;
  }
  Instruction& exit() { return add(Opcode::Exit, Type::None, {}, {}); }
  [[nodiscard]] std::uint32_t here() const { return static_cast<std::uint32_t>(function.code.size()); }

  [[nodiscard]] std::shared_ptr<const CompiledModule> compiled() const {
    auto result = std::make_shared<CompiledModule>();
    result->module = module;
    KernelInfo info;
    info.code = function;
    info.table = isa::make_static_table(function);
    result->kernels.emplace(function.name, std::move(info));
    return result;
  }
};

class TextSink final : public PrintSink {
 public:
  std::string text;
  void print(AppId, std::string_view part) override { text += part; }
};

/// Loads a module and launches its kernels, on its own memory.
class Device {
 public:
  workload::DeviceMemory memory{0};
  TextSink sink;

  template <class T>
  Address upload(const std::vector<T>& values) {
    const Address address = memory.allocate(values.size() * sizeof(T));
    memory.write(address, std::as_bytes(std::span(values)));
    return address;
  }
  template <class T>
  std::vector<T> download(Address address, std::size_t count) {
    std::vector<T> values(count);
    memory.read(address, std::as_writable_bytes(std::span(values)));
    return values;
  }
  LoadedModule& load(const KernelBuilder& builder) {
    loaded_ = std::make_unique<LoadedModule>(builder.compiled(), memory, AppId{0}, &sink);
    return *loaded_;
  }
  std::unique_ptr<workload::KernelSource> launch(const KernelBuilder& builder, Dim3 grid, Dim3 block,
                                                 const std::vector<std::uint64_t>& parameters = {},
                                                 std::uint32_t dynamic_shared = 0, std::uint64_t limit = 0) {
    KernelBuilder copy = builder;
    copy.function.param_bytes = static_cast<std::uint32_t>(parameters.size() * 8);
    LoadedModule& module = load(copy);
    LaunchConfig config;
    config.grid = grid;
    config.block = block;
    config.dynamic_shared_bytes = dynamic_shared;
    config.parameters.resize(parameters.size() * 8);
    if (!parameters.empty())
      std::memcpy(config.parameters.data(), parameters.data(), config.parameters.size());
    config.max_warp_instructions = limit;
    config.textures_time = memory.textures().time();
    return module.launch(*module.find("kernel"), config);
  }
  std::uint64_t run(const KernelBuilder& builder, Dim3 grid, Dim3 block,
                    const std::vector<std::uint64_t>& parameters = {}, std::uint32_t dynamic_shared = 0,
                    std::uint64_t limit = 0) {
    return execute(launch(builder, grid, block, parameters, dynamic_shared, limit));
  }
  /// The message of the SimulationFault that the kernel causes; "" if it causes none.
  std::string fault_of(const KernelBuilder& builder, Dim3 grid, Dim3 block,
                       const std::vector<std::uint64_t>& parameters = {}, std::uint32_t dynamic_shared = 0,
                       std::uint64_t limit = 0) {
    try {
      run(builder, grid, block, parameters, dynamic_shared, limit);
    } catch (const SimulationFault& fault) {
      return fault.what();
    }
    return "";
  }

 private:
  std::unique_ptr<LoadedModule> loaded_;
};

}  // namespace gpumux::emulator::test
