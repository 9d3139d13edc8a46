#include "benchmarks/heartwall/heartwall.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "benchmarks/kernel_program.hpp"
#include "embedded/heartwall.ptx.hpp"

namespace gpumux::benchmarks::heartwall {

namespace {

constexpr std::int32_t kTemplatePixels = kTemplate * kTemplate;

float tree_sum(std::vector<float> values) {
  for (std::size_t half = values.size() / 2; half > 0; half /= 2)
    for (std::size_t t = 0; t < half; ++t) values[t] += values[t + half];
  return values[0];
}
std::size_t at(std::int32_t index) { return static_cast<std::size_t>(index); }

}  // namespace

float Frame::at(std::int32_t x, std::int32_t y) const {
  return pixels[static_cast<std::size_t>(std::clamp(y, 0, height - 1)) * static_cast<std::size_t>(width) +
                static_cast<std::size_t>(std::clamp(x, 0, width - 1))];
}

void begin(Point& point, const Frame& frame) {
  point.pixels.clear();
  for (std::int32_t i = 0; i < kTemplatePixels; ++i)
    point.pixels.push_back(
        frame.at(point.x - kTemplate / 2 + i % kTemplate, point.y - kTemplate / 2 + i / kTemplate));
}

void track(Point& point, const Frame& frame, std::size_t threads) {
  std::vector<float> window;
  for (std::int32_t i = 0; i < kWindow * kWindow; ++i)
    window.push_back(frame.at(point.x - kWindow / 2 + i % kWindow, point.y - kWindow / 2 + i / kWindow));
  std::vector<float> sum(at(kSums * kSums));
  std::vector<float> square(at(kSums * kSums));
  for (std::int32_t column = 1; column < kSums; ++column) {
    for (std::int32_t row = 1; row < kSums; ++row) {
      const float value = window[at((row - 1) * kWindow + column - 1)];
      sum[at(row * kSums + column)] = sum[at((row - 1) * kSums + column)] + value;
      square[at(row * kSums + column)] = std::fma(value, value, square[at((row - 1) * kSums + column)]);
    }
  }
  for (std::int32_t row = 0; row < kSums; ++row) {
    for (std::int32_t column = 1; column < kSums; ++column) {
      sum[at(row * kSums + column)] = sum[at(row * kSums + column - 1)] + sum[at(row * kSums + column)];
      square[at(row * kSums + column)] =
          square[at(row * kSums + column - 1)] + square[at(row * kSums + column)];
    }
  }
  std::vector<float> sums(threads);
  std::vector<float> squares(threads);
  for (std::size_t i = 0; i < point.pixels.size(); ++i) {
    sums[i % threads] += point.pixels[i];
    squares[i % threads] = std::fma(point.pixels[i], point.pixels[i], squares[i % threads]);
  }
  const float template_sum = tree_sum(sums);
  constexpr float kInverse = 1.0F / static_cast<float>(kTemplatePixels);
  const float mean = template_sum * kInverse;
  const float template_variance = std::fma(-mean, template_sum, tree_sum(squares));

  float best = -1e30F;
  std::int32_t best_place = 0;
  for (std::int32_t place = 0; place < kPlaces * kPlaces; ++place) {
    const std::int32_t left = place % kPlaces;
    const std::int32_t top = place / kPlaces;
    float cross = 0;
    for (std::int32_t row = 0; row < kTemplate; ++row)
      for (std::int32_t column = 0; column < kTemplate; ++column)
        cross = std::fma(window[at((top + row) * kWindow + left + column)],
                         point.pixels[at(row * kTemplate + column)], cross);
    const auto within = [&](const std::vector<float>& of) {
      const std::int32_t above = top * kSums + left;
      const std::int32_t below = above + kTemplate * kSums;
      const float lower = of[at(below + kTemplate)] - of[at(below)];
      return lower - (of[at(above + kTemplate)] - of[at(above)]);
    };
    const float window_sum = within(sum);
    const float window_variance = std::fma(-kInverse * window_sum, window_sum, within(square));
    const float together = std::fma(-mean, window_sum, cross);
    const float scale = template_variance * window_variance;
    const auto far = static_cast<float>(std::abs(left - kPlaces / 2) + std::abs(top - kPlaces / 2));
    const float weight = std::fma(-1.0F / 256, far, 1.0F);
    const float value = scale > 0 ? together / std::sqrt(scale) * weight : 0.0F;
    if (value > best) {
      best = value;
      best_place = place;
    }
  }
  const std::int32_t left = best_place % kPlaces;
  const std::int32_t top = best_place / kPlaces;
  point.x += left - kPlaces / 2;
  point.y += top - kPlaces / 2;
  for (std::int32_t i = 0; i < kTemplatePixels; ++i) {
    const float found = 0.1F * window[at((top + i / kTemplate) * kWindow + left + i % kTemplate)];
    point.pixels[at(i)] = std::fma(0.9F, point.pixels[at(i)], found);
  }
}

namespace {

/// With blocks of 512 threads as in Rodinia, or of 256.
template <std::uint32_t kThreads>
class Heartwall final : public KernelProgram {
 public:
  explicit Heartwall(const Params& params)
      : width_(params.get("width")),
        height_(params.get("height")),
        count_(params.get("points")),
        frames_(params.get("frames")) {}
  [[nodiscard]] runtime::AppInfo::KernelShape shape() const override {
    static_assert(kThreads == 512 || kThreads == 256);
    return {kThreads == 512 ? "track_points" : "track_points_by_256", {count_}, {kThreads}};
  }
  /// Makes the video: a bright ring on dark, noisy ground, whose wall moves to and fro. The points are on the
  /// inner and outer edges of the ring.
  void make_inputs(std::uint64_t seed) override {
    Random random(seed);
    const auto cx = static_cast<float>(width_) / 2;
    const auto cy = static_cast<float>(height_) / 2;
    const float radius = std::min(cx, cy) * 0.5F;
    const std::vector<float> texture = random_floats(random, std::size_t{width_} * height_, 0.0F, 0.3F);
    for (std::uint32_t frame = 0; frame < frames_; ++frame) {
      const float wall = radius * (1 + 0.05F * std::sin(0.7F * static_cast<float>(frame)));
      Frame image{static_cast<std::int32_t>(width_), static_cast<std::int32_t>(height_), texture};
      for (std::uint32_t y = 0; y < height_; ++y) {
        for (std::uint32_t x = 0; x < width_; ++x) {
          const float distance = std::hypot(static_cast<float>(x) - cx, static_cast<float>(y) - cy);
          if (distance > wall * 0.75F && distance < wall * 1.25F)
            image.pixels[std::size_t{y} * width_ + x] += 0.5F + 0.2F * random.unit();
        }
      }
      video_.push_back(std::move(image));
    }
    for (std::uint32_t i = 0; i < count_; ++i) {
      const float angle = 2 * std::numbers::pi_v<float> * static_cast<float>(i) / static_cast<float>(count_);
      const float at = radius * (i % 5 < 2 ? 0.75F : 1.25F);
      points_.push_back({static_cast<std::int32_t>(cx + at * std::cos(angle)),
                         static_cast<std::int32_t>(cy + at * std::sin(angle)),
                         {}});
    }
  }
  void start(KernelRun& run) override {
    std::vector<std::int32_t> x, y;
    for (const Point& point : points_) {
      x.push_back(point.x);
      y.push_back(point.y);
    }
    const auto points_x = run.upload(x);
    const auto points_y = run.upload(y);
    const auto templates = run.allocate<float>(std::size_t{count_} * at(kTemplatePixels));
    const auto windows = run.allocate<float>(std::size_t{count_} * at(kWindow * kWindow));
    const auto sums_of = [&] { return run.allocate<float>(std::size_t{count_} * at(kSums * kSums)); };
    const auto column_sums = sums_of();
    const auto column_squares = sums_of();
    const auto sums = sums_of();
    const auto squares = sums_of();
    for (std::uint32_t frame = 0; frame < frames_; ++frame) {
      const auto pixels = run.upload(video_[frame].pixels);
      run.launch(pixels, width_, height_, frame, points_x, points_y, templates, windows, column_sums,
                 column_squares, sums, squares);
    }
    run.download(x_, points_x);
    run.download(y_, points_y);
    run.download(templates_, templates);
  }
  void check() override {
    std::vector<std::int32_t> x, y;
    std::vector<float> templates;
    for (Point point : points_) {
      begin(point, video_[0]);
      for (std::uint32_t frame = 1; frame < frames_; ++frame) track(point, video_[frame], kThreads);
      x.push_back(point.x);
      y.push_back(point.y);
      templates.insert(templates.end(), point.pixels.begin(), point.pixels.end());
    }
    check_equal("heartwall: x", x_, x);
    check_equal("heartwall: y", y_, y);
    check_close("heartwall: template", templates_, templates, Tolerance{});
  }

