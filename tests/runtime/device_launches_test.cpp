// Kernels that launch kernels, over a device that runs them one by one: which kernel may run when.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include <fmt/core.h>

#include "base/error.hpp"
#include "runtime/context.hpp"

namespace gpumux::runtime {
namespace {

constexpr const char* kHead = R"(
.version 9.0
.target sm_75
.address_size 64
.extern .func (.param .b64 r) __cudaCDP2GetParameterBufferV2(.param .b64 f, .param .align 4 .b8 g[12], .param .align 4 .b8 b[12], .param .b32 s);
.extern .func (.param .b32 r) __cudaCDP2LaunchDeviceV2(.param .b64 p, .param .b64 s);
.extern .func (.param .b32 r) __cudaCDP2GetLastError();
.visible .global .align 4 .u32 errors[4];
.visible .entry a() { ret; }
.visible .entry b() { ret; }
.visible .entry c() { ret; }
.visible .entry after() { ret; }
)";

constexpr std::uint64_t kNull = 0, kPerThread = 2, kTail = 3, kForget = 4;

/// The PTX of `kernel<<<1, threads, 0, stream>>>()`, whose error goes to errors[at].
std::string launch(const std::string& kernel, std::uint64_t stream, int at = 0, unsigned threads = 1) {
  return fmt::format(R"(
  mov.u64 %rd1, {};
  {{
    .param .b64 f; st.param.b64 [f], %rd1;
    .param .align 4 .b8 g[12]; st.param.b32 [g+0], 1; st.param.b32 [g+4], 1; st.param.b32 [g+8], 1;
    .param .align 4 .b8 t[12]; st.param.b32 [t+0], {}; st.param.b32 [t+4], 1; st.param.b32 [t+8], 1;
    .param .b32 s; st.param.b32 [s], 0;
    .param .b64 r;
    call.uni (r), __cudaCDP2GetParameterBufferV2, (f, g, t, s);
    ld.param.b64 %rd2, [r];
  }}
  {{
    .param .b64 p; st.param.b64 [p], %rd2;
    .param .b64 s; st.param.b64 [s], {};
    .param .b32 r;
    call.uni (r), __cudaCDP2LaunchDeviceV2, (p, s);
    ld.param.b32 %r1, [r];
  }}
  st.global.u32 [errors+{}], %r1;
)",
                     kernel, threads, stream, 4 * at);
}

std::string entry(const std::string& name, const std::string& body) {
  return fmt::format(".visible .entry {}()\n{{\n  .reg .b32 %r<4>;\n  .reg .b64 %rd<4>;\n{}  ret;\n}}\n",
                     name, body);
}

class OneByOne final : public Device {
 public:
  struct Running {
    StreamId stream;
    std::unique_ptr<workload::KernelSource> kernel;
  };
  OneByOne() { config_.sm.max_threads = 1536; }
  [[nodiscard]] const arch::MachineConfig& config() const override { return config_; }
  [[nodiscard]] Cycle now() const override { return 0; }
  void submit(Context&, StreamId stream, std::unique_ptr<workload::KernelSource> kernel,
              std::uint8_t /*priority*/) override {
    running.push_back({stream, std::move(kernel)});
  }
  void kill(Context&) override {}
  void copied_to_device(AppId, Address, std::uint64_t) override {}
  arch::MachineConfig config_;
  std::vector<Running> running;
};

class DeviceLaunchesTest : public testing::Test {
 protected:
  /// The program launches `parent`, and `after` behind it.
  class Program final : public Application {
   public:
    Program(std::string ptx, std::uint64_t limit, std::vector<std::uint32_t>& errors)
        : ptx_(std::move(ptx)), limit_(limit), errors_(errors) {}
    Task run(Host& host, bool) override {
      if (limit_ != 0) host.limit_pending_launches(limit_);
      const std::uint32_t module = host.load_module(ptx_, "launches.ptx");
      host.launch(module, "parent", {});
      host.launch(module, "after", {});
      errors_.assign(4, 0);
      host.from_device(errors_, {host.symbol_address(module, "errors")});
      co_await host.synchronize();
    }

   private:
    std::string ptx_;
    std::uint64_t limit_;
    std::vector<std::uint32_t>& errors_;
  };

  void start(const std::string& kernels, std::uint64_t limit = 0) {
    context_ = std::make_unique<Context>(AppId{0}, "nested",
                                         std::make_unique<Program>(kHead + kernels, limit, errors_), device_,
                                         false, nullptr);
    context_->start();
    context_->pump();
    finish("parent");
  }
  /// Runs the kernel, which has to be among those that may run.
  void finish(const std::string& name) {
    const auto found = std::find_if(device_.running.begin(), device_.running.end(),
                                    [&](const auto& of) { return of.kernel->name() == name; });
    ASSERT_NE(found, device_.running.end()) << name << " of " << running();
    const OneByOne::Running ended = std::move(*found);
    device_.running.erase(found);
    context_->kernel_began(ended.stream);
    (void)emulator::run_functionally(*ended.kernel);
    context_->kernel_ended(ended.stream);
    context_->pump();
  }
  /// What may run, in the order of submission.
  [[nodiscard]] std::string running() const {
    std::string names;
    for (const auto& of : device_.running) names += (names.empty() ? "" : " ") + of.kernel->name();
    return names;
  }
  OneByOne device_;
  std::vector<std::uint32_t> errors_;
  std::unique_ptr<Context> context_;
};

