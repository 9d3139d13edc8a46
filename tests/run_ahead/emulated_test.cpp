// Emulated blocks whose results depend on the order in which they run. If SMs run ahead of each other, they
// must be refilled in the order of a simulation window by window (Gpu::Options::no_skip).
#include <gtest/gtest.h>

#include "arch/config_file.hpp"
#include "experiment/run.hpp"
#include "tests/figures.hpp"

namespace gpumux {
namespace {

constexpr std::uint32_t kThreads = 64;
constexpr std::uint32_t kWords = 1U << 16U;  // of `data`, which begins with counters

const char* const kText = R"(
.version 8.0
.target sm_75
.address_size 64

// Each warp draws numbers; they say how long it goes on and which lines it reads.
.visible .entry tickets(.param .u64 data)
{
  .reg .pred %p<4>;
  .reg .b32 %r<16>;
  .reg .b64 %rd<10>;
  ld.param.u64 %rd1, [data];
  mov.u32 %r9, 0;
ROUND:
  atom.global.add.u32 %r1, [%rd1], 1;
  and.b32 %r2, %r1, 127;
  mul.lo.u32 %r3, %r1, 37;
  and.b32 %r3, %r3, 1023;
  mul.wide.u32 %rd2, %r3, 128;
  add.s64 %rd3, %rd1, %rd2;
LOOP:
  ld.global.u32 %r4, [%rd3+128];
  add.u32 %r5, %r5, %r4;
  mul.lo.u32 %r5, %r5, %r5;
  add.u32 %r2, %r2, 1;
  setp.lt.u32 %p1, %r2, 160;
  @%p1 bra LOOP;
  add.u32 %r9, %r9, 1;
  setp.lt.u32 %p2, %r9, 4;
  @%p2 bra ROUND;
  st.global.u32 [%rd3+128], %r5;
  ret;
}

// Each block waits until the one before it has passed, which no other may be before.
.visible .entry chain(.param .u64 data)
{
  .reg .pred %p<4>;
  .reg .b32 %r<16>;
  .reg .b64 %rd<10>;
  ld.param.u64 %rd1, [data];
  mov.u32 %r1, %ctaid.x;
  mov.u32 %r2, %tid.x;
  setp.ne.u32 %p1, %r2, 0;
  @%p1 bra MEET;
WAIT:
  ld.volatile.global.u32 %r3, [%rd1+8];
  setp.ne.u32 %p2, %r3, %r1;
  @%p2 bra WAIT;
  add.u32 %r4, %r1, 1;
  st.volatile.global.u32 [%rd1+8], %r4;
MEET:
  bar.sync 0;
  ret;
}

// Of the block `which` one warp waits for the other, which follows a chain of loads of its own accord; the
// other blocks end at once.
.visible .entry slow(.param .u64 data, .param .u32 which)
{
  .reg .pred %p<4>;
  .reg .b32 %r<16>;
  .reg .b64 %rd<10>;
  ld.param.u64 %rd1, [data];
  ld.param.u32 %r10, [which];
  mov.u32 %r1, %ctaid.x;
  setp.ne.u32 %p1, %r1, %r10;
  @%p1 bra END;
  mov.u32 %r2, %tid.x;
  setp.lt.u32 %p2, %r2, 32;
  @%p2 bra MEET;
LOOP:
  mul.wide.u32 %rd2, %r5, 4;
  add.s64 %rd3, %rd1, %rd2;
  ld.volatile.global.u32 %r5, [%rd3+262136];
  add.u32 %r3, %r3, 1;
  setp.lt.u32 %p3, %r3, 700;
  @%p3 bra LOOP;
MEET:
  bar.sync 0;
END:
  ret;
}

// Blocks of random length that do not look at each other.
.visible .entry apart(.param .u64 data)
{
  .reg .pred %p<4>;
  .reg .b32 %r<16>;
  .reg .b64 %rd<10>;
  ld.param.u64 %rd1, [data];
  mov.u32 %r1, %ctaid.x;
  mul.lo.u32 %r2, %r1, 811;
  and.b32 %r2, %r2, 511;
  mul.wide.u32 %rd2, %r2, 128;
  add.s64 %rd3, %rd1, %rd2;
LOOP:
  ld.global.u32 %r4, [%rd3+128];
  add.u32 %r5, %r5, %r4;
  mul.lo.u32 %r5, %r5, %r5;
  bar.sync 0;
  add.u32 %r2, %r2, 1;
  setp.lt.u32 %p1, %r2, 600;
  @%p1 bra LOOP;
  st.global.u32 [%rd3+131200], %r5;
  ret;
}
)";

/// Kernels side by side and one after the other.
class Kernels final : public runtime::Application {
 public:
  Kernels(std::uint32_t first, bool slow, std::vector<std::uint32_t>& left)
      : first_(first), slow_(slow), left_(left) {}
  runtime::Task run(runtime::Host& host, bool) override {
    const std::uint32_t module = host.load_module(kText, "order.ptx");
    const auto data = host.malloc<std::uint32_t>(kWords);
    const auto launch = [&](const char* kernel, std::uint32_t blocks, runtime::StreamId stream) {
      host.launch(module, kernel, {{blocks, 1, 1}, {kThreads, 1, 1}, 0, stream}, data);
    };
    if (slow_) {
      const runtime::StreamId aside = host.create_stream();
      host.launch(module, "slow", {{6, 1, 1}, {kThreads, 1, 1}, 0, aside}, data, 3 + first_);
      // Each arrives after a while in which nothing but the slow block moves.
      for (int i = 0; i < 6; ++i) {
        launch("tickets", 6, 0);
        co_await host.synchronize(0);
      }
    } else {
      const runtime::StreamId other = host.create_stream();
      launch("tickets", 20 + 7 * first_, 0);
      launch("apart", 16, other);
      launch("tickets", 9, other);
      launch("chain", 6, 0);
      launch("tickets", 28, 0);
    }
    co_await host.synchronize();
    // What blocks had drawn last lies where their last numbers say.
    left_.resize(kWords);
    host.from_device(left_, data);
    co_await host.synchronize();
  }

