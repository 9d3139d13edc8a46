// The reference kernels: a run from their trace text equals a direct run, and every instruction is simulated.
#include <gtest/gtest.h>

#include "arch/config_file.hpp"
#include "base/files.hpp"
#include "experiment/run.hpp"
#include "temporary_folder.hpp"
#include "trace/application.hpp"
#include "trace/folder.hpp"
#include "trace/reference.hpp"

namespace gpumux::trace::test {
namespace {

struct Expected {
  ReferenceKernel kernel;
  std::uint64_t per_warp;
  std::uint64_t sectors_per_warp;  // of L1 accesses
};
// Instructions and accesses of a warp by hand from the kernels' descriptions.
constexpr Expected kExpected[] = {{ReferenceKernel::Compute, 439, 4 * 5},
                                  {ReferenceKernel::Stream, 60, 8 * 3 * 4},
                                  {ReferenceKernel::Diverge, 61, 0}};

class Reference : public testing::TestWithParam<Expected> {
 protected:
  static std::string compact(std::uint32_t blocks) {
    MemoryOutput output;
    write_reference(GetParam().kernel, blocks, output);
    return output.take();
  }
};

TEST_P(Reference, TextAndDirectFormAreTheSame) {
  const gpumux::test::TemporaryFolder temporary;
  const std::string& folder = temporary.path();
  write_file_atomically(folder + "/kernelslist.g", "kernel-1.traceg\n");
  const std::string text = reference_text(GetParam().kernel, 3);
  write_file_atomically(folder + "/kernel-1.traceg", text);
  MemoryOutput output;
  const ConvertSummary summary = convert_folder(folder, output);
  EXPECT_EQ(output.take(), compact(3));
  EXPECT_EQ(summary.launches, 1U);
  EXPECT_EQ(summary.text_bytes, text.size());
  EXPECT_EQ(summary.warp_instructions, 3 * 8 * GetParam().per_warp);
}

TEST_P(Reference, EveryInstructionIsSimulated) {
  const auto trace = Trace::from_bytes(compact(40), "reference");
  EXPECT_EQ(trace->warp_instructions(), 40 * 8 * GetParam().per_warp);
  experiment::RunSpec spec;
  spec.machine = arch::load_machine("v100");
  spec.policy = policy::parse_choice("leftover");
  experiment::AppSpec app;
  app.text = app.name = app.identity = name(GetParam().kernel);
  app.create = [&](std::uint64_t) { return std::make_unique<TraceApplication>(trace); };
  spec.apps = {app};
  const experiment::RunResult result = experiment::simulate(spec);
  EXPECT_EQ(result.gpu.warp_instructions, trace->warp_instructions());
  EXPECT_EQ(result.gpu.thread_instructions, 32 * trace->warp_instructions());
  EXPECT_EQ(result.gpu.blocks_completed, 40U);
  EXPECT_GT(result.cycles, spec.machine.runtime.kernel_launch_latency);
  if (GetParam().sectors_per_warp != 0) {
    EXPECT_EQ(result.gpu.l1_accesses, 40 * 8 * GetParam().sectors_per_warp);
  }
}

INSTANTIATE_TEST_SUITE_P(Kernels, Reference, testing::ValuesIn(kExpected),
                         [](const auto& test) { return name(test.param.kernel); });

/// All of them, by number.
class EveryReference : public testing::TestWithParam<std::size_t> {
 protected:
  const ReferenceKernel kernel_ = static_cast<ReferenceKernel>(GetParam());
};

TEST_P(EveryReference, IsTheSameFromItsText) {
  constexpr std::uint32_t kBlocks = 6;
  const gpumux::test::TemporaryFolder temporary;
  const std::string& folder = temporary.path();
  write_file_atomically(folder + "/kernelslist.g", reference_commands(kernel_));
  write_file_atomically(folder + "/kernel-1.traceg", reference_text(kernel_, kBlocks));
  MemoryOutput from_text, direct;
  (void)convert_folder(folder, from_text);
  write_reference(kernel_, kBlocks, direct);
  EXPECT_EQ(from_text.take(), direct.take());
  EXPECT_EQ(reference_kernel(name(kernel_)), kernel_);
}

INSTANTIATE_TEST_SUITE_P(Kernels, EveryReference, testing::Range<std::size_t>(0, kReferenceKernelCount),
                         [](const auto& test) { return name(static_cast<ReferenceKernel>(test.param)); });

// Together over the three, as text they are more than ten times as large.
TEST(ReferenceSize, TenTimesSmallerThanText) {
  constexpr std::uint32_t kBlocks = 64;
  std::size_t text = 0;
  std::size_t bytes = 0;
  for (const ReferenceKernel kernel : kTimedKernels) {
    text += reference_text(kernel, kBlocks).size();
    MemoryOutput output;
    write_reference(kernel, kBlocks, output);
    bytes += output.take().size();
  }
  EXPECT_GT(text, 10 * bytes);
}

}  // namespace
}  // namespace gpumux::trace::test