TEST_F(DeviceLaunchesTest, ABlocksStreamIsInOrderAndTheHostsWaitsForAll) {
  start(entry("parent", launch("a", kNull) + launch("b", kNull)));
  EXPECT_EQ(running(), "a");
  finish("a");
  EXPECT_EQ(running(), "b");
  EXPECT_FALSE(context_->finished());
  finish("b");
  EXPECT_EQ(running(), "after");
  finish("after");
  EXPECT_TRUE(context_->finished());
}

TEST_F(DeviceLaunchesTest, OtherStreamsAndWhatIsForgottenRunSideBySide) {
  start(entry("parent", launch("a", kNull) + launch("b", kPerThread) + launch("c", kForget) +
                            launch("c", kForget) + launch("b", kNull)));
  EXPECT_EQ(running(), "a b c c");
  finish("c");
  finish("b");
  finish("a");
  EXPECT_EQ(running(), "c b");
  finish("b");
  EXPECT_EQ(running(), "c") << "the host's stream waits for what was forgotten, too";
  finish("c");
  EXPECT_EQ(running(), "after");
}

TEST_F(DeviceLaunchesTest, ChildrenCompleteWithTheirOwn) {
  start(entry("child", launch("a", kForget)) + entry("parent", launch("child", kNull) + launch("b", kNull)));
  finish("child");
  EXPECT_EQ(running(), "a") << "b waits for the child and for what it launched";
  finish("a");
  EXPECT_EQ(running(), "b");
}

TEST_F(DeviceLaunchesTest, TailsComeLastAndOneAfterTheOther) {
  start(entry("child", launch("c", kTail) + launch("a", kNull)) +
        entry("parent", launch("child", kTail) + launch("b", kTail) + launch("a", kForget)));
  EXPECT_EQ(running(), "a");
  finish("a");
  EXPECT_EQ(running(), "child");
  finish("child");
  EXPECT_EQ(running(), "a");
  finish("a");
  EXPECT_EQ(running(), "c") << "the tail of the first tail";
  finish("c");
  EXPECT_EQ(running(), "b");
  finish("b");
  EXPECT_EQ(running(), "after");
}

TEST_F(DeviceLaunchesTest, AKernelMayLaunchItselfLastForLong) {
  start(entry("parent", launch("parent", kTail)));
  for (int i = 0; i < 100; ++i) {
    ASSERT_EQ(running(), "parent");
    finish("parent");
  }
}

TEST_F(DeviceLaunchesTest, NestsUpToItsDepth) {
  start(entry("parent", launch("parent", kNull)));
  for (std::uint32_t i = 0; i < DeviceLaunches::kMostDepth; ++i) {
    ASSERT_EQ(running(), "parent") << i;
    finish("parent");
  }
  EXPECT_EQ(running(), "after");
  finish("after");
  EXPECT_EQ(errors_[0], static_cast<std::uint32_t>(emulator::DeviceError::LaunchMaxDepthExceeded));
}

TEST_F(DeviceLaunchesTest, PendingLaunchesHaveALimit) {
  start(entry("parent", launch("a", kNull, 0) + launch("b", kForget, 1) + launch("c", kNull, 2)), 2);
  EXPECT_EQ(running(), "a b");
  finish("a");
  finish("b");
  finish("after");
  EXPECT_EQ(errors_,
            (std::vector<std::uint32_t>{
                0, 0, static_cast<std::uint32_t>(emulator::DeviceError::LaunchPendingCountExceeded), 0}));
}

TEST_F(DeviceLaunchesTest, WhatNoSmCanHoldIsAnErrorOfTheCall) {
  start(entry("parent", launch("a", kNull, 0, 1025) + launch("a", 99, 1)));
  finish("after");
  EXPECT_EQ(errors_[0], static_cast<std::uint32_t>(emulator::DeviceError::InvalidConfiguration));
  EXPECT_EQ(errors_[1], static_cast<std::uint32_t>(emulator::DeviceError::InvalidResourceHandle));
}

TEST_F(DeviceLaunchesTest, OneThatIsKilledEndsWithTheKernelsThatTheDeviceLetsGo) {
  start(entry("parent", launch("a", kNull) + launch("b", kNull) + launch("c", kTail)));
  context_->kill();
  EXPECT_FALSE(context_->finished());
  finish("a");
  EXPECT_EQ(running(), "");
  EXPECT_TRUE(context_->finished());
}

TEST_F(DeviceLaunchesTest, CallsHaveTheArgumentsThatTheyTake) {
  const std::string declared = ".extern .func (.param .b32 r) __cudaCDP2StreamDestroy(.param .b32 s);\n";
  const std::string call = R"(
  {
    .param .b32 s; st.param.b32 [s], 1;
    .param .b32 r;
    call.uni (r), __cudaCDP2StreamDestroy, (s);
  }
)";
  std::string said;
  try {
    start(declared + entry("parent", call));
  } catch (const UserError& error) {
    said = error.what();
  }
  EXPECT_NE(said.find("call to '__cudaCDP2StreamDestroy' with other arguments than it takes"),
            std::string::npos)
      << said;
}

}  // namespace
}  // namespace gpumux::runtime
