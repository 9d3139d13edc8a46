#include "benchmarks/leukocyte/leukocyte.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "benchmarks/common.hpp"
#include "embedded/leukocyte.ptx.hpp"

namespace gpumux::benchmarks::leukocyte {

Gradient gradient(const Image& image) {
  Gradient result{{image.width, image.height, std::vector<float>(image.pixels.size())}, {}};
  result.y = result.x;
  for (std::uint32_t x = 1; x + 1 < image.width; ++x) {
    for (std::uint32_t y = 1; y + 1 < image.height; ++y) {
      result.x.at(x, y) = (image.at(x + 1, y) - image.at(x - 1, y)) / 2;
      result.y.at(x, y) = (image.at(x, y + 1) - image.at(x, y - 1)) / 2;
    }
  }
  return result;
}

Circles circles() {
  Circles result;
  for (std::uint32_t circle = 0; circle < kCircles; ++circle) {
    const double radius = 8.0 + 2.0 * circle;
    for (std::uint32_t p = 0; p < kPoints; ++p) {
      const double angle = 2 * std::numbers::pi * p / kPoints;
      result.x.push_back(static_cast<std::int32_t>(std::lround(radius * std::cos(angle))));
      result.y.push_back(static_cast<std::int32_t>(std::lround(radius * std::sin(angle))));
    }
  }
  for (std::uint32_t p = 0; p < kPoints; ++p) {
    result.cosine.push_back(static_cast<float>(std::cos(2 * std::numbers::pi * p / kPoints)));
    result.sine.push_back(static_cast<float>(std::sin(2 * std::numbers::pi * p / kPoints)));
  }
  return result;
}

Image gicov(const Gradient& of, const Circles& circles) {
  Image score{of.x.width, of.x.height, std::vector<float>(of.x.pixels.size())};
  for (std::uint32_t x = kMargin; x + kMargin < score.width; ++x) {
    for (std::uint32_t y = kMargin; y + kMargin < score.height; ++y) {
      float greatest = 0;
      for (std::uint32_t circle = 0; circle < kCircles; ++circle) {
        float sum = 0;
        float mean = 0;
        float squares = 0;
        for (std::uint32_t p = 0; p < kPoints; ++p) {
          const std::uint32_t px = x + static_cast<std::uint32_t>(circles.x[circle * kPoints + p]);
          const std::uint32_t py = y + static_cast<std::uint32_t>(circles.y[circle * kPoints + p]);
          const float across = of.y.at(px, py) * circles.sine[p];
          const float along = std::fma(of.x.at(px, py), circles.cosine[p], across);
          sum += along;
          const float away = along - mean;
          mean += away / static_cast<float>(p + 1);
          squares = std::fma(away, along - mean, squares);
        }
        mean = sum / static_cast<float>(kPoints);
        const float variance = squares / static_cast<float>(kPoints - 1);
        if (variance > 0) greatest = std::max(greatest, mean * mean / variance);
      }
      score.at(x, y) = greatest;
    }
  }
  return score;
}

Image dilate(const Image& score, const std::vector<float>& element, std::uint32_t size) {
  Image result{score.width, score.height, std::vector<float>(score.pixels.size())};
  const std::uint32_t half = size / 2;
  for (std::uint32_t x = 0; x < score.width; ++x) {
    for (std::uint32_t y = 0; y < score.height; ++y) {
      float greatest = 0;
      for (std::uint32_t column = 0; column < size; ++column) {
        for (std::uint32_t row = 0; row < size; ++row) {
          const std::uint32_t from_x = x + column - half;  // negative values wrap around and exceed the width
          const std::uint32_t from_y = y + row - half;
          if (from_x < score.width && from_y < score.height && element[row * size + column] != 0)
            greatest = std::max(greatest, score.at(from_x, from_y));
        }
      }
      result.at(x, y) = greatest;
    }
  }
  return result;
}

namespace {

/// Arc tangent with the kernel's operations (Chebyshev's polynomial).
float arc_tangent(float x) {
  constexpr std::array<float, 9> kTerms = {0.00276628346F, -0.015731249F, 0.0421376228F,
                                           -0.0745685473F, 0.106183708F,  -0.141977981F,
                                           0.199918717F,   -0.333330363F, 1.0F};
  const float size = std::abs(x);
  const float z = size > 1 ? 1 / size : size;
  const float s = z * z;
  float p = kTerms[0];
  for (std::size_t i = 1; i < kTerms.size(); ++i) p = std::fma(p, s, kTerms[i]);
  p *= z;
  if (size > 1) p = 1.57079637F - p;
  return x < 0 ? -p : p;
}

}  // namespace

std::int32_t gradient_flow(std::vector<float>& flow, const std::vector<float>& edges, float vx, float vy,
                           std::int32_t most_iterations, float cutoff) {
  constexpr std::uint32_t kThreads = 320;
  struct Neighbour {
    std::int32_t x, y;
    float direction;
  };
  const std::array<Neighbour, 8> neighbours = {{{0, -1, -vy},
                                                {0, 1, vy},
                                                {-1, 0, -vx},
                                                {1, 0, vx},
                                                {1, -1, vx - vy},
                                                {1, 1, vx + vy},
                                                {-1, -1, -vx - vy},
                                                {-1, 1, vy - vx}}};
  std::vector<float> next(kFlowPixels);
  std::int32_t done = 0;
  while (done < most_iterations) {
    std::array<float, 512> change{};
    for (std::uint32_t i = 0; i < kFlowPixels; ++i) {
      const auto x = static_cast<std::int32_t>(i % kFlowWidth);
      const auto y = static_cast<std::int32_t>(i / kFlowWidth);
      float total = 0;
      for (const Neighbour& to : neighbours) {
        const auto px = static_cast<std::size_t>(std::clamp(x + to.x, 0, std::int32_t{kFlowWidth} - 1));
        const auto py = static_cast<std::size_t>(std::clamp(y + to.y, 0, std::int32_t{kFlowHeight} - 1));
        const float difference = flow[py * kFlowWidth + px] - flow[i];
        const double angle = arc_tangent(difference * to.direction * kSharpness);
        const auto taken = static_cast<float>(std::fma(angle, std::numbers::inv_pi, 0.5));
        total = std::fma(taken, difference, total);
      }
      const auto moved = static_cast<float>(std::fma(double{total}, 0.1, double{flow[i]}));
      const double back = 0.2 * double{edges[i]} * double{moved - edges[i]};
      next[i] = static_cast<float>(double{moved} - back);
      change[i % kThreads] += std::abs(next[i] - flow[i]);
    }
    flow = next;
    for (std::size_t half = 256; half > 0; half /= 2)
      for (std::size_t t = 0; t < half; ++t) change[t] += change[t + half];
    ++done;
    if (change[0] / static_cast<float>(kFlowPixels) < cutoff) break;
  }
  return done;
}

namespace {

constexpr const char* kFile = "benchmarks/leukocyte/leukocyte.ptx";
constexpr std::uint32_t kDilateThreads = 176;
constexpr std::uint32_t kFlowThreads = 320;
constexpr std::uint32_t kElementSize = 25;
constexpr std::uint32_t kElementRadius = 12;
constexpr std::uint32_t kElementLargest = kElementSize * kElementSize;
constexpr float kCutoff = 1e-5F;  // mean change per pixel
constexpr float kMotion = 1;      // of a cell, along both axes, as in Rodinia's program
constexpr float kRadius = 11;     // of a cell

const std::vector<runtime::AppParamInfo>& param_table(bool of_chimera15) {
  const auto make = [](std::int64_t width, std::int64_t height, std::int64_t cells, std::int64_t iterations,
                       std::int64_t frames) {
    return std::vector<runtime::AppParamInfo>{
        {"width", width, 96, 1920, "pixels of a frame"},
        {"height", height, 56, 1000, "pixels of the part of a frame in which cells are looked for"},
        {"cells", cells, 1, 100, "cells that are followed"},
        {"iterations", iterations, 1, 10000, "of a cell's flow at most, in a frame"},
        {"frames", frames, 1, 1000, "frames, in the first of which cells are found"}};
  };
  static const std::vector<runtime::AppParamInfo> own = make(192, 120, 6, 50, 2);
  static const std::vector<runtime::AppParamInfo> chimera15 = make(640, 219, 36, 500, 1);
  return of_chimera15 ? chimera15 : own;
}

struct Sizes {
  std::uint32_t width, height, cells, iterations, frames;
};
Sizes read_sizes(const char* name, const std::vector<runtime::AppParamInfo>& table,
                 const runtime::AppParams& values) {
  const Params params(name, table, values);
  return {params.get("width"), params.get("height"), params.get("cells"), params.get("iterations"),
          params.get("frames")};
}
std::vector<runtime::AppInfo::KernelShape> shapes_of(const Sizes& sizes) {
  return {{"gicov", {sizes.width - 2 * kMargin}, {sizes.height - 2 * kMargin}},
          {"dilate", {blocks_for(sizes.width * sizes.height, kDilateThreads)}, {kDilateThreads}},
          {"gradient_flow", {sizes.cells}, {kFlowThreads}}};
}

struct Cell {
  std::uint32_t x, y;
};

class Leukocyte : public runtime::Application {
 public:
  Leukocyte(const Sizes& sizes, std::uint64_t seed) : sizes_(sizes), random_(seed), circles_(circles()) {
    for (std::uint32_t i = 0; i < sizes.cells; ++i)
      centres_.push_back({random_.uniform(kMargin + 4.0F, static_cast<float>(sizes.width - kMargin) - 4),
                          random_.uniform(kMargin + 4.0F, static_cast<float>(sizes.height - kMargin) - 4)});
    for (std::uint32_t frame = 0; frame < sizes.frames; ++frame) frames_.push_back(make_frame(frame));
    element_.resize(kElementLargest);
    for (std::uint32_t i = 0; i < kElementLargest; ++i) {
      const std::int32_t x = static_cast<std::int32_t>(i / kElementSize) - std::int32_t{kElementRadius};
      const std::int32_t y = static_cast<std::int32_t>(i % kElementSize) - std::int32_t{kElementRadius};
      element_[i] = x * x + y * y <= std::int32_t{kElementRadius * kElementRadius} ? 1.0F : 0.0F;
    }
  }

