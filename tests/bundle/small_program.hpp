// A small program that uses all kinds of contents of a bundle. Its bundle has a few kilobytes.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "arch/config_file.hpp"
#include "base/files.hpp"
#include "bundle/reader.hpp"
#include "bundle/recorder.hpp"
#include "bundle/writer.hpp"
#include "experiment/bundle_app.hpp"
#include "experiment/run.hpp"
#include "runtime/application.hpp"

namespace gpumux::bundle::test {

/// scale: data[i] *= factor, and counts its threads in `total`. turn: each block reverses the order of its
/// elements in dynamic shared memory, and adds texels.
inline constexpr const char* kPtx = R"(.version 9.0
.target sm_75
.address_size 64
.const .align 4 .f32 factor = 0f40000000;
.global .align 4 .u32 total = 5;
.extern .shared .align 4 .b8 buffer[];

.visible .entry scale(.param .u64 scale_data, .param .u32 scale_count)
{
  .reg .pred %p<2>;
  .reg .b32 %r<8>;
  .reg .f32 %f<4>;
  .reg .b64 %rd<5>;
  mov.u32 %r1, %ctaid.x;
  mov.u32 %r2, %ntid.x;
  mov.u32 %r3, %tid.x;
  mad.lo.s32 %r4, %r1, %r2, %r3;
  ld.param.u32 %r5, [scale_count];
  setp.ge.u32 %p1, %r4, %r5;
  @%p1 bra DONE;
  ld.param.u64 %rd1, [scale_data];
  cvta.to.global.u64 %rd2, %rd1;
  mul.wide.u32 %rd3, %r4, 4;
  add.s64 %rd4, %rd2, %rd3;
  ld.global.f32 %f1, [%rd4];
  ld.const.f32 %f2, [factor];
  mul.f32 %f3, %f1, %f2;
  st.global.f32 [%rd4], %f3;
  atom.global.add.u32 %r6, [total], 1;
DONE:
  ret;
}

.visible .entry turn(.param .u64 turn_data, .param .u64 turn_image)
{
  .reg .b32 %r<12>;
  .reg .f32 %f<8>;
  .reg .b64 %rd<6>;
  mov.u32 %r1, %ctaid.x;
  mov.u32 %r2, %ntid.x;
  mov.u32 %r3, %tid.x;
  mad.lo.s32 %r4, %r1, %r2, %r3;
  ld.param.u64 %rd1, [turn_data];
  cvta.to.global.u64 %rd2, %rd1;
  mul.wide.u32 %rd3, %r4, 4;
  add.s64 %rd4, %rd2, %rd3;
  ld.global.f32 %f1, [%rd4];
  mov.u32 %r5, buffer;
  shl.b32 %r6, %r3, 2;
  add.s32 %r7, %r5, %r6;
  st.shared.f32 [%r7], %f1;
  bar.sync 0;
  sub.s32 %r8, %r2, %r3;
  shl.b32 %r9, %r8, 2;
  add.s32 %r10, %r5, %r9;
  ld.shared.f32 %f2, [%r10+-4];
  ld.param.u64 %rd5, [turn_image];
  and.b32 %r11, %r4, 63;
  tex.1d.v4.f32.s32 {%f3, %f4, %f5, %f6}, [%rd5, {%r11}];
  add.f32 %f7, %f2, %f3;
  st.global.f32 [%rd4], %f7;
  ret;
}
)";

inline constexpr std::uint32_t kElements = 1000;

class SmallProgram final : public runtime::Application {
 public:
  /// Data that the program copied from the device, in the order of the copies.
  struct Got {
    std::vector<float> turned = std::vector<float>(kElements);
    std::vector<float> scaled = std::vector<float>(kElements);
    std::vector<std::uint32_t> total = std::vector<std::uint32_t>(1);
  };
  explicit SmallProgram(Got& got) : got_(got) {}
  runtime::Task run(runtime::Host& host, bool) override {
    const std::uint32_t module = host.load_module(kPtx, "small.ptx");
    const auto gone = host.malloc<float>(100);  // freed, so that a later allocation takes its place
    const auto a = host.malloc<float>(kElements);
    host.free(gone);
    const auto b = host.malloc<float>(kElements);
    const auto image = host.malloc<float>(64);
    std::vector<float> values(kElements);
    for (std::uint32_t i = 0; i < kElements; ++i) values[i] = static_cast<float>(i);
    const float factor = 3;
    host.copy_to_symbol(module, "factor", 0, std::as_bytes(std::span(&factor, 1)), 0);
    host.to_device(a, values);
    host.fill(image.address, 0, 256, 0);
    co_await host.synchronize(0);
    host.host_write(image.address + 4, std::as_bytes(std::span(values).first(10)));
    const runtime::TextureObject texture = host.create_texture(
        workload::TextureResource::linear(image.address, {workload::ChannelKind::Float, 32, 1}, 64));
    const runtime::StreamId other = host.create_stream();
    const runtime::EventId copied = host.create_event();
    host.record_event(copied, 0);
    host.stream_wait_event(other, copied);
    host.launch(module, "scale", {{4}, {256}, 0, 0}, a.address, kElements);
    host.to_device(b, values, other);
    host.launch(module, "turn", {{kElements / 100}, {100}, 400, other}, b.address, texture.handle);
    co_await host.host_time(20'000);
    co_await host.synchronize(other);
    host.from_device(got_.turned, b, other);
    co_await host.synchronize(other);
    co_await host.synchronize_event(copied);
    host.copy_on_device(b.address, a.address, 400, 0);
    host.launch(module, "scale", {{1}, {64}, 0, 0, true}, b.address, std::uint32_t{50});
    host.from_device(got_.scaled, b);
    host.copy_from_device(std::as_writable_bytes(std::span(got_.total)), host.symbol_address(module, "total"),
                          0);
    co_await host.synchronize();
    host.destroy_texture(texture);
    host.free(a);
  }

 private:
  Got& got_;
};

inline experiment::AppSpec spec_of(experiment::AppSpec::Create create) {
  experiment::AppSpec app;
  app.text = app.name = app.identity = "small";
  app.create = std::move(create);
  return app;
}

inline experiment::RunSpec run_of(std::vector<experiment::AppSpec> apps,
                                  const std::string& machine = "dai18-maxwell",
                                  const std::vector<std::string>& set = {"sms=3"}) {
  experiment::RunSpec spec;
  spec.machine = arch::load_machine(machine, set);
  spec.apps = std::move(apps);
  spec.policy = policy::parse_choice("leftover");
  spec.audit = true;
  return spec;
}

/// Runs the application alone on `spec`'s machine and records it.
inline experiment::RunResult record_run(const experiment::AppSpec& app, experiment::RunSpec spec,
                                        const std::string& path) {
  Writer writer(path, Address{1} << kAppShift);
  experiment::AppSpec recorded = app;
  recorded.create = [&](std::uint64_t seed) { return record(app.create(seed), writer); };
  spec.apps = {recorded};
  const experiment::RunResult result = experiment::simulate(spec);
  writer.finish();
  return result;
}

/// The bytes of SmallProgram's bundle.
inline std::string small_bundle(const std::string& path) {
  SmallProgram::Got got;
  (void)record_run(spec_of([&](std::uint64_t) { return std::make_unique<SmallProgram>(got); }), run_of({}),
                   path);
  return read_file(path);
}

}  // namespace gpumux::bundle::test
