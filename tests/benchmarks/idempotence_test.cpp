// The static analysis of idempotence on all applications, compared with the accesses that their blocks make.
// And notices, which must not change results.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <span>
#include <vector>

#include "arch/config_file.hpp"
#include "base/hash.hpp"
#include "benchmarks/functional_host.hpp"
#include "experiment/idempotence_check.hpp"
#include "experiment/run.hpp"
#include "ptx/idempotence.hpp"
#include "runtime/application.hpp"
#include "tests/small_apps.hpp"

namespace gpumux {
namespace {

/// Of all kernels: in place, or each level of a search marks what it has read; the others write to a buffer
/// that they do not read.
constexpr const char* kNotIdempotent[] = {"adjust_weights",
                                          "bfs_expand",
                                          "bfs_update",
                                          "lud_diagonal",
                                          "lud_perimeter",
                                          "lud_internal",
                                          "sgemm_nt",
                                          "layerforward_over",
                                          "findK",
                                          "findRangeK",
                                          "lattice_energy",
                                          "radix4_global",
                                          "transform_shared",
                                          "modulate",
                                          "needle_first",
                                          "needle_second",
                                          "walk_sequence",
                                          "track_points",
                                          "gradient_flow",
                                          "find_range",
                                          "count_range",
                                          "saturate",
                                          "bin_samples",
                                          "sort_tiles",
                                          "scan_parts",
                                          "scan_up",
                                          "scan_down",
                                          "update_rows",
                                          "extract",
                                          "reduce",
                                          "srad2",
                                          "compress",
                                          "add_totals",
                                          "compute_q",
                                          "bfs_relax",
                                          "sssp_relax",
                                          "mst_lightest",
                                          "mst_join",
                                          "mst_label",
                                          "sp_bias",
                                          "sp_decimate",
                                          "prefix_sum_add",
                                          "bitonic_tiles_text",
                                          "bitonic_step_text",
                                          "bitonic_tiles_number",
                                          "bitonic_step_number"};

/// This kernel keeps the address of its results in shared memory, as the original program does. The analysis
/// does not follow the address there, and takes the stores for ones that may overwrite the input.
constexpr std::string_view kUnknownAddress = "cutcp_points";

const runtime::AppInfo& info_of(const std::string& text) {
  return *runtime::find_app(text.substr(0, text.find(':')));
}
std::unique_ptr<runtime::Application> make(const std::string& text) {
  const runtime::AppInfo& info = info_of(text);
  return info.create(runtime::parse_params(info, text.substr(text.find(':') + 1)), 1);
}

class StaticIdempotence : public testing::TestWithParam<const char*> {};

TEST_P(StaticIdempotence, MissesNothingThatABlockReallyDoes) {
  const runtime::AppInfo& info = info_of(GetParam());
  for (const isa::CodeLevel level : {isa::CodeLevel::Machine, isa::CodeLevel::Ptx}) {
    arch::MachineConfig machine = arch::load_machine("dai18-maxwell");
    machine.code = level;
    const auto module = emulator::compile_module(info.ptx_text, info.ptx_file, {.level = level});
    const auto executed = experiment::execute_for_idempotence(make(GetParam()), info.name, machine);
    EXPECT_FALSE(executed.empty());
    for (const auto& [name, kernel] : executed) {
      SCOPED_TRACE(name);
      const isa::Function& code = module->kernels.at(name).code;
      EXPECT_TRUE(experiment::judge(code, kernel).missed.empty());
      EXPECT_GT(kernel.blocks, 0U);
      const bool stops =
          std::find(std::begin(kNotIdempotent), std::end(kNotIdempotent), name) != std::end(kNotIdempotent);
      EXPECT_EQ(ptx::is_idempotent(code), !stops && name != kUnknownAddress);
      EXPECT_EQ(kernel.stopped > 0, stops);
    }
  }
}

TEST_P(StaticIdempotence, NoticesChangeNoResult) {
  std::map<std::string, std::uint64_t> plain;
  for (const bool notices : {false, true}) {
    testing_support::FunctionalHost host({.notices = notices});
    const auto application = make(GetParam());
    runtime::Task task = application->run(host, true);
    while (!task.done()) task.resume();
    if (!notices) plain = host.warp_instructions();
    for (const auto& [kernel, instructions] : host.warp_instructions()) {
      const bool stops =
          std::find(std::begin(kNotIdempotent), std::end(kNotIdempotent), kernel) != std::end(kNotIdempotent);
      EXPECT_EQ(instructions > plain.at(kernel), notices && (stops || kernel == kUnknownAddress)) << kernel;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Apps, StaticIdempotence, testing::ValuesIn(test::kSmallApps), test::app_test_name);

double number(const experiment::RunResult& result, const std::string& name) {
  for (const policy::Report::Number& n : result.policy_report.numbers)
    if (n.name == name) return n.value;
  return -1;
}

experiment::RunResult slices(const char* app, const std::string& preempt) {
  experiment::RunSpec spec;
  spec.machine = arch::load_machine("dai18-maxwell", {"sms=4"});
  spec.policy = policy::parse_choice("time-slice:slice=10000,preempt=" + preempt);
  spec.cycles = 300000;
  spec.verify = true;
  spec.audit = true;
  for (const char* text : {app, "add:blocks=64,loops=4"}) spec.apps.push_back(experiment::builtin_app(text));
  return experiment::simulate(spec);
}

TEST(FlushStrict, FlushesBlocksOfIdempotentKernelsAlone) {
  EXPECT_GT(number(slices("hotspot:size=256,steps=2", "flush-strict"), "preempted_blocks_flushed"), 0);
  const experiment::RunResult both = slices("sgemm:m=512,n=256,k=64", "flush");
  const experiment::RunResult strict = slices("sgemm:m=512,n=256,k=64", "flush-strict");
  EXPECT_GT(number(both, "preempted_blocks_flushed"), number(strict, "preempted_blocks_flushed"));
  EXPECT_GT(number(strict, "preempted_blocks_drained"), number(both, "preempted_blocks_drained"));
  for (const experiment::RunResult* result : {&both, &strict})
    EXPECT_EQ(number(*result, "missed_notices"), 0);
}

TEST(FlushNotified, ItsCodeAloneHasNotices) {
  const auto instructions = [](const char* app, const char* preempt) {
    experiment::RunSpec spec;
    spec.machine = arch::load_machine("dai18-maxwell", {"sms=4"});
    spec.policy = policy::parse_choice(std::string("smart-even:preempt=") + preempt);
    spec.verify = true;
    spec.apps.push_back(experiment::builtin_app(app));
    return experiment::simulate(spec).gpu.warp_instructions;
  };
  const std::uint64_t plain = instructions("lud:size=128", "drain");
  for (const char* preempt : {"switch", "flush,relaxed=exact", "chimera,relaxed=exact", "flush-strict"})
    EXPECT_EQ(instructions("lud:size=128", preempt), plain) << preempt;
  for (const char* preempt : {"flush", "chimera", "flush,relaxed=notified"})
    EXPECT_GT(instructions("lud:size=128", preempt), plain) << preempt;
  EXPECT_EQ(instructions("hotspot:size=64", "flush"), instructions("hotspot:size=64", "drain"));
}

TEST(FlushNotified, ResultsAreRightAndNoNoticeIsMissed) {
  for (const char* preempt : {"flush", "chimera", "flush,relaxed=exact", "chimera,relaxed=exact"}) {
    for (const char* app : {"bfs:nodes=20000", "lud:size=128", "backprop:inputs=4096"}) {
      const experiment::RunResult result = slices(app, preempt);
      EXPECT_GT(number(result, "preemptions"), 5) << app;
      EXPECT_EQ(number(result, "missed_notices"), 0) << app;
    }
  }
}

/// Adds one to each word through two parameters that are one buffer, early, and then computes for long.
class Aliased final : public runtime::Application {
 public:
  static constexpr std::uint32_t kBlocks = 64, kThreads = 64;
  static constexpr const char* kText = R"(.version 8.0
.target sm_75
.address_size 64
.visible .entry k(.param .u64 a, .param .u64 b)
{
  .reg .pred %p<2>;
  .reg .b32 %r<16>;
  .reg .b64 %rd<10>;
  ld.param.u64 %rd1, [a];
  ld.param.u64 %rd2, [b];
  mov.u32 %r1, %tid.x;
  mov.u32 %r2, %ctaid.x;
  mov.u32 %r3, %ntid.x;
  mad.lo.u32 %r4, %r2, %r3, %r1;
  mul.wide.u32 %rd3, %r4, 4;
  add.s64 %rd4, %rd1, %rd3;
  add.s64 %rd5, %rd2, %rd3;
  ld.global.u32 %r5, [%rd4];
  add.u32 %r5, %r5, 1;
  st.global.u32 [%rd5], %r5;
  mov.u32 %r6, 0;
LOOP:
  mad.lo.u32 %r7, %r6, %r6, %r7;
  add.u32 %r6, %r6, 1;
  setp.lt.u32 %p1, %r6, 500;
  @%p1 bra LOOP;
  st.global.u32 [%rd5+16384], %r7;
  ret;
}
)";
  runtime::Task run(runtime::Host& host, bool) override {
    const std::uint32_t module = host.load_module(kText, "aliased.ptx");
    constexpr std::uint32_t kWords = kBlocks * kThreads;
    const auto words = host.malloc<std::uint32_t>(std::size_t{2} * kWords);
    host.launch(module, "k", {{kBlocks, 1, 1}, {kThreads, 1, 1}, 0, 0}, words, words);
    std::vector<std::uint32_t> result(kWords);
    host.copy_from_device(std::as_writable_bytes(std::span(result)), words.address, 0);
    co_await host.synchronize();
    EXPECT_EQ(std::count(result.begin(), result.end(), 1U), std::ptrdiff_t{kWords});
  }
};

TEST(FlushNotified, WhatTheAnalysisMissesTheMachineDoesNotDrop) {
  const arch::MachineConfig machine = arch::load_machine("dai18-maxwell", {"sms=4"});
  const auto module = emulator::compile_module(Aliased::kText, "aliased.ptx", {.level = machine.code});
  const isa::Function& code = module->kernels.at("k").code;
  EXPECT_TRUE(ptx::is_idempotent(code));  // parameters are taken for different buffers
  const auto executed = experiment::execute_for_idempotence(std::make_unique<Aliased>(), "aliased", machine);
  EXPECT_EQ(executed.at("k").stopped, Aliased::kBlocks);
  const experiment::IdempotenceVerdict verdict = experiment::judge(code, executed.at("k"));
  ASSERT_EQ(verdict.missed.size(), 1U);
  EXPECT_EQ(executed.at("k").accesses.at(verdict.missed[0]).first, Aliased::kBlocks);

  for (const char* preempt : {"flush", "flush-strict"}) {
    experiment::RunSpec spec;
    spec.machine = machine;
    spec.policy = policy::parse_choice(std::string("time-slice:slice=4000,preempt=") + preempt);
    spec.cycles = 200000;
    spec.audit = true;
    experiment::AppSpec app;
    app.text = app.name = app.identity = "aliased";
    app.create = [](std::uint64_t) { return std::make_unique<Aliased>(); };
    spec.apps = {app, experiment::builtin_app("add:blocks=64,loops=1")};
    const experiment::RunResult result = experiment::simulate(spec);
    EXPECT_GT(number(result, "missed_notices"), 0) << preempt;
    EXPECT_GE(number(result, "preempted_blocks_drained"), number(result, "missed_notices")) << preempt;
    EXPECT_GT(result.apps[0].completions, 1U) << preempt;
  }
}

// --- random kernels ---------------------------------------------------------------------------------------

/// Loads, stores and atomics through two parameters, a pointer that is either, and a variable; barriers,
/// loops and branches that whole blocks take, and branches that warps and lanes take apart.
class RandomKernel {
 public:
  explicit RandomKernel(std::uint64_t seed) : random_(seed) {}
  std::string text() {
    statements(3, true);
    return R"(.version 8.0
.target sm_75
.address_size 64
.global .align 256 .b32 v[320];
.visible .entry k(.param .u64 a, .param .u64 b)
{
  .reg .pred %p<200>;
  .reg .b32 %r<400>;
  .reg .b64 %rd<400>;
  ld.param.u64 %rd1, [a];
  ld.param.u64 %rd2, [b];
  cvta.to.global.u64 %rd1, %rd1;
  cvta.to.global.u64 %rd2, %rd2;
  mov.u64 %rd3, v;
  mov.u32 %r1, %tid.x;
  mov.u32 %r2, %ctaid.x;
  setp.lt.u32 %p1, %r1, 13;
  selp.b64 %rd4, %rd1, %rd2, %p1;
  mov.u32 %r3, 1;
)" + body_ +
           "  ret;\n}\n";
  }

 private:
  std::uint32_t below(std::uint32_t n) { return random_.below(n); }
  std::string reg() { return "%r" + std::to_string(next_++); }
  void add(const std::string& line) { body_ += "  " + line + "\n"; }
  void access() {
    // Neighbouring threads, of this warp or across warps, meet in a sector.
    const std::string index = reg();
    const std::string number = std::to_string(next_++);
    add("add.u32 " + index + ", %r1, " + std::to_string(below(4) * 16) + ";");
    add("mul.wide.u32 %rd" + number + ", " + index + ", 4;");
    add("add.s64 %rd" + number + ", %rd" + number + ", %rd" + std::to_string(1 + below(4)) + ";");
    const std::string at = "[%rd" + number + "+" + std::to_string(below(2) * 512) + "]";
    const std::string value = reg();
    switch (below(9)) {
      case 0: add("red.global.add.u32 " + at + ", 1;"); break;
      case 1:
      case 2:
      case 3:
      case 4: add("st.global.u32 " + at + ", %r3;"); break;
      default: add("ld.global.u32 " + value + ", " + at + ";"); add("add.u32 %r3, %r3, " + value + ";");
    }
  }
  void statements(std::uint32_t depth, bool whole) {
    for (std::uint32_t n = 1 + below(4); n > 0; --n) {
      const std::uint32_t what = below(10);
      if (what < 3 && whole) {
        add("bar.sync 0;");
      } else if (what < 7 || depth == 0) {
        access();
      } else if (what == 7 && whole) {  // of the whole block, twice
        const std::string count = reg();
        const std::string label = "L" + std::to_string(labels_++);
        const std::string pred = "%p" + std::to_string(2 + labels_);
        add("mov.u32 " + count + ", 0;");
        body_ += label + ":\n";
        statements(depth - 1, true);
        add("add.u32 " + count + ", " + count + ", 1;");
        add("setp.lt.u32 " + pred + ", " + count + ", 2;");
        add("@" + pred + " bra " + label + ";");
      } else {  // by block, by warp, or by lane
        const bool by_block = whole && below(2) == 0;
        const std::string label = "L" + std::to_string(labels_++);
        const std::string end = "L" + std::to_string(labels_++);
        const std::string pred = "%p" + std::to_string(2 + labels_);
        const std::string limit = by_block ? "1" : below(2) == 0 ? "32" : "5";
        add("setp.lt.u32 " + pred + ", " + (by_block ? "%r2" : "%r1") + ", " + limit + ";");
        add("@" + pred + " bra " + label + ";");
        statements(depth - 1, by_block);
        add("bra " + end + ";");
        body_ += label + ":\n";
        statements(depth - 1, by_block);
        body_ += end + ":\n";
      }
    }
  }
  Random random_;
  std::string body_;
  std::uint32_t next_ = 10, labels_ = 0;
};

class TwoBuffers final : public runtime::Application {
 public:
  explicit TwoBuffers(std::string text) : text_(std::move(text)) {}
  runtime::Task run(runtime::Host& host, bool) override {
    const std::uint32_t module = host.load_module(text_, "random.ptx");
    const auto a = host.malloc<std::uint32_t>(320);
    const auto b = host.malloc<std::uint32_t>(320);
    host.launch(module, "k", {{2, 1, 1}, {96, 1, 1}, 0, 0}, a, b);
    co_await host.synchronize();
  }

 private:
  std::string text_;
};

TEST(RandomKernels, NothingIsMissed) {
  arch::MachineConfig machine = arch::load_machine("dai18-maxwell");
  std::uint32_t idempotent = 0, stopped = 0;
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    const std::string text = RandomKernel(seed).text();
    machine.code = seed % 2 == 0 ? isa::CodeLevel::Machine : isa::CodeLevel::Ptx;
    const auto module = emulator::compile_module(text, "random.ptx", {.level = machine.code});
    const isa::Function& code = module->kernels.at("k").code;
    const auto executed =
        experiment::execute_for_idempotence(std::make_unique<TwoBuffers>(text), "random", machine);
    ASSERT_TRUE(experiment::judge(code, executed.at("k")).missed.empty()) << "seed " << seed << "\n" << text;
    idempotent += ptx::is_idempotent(code) ? 1 : 0;
    stopped += executed.at("k").stopped > 0 ? 1 : 0;
  }
  EXPECT_GT(idempotent, 200U);
  EXPECT_GT(stopped, 400U);
  std::printf("%u of 2000 kernels are idempotent, blocks of %u are not at their ends\n", idempotent, stopped);
}

}  // namespace
}  // namespace gpumux
