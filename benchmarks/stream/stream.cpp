// stream: only loads and stores. The result equals the input, so no reference is computed.
#include "base/error.hpp"
#include "benchmarks/common.hpp"
#include "embedded/stream.ptx.hpp"

namespace gpumux::benchmarks::stream {
namespace {

constexpr const char* kName = "stream";
constexpr const char* kFile = "benchmarks/stream/stream.ptx";
constexpr std::uint32_t kThreads = 256;  // 8 warps per block (awatramani17 section 5.3.1)

const std::vector<runtime::AppParamInfo>& param_table() {
  static const std::vector<runtime::AppParamInfo> table = {
      {"words", 3, 1, 8, "4-byte words that each thread loads and stores"},
      {"blocks", 640, 1, 65535, "thread blocks of 256 threads"},
  };
  return table;
}

struct Sizes {
  std::uint32_t words;
  std::uint32_t blocks;
  [[nodiscard]] std::string kernel() const { return fmt::format("stream_{}_words", words); }
};

Sizes read_sizes(const runtime::AppParams& values) {
  const Params params(kName, param_table(), values);
  return {params.get("words"), params.get("blocks")};
}

class Stream final : public runtime::Application {
 public:
  Stream(const Sizes& sizes, std::uint64_t seed) : sizes_(sizes) {
    Random random(seed);
    in_ = random_floats(random, std::size_t{sizes.blocks} * kThreads * sizes.words, -1.0F, 1.0F);
  }

  runtime::Task run(runtime::Host& host, bool verify) override {
    const std::uint32_t module = host.load_module(embedded::stream_ptx, kFile);
    const auto in = host.malloc<float>(in_.size());
    const auto out = host.malloc<float>(in_.size());
    host.to_device(in, in_);
    const runtime::LaunchSpec spec{.grid = {sizes_.blocks}, .block = {kThreads}};
    host.launch(module, sizes_.kernel(), spec, in, out);
    std::vector<float> result(in_.size());
    host.from_device(result, out);
    co_await host.synchronize();
    if (verify) check_close("stream: out", result, in_, Tolerance{});  // a copy must be exact
    host.free(in);
    host.free(out);
  }

 private:
  Sizes sizes_;
  std::vector<float> in_;
};

runtime::AppInfo app_of(const char* name) {
  return {
      .name = name,
      .description = "words loaded and stored, memory-bound (awatramani17 section 5.3.2)",
      .params = param_table(),
      .ptx_file = kFile,
      .ptx_text = embedded::stream_ptx,
      .shapes = [](const runtime::AppParams& values) -> std::vector<runtime::AppInfo::KernelShape> {
        const Sizes sizes = read_sizes(values);
        return {{sizes.kernel(), {sizes.blocks}, {kThreads}}};
      },
      .create = [](const runtime::AppParams& values,
                   std::uint64_t seed) -> std::unique_ptr<runtime::Application> {
        return std::make_unique<Stream>(read_sizes(values), seed);
      },
  };
}

const bool registered = runtime::register_app(app_of(kName));
const bool registered_for_paper = runtime::register_app(app_of("awatramani17/stream"));

}  // namespace
}  // namespace gpumux::benchmarks::stream
