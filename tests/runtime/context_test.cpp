// Contexts over a device whose kernels the test ends: order in streams, events, copies, restarts, errors.
#include "runtime/context.hpp"

#include <gtest/gtest.h>

#include "base/error.hpp"

namespace gpumux::runtime {
namespace {

constexpr const char* kPtx = R"(
.version 9.0
.target sm_75
.address_size 64
.global .align 4 .u32 counter = 7;
.visible .entry add_one(.param .u64 data)
{
  .reg .b64 %rd<3>;
  .reg .b32 %r<3>;
  ld.param.u64 %rd1, [data];
  cvta.to.global.u64 %rd2, %rd1;
  ld.global.u32 %r1, [%rd2];
  add.s32 %r2, %r1, 1;
  st.global.u32 [%rd2], %r2;
  ret;
}
)";

class HandDevice final : public Device {
 public:
  struct Running {
    Context* context;
    StreamId stream;
    std::unique_ptr<workload::KernelSource> kernel;
  };
  HandDevice() { config_.sm.max_threads = 1536; }
  [[nodiscard]] const arch::MachineConfig& config() const override { return config_; }
  [[nodiscard]] Cycle now() const override { return now_; }
  void submit(Context& context, StreamId stream, std::unique_ptr<workload::KernelSource> kernel,
              std::uint8_t /*priority*/) override {
    running.push_back({&context, stream, std::move(kernel)});
  }
  void kill(Context& context) override { killed = &context; }
  void copied_to_device(AppId, Address, std::uint64_t bytes) override { copied += bytes; }
  /// Runs and ends the kernel that was submitted i-th of those still there.
  void finish(std::size_t i = 0) {
    Running ended = std::move(running.at(i));
    running.erase(running.begin() + static_cast<std::ptrdiff_t>(i));
    (void)emulator::run_functionally(*ended.kernel);
    ended.context->kernel_ended(ended.stream);
    ended.context->pump();
  }
  arch::MachineConfig config_;
  Cycle now_ = 0;
  std::vector<Running> running;
  std::uint64_t copied = 0;
  const Context* killed = nullptr;
};

/// An application made of a lambda.
class Scripted final : public Application {
 public:
  using Script = Task (*)(Host&, std::vector<std::uint32_t>&);
  Scripted(Script script, std::vector<std::uint32_t>& log) : script_(script), log_(log) {}
  Task run(Host& host, bool) override { return script_(host, log_); }

