// 3mm: host program of G = (A B)(C D).
#include <memory>
#include <vector>

#include "benchmarks/common.hpp"
#include "benchmarks/products_reference.hpp"
#include "embedded/mm3.ptx.hpp"
#include "runtime/application.hpp"

namespace gpumux::benchmarks::mm3 {
namespace {

constexpr const char* kName = "3mm";
constexpr const char* kFile = "benchmarks/mm3/mm3.ptx";
constexpr Dim3 kBlock{32, 8, 1};

struct Size {  // PolyBench's names
  std::uint32_t ni;
  std::uint32_t nj;
  std::uint32_t nk;
  std::uint32_t nl;
  std::uint32_t nm;
  [[nodiscard]] std::uint64_t elements() const {
    const auto times = [](std::uint32_t x, std::uint32_t y) { return std::uint64_t{x} * y; };
    return times(ni, nk) + times(nk, nj) + times(nj, nm) + times(nm, nl) + times(ni, nj) + times(nj, nl) +
           times(ni, nl);
  }
};

/// Grid for a product whose result has rows x columns elements.
Dim3 grid_for(std::uint32_t rows, std::uint32_t columns) {
  return {blocks_for(columns, kBlock.x), blocks_for(rows, kBlock.y)};
}

const std::vector<runtime::AppParamInfo>& param_table() {
  static const std::vector<runtime::AppParamInfo> table = {{"ni", 512, 1, 4096, "rows of A and G"},
                                                           {"nj", 128, 1, 4096, "columns of B, rows of C"},
                                                           {"nk", 64, 1, 4096, "columns of A, rows of B"},
                                                           {"nl", 256, 1, 4096, "columns of D and G"},
                                                           {"nm", 64, 1, 4096, "columns of C, rows of D"}};
  return table;
}

class ThreeProducts final : public runtime::Application {
 public:
  ThreeProducts(const Size& size, std::uint64_t seed) : size_(size), seed_(seed) {}

  runtime::Task run(runtime::Host& host, bool verify) override {
    const auto [ni, nj, nk, nl, nm] = size_;
    Random random(seed_);
    const std::vector<float> a = random_floats(random, std::size_t{ni} * nk, 0.0F, 1.0F);
    const std::vector<float> b = random_floats(random, std::size_t{nk} * nj, 0.0F, 1.0F);
    const std::vector<float> c = random_floats(random, std::size_t{nj} * nm, 0.0F, 1.0F);
    const std::vector<float> d = random_floats(random, std::size_t{nm} * nl, 0.0F, 1.0F);
    const std::uint32_t module = host.load_module(embedded::mm3_ptx, kFile);
    const auto device_a = host.malloc<float>(a.size());
    const auto device_b = host.malloc<float>(b.size());
    const auto device_c = host.malloc<float>(c.size());
    const auto device_d = host.malloc<float>(d.size());
    const auto device_e = host.malloc<float>(std::size_t{ni} * nj);
    const auto device_f = host.malloc<float>(std::size_t{nj} * nl);
    const auto device_g = host.malloc<float>(std::size_t{ni} * nl);
    host.to_device(device_a, a);
    host.to_device(device_b, b);
    host.to_device(device_c, c);
    host.to_device(device_d, d);
    const auto number = [](std::uint32_t value) { return static_cast<int>(value); };
    host.launch(module, "mm3_first", {.grid = grid_for(ni, nj), .block = kBlock}, device_a, device_b,
                device_e, number(ni), number(nj), number(nk));
    host.launch(module, "mm3_second", {.grid = grid_for(nj, nl), .block = kBlock}, device_c, device_d,
                device_f, number(nj), number(nl), number(nm));
    host.launch(module, "mm3_third", {.grid = grid_for(ni, nl), .block = kBlock}, device_e, device_f,
                device_g, number(ni), number(nl), number(nj));
    std::vector<float> g(std::size_t{ni} * nl);
    host.from_device(g, device_g);
    co_await host.synchronize();
    if (verify) {
      if (reference_.empty()) {
        reference_ = product_reference(product_reference(a, b, ni, nk, nj),
                                       product_reference(c, d, nj, nm, nl), ni, nj, nl);
      }
      // A term of G is one of nj and comes from sums of nk and of nm products. No term is negative.
      check_close("3mm: g", g, reference_, sum_tolerance(std::uint64_t{nk} + nm + nj + 3));
    }
    host.free(device_a);
    host.free(device_b);
    host.free(device_c);
    host.free(device_d);
    host.free(device_e);
    host.free(device_f);
    host.free(device_g);
  }

 private:
  Size size_;
  std::uint64_t seed_;
  std::vector<double> reference_;
};

Size size_of(const Params& params) {
  return {params.get("ni"), params.get("nj"), params.get("nk"), params.get("nl"), params.get("nm")};
}

std::vector<runtime::AppInfo::KernelShape> shapes(const runtime::AppParams& values) {
  const Params params(kName, param_table(), values);
  const Size size = size_of(params);
  return {{"mm3_first", grid_for(size.ni, size.nj), kBlock},
          {"mm3_second", grid_for(size.nj, size.nl), kBlock},
          {"mm3_third", grid_for(size.ni, size.nl), kBlock}};
}

std::unique_ptr<runtime::Application> create(const runtime::AppParams& values, std::uint64_t seed) {
  const Params params(kName, param_table(), values);
  const Size size = size_of(params);
  check_memory(kName, sizeof(float) * size.elements());
  return std::make_unique<ThreeProducts>(size, seed);
}

[[maybe_unused]] const bool registered = runtime::register_app({
    .name = kName,
    .description = "G = (A B)(C D), three naive matrix products in 32x8 blocks (as in PolyBench)",
    .params = param_table(),
    .ptx_file = kFile,
    .ptx_text = embedded::mm3_ptx,
    .shapes = shapes,
    .create = create,
});

}  // namespace
}  // namespace gpumux::benchmarks::mm3
