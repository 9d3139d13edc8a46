// dai18/3m: one product of 3mm, by the first of the three kernels, which are alike.
#include "benchmarks/kernel_program.hpp"
#include "benchmarks/products_reference.hpp"
#include "embedded/mm3.ptx.hpp"

namespace gpumux::benchmarks::mm3 {
namespace {

constexpr Dim3 kProductBlock{32, 8, 1};

class Product final : public KernelProgram {
 public:
  explicit Product(const Params& params)
      : ni_(params.get("ni")), nj_(params.get("nj")), nk_(params.get("nk")) {
    const auto times = [](std::uint32_t x, std::uint32_t y) { return std::uint64_t{x} * y; };
    params.require_memory(sizeof(float) * (times(ni_, nk_) + times(nk_, nj_) + times(ni_, nj_)));
  }
  [[nodiscard]] runtime::AppInfo::KernelShape shape() const override {
    return {"mm3_first", {blocks_for(nj_, kProductBlock.x), blocks_for(ni_, kProductBlock.y)}, kProductBlock};
  }
  void make_inputs(std::uint64_t seed) override {
    Random random(seed);
    a_ = random_floats(random, std::size_t{ni_} * nk_, 0.0F, 1.0F);
    b_ = random_floats(random, std::size_t{nk_} * nj_, 0.0F, 1.0F);
  }
  void start(KernelRun& run) override {
    const auto a = run.upload(a_);
    const auto b = run.upload(b_);
    const auto e = run.allocate<float>(std::size_t{ni_} * nj_);
    run.launch(a, b, e, ni_, nj_, nk_);
    run.download(e_, e);
  }
  void check() override {
    if (expected_.empty()) expected_ = product_reference(a_, b_, ni_, nk_, nj_);
    // Each element is a sum of nk products, and no product is negative.
    check_close("3mm: e", e_, expected_, sum_tolerance(std::uint64_t{nk_} + 1));
  }

 private:
  std::uint32_t ni_;  // PolyBench's names
  std::uint32_t nj_;
  std::uint32_t nk_;
  std::vector<float> a_;
  std::vector<float> b_;
  std::vector<float> e_;
  std::vector<double> expected_;
};

[[maybe_unused]] const bool registered_dai18 = register_kernel_app<Product>({
    .name = "dai18/3m",
    .description = "one product of 3mm as in Table 2 of dai18",
    .params = {{"ni", 512, 1, 4096, "rows of A"},
               {"nj", 512, 1, 4096, "columns of B"},
               {"nk", 512, 1, 4096, "columns of A, rows of B"}},
    .ptx_file = "benchmarks/mm3/mm3.ptx",
    .ptx_text = embedded::mm3_ptx,
    .metadata = {.registers_per_thread = 12},
});

}  // namespace
}  // namespace gpumux::benchmarks::mm3