 private:
  Script script_;
  std::vector<std::uint32_t>& log_;
};

class ContextTest : public testing::Test {
 protected:
  Context& start(Scripted::Script script) {
    context_ = std::make_unique<Context>(AppId{0}, "script", std::make_unique<Scripted>(script, log_),
                                         device_, true, nullptr);
    context_->start();
    context_->pump();
    return *context_;
  }
  std::string error_of(Scripted::Script script) {
    try {
      start(script);
    } catch (const std::exception& error) {
      return error.what();
    }
    return "no error";
  }
  HandDevice device_;
  std::vector<std::uint32_t> log_;
  std::unique_ptr<Context> context_;
};

TEST_F(ContextTest, OneStreamRunsInOrder) {
  Context& context = start([](Host& host, std::vector<std::uint32_t>& log) -> Task {
    const std::uint32_t module = host.load_module(kPtx, "one.ptx");
    const auto data = host.malloc<std::uint32_t>(1);
    std::vector<std::uint32_t> value = {40};
    host.to_device(data, value);
    host.launch(module, "add_one", {}, data);
    host.launch(module, "add_one", {}, data);
    host.from_device(value, data);
    co_await host.synchronize();
    log.push_back(value[0]);
  });
  EXPECT_EQ(device_.running.size(), 1U) << "the second launch waits for the first";
  EXPECT_EQ(device_.copied, 4U);
  device_.finish();
  EXPECT_EQ(device_.running.size(), 1U);
  EXPECT_FALSE(context.finished());
  device_.finish();
  EXPECT_TRUE(context.finished());
  EXPECT_EQ(log_, std::vector<std::uint32_t>{42});
}

/// Also where memory of copies that are done is used again, by others that are larger or smaller.
TEST_F(ContextTest, CopiesHaveTheBytesOfTheirCalls) {
  Context& context = start([](Host& host, std::vector<std::uint32_t>& log) -> Task {
    const auto data = host.malloc<std::uint32_t>(8);
    for (const std::size_t count : {4, 8, 2}) {
      for (std::uint32_t copy = 0; copy < 3; ++copy) {
        std::vector<std::uint32_t> values(count - copy, 10 * static_cast<std::uint32_t>(count) + copy);
        host.to_device(data + copy, values);
        std::ranges::fill(values, 0);
      }
      std::vector<std::uint32_t> back(8);
      host.from_device(back, data);
      co_await host.synchronize();
      log.insert(log.end(), back.begin(), back.end());
    }
  });
  EXPECT_TRUE(context.finished());
  const std::vector<std::uint32_t> expected = {40, 41, 42, 42, 0,  0,  0,  0,   //
                                               80, 81, 82, 82, 82, 82, 82, 82,  //
                                               20, 21, 82, 82, 82, 82, 82, 82};
  EXPECT_EQ(log_, expected);
}

TEST_F(ContextTest, OneThatIsKilledEndsWithTheKernelThatTheDeviceLetsGo) {
  Context& context = start([](Host& host, std::vector<std::uint32_t>& log) -> Task {
    const std::uint32_t module = host.load_module(kPtx, "one.ptx");
    const auto data = host.malloc<std::uint32_t>(1);
    host.launch(module, "add_one", {}, data);
    host.launch(module, "add_one", {}, data);
    co_await host.synchronize();
    log.push_back(1);
  });
  context.kill();
  EXPECT_EQ(device_.killed, &context);
  EXPECT_FALSE(context.finished());
  device_.finish();
  EXPECT_TRUE(context.finished());
  EXPECT_TRUE(device_.running.empty()) << "the second launch is gone";
  EXPECT_TRUE(log_.empty()) << "and so is the host program";
  context.start();  // and anew
  context.pump();
  device_.finish();
  device_.finish();
  EXPECT_EQ(log_, std::vector<std::uint32_t>{1});
}

/// A word that counts up to 0: the loop's kernel runs as long as it is not, then the other bodies are chosen
/// by what it is. What stands behind a condition waits for what it chose.
TEST_F(ContextTest, ConditionsDecideByWordsOfDeviceMemory) {
  Context& context = start([](Host& host, std::vector<std::uint32_t>& log) -> Task {
    const std::uint32_t module = host.load_module(kPtx, "one.ptx");
    const auto word = host.malloc<std::uint32_t>(1);
    const auto seen = host.malloc<std::uint32_t>(1);
    const auto body = [&](DevicePtr<std::uint32_t> counted) {
      const StreamId own = host.create_stream();
      const EventId event = host.create_event();
      const StreamId beside = host.create_stream();
      host.begin_body();
      host.launch(module, "add_one", {{}, {}, 0, own}, counted);
      host.record_event(event, own);
      host.stream_wait_event(beside, event);
      host.fill(counted.address, 0, 0, beside);
      return host.end_body();
    };
    const BodyId counts = body(word);
    const BodyId one = body(seen);
    const BodyId other = body(seen);
    using Kind = Condition::Kind;
    std::vector<std::uint32_t> value = {~0U - 2};
    host.to_device(word, value);
    value = {10};
    host.to_device(seen, value);
    host.enqueue_condition({Kind::While, word.address, {counts}}, 0);  // three times
    host.enqueue_condition({Kind::While, word.address, {counts}}, 0);  // and not again
    host.enqueue_condition({Kind::If, word.address, {counts}}, 0);     // nothing
    host.enqueue_condition({Kind::If, word.address, {counts, one}}, 0);
    host.enqueue_condition({Kind::Switch, seen.address, {one, one}}, 0);  // it is 11
    host.enqueue_condition({Kind::Switch, word.address, {other}}, 0);
    host.from_device(value, seen);
    co_await host.synchronize();
    log.push_back(value[0]);
    host.from_device(value, word);
    co_await host.synchronize();
    log.push_back(value[0]);
  });
  for (int kernels = 0; kernels < 5; ++kernels) {
    ASSERT_EQ(device_.running.size(), 1U) << kernels;
    EXPECT_FALSE(context.finished());
    device_.finish();
  }
  EXPECT_TRUE(context.finished());
  EXPECT_EQ(log_, (std::vector<std::uint32_t>{12, 0}));
}

TEST_F(ContextTest, BodiesHaveStreamsAndEventsOfTheirOwn) {
  EXPECT_NE(error_of([](Host& host, std::vector<std::uint32_t>&) -> Task {
              host.begin_body();
              host.fill(0, 0, 1, 0);
              co_return;
            }).find("stream 0 is used inside and outside of a body"),
            std::string::npos);
  EXPECT_NE(error_of([](Host& host, std::vector<std::uint32_t>&) -> Task {
              const StreamId own = host.create_stream();
              const EventId event = host.create_event();
              host.record_event(event, 0);
              host.begin_body();
              host.stream_wait_event(own, event);
              co_return;
            }).find("event 0 is used inside and outside of a body"),
            std::string::npos);
  EXPECT_NE(error_of([](Host& host, std::vector<std::uint32_t>&) -> Task {
              const StreamId own = host.create_stream();
              host.begin_body();
              host.fill(0, 0, 1, own);
              const BodyId body = host.end_body();
              host.enqueue_condition({Condition::Kind::If, 0, {body}}, own);
              co_return;
            }).find("a condition in stream 1, which is its body's"),
            std::string::npos);
  EXPECT_NE(error_of([](Host& host, std::vector<std::uint32_t>&) -> Task {
              host.begin_body();
              std::vector<std::uint32_t> value(1);
              host.from_device(value, DevicePtr<std::uint32_t>{});
              co_return;
            }).find("a body cannot have a copy to the host"),
            std::string::npos);
  // A loop that nothing ends takes no time: it is said.
  EXPECT_NE(error_of([](Host& host, std::vector<std::uint32_t>&) -> Task {
              const auto word = host.malloc<std::uint32_t>(1);
              const StreamId own = host.create_stream();
              host.begin_body();
              host.fill(word.address, 1, 4, own);
              const BodyId body = host.end_body();
              host.fill(word.address, 1, 4, 0);
              host.enqueue_condition({Condition::Kind::While, word.address, {body}}, 0);
              co_await host.synchronize();
            }).find("a graph's loop is endless"),
            std::string::npos);
}

TEST_F(ContextTest, StreamsRunSideBySideAndEventsJoinThem) {
  Context& context = start([](Host& host, std::vector<std::uint32_t>& log) -> Task {
    const std::uint32_t module = host.load_module(kPtx, "one.ptx");
    const auto data = host.malloc<std::uint32_t>(1);
    const StreamId a = host.create_stream();
    const StreamId b = host.create_stream();
    const EventId done = host.create_event();
    host.launch(module, "add_one", {{}, {}, 0, a}, data);
    host.record_event(done, a);
    host.launch(module, "add_one", {{}, {}, 0, 0}, data);
    host.stream_wait_event(b, done);
    host.launch(module, "add_one", {{}, {}, 0, b}, data);
    co_await host.synchronize_event(done);
    log.push_back(static_cast<std::uint32_t>(host.event_cycle(done)));
    co_await host.synchronize();
  });
  ASSERT_EQ(device_.running.size(), 2U) << "default stream and a; b waits for the event";
  device_.now_ = 500;
  device_.finish(device_.running[0].stream == 1 ? 0 : 1);
  EXPECT_EQ(log_, std::vector<std::uint32_t>{500});
  EXPECT_EQ(device_.running.size(), 2U);
  device_.finish();
  device_.finish();
  EXPECT_TRUE(context.finished());
}

TEST_F(ContextTest, AnEventMeansItsLastRecordingAtTheCall) {
  Context& context = start([](Host& host, std::vector<std::uint32_t>& log) -> Task {
    const std::uint32_t module = host.load_module(kPtx, "one.ptx");
    const auto data = host.malloc<std::uint32_t>(1);
    const StreamId a = host.create_stream();
    const StreamId b = host.create_stream();
    const EventId event = host.create_event();
    const EventId never = host.create_event();
    co_await host.synchronize_event(never);  // an event without a recording holds nobody up
    host.launch(module, "add_one", {{}, {}, 0, a}, data);
    host.record_event(event, a);
    host.stream_wait_event(0, event);  // for a alone
    host.launch(module, "add_one", {{}, {}, 0, 0}, data);
    host.launch(module, "add_one", {{}, {}, 0, b}, data);
    host.record_event(event, b);
    co_await host.synchronize_event(event);  // for b alone
    log.push_back(1);
    co_await host.synchronize();
  });
  ASSERT_EQ(device_.running.size(), 2U);
  device_.finish(device_.running[0].stream == 2 ? 0 : 1);  // b
  EXPECT_EQ(log_.size(), 1U);
  ASSERT_EQ(device_.running.size(), 1U) << "the default stream still waits for a";
  device_.finish();
  EXPECT_EQ(device_.running.size(), 1U);
  device_.finish();
  EXPECT_TRUE(context.finished());
}

TEST_F(ContextTest, CopiesTakeTimeWhenTheLinkHasABandwidth) {
  device_.config_.clocks.core = 1000;                   // 1 cycle = 1 ns
  device_.config_.runtime.copy_bytes_per_second = 1e9;  // 1 byte per cycle
  Context& context = start([](Host& host, std::vector<std::uint32_t>&) -> Task {
    const auto data = host.malloc<std::uint32_t>(25);
    host.to_device(data, std::vector<std::uint32_t>(25, 1));
    co_await host.synchronize();
  });
  EXPECT_EQ(context.next_event(), 100U);
  device_.now_ = 99;
  context.pump();
  EXPECT_FALSE(context.finished());
  device_.now_ = 100;
  context.pump();
  EXPECT_TRUE(context.finished());
}

TEST_F(ContextTest, CopiesOfOneDirectionShareTheLink) {
  device_.config_.clocks.core = 1000;                   // 1 cycle = 1 ns
  device_.config_.runtime.copy_bytes_per_second = 1e9;  // 1 byte per cycle
  Context& context = start([](Host& host, std::vector<std::uint32_t>&) -> Task {
    const auto data = host.malloc<std::uint32_t>(25);
    std::vector<std::uint32_t> back(25);
    const StreamId other = host.create_stream();
    const StreamId third = host.create_stream();
    host.to_device(data, std::vector<std::uint32_t>(25, 1));
    host.to_device(data, std::vector<std::uint32_t>(10, 1), other);
    host.from_device(back, data, third);
    co_await host.synchronize();
  });
  EXPECT_EQ(context.next_event(), 100U) << "the other direction's engine is free, so both end at 100";
  device_.now_ = 100;
  context.pump();
  EXPECT_FALSE(context.finished());
  EXPECT_EQ(context.next_event(), 140U) << "the second stream's 40 bytes follow the first's 100";
  device_.now_ = 140;
  context.pump();
  EXPECT_TRUE(context.finished());
}

TEST_F(ContextTest, RestartsFromFreshMemory) {
  Context& context = start([](Host& host, std::vector<std::uint32_t>& log) -> Task {
    const std::uint32_t module = host.load_module(kPtx, "one.ptx");
    const auto data = host.malloc<std::uint32_t>(1);
    std::vector<std::uint32_t> value = {9};
    host.from_device(value, data);
    host.launch(module, "add_one", {}, data);
    co_await host.synchronize();
    log.push_back(value[0]);
  });
  device_.finish();
  ASSERT_TRUE(context.finished());
  context.start();
  context.pump();
  device_.finish();
  EXPECT_EQ(log_, (std::vector<std::uint32_t>{0, 0}));
}

TEST_F(ContextTest, ErrorsSayWhatWouldBeRight) {
  EXPECT_NE(error_of([](Host& host, std::vector<std::uint32_t>&) -> Task {
              const std::uint32_t module = host.load_module(kPtx, "one.ptx");
              host.launch(module, "add_ome", {}, 1);
              co_await host.synchronize();
            }).find("one.ptx: error: unknown kernel 'add_ome'; did you mean 'add_one'?"),
            std::string::npos);
  EXPECT_NE(error_of([](Host& host, std::vector<std::uint32_t>&) -> Task {
              const std::uint32_t module = host.load_module(kPtx, "one.ptx");
              host.launch(module, "add_one", {{1, 1, 1}, {1025, 1, 1}, 0, 0}, Address{0});
              co_await host.synchronize();
            }).find("a block of 1025 threads; at most 1024"),
            std::string::npos);
  EXPECT_NE(error_of([](Host& host, std::vector<std::uint32_t>&) -> Task {
              const std::uint32_t module = host.load_module(kPtx, "one.ptx");
              host.launch(module, "add_one", {{1, 1, 1}, {32, 1, 1}, 200 << 10, 0}, Address{0});
              co_await host.synchronize();
            }).find("limited by shared"),
            std::string::npos);
  EXPECT_NE(error_of([](Host& host, std::vector<std::uint32_t>&) -> Task {
              co_await host.synchronize(StreamId{7});
            }).find("stream 7 does not exist"),
            std::string::npos);
  EXPECT_NE(error_of([](Host& host, std::vector<std::uint32_t>&) -> Task {
              co_await host.synchronize_event(EventId{3});
            }).find("event 3 does not exist"),
            std::string::npos);
  EXPECT_NE(error_of([](Host& host, std::vector<std::uint32_t>&) -> Task {
              const auto data = host.malloc<std::uint32_t>(1);
              host.to_device(data, std::vector<std::uint32_t>(2, 1));
              co_await host.synchronize();
            }).find("error: app script: invalid copy of 8 bytes to device address 0x1"),
            std::string::npos);
}

TEST_F(ContextTest, FaultsNameTheApplication) {
  const auto starts = [](const std::string& message, const std::string& expected) {
    EXPECT_EQ(message.substr(0, expected.size()), expected);
  };
  starts(error_of([](Host& host, std::vector<std::uint32_t>&) -> Task {
           std::vector<std::uint32_t> value(1);
           host.from_device(value, DevicePtr<std::uint32_t>{64});
           co_await host.synchronize();
         }),
         "error: app script: invalid copy of 4 bytes from device address 0x40 (64 bytes after a null");
  starts(error_of([](Host& host, std::vector<std::uint32_t>&) -> Task {
           host.free(Address{64});
           co_return;
         }),
         "error: app script: free of 0x40");
  starts(error_of([](Host& host, std::vector<std::uint32_t>&) -> Task {
           (void)host.malloc_bytes(std::uint64_t{1} << 50U);
           co_return;
         }),
         "error: app script: out of device memory: 1125899906842624 bytes wanted");
  start([](Host& host, std::vector<std::uint32_t>&) -> Task {
    const std::uint32_t module = host.load_module(kPtx, "folder/one.ptx");
    host.launch(module, "add_one", {}, Address{0});
    co_await host.synchronize();
  });
  try {
    device_.finish();
    ADD_FAILURE() << "the kernel reads address 0";
  } catch (const SimulationFault& fault) {
    starts(fault.what(), "error: app script: kernel add_one: invalid global read of 4 bytes at 0x0");
  }
}

constexpr const char* kTexturePtx = R"(
.version 9.0
.target sm_75
.address_size 64
.global .texref bound;
.visible .entry read(.param .u64 texture, .param .u64 out)
{
  .reg .b64 %rd<3>;
  .reg .b32 %r<9>;
  ld.param.u64 %rd1, [texture];
  ld.param.u64 %rd2, [out];
  mov.u32 %r1, 5;
  mov.u32 %r2, 6;
  tex.2d.v4.u32.s32 {%r3, %r4, %r5, %r6}, [%rd1, {%r1, %r2}];
  st.global.u32 [%rd2], %r3;
  ret;
}
.visible .entry read_bound(.param .u64 out)
{
  .reg .b64 %rd<3>;
  .reg .b32 %r<9>;
  ld.param.u64 %rd2, [out];
  mov.u32 %r1, 5;
  mov.u32 %r2, 6;
  tex.2d.v4.u32.s32 {%r3, %r4, %r5, %r6}, [bound, {%r1, %r2}];
  st.global.u32 [%rd2+4], %r3;
  ret;
}
)";

