// atax: host program of y = A^T (A x).
#include <memory>
#include <vector>

#include "benchmarks/common.hpp"
#include "benchmarks/products_reference.hpp"
#include "embedded/atax.ptx.hpp"
#include "runtime/application.hpp"

namespace gpumux::benchmarks::atax {
namespace {

constexpr const char* kName = "atax";
constexpr const char* kFile = "benchmarks/atax/atax.ptx";
constexpr std::uint32_t kBlock = 256;

const std::vector<runtime::AppParamInfo>& param_table() {
  static const std::vector<runtime::AppParamInfo> table = {
      {"nx", 4096, 1, 131072, "rows of A; a block of the first kernel serves 256"},
      {"ny", 4096, 1, 131072, "columns of A; a block of the second kernel serves 256"}};
  return table;
}

class Atax final : public runtime::Application {
 public:
  Atax(std::uint32_t nx, std::uint32_t ny, std::uint64_t seed) : nx_(nx), ny_(ny), seed_(seed) {}

  runtime::Task run(runtime::Host& host, bool verify) override {
    Random random(seed_);
    const std::vector<float> x = random_floats(random, ny_, 0.0F, 1.0F);
    std::vector<float> a = random_floats(random, std::size_t{nx_} * ny_, 0.0F, 1.0F);

    const std::uint32_t module = host.load_module(embedded::atax_ptx, kFile);
    const auto device_a = host.malloc<float>(a.size());
    const auto device_x = host.malloc<float>(ny_);
    const auto device_tmp = host.malloc<float>(nx_);
    const auto device_y = host.malloc<float>(ny_);
    host.to_device(device_a, a);
    host.to_device(device_x, x);
    const auto nx = static_cast<int>(nx_);
    const auto ny = static_cast<int>(ny_);
    host.launch(module, "atax_product", {.grid = {blocks_for(nx_, kBlock)}, .block = {kBlock}}, device_a,
                device_x, device_tmp, nx, ny);
    host.launch(module, "atax_transposed", {.grid = {blocks_for(ny_, kBlock)}, .block = {kBlock}}, device_a,
                device_tmp, device_y, nx, ny);
    std::vector<float> y(ny_);
    host.from_device(y, device_y);
    if (verify && reference_.empty()) reference_ = atax_reference(a, x, nx_, ny_);
    a = {};  // frees the host's copy
    co_await host.synchronize();
    // Each element is a sum of nx terms, and each term contains a sum of ny products. No term is negative.
    if (verify) check_close("atax: y", y, reference_, sum_tolerance(std::uint64_t{nx_} + ny_ + 2));
    host.free(device_a);
    host.free(device_x);
    host.free(device_tmp);
    host.free(device_y);
  }

 private:
  std::uint32_t nx_;
  std::uint32_t ny_;
  std::uint64_t seed_;
  std::vector<double> reference_;
};

std::vector<runtime::AppInfo::KernelShape> shapes(const runtime::AppParams& values) {
  const Params params(kName, param_table(), values);
  return {{"atax_product", {blocks_for(params.get("nx"), kBlock)}, {kBlock}},
          {"atax_transposed", {blocks_for(params.get("ny"), kBlock)}, {kBlock}}};
}

std::unique_ptr<runtime::Application> create(const runtime::AppParams& values, std::uint64_t seed) {
  const Params params(kName, param_table(), values);
  const std::uint32_t nx = params.get("nx");
  const std::uint32_t ny = params.get("ny");
  check_memory(kName, sizeof(float) * (std::uint64_t{nx} * ny + nx + 2ULL * ny));
  return std::make_unique<Atax>(nx, ny, seed);
}

[[maybe_unused]] const bool registered = runtime::register_app({
    .name = kName,
    .description = "y = A^T (A x), one thread per element, accumulating in global memory (as in PolyBench)",
    .params = param_table(),
    .ptx_file = kFile,
    .ptx_text = embedded::atax_ptx,
    .shapes = shapes,
    .create = create,
});

}  // namespace
}  // namespace gpumux::benchmarks::atax
