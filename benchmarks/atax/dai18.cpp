// dai18/ax: only the first kernel of atax. Table 2's 11 requests per memory instruction are the mean of its
// three memory instructions: the load of A makes 32 requests, the load of x and the store of the sum make one
// each.
#include "benchmarks/kernel_program.hpp"
#include "benchmarks/products_reference.hpp"
#include "embedded/atax.ptx.hpp"

namespace gpumux::benchmarks::atax {
namespace {

constexpr std::uint32_t kThreads = 256;

class Product final : public KernelProgram {
 public:
  explicit Product(const Params& params) : nx_(params.get("nx")), ny_(params.get("ny")) {
    params.require_memory(sizeof(float) * (std::uint64_t{nx_} * ny_ + nx_ + ny_));
  }
  [[nodiscard]] runtime::AppInfo::KernelShape shape() const override {
    return {"atax_product", {blocks_for(nx_, kThreads)}, {kThreads}};
  }
  void make_inputs(std::uint64_t seed) override {
    Random random(seed);
    x_ = random_floats(random, ny_, 0.0F, 1.0F);
    a_ = random_floats(random, std::size_t{nx_} * ny_, 0.0F, 1.0F);
  }
  void start(KernelRun& run) override {
    const auto a = run.upload(a_);
    const auto x = run.upload(x_);
    const auto tmp = run.allocate<float>(nx_);
    run.launch(a, x, tmp, nx_, ny_);
    run.download(tmp_, tmp);
  }
  void check() override {
    if (expected_.empty()) expected_ = product_reference(a_, x_, nx_, ny_, 1);
    // Each element is a sum of ny products, and no product is negative.
    check_close("atax: tmp", tmp_, expected_, sum_tolerance(std::uint64_t{ny_} + 1));
  }

 private:
  std::uint32_t nx_;  // PolyBench's names
  std::uint32_t ny_;
  std::vector<float> a_;
  std::vector<float> x_;
  std::vector<float> tmp_;
  std::vector<double> expected_;
};

[[maybe_unused]] const bool registered_dai18 = register_kernel_app<Product>({
    .name = "dai18/ax",
    .description = "first product of atax as in Table 2 of dai18",
    .params = {{"nx", 98304, 1, 262144, "rows of A; a block serves 256"},
               {"ny", 256, 1, 8192, "columns of A; 256 MB in all at most"}},
    .ptx_file = "benchmarks/atax/atax.ptx",
    .ptx_text = embedded::atax_ptx,
    .metadata = {.registers_per_thread = 12},
});

}  // namespace
}  // namespace gpumux::benchmarks::atax