TEST_F(ContextTest, TexturesOverArraysThatTheHostAndKernelsFill) {
  using workload::ChannelKind;
  start([](Host& host, std::vector<std::uint32_t>& log) -> Task {
    const std::uint32_t module = host.load_module(kTexturePtx, "textures.ptx");
    std::vector<std::uint32_t> texels(10 * 8);
    for (std::uint32_t i = 0; i < texels.size(); ++i) texels[i] = i;
    const workload::TextureArray array = host.create_array({{ChannelKind::Unsigned, 32, 1}, 10, 8, 0, 0});
    const TextureObject texture = host.create_texture(workload::TextureResource::of(array));
    host.to_array(array, texels);
    const auto out = host.malloc<std::uint32_t>(2);
    host.launch(module, "read", {}, texture, out);
    // The array gets other texels when the kernel has read the first ones.
    const auto linear = host.malloc<std::uint32_t>(texels.size());
    for (std::uint32_t& texel : texels) texel += 1000;
    host.to_device(linear, texels);
    host.copy_on_device_to_array(array, linear.address, 0);
    host.bind_texture(module, "bound", texture);
    host.launch(module, "read_bound", {}, out);
    host.destroy_texture(texture);  // it is there for the kernel, which was launched before
    std::vector<std::uint32_t> result(2);
    host.from_device(result, out);
    co_await host.synchronize();
    log = result;
    host.free_array(array);
  });
  device_.finish();
  device_.finish();
  EXPECT_EQ(log_, (std::vector<std::uint32_t>{65, 1065}));
}

