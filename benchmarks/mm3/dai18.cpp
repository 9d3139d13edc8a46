// dai18/3m: one product of 3mm. The three kernels are alike; the first is enough for the result to be right.
#include "benchmarks/common.hpp"
#include "benchmarks/dai18_table2.hpp"
#include "benchmarks/products_reference.hpp"
#include "embedded/mm3.ptx.hpp"

namespace gpumux::benchmarks::mm3 {
namespace {

constexpr const char* kName = "dai18/3m";
constexpr const char* kFile = "benchmarks/mm3/mm3.ptx";
constexpr const char* kKernel = "mm3_first";
constexpr Dim3 kBlock{32, 8, 1};

const std::vector<runtime::AppParamInfo>& param_table() {
  static const std::vector<runtime::AppParamInfo> table = {{"ni", 512, 1, 4096, "rows of A"},
                                                           {"nj", 512, 1, 4096, "columns of B"},
                                                           {"nk", 512, 1, 4096, "columns of A, rows of B"}};
  return table;
}

struct Sizes {  // the names of PolyBench
  std::uint32_t ni;
  std::uint32_t nj;
  std::uint32_t nk;
  [[nodiscard]] Dim3 grid() const { return {blocks_for(nj, kBlock.x), blocks_for(ni, kBlock.y)}; }
};

Sizes read_sizes(const runtime::AppParams& values) {
  const Params params(kName, param_table(), values);
  const Sizes sizes{params.get("ni"), params.get("nj"), params.get("nk")};
  const auto times = [](std::uint32_t x, std::uint32_t y) { return std::uint64_t{x} * y; };
  check_memory(kName, sizeof(float) * (times(sizes.ni, sizes.nk) + times(sizes.nk, sizes.nj) +
                                       times(sizes.ni, sizes.nj)));
  return sizes;
}

class Product final : public runtime::Application {
 public:
  Product(const Sizes& sizes, std::uint64_t seed) : sizes_(sizes), seed_(seed) {}

  runtime::Task run(runtime::Host& host, bool verify) override {
    const auto [ni, nj, nk] = sizes_;
    if (a_.empty()) {
      Random random(seed_);
      a_ = random_floats(random, std::size_t{ni} * nk, 0.0F, 1.0F);
      b_ = random_floats(random, std::size_t{nk} * nj, 0.0F, 1.0F);
    }
    const std::uint32_t module = host.load_module(embedded::mm3_ptx, kFile);
    const auto a = host.malloc<float>(a_.size());
    const auto b = host.malloc<float>(b_.size());
    const auto e = host.malloc<float>(std::size_t{ni} * nj);
    host.to_device(a, a_);
    host.to_device(b, b_);
    host.launch(module, kKernel, {.grid = sizes_.grid(), .block = kBlock}, a, b, e,
                static_cast<std::int32_t>(ni), static_cast<std::int32_t>(nj), static_cast<std::int32_t>(nk));
    std::vector<float> result(std::size_t{ni} * nj);
    host.from_device(result, e);
    co_await host.synchronize();
    if (verify) {
      if (expected_.empty()) expected_ = product_reference(a_, b_, ni, nk, nj);
      // Sums of nk products, none negative.
      check_close("3mm: e", result, expected_, sum_tolerance(std::uint64_t{nk} + 1));
    }
    host.free(a);
    host.free(b);
    host.free(e);
  }

 private:
  Sizes sizes_;
  std::uint64_t seed_;
  std::vector<float> a_;  // made by the first run
  std::vector<float> b_;
  std::vector<double> expected_;
};

[[maybe_unused]] const bool registered = runtime::register_app({
    .name = kName,
    .description = "one product of 3mm as in Table 2 of dai18",
    .params = param_table(),
    .ptx_file = kFile,
    .ptx_text = embedded::mm3_ptx,
    .shapes = [](const runtime::AppParams& values) -> std::vector<runtime::AppInfo::KernelShape> {
      return {{kKernel, read_sizes(values).grid(), kBlock}};
    },
    .create = [](const runtime::AppParams& values,
                 std::uint64_t seed) -> std::unique_ptr<runtime::Application> {
      return std::make_unique<Dai18Application>(kName, std::make_unique<Product>(read_sizes(values), seed));
    },
});

}  // namespace
}  // namespace gpumux::benchmarks::mm3
