// sgemm: host program of the register-tiled matrix product.
#include <memory>
#include <vector>

#include "base/hash.hpp"
#include "benchmarks/products_reference.hpp"
#include "benchmarks/tolerance.hpp"
#include "embedded/sgemm.ptx.hpp"
#include "runtime/application.hpp"

namespace gpumux::benchmarks {
namespace {

constexpr Dim3 kBlock{16, 8, 1};
constexpr std::uint32_t kTileRows = 128;
constexpr std::uint32_t kTileColumns = 16;
constexpr std::uint32_t kTileDepth = 8;
constexpr float kAlpha = 1.25F;
constexpr float kBeta = 0.75F;

struct Size {
  std::uint32_t m;
  std::uint32_t n;
  std::uint32_t k;
  [[nodiscard]] Dim3 grid() const { return {m / kTileRows, n / kTileColumns}; }
};

class Sgemm final : public runtime::Application {
 public:
  Sgemm(Size size, std::uint64_t seed) : size_(size), seed_(seed) {}

  runtime::Task run(runtime::Host& host, bool verify) override {
    Random random(seed_);
    const std::vector<float> a = make_matrix(random, size_.m, size_.k);
    const std::vector<float> b = make_matrix(random, size_.n, size_.k);
    const std::vector<float> c = make_matrix(random, size_.m, size_.n);
    const std::uint32_t module = host.load_module(embedded::sgemm_ptx, "benchmarks/sgemm/sgemm.ptx");
    const auto device_a = host.malloc<float>(a.size());
    const auto device_b = host.malloc<float>(b.size());
    const auto device_c = host.malloc<float>(c.size());
    host.to_device(device_a, a);
    host.to_device(device_b, b);
    host.to_device(device_c, c);
    const auto m = static_cast<int>(size_.m);
    const auto n = static_cast<int>(size_.n);
    const auto k = static_cast<int>(size_.k);
    host.launch(module, "sgemm_nt", {.grid = size_.grid(), .block = kBlock}, device_a, m, device_b, n,
                device_c, m, k, kAlpha, kBeta);
    std::vector<float> result(c.size());
    host.from_device(result, device_c);
    co_await host.synchronize();
    if (verify) {
      if (reference_.empty()) {
        reference_ = sgemm_reference(a, b, c, size_.m, size_.n, size_.k, kAlpha, kBeta);
      }
      // k terms, none negative, then alpha, beta and their sum.
      check_close("sgemm: c", result, reference_, sum_tolerance(size_.k + 3));
    }
    host.free(device_a);
    host.free(device_b);
    host.free(device_c);
  }

 private:
  static std::vector<float> make_matrix(Random& random, std::size_t rows, std::size_t columns) {
    std::vector<float> matrix(rows * columns);
    for (float& value : matrix) value = random.unit();
    return matrix;
  }

  Size size_;
  std::uint64_t seed_;
  std::vector<double> reference_;
};

Size size_of(const runtime::AppParams& params) {
  return {size_param(params, "sgemm", "m", kTileRows), size_param(params, "sgemm", "n", kTileColumns),
          size_param(params, "sgemm", "k", kTileDepth)};
}

std::vector<runtime::AppInfo::KernelShape> shapes(const runtime::AppParams& params) {
  return {{"sgemm_nt", size_of(params).grid(), kBlock}};
}

std::unique_ptr<runtime::Application> create(const runtime::AppParams& params, std::uint64_t seed) {
  const Size size = size_of(params);
  const auto [m, n, k] = size;
  check_memory("sgemm", sizeof(float) * (std::uint64_t{m} * k + std::uint64_t{n} * k + std::uint64_t{m} * n));
  return std::make_unique<Sgemm>(size, seed);
}

[[maybe_unused]] const bool registered = runtime::register_app({
    .name = "sgemm",
    .description =
        "C = alpha A B^T + beta C, 128x16 register tiles (Volkov and Demmel, SC 2008; as in Parboil)",
    .params = {{"m", 1024, 128, 8192, "rows of A and C, a multiple of 128"},
               {"n", 1024, 16, 8192, "rows of B, columns of C, a multiple of 16"},
               {"k", 64, 8, 8192, "columns of A and B, a multiple of 8"}},
    .ptx_file = "benchmarks/sgemm/sgemm.ptx",
    .ptx_text = embedded::sgemm_ptx,
    .shapes = shapes,
    .create = create,
});

}  // namespace
}  // namespace gpumux::benchmarks
