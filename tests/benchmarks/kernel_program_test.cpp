// The frame of applications with one kernel (KernelProgram): the order of its operations, and that nothing
// remains allocated after a run.
#include "benchmarks/kernel_program.hpp"

#include <gtest/gtest.h>

#include <array>
#include <initializer_list>
#include <memory>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "benchmarks/functional_host.hpp"

namespace gpumux::benchmarks {
namespace {

// out[thread] += in[thread] + offset, where offset is a constant of the module.
constexpr const char* kPtx = R"(
.version 7.0
.target sm_75
.address_size 64
.const .align 4 .u32 offset;
.visible .entry add_in(.param .u64 add_in_param_0, .param .u64 add_in_param_1) {
  .reg .b32 %r<6>;
  .reg .b64 %rd<8>;
  ld.param.u64 %rd1, [add_in_param_0];
  ld.param.u64 %rd2, [add_in_param_1];
  mov.u32 %r1, %tid.x;
  mul.wide.u32 %rd3, %r1, 4;
  add.s64 %rd4, %rd1, %rd3;
  add.s64 %rd5, %rd2, %rd3;
  ld.global.u32 %r2, [%rd4];
  ld.global.u32 %r3, [%rd5];
  ld.const.u32 %r4, [offset];
  add.s32 %r2, %r2, %r3;
  add.s32 %r2, %r2, %r4;
  st.global.u32 [%rd5], %r2;
  ret;
}
)";

int made = 0;     // calls of make_inputs()
int checked = 0;  // of check()

class AddIn final : public KernelProgram {
 public:
  explicit AddIn(const Params& params) : threads_(params.get("threads")), wrong_(params.get("wrong")) {
    params.require(threads_ != 13, "threads=13 is refused");
  }
  [[nodiscard]] runtime::AppInfo::KernelShape shape() const override { return {"add_in", {1}, {threads_}}; }
  void make_inputs(std::uint64_t seed) override {
    ++made;
    in_.assign(threads_, static_cast<std::uint32_t>(seed));
  }
  void start(KernelRun& run) override {
    const auto in = run.upload(in_);
    const auto out = run.zeros<std::uint32_t>(threads_);
    const auto kept = run.allocate<std::uint32_t>(threads_);
    run.set_symbol("offset", std::array<std::uint32_t, 1>{100});
    run.launch(in, out);
    run.copy(kept, out);
    run.launch(in, out);
    run.download(once_, kept);
    if (run.verify()) run.download(twice_, out);
  }
  void check() override {
    ++checked;
    check_equal("add_in: once", once_, std::vector<std::uint32_t>(threads_, 107));
    check_equal("add_in: twice", twice_, std::vector<std::uint32_t>(threads_, 214 + wrong_));
  }

 private:
  std::uint32_t threads_;
  std::uint32_t wrong_;
  std::vector<std::uint32_t> in_;
  std::vector<std::uint32_t> once_;
  std::vector<std::uint32_t> twice_;
};

const KernelApp kAddIn{.name = "test/add_in",
                       .description = "adds",
                       .params = {{"threads", 40, 1, 64, "threads"}, {"wrong", 0, 0, 1, "of the reference"}},
                       .ptx_file = "add_in.ptx",
                       .ptx_text = kPtx};

/// The runs share a host. Returns bytes that were allocated and not freed.
std::uint64_t run(runtime::Application& app, std::initializer_list<bool> verify) {
  testing_support::FunctionalHost host(0);
  for (const bool v : verify) {
    runtime::Task task = app.run(host, v);
    while (!task.done()) task.resume();
  }
  return host.leaked_bytes();
}

std::unique_ptr<KernelApplication> make(const KernelApp& app, const runtime::AppParams& values) {
  return std::make_unique<KernelApplication>(
      app, std::make_unique<AddIn>(Params(app.name, app.params, values)), 7);
}

TEST(KernelProgram, InputsAreMadeOnceAndEachVerifiedRunIsChecked) {
  made = checked = 0;
  const auto app = make(kAddIn, {});
  EXPECT_EQ(made, 0);  // listing and inspecting must stay cheap
  EXPECT_EQ(run(*app, {true}), 0U);
  EXPECT_EQ(run(*app, {false}), 0U);
  EXPECT_EQ(run(*app, {true}), 0U);
  EXPECT_EQ(made, 1);
  EXPECT_EQ(checked, 2);
}

TEST(KernelProgram, WrongResultsAreNamed) {
  const auto app = make(kAddIn, {{"wrong", 1}});
  run(*app, {false});
  try {
    run(*app, {true});
    ADD_FAILURE() << "no error";
  } catch (const SimulationFault& error) {
    EXPECT_NE(std::string(error.what()).find("add_in: twice[0] is 214 instead of 215"), std::string::npos)
        << error.what();
  }
}

TEST(KernelProgram, MetadataAreOfItsKernelAndNotOfItsVariants) {
  EXPECT_TRUE(make(kAddIn, {})->block_metadata().empty());
  const KernelApp counted = kAddIn.with("test/counted", "counted", {}, {.registers_per_thread = 12});
  const auto metadata = make(counted, {})->block_metadata();
  ASSERT_EQ(metadata.size(), 1U);
  EXPECT_EQ(metadata.begin()->first, AddIn(Params(counted.name, counted.params, {})).shape().kernel);
  EXPECT_EQ(metadata.begin()->second.registers_per_thread, 12U);
  EXPECT_EQ(metadata.begin()->second.shared_bytes, 0U);
  EXPECT_TRUE(make(counted.with("test/other", "other", {}), {})->block_metadata().empty());
}

TEST(KernelProgram, OtherDefaultsMustBeInRange) {
  const KernelApp other = kAddIn.with("test/other", "other", {{"threads", 64}});
  EXPECT_EQ(make(other, {})->block_metadata().size(), 0U);
  EXPECT_EQ(other.params[0].default_value, 64);
  EXPECT_EQ(kAddIn.params[0].default_value, 40);
  EXPECT_EQ(AddIn(Params(other.name, other.params, {})).shape().block.x, 64U);
  EXPECT_THROW((void)kAddIn.with("test/other", "other", {{"threads", 65}}), InternalError);
  EXPECT_THROW((void)kAddIn.with("test/other", "other", {{"warps", 2}}), InternalError);
}

TEST(KernelProgram, RegisteredUnderItsNameOnce) {
  ASSERT_TRUE(register_kernel_app<AddIn>(kAddIn));
  EXPECT_THROW(register_kernel_app<AddIn>(kAddIn), InternalError);
  ASSERT_TRUE((register_kernel_app<AddIn, struct Wide>(kAddIn.with("test/wide", "wide", {{"threads", 64}}))));
  const runtime::AppInfo* info = runtime::find_app("test/add_in");
  const runtime::AppInfo* wide = runtime::find_app("test/wide");
  ASSERT_NE(info, nullptr);
  ASSERT_NE(wide, nullptr);
  EXPECT_EQ(info->shapes({})[0].block.x, 40U);
  EXPECT_EQ(info->shapes({{"threads", 3}})[0].block.x, 3U);
  EXPECT_EQ(wide->shapes({})[0].block.x, 64U);
  EXPECT_EQ(run(*wide->create({}, 7), {true}), 0U);
  try {
    (void)wide->create({{"threads", 13}}, 7);
    ADD_FAILURE() << "taken";
  } catch (const UserError& error) {
    EXPECT_STREQ(error.what(), "error: app test/wide: threads=13 is refused");
  }
}

}  // namespace
}  // namespace gpumux::benchmarks
