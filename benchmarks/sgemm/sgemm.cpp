// sgemm: host program of the register-tiled matrix product.
#include <memory>
#include <vector>

#include "benchmarks/common.hpp"
#include "benchmarks/products_reference.hpp"
#include "embedded/sgemm.ptx.hpp"
#include "runtime/application.hpp"

namespace gpumux::benchmarks::sgemm {
namespace {

constexpr const char* kName = "sgemm";
constexpr const char* kFile = "benchmarks/sgemm/sgemm.ptx";
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

/// Parameters of an application; `m`, `n` and `k` are their defaults.
template <std::int64_t m, std::int64_t n, std::int64_t k>
const std::vector<runtime::AppParamInfo>& param_table() {
  static const std::vector<runtime::AppParamInfo> table = {
      {"m", m, 128, 8192, "rows of A and C, a multiple of 128"},
      {"n", n, 16, 8192, "rows of B, columns of C, a multiple of 16"},
      {"k", k, 8, 8192, "columns of A and B, a multiple of 8"}};
  return table;
}

class Sgemm final : public runtime::Application {
 public:
  Sgemm(Size size, std::uint64_t seed) : size_(size), seed_(seed) {}

  runtime::Task run(runtime::Host& host, bool verify) override {
    Random random(seed_);
    const std::vector<float> a = random_floats(random, std::size_t{size_.m} * size_.k, 0.0F, 1.0F);
    const std::vector<float> b = random_floats(random, std::size_t{size_.n} * size_.k, 0.0F, 1.0F);
    const std::vector<float> c = random_floats(random, std::size_t{size_.m} * size_.n, 0.0F, 1.0F);
    const std::uint32_t module = host.load_module(embedded::sgemm_ptx, kFile);
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
      // k terms, of which none is negative, then the products with alpha and beta, and their sum.
      check_close("sgemm: c", result, reference_, sum_tolerance(size_.k + 3));
    }
    host.free(device_a);
    host.free(device_b);
    host.free(device_c);
  }

 private:
  Size size_;
  std::uint64_t seed_;
  std::vector<double> reference_;
};

Size size_of(const Params& params) {
  return {params.get_multiple("m", kTileRows), params.get_multiple("n", kTileColumns),
          params.get_multiple("k", kTileDepth)};
}

template <std::int64_t m, std::int64_t n, std::int64_t k>
std::vector<runtime::AppInfo::KernelShape> shapes(const runtime::AppParams& values) {
  const Params params(kName, param_table<m, n, k>(), values);
  return {{"sgemm_nt", size_of(params).grid(), kBlock}};
}

template <std::int64_t m, std::int64_t n, std::int64_t k>
std::unique_ptr<runtime::Application> create(const runtime::AppParams& values, std::uint64_t seed) {
  const Params params(kName, param_table<m, n, k>(), values);
  const Size size = size_of(params);
  const auto [rows, columns, depth] = size;
  check_memory(kName, sizeof(float) * (std::uint64_t{rows} * depth + std::uint64_t{columns} * depth +
                                       std::uint64_t{rows} * columns));
  return std::make_unique<Sgemm>(size, seed);
}

template <std::int64_t m, std::int64_t n, std::int64_t k>
bool add(const char* name, const char* description) {
  return runtime::register_app({
      .name = name,
      .description = description,
      .params = param_table<m, n, k>(),
      .ptx_file = kFile,
      .ptx_text = embedded::sgemm_ptx,
      .shapes = shapes<m, n, k>,
      .create = create<m, n, k>,
  });
}
[[maybe_unused]] const bool registered = add<1024, 1024, 64>(
    kName, "C = alpha A B^T + beta C, 128x16 register tiles (Volkov and Demmel, SC 2008; as in Parboil)");
// Parboil's medium input, which is its largest input.
[[maybe_unused]] const bool registered_wang17 = add<1024, 1056, 992>("wang17/sgemm", "sgemm for wang17");
[[maybe_unused]] const bool registered_kayiran14 =
    add<1024, 1056, 992>("kayiran14/mm", "sgemm for kayiran14");

}  // namespace
}  // namespace gpumux::benchmarks::sgemm