  runtime::Task run(runtime::Host& host, bool verify) override {
    const std::uint32_t module = host.load_module(embedded::leukocyte_ptx, kFile);
    const std::vector<runtime::AppInfo::KernelShape> shapes = shapes_of(sizes_);
    const auto spec = [&](std::size_t kernel) {
      return runtime::LaunchSpec{.grid = shapes[kernel].grid, .block = shapes[kernel].block};
    };
    const auto symbol = [&](const char* name, const auto& values) {
      host.copy_to_symbol(module, name, 0, std::as_bytes(std::span(values)), 0);
    };
    symbol("offset_x", circles_.x);
    symbol("offset_y", circles_.y);
    symbol("cosine", circles_.cosine);
    symbol("sine", circles_.sine);
    symbol("element", element_);
    const std::size_t pixels = std::size_t{sizes_.width} * sizes_.height;
    const Gradient first = gradient(frames_[0]);
    const auto gradient_x = host.malloc<float>(pixels);
    const auto gradient_y = host.malloc<float>(pixels);
    const auto score = host.malloc<float>(pixels);
    const auto dilated = host.malloc<float>(pixels);
    host.to_device(gradient_x, first.x.pixels);
    host.to_device(gradient_y, first.y.pixels);
    host.fill(score.address, 0, pixels * sizeof(float), 0);
    const auto height = static_cast<std::int32_t>(sizes_.height);
    const auto texture = [&](Address address) {
      return host.create_texture(
          workload::TextureResource::linear(address, {}, static_cast<std::uint32_t>(pixels)), {});
    };
    const std::array textures = {texture(gradient_x.address), texture(gradient_y.address),
                                 texture(score.address)};
    host.launch(module, "gicov", spec(0), textures[0], textures[1], height, score);
    host.launch(module, "dilate", spec(1), textures[2], static_cast<std::int32_t>(sizes_.width), height,
                static_cast<std::int32_t>(kElementSize), dilated);
    Image found{sizes_.width, sizes_.height, std::vector<float>(pixels)};
    Image spread = found;
    host.from_device(found.pixels, score);
    host.from_device(spread.pixels, dilated);
    co_await host.synchronize();
    if (verify) check_detection(first, found, spread);
    const std::vector<Cell> cells = cells_of(found, spread);

    const std::size_t values = std::size_t{sizes_.cells} * kFlowPixels;
    const auto flows = host.malloc<float>(values);
    const auto edges = host.malloc<float>(values);
    const auto iterations = host.malloc<std::int32_t>(sizes_.cells);
    for (const Image& frame : frames_) {
      const std::vector<float> edge = edges_around(frame, cells);
      host.to_device(flows, edge);
      host.to_device(edges, edge);
      host.launch(module, "gradient_flow", spec(2), flows, edges, kMotion, kMotion, kSharpness,
                  static_cast<std::int32_t>(sizes_.iterations), kCutoff, iterations);
      std::vector<float> flow(values);
      std::vector<std::int32_t> took(sizes_.cells);
      host.from_device(flow, flows);
      host.from_device(took, iterations);
      co_await host.synchronize();
      if (verify) check_flows(edge, flow, took);
    }
    for (const Address address : {gradient_x.address, gradient_y.address, score.address, dilated.address,
                                  flows.address, edges.address, iterations.address})
      host.free(address);
    for (const runtime::TextureObject object : textures) host.destroy_texture(object);
  }

