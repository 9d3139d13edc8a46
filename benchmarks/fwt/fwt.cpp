// fwt: host program of a dyadic convolution by three Walsh-Hadamard transforms.
#include "benchmarks/fwt/fwt.hpp"

#include "benchmarks/kernel_program.hpp"
#include "embedded/fwt.ptx.hpp"

namespace gpumux::benchmarks::fwt {

std::vector<std::int32_t> dyadic_convolution(const std::vector<std::int32_t>& data,
                                             const std::vector<std::int32_t>& kernel) {
  std::vector<std::int32_t> result(data.size());
  for (std::size_t i = 0; i < data.size(); ++i) {
    if (data[i] == 0) continue;
    for (std::size_t j = 0; j < kernel.size(); ++j) result[i ^ j] += data[i] * kernel[j];
  }
  return result;
}

std::vector<double> walsh_transforms(const std::vector<float>& data, std::size_t length) {
  std::vector<double> result(data.begin(), data.end());
  for (std::size_t distance = 1; distance < length; distance *= 2) {
    for (std::size_t i = 0; i < result.size(); ++i) {
      if ((i & distance) != 0) continue;
      const double a = result[i], b = result[i + distance];
      result[i] = a + b;
      result[i + distance] = a - b;
    }
  }
  return result;
}

namespace {

constexpr std::uint32_t kMostShared = 11;  // largest transform in shared memory: 2^11 elements
constexpr std::uint32_t kThreads = 256;
constexpr std::uint32_t kModulateBlocks = 128;
constexpr std::uint32_t kKernel = 128;  // elements of the kernel that are not zero
// Most nonzero elements of the data, each 1 or -1. Up to this number, every intermediate result is a 24-bit
// integer times a power of two, so results are exact.
constexpr std::uint32_t kMostNonzero = 65536;

class Fwt final : public KernelProgram {
 public:
  explicit Fwt(const Params& params) : bits_(params.get("bits")) {}
  [[nodiscard]] runtime::AppInfo::KernelShape shape() const override { return radix4(); }
  [[nodiscard]] std::vector<runtime::AppInfo::KernelShape> shapes() const override {
    return {radix4(), shared_part(), modulate()};
  }
  void make_inputs(std::uint64_t seed) override {
    Random random(seed);
    data_.assign(elements(), 0);
    kernel_.assign(kKernel, 0);
    for (std::uint32_t i = 0; i < std::min(elements(), kMostNonzero); ++i)
      data_[random.below(elements())] = random.below(2) == 0 ? 1 : -1;
    for (std::int32_t& value : kernel_) value = random.below(2) == 0 ? 1 : -1;
  }
  void start(KernelRun& run) override {
    const auto data = run.upload(std::vector<float>(data_.begin(), data_.end()));
    std::vector<float> padded(kernel_.begin(), kernel_.end());
    padded.resize(elements());
    const auto kernel = run.upload(padded);
    transform(run, kernel);
    transform(run, data);
    run.launch_as(modulate(), data, kernel, elements());
    transform(run, data);
    run.download(result_, data);
  }
  void check() override {
    const std::vector<std::int32_t> expected = dyadic_convolution(data_, kernel_);
    check_close("fwt: convolution", result_, std::vector<double>(expected.begin(), expected.end()),
                Tolerance{});
  }

 private:
  [[nodiscard]] std::uint32_t elements() const { return 1U << bits_; }
  [[nodiscard]] std::uint32_t shared_bits() const {
    return bits_ <= kMostShared ? bits_ : kMostShared - (bits_ - kMostShared) % 2;
  }
  [[nodiscard]] runtime::AppInfo::KernelShape radix4() const {
    return {"radix4_global", {std::max(elements() / 4 / kThreads, 1U)}, {kThreads}};
  }
  [[nodiscard]] runtime::AppInfo::KernelShape shared_part() const {
    return {
        "transform_shared", {elements() >> shared_bits()}, {(1U << shared_bits()) / 4}, 4U << shared_bits()};
  }
  [[nodiscard]] static runtime::AppInfo::KernelShape modulate() {
    return {"modulate", {kModulateBlocks}, {kThreads}};
  }
  void transform(KernelRun& run, const DeviceArray<float>& data) const {
    for (std::uint32_t bits = bits_; bits > shared_bits(); bits -= 2)
      run.launch_as(radix4(), data, 1U << (bits - 2));
    run.launch_as(shared_part(), data, shared_bits());
  }

  std::uint32_t bits_;
  std::vector<std::int32_t> data_, kernel_;
  std::vector<float> result_;
};

const KernelApp kFwt{
    .name = "fwt",
    .description =
        "dyadic convolution by Walsh-Hadamard transforms in place (fastWalshTransform of the CUDA SDK)",
    .params = {{"bits", 17, 10, 24, "2^bits elements"}},
    .ptx_file = "benchmarks/fwt/fwt.ptx",
    .ptx_text = embedded::fwt_ptx,
};
[[maybe_unused]] const bool registered = register_kernel_app<Fwt>(kFwt);
[[maybe_unused]] const bool registered_chimera15 = register_kernel_app<Fwt, variant::Chimera15>(
    kFwt.with("chimera15/FWT", "fast Walsh transform as in Table 2 of chimera15", {{"bits", 23}})
        .of({{"radix4_global", {.registers_per_thread = 12, .shared_bytes = 8832}},
             {"transform_shared", {.registers_per_thread = 10, .shared_bytes = 8192}},
             {"modulate", {.registers_per_thread = 18}}}));

}  // namespace
}  // namespace gpumux::benchmarks::fwt
