// The key `code`: it selects whether the machine's instructions or those of the PTX are timed.
#include <string>

#include "emulator/program.hpp"
#include "experiment/run.hpp"
#include "micro/preset.hpp"
#include "noc/network.hpp"
#include "runtime/application.hpp"

namespace gpumux::micro {
namespace {

/// A chain of copies that nothing uses: no instruction of the machine's code but the exit.
std::string chain(std::uint32_t length) {
  std::string text =
      ".version 9.0\n.target sm_75\n.address_size 64\n.visible .entry chain()\n{\n.reg .b32 %r<2>;\n"
      "mov.u32 %r0, 7;\n";
  for (std::uint32_t i = 1; i < length; ++i)
    text += i % 2 == 1 ? "add.s32 %r1, %r0, 1;\n" : "add.s32 %r0, %r1, 1;\n";
  return text + "bra.uni END;\nEND:\nret;\n}\n";
}

class Chain final : public runtime::Application {
 public:
  explicit Chain(std::uint32_t length) : length_(length) {}
  runtime::Task run(runtime::Host& host, bool) override {
    host.launch(host.load_module(chain(length_), "chain.ptx"), "chain", {{1, 1, 1}, {32, 1, 1}, 0, 0});
    co_await host.synchronize();
  }

 private:
  std::uint32_t length_;
};

class CodeLevels : public Preset {
 protected:
  [[nodiscard]] experiment::RunResult run(isa::CodeLevel level, std::uint32_t length) const {
    experiment::RunSpec spec;
    spec.machine = config_;
    spec.machine.code = level;
    spec.machine.runtime.kernel_launch_latency = 0;
    spec.policy = policy::parse_choice("sequential");
    spec.audit = true;
    experiment::AppSpec app;
    app.text = app.name = app.identity = "chain";
    app.create = [=](std::uint64_t) { return std::make_unique<Chain>(length); };
    spec.apps.push_back(app);
    return experiment::simulate(spec);
  }
};

TEST_P(CodeLevels, ACopyOfThePtxCostsItsLatencyAndOneThatTheBackEndDropsNothing) {
  const Cycle window = noc::Network(config_).window;
  const auto length = static_cast<std::uint32_t>(2 * window);
  EXPECT_EQ(run(isa::CodeLevel::Machine, length).gpu.warp_instructions, 1U);
  const experiment::RunResult one = run(isa::CodeLevel::Ptx, length);
  const experiment::RunResult two = run(isa::CodeLevel::Ptx, 2 * length);
  EXPECT_EQ(one.gpu.warp_instructions, length + 2);  // a jump, too, and the exit
  EXPECT_EQ(two.gpu.warp_instructions, 2 * length + 2);
  // Both end with a window, and what one has more is a whole number of them.
  const Cycle each = std::max<Cycle>({row(LatencyClass::IntAdd).latency,
                                      occupied(Unit::Int, LatencyClass::IntAdd), config_.sm.issue_interval});
  EXPECT_EQ(two.cycles - one.cycles, length * each);
}

GPUMUX_ON_EVERY_PRESET(CodeLevels);

TEST(CodeLevelRegisters, AreThoseOfTheMachinesCode) {
  // Twenty copies that are all live at once in the text; the back end needs one value of them.
  std::string body = "ld.param.u64 %rd1,[p]; cvta.to.global.u64 %rd2,%rd1; ld.global.u32 %r0,[%rd2];";
  for (int i = 1; i <= 40; ++i) body += "add.s32 %r" + std::to_string(i) + ",%r0," + std::to_string(i) + ";";
  for (int i = 1; i <= 40; ++i)
    body += "st.global.u32 [%rd2+" + std::to_string(4 * i) + "],%r" + std::to_string(i) + ";";
  const std::string text =
      ".version 9.0\n.target sm_75\n.address_size 64\n.visible .entry k(.param .u64 p)\n{\n.reg .b32 "
      "%r<50>;\n"
      ".reg .b64 %rd<9>;\n" +
      body + "ret;\n}\n";
  const auto machine = emulator::compile_module(text, "t.ptx", {});
  const auto ptx = emulator::compile_module(text, "t.ptx", {.level = isa::CodeLevel::Ptx});
  EXPECT_EQ(ptx->kernels.at("k").registers, machine->kernels.at("k").registers);
  EXPECT_EQ(machine->kernels.at("k").registers, machine->kernels.at("k").code.num_reg32);
  EXPECT_GT(ptx->kernels.at("k").code.num_reg32, ptx->kernels.at("k").registers);
}

}  // namespace
}  // namespace gpumux::micro