 private:
  std::uint32_t width_, height_, count_, frames_;
  std::vector<Frame> video_;
  std::vector<Point> points_;
  std::vector<std::int32_t> x_, y_;
  std::vector<float> templates_;
};

const KernelApp kHeartwall{
    .name = "heartwall",
    .description = "points of a heart's walls followed through a video by correlation (Rodinia heartwall)",
    .params = {{"width", 256, 64, 1024, "pixels of a frame"},
               {"height", 256, 64, 1024, "pixels of a frame"},
               {"points", 8, 1, 1000, "points, a block each"},
               {"frames", 2, 1, 100, "frames, in the first of which points take their templates"}},
    .ptx_file = "benchmarks/heartwall/heartwall.ptx",
    .ptx_text = embedded::heartwall_ptx,
};
[[maybe_unused]] const bool registered = register_kernel_app<Heartwall<512>>(kHeartwall);
[[maybe_unused]] const bool registered_chimera15 = register_kernel_app<Heartwall<512>, variant::Chimera15>(
    kHeartwall.with("chimera15/HW", "heart wall tracking as in Table 2 of chimera15",
                    {{"width", 656}, {"height", 744}, {"points", 51}, {"frames", 5}},
                    {.registers_per_thread = 32, .shared_bytes = 2688}));
// The grid and the blocks of Table 3.2. With these registers, four blocks fit on an SM as in the table.
[[maybe_unused]] const bool registered_awatramani17 =
    register_kernel_app<Heartwall<256>, variant::Awatramani17>(
        kHeartwall.with("awatramani17/heartwall", "heartwall for awatramani17", {{"points", 56}},
                        {.registers_per_thread = 32}));

}  // namespace
}  // namespace gpumux::benchmarks::heartwall
