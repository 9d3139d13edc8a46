// dxtc: host program of the texture compression.
#include "benchmarks/common.hpp"
#include "benchmarks/dai18_table2.hpp"
#include "benchmarks/dxtc/dxtc_reference.hpp"
#include "embedded/dxtc.ptx.hpp"

namespace gpumux::benchmarks::dxtc {
namespace {

constexpr const char* kName = "dai18/dc";
constexpr const char* kFile = "benchmarks/dxtc/dxtc.ptx";
constexpr const char* kKernel = "dxtc_compress";

const std::vector<runtime::AppParamInfo>& param_table() {
  static const std::vector<runtime::AppParamInfo> table = {
      {"width", 512, 4, 2048, "pixels of the image along x, a multiple of 4"},
      {"height", 512, 4, 2048, "pixels along y, a multiple of 4"}};
  return table;
}

/// Blocks of 4x4 pixels.
std::uint32_t read_blocks(const runtime::AppParams& values) {
  const Params params(kName, param_table(), values);
  return params.get_multiple("width", 4) / 4 * (params.get_multiple("height", 4) / 4);
}

class Dxtc final : public runtime::Application {
 public:
  Dxtc(std::uint32_t blocks, std::uint64_t seed) : blocks_(blocks), cuts_(all_cuts()) {
    // Each block runs from one colour to another, with noise: a piece of a picture.
    Random random(seed);
    image_.reserve(std::size_t{blocks} * kPixels);
    for (std::uint32_t block = 0; block < blocks; ++block) {
      std::array<float, 3> from{};
      std::array<float, 3> to{};
      for (std::size_t c = 0; c < 3; ++c) {
        from[c] = random.uniform(0.0F, 255.0F);
        to[c] = random.uniform(0.0F, 255.0F);
      }
      for (std::size_t i = 0; i < kPixels; ++i) {
        const float share = random.unit();
        std::uint32_t pixel = 0;
        for (std::size_t c = 0; c < 3; ++c) {
          const float value = from[c] + share * (to[c] - from[c]) + random.uniform(-8.0F, 8.0F);
          pixel |= static_cast<std::uint32_t>(std::clamp(value, 0.0F, 255.0F)) << (8 * c);
        }
        image_.push_back(pixel);
      }
    }
  }

  runtime::Task run(runtime::Host& host, bool verify) override {
    const std::uint32_t module = host.load_module(embedded::dxtc_ptx, kFile);
    const auto image = host.malloc<std::uint32_t>(image_.size());
    const auto cuts = host.malloc<std::uint32_t>(cuts_.size());
    const auto compressed = host.malloc<std::uint32_t>(std::size_t{2} * blocks_);
    host.to_device(image, image_);
    host.to_device(cuts, cuts_);
    host.launch(module, kKernel, {.grid = {blocks_}, .block = {kThreads}}, image, cuts, compressed,
                static_cast<std::int32_t>(cuts_.size()));
    std::vector<std::uint32_t> result(std::size_t{2} * blocks_);
    host.from_device(result, compressed);
    co_await host.synchronize();
    if (verify) {
      if (expected_.empty()) {
        for (std::uint32_t block = 0; block < blocks_; ++block) {
          const Compressed c = compress(&image_[std::size_t{block} * kPixels], cuts_);
          expected_.push_back(c.colours);
          expected_.push_back(c.indices);
        }
      }
      check_equal("dxtc: compressed", result, expected_);
    }
    host.free(image);
    host.free(cuts);
    host.free(compressed);
  }

 private:
  std::uint32_t blocks_;
  std::vector<std::uint32_t> cuts_;
  std::vector<std::uint32_t> image_;
  std::vector<std::uint32_t> expected_;  // computed by the first verified run
};

[[maybe_unused]] const bool registered = runtime::register_app({
    .name = kName,
    .description = "DXT1 texture compression by cluster fit (as the CUDA SDK's dxtc)",
    .params = param_table(),
    .ptx_file = kFile,
    .ptx_text = embedded::dxtc_ptx,
    .shapes = [](const runtime::AppParams& values) -> std::vector<runtime::AppInfo::KernelShape> {
      return {{kKernel, {read_blocks(values)}, {kThreads}}};
    },
    .create = [](const runtime::AppParams& values,
                 std::uint64_t seed) -> std::unique_ptr<runtime::Application> {
      return std::make_unique<Dai18Application>(kName, std::make_unique<Dxtc>(read_blocks(values), seed));
    },
});

}  // namespace
}  // namespace gpumux::benchmarks::dxtc
