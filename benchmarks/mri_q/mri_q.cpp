// mri-q: host program of the matrix Q of an image that is reconstructed from samples off a grid.
#include <cmath>
#include <numbers>
#include <numeric>

#include "benchmarks/kernel_program.hpp"
#include "embedded/mri_q.ptx.hpp"

namespace gpumux::benchmarks::mri_q {
namespace {

constexpr std::uint32_t kThreads = 256;
constexpr std::uint32_t kMagnitudeThreads = 512;
constexpr std::uint32_t kMostSamples = 1024;  // per launch (kMostSamples of mri_q.cu)
constexpr float kFrequency = 8.0F;            // greatest per direction; places are from -1/2 to 1/2

struct Sample {
  float kx, ky, kz, weight;
};

class MriQ final : public KernelProgram {
 public:
  explicit MriQ(const Params& params)
      : voxels_(params.get_multiple("voxels", kThreads)), count_(params.get("samples")) {}
  [[nodiscard]] runtime::AppInfo::KernelShape shape() const override {
    return {"compute_q", {voxels_ / kThreads}, {kThreads}};
  }
  [[nodiscard]] std::vector<runtime::AppInfo::KernelShape> shapes() const override {
    return {magnitude(), shape()};
  }
  void make_inputs(std::uint64_t seed) override {
    Random random(seed);
    for (std::vector<float>* const axis : {&x_, &y_, &z_})
      *axis = random_floats(random, voxels_, -0.5F, 0.5F);
    for (std::vector<float>* const axis : {&kx_, &ky_, &kz_})
      *axis = random_floats(random, count_, -kFrequency, kFrequency);
    phi_real_ = random_floats(random, count_, -1.0F, 1.0F);
    phi_imaginary_ = random_floats(random, count_, -1.0F, 1.0F);
  }
  /// Enqueues the run. The host computes the weights, too: they equal the magnitudes, and so the host need
  /// not wait for the first kernel.
  void start(KernelRun& run) override {
    const auto real_in = run.upload(phi_real_);
    const auto imaginary_in = run.upload(phi_imaginary_);
    const auto found = run.allocate<float>(count_);
    run.launch_as(magnitude(), real_in, imaginary_in, found, count_);
    run.download(magnitude_, found);
    const auto x = run.upload(x_);
    const auto y = run.upload(y_);
    const auto z = run.upload(z_);
    const auto real = run.zeros<float>(voxels_);
    const auto imaginary = run.zeros<float>(voxels_);
    for (std::uint32_t first = 0; first < count_; first += kMostSamples) {
      const std::uint32_t some = std::min(kMostSamples, count_ - first);
      std::vector<Sample> part;
      for (std::uint32_t s = first; s < first + some; ++s)
        part.push_back({kx_[s], ky_[s], kz_[s], static_cast<float>(weight(s))});
      run.set_symbol("samples", part);
      run.launch(count_, first, x, y, z, real, imaginary);
    }
    run.download(real_, real);
    run.download(imaginary_, imaginary);
  }
  void check() override {
    std::vector<double> weights;
    for (std::uint32_t s = 0; s < count_; ++s) weights.push_back(weight(s));
    check_close("mri-q: magnitude", magnitude_, weights, {.relative = 4 * kFloatRounding});
    if (expected_real_.empty()) make_reference();
    // An angle is at most 12 turns, which is 75.4. It has an error of six roundings: of a term, of at most
    // three sums, of 2 pi, and of the product with 2 pi. Angles are not reduced to half a turn, so the fast
    // functions have an error of at most 2^-14.7 (PTX ISA, cos.approx: for angles up to 100 pi) instead of
    // 2^-20.5.
    const double each = 2 * std::numbers::pi * 12 * 6 * kFloatRounding + std::exp2(-14.7);
    const double all = std::accumulate(weights.begin(), weights.end(), 0.0);
    const std::vector<double> allowed(voxels_, all * (each + sum_tolerance(count_ + 1).relative));
    check_within("mri-q: real part", real_, expected_real_, allowed);
    check_within("mri-q: imaginary part", imaginary_, expected_imaginary_, allowed);
  }

 private:
  [[nodiscard]] runtime::AppInfo::KernelShape magnitude() const {
    return {"phi_magnitude", {blocks_for(count_, kMagnitudeThreads)}, {kMagnitudeThreads}};
  }
  [[nodiscard]] double weight(std::uint32_t s) const {
    const auto real = static_cast<double>(phi_real_[s]);
    const auto imaginary = static_cast<double>(phi_imaginary_[s]);
    return real * real + imaginary * imaginary;
  }
  void make_reference() {
    for (std::uint32_t v = 0; v < voxels_; ++v) {
      double real = 0;
      double imaginary = 0;
      for (std::uint32_t s = 0; s < count_; ++s) {
        const double turns = static_cast<double>(kx_[s]) * static_cast<double>(x_[v]) +
                             static_cast<double>(ky_[s]) * static_cast<double>(y_[v]) +
                             static_cast<double>(kz_[s]) * static_cast<double>(z_[v]);
        const double angle = 2 * std::numbers::pi * turns;
        real += weight(s) * std::cos(angle);
        imaginary += weight(s) * std::sin(angle);
      }
      expected_real_.push_back(real);
      expected_imaginary_.push_back(imaginary);
    }
  }

  std::uint32_t voxels_;
  std::uint32_t count_;
  std::vector<float> x_, y_, z_, kx_, ky_, kz_, phi_real_, phi_imaginary_;
  std::vector<float> magnitude_, real_, imaginary_;
  std::vector<double> expected_real_, expected_imaginary_;
};

const KernelApp kMriQ{
    .name = "mri-q",
    .description = "matrix Q of an image that is reconstructed from samples off a grid (Parboil mri-q)",
    .params = {{"voxels", 32768, 256, 1'000'192, "places of the image, a multiple of 256"},
               {"samples", 512, 1, 100'000, "samples, 1024 a launch"}},
    .ptx_file = "benchmarks/mri_q/mri_q.ptx",
    .ptx_text = embedded::mri_q_ptx,
};
[[maybe_unused]] const bool registered = register_kernel_app<MriQ>(kMriQ);
// Parboil's large input.
[[maybe_unused]] const bool registered_wang17 = register_kernel_app<MriQ, variant::Wang17>(
    kMriQ.with("wang17/mri-q", "mri-q for wang17", {{"voxels", 262144}, {"samples", 2048}}));

}  // namespace
}  // namespace gpumux::benchmarks::mri_q
