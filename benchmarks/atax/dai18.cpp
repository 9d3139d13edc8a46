// dai18/ax: the first kernel of atax alone. Table 2's 11 requests per memory instruction are the mean of its
// three: the load of A, with a line for each lane, that of x and the store of the sum, with one each.
#include "benchmarks/common.hpp"
#include "benchmarks/dai18_table2.hpp"
#include "benchmarks/products_reference.hpp"
#include "embedded/atax.ptx.hpp"

namespace gpumux::benchmarks::atax {
namespace {

constexpr const char* kName = "dai18/ax";
constexpr const char* kFile = "benchmarks/atax/atax.ptx";
constexpr const char* kKernel = "atax_product";
constexpr std::uint32_t kThreads = 256;

const std::vector<runtime::AppParamInfo>& param_table() {
  static const std::vector<runtime::AppParamInfo> table = {
      {"nx", 98304, 1, 262144, "rows of A; a block serves 256"},
      {"ny", 256, 1, 8192, "columns of A; 256 MB in all at most"}};
  return table;
}

struct Sizes {  // the names of PolyBench
  std::uint32_t nx;
  std::uint32_t ny;
  [[nodiscard]] Dim3 grid() const { return {blocks_for(nx, kThreads)}; }
};

Sizes read_sizes(const runtime::AppParams& values) {
  const Params params(kName, param_table(), values);
  const Sizes sizes{params.get("nx"), params.get("ny")};
  check_memory(kName, sizeof(float) * (std::uint64_t{sizes.nx} * sizes.ny + sizes.nx + sizes.ny));
  return sizes;
}

class Product final : public runtime::Application {
 public:
  Product(const Sizes& sizes, std::uint64_t seed) : sizes_(sizes), seed_(seed) {}

  runtime::Task run(runtime::Host& host, bool verify) override {
    const auto [nx, ny] = sizes_;
    if (x_.empty()) {
      Random random(seed_);
      x_ = random_floats(random, ny, 0.0F, 1.0F);
      a_ = random_floats(random, std::size_t{nx} * ny, 0.0F, 1.0F);
    }
    const std::uint32_t module = host.load_module(embedded::atax_ptx, kFile);
    const auto a = host.malloc<float>(a_.size());
    const auto x = host.malloc<float>(ny);
    const auto tmp = host.malloc<float>(nx);
    host.to_device(a, a_);
    host.to_device(x, x_);
    host.launch(module, kKernel, {.grid = sizes_.grid(), .block = {kThreads}}, a, x, tmp,
                static_cast<std::int32_t>(nx), static_cast<std::int32_t>(ny));
    std::vector<float> result(nx);
    host.from_device(result, tmp);
    co_await host.synchronize();
    if (verify) {
      if (expected_.empty()) expected_ = product_reference(a_, x_, nx, ny, 1);
      // Sums of ny products, none negative.
      check_close("atax: tmp", result, expected_, sum_tolerance(std::uint64_t{ny} + 1));
    }
    host.free(a);
    host.free(x);
    host.free(tmp);
  }

 private:
  Sizes sizes_;
  std::uint64_t seed_;
  std::vector<float> a_;  // made by the first run
  std::vector<float> x_;
  std::vector<double> expected_;
};

[[maybe_unused]] const bool registered = runtime::register_app({
    .name = kName,
    .description = "first product of atax as in Table 2 of dai18",
    .params = param_table(),
    .ptx_file = kFile,
    .ptx_text = embedded::atax_ptx,
    .shapes = [](const runtime::AppParams& values) -> std::vector<runtime::AppInfo::KernelShape> {
      return {{kKernel, read_sizes(values).grid(), {kThreads}}};
    },
    .create = [](const runtime::AppParams& values,
                 std::uint64_t seed) -> std::unique_ptr<runtime::Application> {
      return std::make_unique<Dai18Application>(kName, std::make_unique<Product>(read_sizes(values), seed));
    },
});

}  // namespace
}  // namespace gpumux::benchmarks::atax