 private:
  struct Centre {
    float x, y;
  };
  /// Makes a frame: dark, with noise. Cells are bright discs, which move by two pixels per frame.
  [[nodiscard]] Image make_frame(std::uint32_t frame) {
    Image image{sizes_.width, sizes_.height, {}};
    image.pixels = random_floats(random_, std::size_t{sizes_.width} * sizes_.height, 0.0F, 0.1F);
    for (const Centre& centre : centres_) {
      for (std::uint32_t x = 0; x < sizes_.width; ++x) {
        for (std::uint32_t y = 0; y < sizes_.height; ++y) {
          const float dx = static_cast<float>(x) - centre.x - 2 * static_cast<float>(frame);
          const float dy = static_cast<float>(y) - centre.y;
          if (dx * dx + dy * dy <= kRadius * kRadius) image.at(x, y) = std::min(image.at(x, y) + 0.8F, 1.0F);
        }
      }
    }
    return image;
  }
  /// The local maxima of the score, the greatest first. If there are fewer than the number of cells, the last
  /// is repeated.
  [[nodiscard]] std::vector<Cell> cells_of(const Image& score, const Image& dilated) const {
    std::vector<Cell> cells;
    for (std::uint32_t x = 0; x < score.width; ++x)
      for (std::uint32_t y = 0; y < score.height; ++y)
        if (score.at(x, y) > 0 && score.at(x, y) == dilated.at(x, y)) cells.push_back({x, y});
    if (cells.empty()) cells.push_back({score.width / 2, score.height / 2});
    std::stable_sort(cells.begin(), cells.end(),
                     [&](const Cell& a, const Cell& b) { return score.at(a.x, a.y) > score.at(b.x, b.y); });
    cells.resize(sizes_.cells, cells.back());
    return cells;
  }
  /// The length of the gradient around each cell, row by row, scaled to 0 to 1 per cell. It is 0 beyond the
  /// frame.
  [[nodiscard]] std::vector<float> edges_around(const Image& frame, const std::vector<Cell>& cells) const {
    const Gradient of = gradient(frame);
    std::vector<float> edges;
    for (const Cell& cell : cells) {
      const std::size_t first = edges.size();
      for (std::uint32_t row = 0; row < kFlowHeight; ++row) {
        for (std::uint32_t column = 0; column < kFlowWidth; ++column) {
          const std::uint32_t x = cell.x + column - kFlowWidth / 2;
          const std::uint32_t y = cell.y + row - kFlowHeight / 2;
          const bool inside = x < frame.width && y < frame.height;
          edges.push_back(inside ? std::hypot(of.x.at(x, y), of.y.at(x, y)) : 0.0F);
        }
      }
      const auto [least, most] =
          std::minmax_element(edges.begin() + static_cast<std::ptrdiff_t>(first), edges.end());
      const float from = *least;
      const float range = *most - from;
      for (std::size_t i = first; i < edges.size(); ++i)
        edges[i] = range > 0 ? (edges[i] - from) / range : 0.0F;
    }
    return edges;
  }
  /// Compares the results of the detection. They must be equal, because the kernels fix every rounding.
  void check_detection(const Gradient& of, const Image& score, const Image& dilated) const {
    const Image expected = gicov(of, circles_);
    check_close("leukocyte: score", score.pixels, expected.pixels, Tolerance{});
    check_close("leukocyte: dilated", dilated.pixels, dilate(expected, element_, kElementSize).pixels,
                Tolerance{});
  }
  void check_flows(const std::vector<float>& edges, const std::vector<float>& flows,
                   const std::vector<std::int32_t>& took) const {
    std::vector<float> expected;
    std::vector<std::int32_t> expected_took;
    for (std::uint32_t i = 0; i < sizes_.cells; ++i) {
      const auto first = edges.begin() + static_cast<std::ptrdiff_t>(std::size_t{i} * kFlowPixels);
      const std::vector<float> edge(first, first + kFlowPixels);
      std::vector<float> flow = edge;
      expected_took.push_back(
          gradient_flow(flow, edge, kMotion, kMotion, static_cast<std::int32_t>(sizes_.iterations), kCutoff));
      expected.insert(expected.end(), flow.begin(), flow.end());
    }
    check_equal("leukocyte: iterations", took, expected_took);
    check_close("leukocyte: flow", flows, expected, Tolerance{});
  }