 private:
  std::uint32_t first_;
  bool slow_;
  std::vector<std::uint32_t>& left_;
};

std::string figures(experiment::RunSpec spec, std::uint32_t apps, bool slow) {
  std::vector<std::vector<std::uint32_t>> left(apps);
  for (std::uint32_t i = 0; i < apps; ++i) {
    experiment::AppSpec app;
    app.text = app.name = app.identity = "app " + std::to_string(i);
    app.create = [=, &left](std::uint64_t) { return std::make_unique<Kernels>(i, slow, left[i]); };
    spec.apps.push_back(std::move(app));
  }
  std::string text = gpumux::figures(experiment::simulate(spec));
  for (const std::vector<std::uint32_t>& words : left) {
    std::uint64_t hash = words.size();
    for (const std::uint32_t word : words) hash = hash * 1099511628211U + word;
    text += std::to_string(hash) + " memory\n";
  }
  return text;
}

class EmulatedRunAheadOfOthers : public testing::TestWithParam<const char*> {
 protected:
  static void expect_same(const char* machine, std::uint32_t apps, Cycle series, bool slow = false) {
    experiment::RunSpec spec;
    spec.machine = arch::load_machine(machine);
    spec.machine.sms = 6;
    spec.machine.sm.max_blocks = 4;
    spec.policy = policy::parse_choice(GetParam());
    for (const Cycle cycles : {Cycle{0}, Cycle{12'003}}) {
      spec.cycles = cycles;
      spec.no_skip = true;
      spec.threads = 1;
      spec.series = 0;
      const std::string in_step = figures(spec, apps, slow);
      spec.no_skip = false;
      EXPECT_EQ(in_step, figures(spec, apps, slow)) << machine;
      spec.threads = 3;
      EXPECT_EQ(in_step, figures(spec, apps, slow)) << machine << ", 3 threads";
      spec.series = series;
      EXPECT_EQ(in_step, figures(spec, apps, slow)) << machine << ", sampled";
    }
  }
};

TEST_P(EmulatedRunAheadOfOthers, Alone) {
  for (const char* machine : {"v100", "dai18-maxwell"}) expect_same(machine, 1, 1003);
}

TEST_P(EmulatedRunAheadOfOthers, Together) { expect_same("v100", 2, 517); }

// A warp that waits at a barrier is refilled in vain until the other has come: also across windows that are
// skipped because nothing else happens, at whose end a kernel arrives.
TEST_P(EmulatedRunAheadOfOthers, WhileAWarpWaits) { expect_same("v100", 1, 1003, true); }

INSTANTIATE_TEST_SUITE_P(Policies, EmulatedRunAheadOfOthers, testing::Values("leftover", "even", "spatial"),
                         [](const auto& policy) { return std::string(policy.param); });

}  // namespace
}  // namespace gpumux
