#include "benchmarks/add/add.hpp"

#include "base/error.hpp"
#include "benchmarks/common.hpp"
#include "embedded/add.ptx.hpp"

namespace gpumux::benchmarks::add {

std::vector<float> reference(const std::vector<float>& a, const std::vector<float>& b, float factor,
                             std::uint32_t loops) {
  std::vector<float> sum(a.size());
  for (std::size_t i = 0; i < sum.size(); ++i) {
    float x = a[i];
    float y = b[i];
    for (std::uint32_t k = 0; k < loops * kMultiplies; ++k) {
      x *= factor;
      y *= factor;
    }
    sum[i] = x + y;
  }
  return sum;
}

namespace {

constexpr const char* kName = "add";
constexpr const char* kFile = "benchmarks/add/add.ptx";
constexpr const char* kKernel = "add_loops";
constexpr std::uint32_t kThreads = 256;  // 8 warps per block (awatramani17 section 5.3.1)
/// Factor of each multiplication. It is so close to 1 that the largest number of loops neither overflows nor
/// produces denormal numbers.
constexpr float kFactor = 1.0F + 0x1p-12F;

const std::vector<runtime::AppParamInfo>& param_table() {
  static const std::vector<runtime::AppParamInfo> table = {
      {"loops", 20, 1, 1000, "passes of the loop, 16 multiplications of each of two elements in each"},
      {"blocks", 640, 1, 65535, "thread blocks of 256 threads"},
  };
  return table;
}

struct Sizes {
  std::uint32_t loops;
  std::uint32_t blocks;
};

Sizes read_sizes(const runtime::AppParams& values) {
  const Params params(kName, param_table(), values);
  return {params.get("loops"), params.get("blocks")};
}

class Add final : public runtime::Application {
 public:
  Add(const Sizes& sizes, std::uint64_t seed) : sizes_(sizes) {
    Random random(seed);
    const std::size_t count = std::size_t{sizes.blocks} * kThreads;
    a_ = random_floats(random, count, 0.5F, 1.0F);
    b_ = random_floats(random, count, 0.5F, 1.0F);
  }

  runtime::Task run(runtime::Host& host, bool verify) override {
    const std::uint32_t module = host.load_module(embedded::add_ptx, kFile);
    const auto a = host.malloc<float>(a_.size());
    const auto b = host.malloc<float>(b_.size());
    const auto sum = host.malloc<float>(a_.size());
    host.to_device(a, a_);
    host.to_device(b, b_);
    const runtime::LaunchSpec spec{.grid = {sizes_.blocks}, .block = {kThreads}};
    host.launch(module, kKernel, spec, a, b, sum, kFactor, static_cast<std::int32_t>(sizes_.loops));
    std::vector<float> result(a_.size());
    host.from_device(result, sum);
    co_await host.synchronize();
    if (verify) {
      if (expected_.empty()) expected_ = reference(a_, b_, kFactor, sizes_.loops);
      // The kernel fixes the rounding of every operation, so the result must be exact.
      check_close("add: sum", result, expected_, Tolerance{});
    }
    host.free(a);
    host.free(b);
    host.free(sum);
  }

 private:
  Sizes sizes_;
  std::vector<float> a_;
  std::vector<float> b_;
  std::vector<float> expected_;  // computed by the first verified run
};

runtime::AppInfo app_of(const char* name) {
  return {
      .name = name,
      .description =
          "two elements per thread multiplied in a loop, compute-bound (awatramani17 section 5.3.1)",
      .params = param_table(),
      .ptx_file = kFile,
      .ptx_text = embedded::add_ptx,
      .shapes = [](const runtime::AppParams& values) -> std::vector<runtime::AppInfo::KernelShape> {
        return {{kKernel, {read_sizes(values).blocks}, {kThreads}}};
      },
      .create = [](const runtime::AppParams& values,
                   std::uint64_t seed) -> std::unique_ptr<runtime::Application> {
        return std::make_unique<Add>(read_sizes(values), seed);
      },
  };
}

const bool registered = runtime::register_app(app_of(kName));
const bool registered_for_paper = runtime::register_app(app_of("awatramani17/add"));

}  // namespace
}  // namespace gpumux::benchmarks::add