TEST_F(ContextTest, ATextureIsThereForWhatABodyLaunchesThatWasEnqueuedBeforeItsDestruction) {
  start([](Host& host, std::vector<std::uint32_t>& log) -> Task {
    const std::uint32_t module = host.load_module(kTexturePtx, "textures.ptx");
    const workload::TextureArray array =
        host.create_array({{workload::ChannelKind::Unsigned, 32, 1}, 10, 8, 0, 0});
    const TextureObject texture = host.create_texture(workload::TextureResource::of(array));
    std::vector<std::uint32_t> texels(10 * 8, 9);
    host.to_array(array, texels);
    const auto word = host.malloc<std::uint32_t>(1);
    host.fill(word.address, 1, 4, 0);
    const auto out = host.malloc<std::uint32_t>(2);
    const StreamId inside = host.create_stream();
    host.begin_body();
    LaunchSpec spec;
    spec.stream = inside;
    host.launch(module, "read", spec, texture, out);
    const BodyId body = host.end_body();
    host.enqueue_condition({Condition::Kind::If, word.address, {body}}, 0);
    host.destroy_texture(texture);
    std::vector<std::uint32_t> result(2);
    host.from_device(result, out);
    co_await host.synchronize();
    log = result;
  });
  device_.finish();
  EXPECT_EQ(log_, (std::vector<std::uint32_t>{9, 0}));
}

