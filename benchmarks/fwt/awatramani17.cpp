// awatramani17/fwt: only transform_shared, the kernel of fwt that transforms in shared memory, on one short
// sequence per block. Of fwt's kernels, this one has the 512 threads per block of Table 3.3.
#include "benchmarks/fwt/fwt.hpp"
#include "benchmarks/kernel_program.hpp"
#include "embedded/fwt.ptx.hpp"

namespace gpumux::benchmarks::fwt {
namespace {

constexpr std::uint32_t kBits = 11;  // longest sequence that the kernel takes: 2^11 elements

class Batch final : public KernelProgram {
 public:
  explicit Batch(const Params& params) : blocks_(params.get("blocks")) {}
  [[nodiscard]] runtime::AppInfo::KernelShape shape() const override {
    return {"transform_shared", {blocks_}, {kLength / 4}, kLength * sizeof(float)};
  }
  /// Makes small integers, whose sums are exact.
  void make_inputs(std::uint64_t seed) override {
    Random random(seed);
    data_.resize(std::size_t{blocks_} * kLength);
    for (float& value : data_) value = static_cast<float>(static_cast<std::int32_t>(random.below(17)) - 8);
  }
  void start(KernelRun& run) override {
    const auto data = run.upload(data_);
    run.launch(data, kBits);
    run.download(result_, data);
  }
  void check() override {
    check_close("fwt: transforms", result_, walsh_transforms(data_, kLength), Tolerance{});
  }

 private:
  static constexpr std::uint32_t kLength = 1U << kBits;

  std::uint32_t blocks_;
  std::vector<float> data_;
  std::vector<float> result_;
};

// Most registers with which three blocks fit on an SM, as in Table 3.3.
[[maybe_unused]] const bool registered_awatramani17 = register_kernel_app<Batch>({
    .name = "awatramani17/fwt",
    .description = "Walsh-Hadamard transforms of 2048 elements each: FWT of awatramani17",
    .params = {{"blocks", 4096, 1, 32768, "sequences, a block each"}},
    .ptx_file = "benchmarks/fwt/fwt.ptx",
    .ptx_text = embedded::fwt_ptx,
    .metadata = {.registers_per_thread = 20},
});

}  // namespace
}  // namespace gpumux::benchmarks::fwt