  Sizes sizes_;
  Random random_;
  Circles circles_;
  std::vector<Centre> centres_;
  std::vector<Image> frames_;
  std::vector<float> element_;
};

/// Blocks count for the registers and shared memory in Table 2 of chimera15.
class Chimera15Leukocyte final : public Leukocyte {
 public:
  using Leukocyte::Leukocyte;
  [[nodiscard]] std::map<std::string, workload::BlockMetadata> block_metadata() const override {
    return {{"gicov", {.registers_per_thread = 22, .shared_bytes = 512}},
            {"dilate", {.registers_per_thread = 12}},
            {"gradient_flow", {.registers_per_thread = 58, .shared_bytes = 14592}}};
  }
};

[[maybe_unused]] const bool registered = runtime::register_app({
    .name = "leukocyte",
    .description = "finding and following leukocytes in a video (Rodinia leukocyte)",
    .params = param_table(false),
    .ptx_file = kFile,
    .ptx_text = embedded::leukocyte_ptx,
    .shapes = [](const runtime::AppParams& values) -> std::vector<runtime::AppInfo::KernelShape> {
      return shapes_of(read_sizes("leukocyte", param_table(false), values));
    },
    .create = [](const runtime::AppParams& values,
                 std::uint64_t seed) -> std::unique_ptr<runtime::Application> {
      return std::make_unique<Leukocyte>(read_sizes("leukocyte", param_table(false), values), seed);
    },
});
[[maybe_unused]] const bool registered_chimera15 = runtime::register_app({
    .name = "chimera15/LC",
    .description = "leukocyte tracking as in Table 2 of chimera15",
    .params = param_table(true),
    .ptx_file = kFile,
    .ptx_text = embedded::leukocyte_ptx,
    .shapes = [](const runtime::AppParams& values) -> std::vector<runtime::AppInfo::KernelShape> {
      return shapes_of(read_sizes("chimera15/LC", param_table(true), values));
    },
    .create = [](const runtime::AppParams& values,
                 std::uint64_t seed) -> std::unique_ptr<runtime::Application> {
      return std::make_unique<Chimera15Leukocyte>(read_sizes("chimera15/LC", param_table(true), values),
                                                  seed);
    },
});

}  // namespace
}  // namespace gpumux::benchmarks::leukocyte
