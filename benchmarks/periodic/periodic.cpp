// The synthetic real-time task of chimera15 section 4.1. It needs half of the SMs for a fixed time, and is
// launched periodically (`every=1ms,deadline=215us,late=kill` among its settings).
#include "benchmarks/kernel_program.hpp"
#include "embedded/periodic.ptx.hpp"

namespace gpumux::benchmarks::periodic {
namespace {

constexpr std::uint32_t kThreads = 32;

class Periodic final : public KernelProgram {
 public:
  explicit Periodic(const Params& params)
      : blocks_(params.get("blocks")), steps_(params.get_multiple("steps", 16)) {}
  [[nodiscard]] runtime::AppInfo::KernelShape shape() const override {
    return {"walk_sequence", {blocks_}, {kThreads}};
  }
  void make_inputs(std::uint64_t seed) override {
    Random random(seed);
    for (std::size_t i = 0; i < std::size_t{blocks_} * kThreads; ++i)
      values_.push_back(static_cast<std::uint32_t>(random.next()));
  }
  void start(KernelRun& run) override {
    const auto values = run.upload(values_);
    run.launch(values, steps_);
    run.download(result_, values);
  }
  void check() override {
    std::vector<std::uint32_t> expected = values_;
    for (std::uint32_t& value : expected)
      for (std::uint32_t step = 0; step < steps_; ++step) value = value * value + 1013904223U;
    check_equal("periodic: values", result_, expected);
  }

 private:
  std::uint32_t blocks_;
  std::uint32_t steps_;
  std::vector<std::uint32_t> values_;
  std::vector<std::uint32_t> result_;
};

// With its default parameters, the task takes 200 us on 15 SMs of chimera15-fermi30, half of this machine's
// SMs.
[[maybe_unused]] const bool registered = register_kernel_app<Periodic>({
    .name = "chimera15/RT",
    .description =
        "a task of fixed length on SMs of its own, to be launched periodically (chimera15 section 4.1)",
    .params = {{"blocks", 15, 1, 65535, "thread blocks, each of which takes 48 KB of shared memory"},
               {"steps", 12960, 16, 1 << 24, "of the sequence, one multiply-add each, a multiple of 16"}},
    .ptx_file = "benchmarks/periodic/periodic.ptx",
    .ptx_text = embedded::periodic_ptx,
});

}  // namespace
}  // namespace gpumux::benchmarks::periodic