TEST_F(ContextTest, ATextureIsNotThereForWhatIsLaunchedBehindItsDestruction) {
  start([](Host& host, std::vector<std::uint32_t>&) -> Task {
    const std::uint32_t module = host.load_module(kTexturePtx, "textures.ptx");
    const TextureObject texture = host.create_texture(workload::TextureResource::of(
        host.create_array({{workload::ChannelKind::Unsigned, 32, 1}, 10, 8, 0, 0})));
    host.destroy_texture(texture);
    host.launch(module, "read", {}, texture, host.malloc<std::uint32_t>(2));
    co_await host.synchronize();
  });
  try {
    device_.finish();
    FAIL() << "the kernel reads it";
  } catch (const SimulationFault& fault) {
    EXPECT_NE(std::string(fault.what()).find("was destroyed"), std::string::npos) << fault.what();
  }
}

TEST_F(ContextTest, WrongTexturesAreFaultsOfTheApplication) {
  EXPECT_EQ(error_of([](Host& host, std::vector<std::uint32_t>&) -> Task {
              host.destroy_texture({7});
              co_return;
            }),
            "error: app script: destroying a texture object: 0x7 is no texture object");
  EXPECT_EQ(error_of([](Host& host, std::vector<std::uint32_t>&) -> Task {
              static_cast<void>(host.create_array({{}, 0, 4, 0, 0}));
              co_return;
            }),
            "error: app script: an array with a width of 0; it must be 1 to 131072");
  EXPECT_EQ(error_of([](Host& host, std::vector<std::uint32_t>&) -> Task {
              const auto array = host.create_array({{}, 4, 4, 0, 0});
              host.to_array(array, std::vector<float>(15));
              co_return;
            }),
            "error: app script: copy of 60 bytes to an array, which has 64");
}

}  // namespace
}  // namespace gpumux::runtime
