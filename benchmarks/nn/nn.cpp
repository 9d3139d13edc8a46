// nn: host program of the nearest neighbours.
#include "benchmarks/nn/nn.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "benchmarks/kernel_program.hpp"
#include "embedded/nn.ptx.hpp"

namespace gpumux::benchmarks::nn {

std::vector<double> distances(const std::vector<Place>& places, const Place& target) {
  std::vector<double> result;
  result.reserve(places.size());
  for (const Place& place : places)
    result.push_back(
        std::hypot(static_cast<double>(place.latitude) - static_cast<double>(target.latitude),
                   static_cast<double>(place.longitude) - static_cast<double>(target.longitude)));
  return result;
}

template <typename Number>
std::vector<std::uint32_t> nearest(const std::vector<Number>& distance, std::uint32_t k) {
  GPUMUX_CHECK(k <= distance.size());
  std::vector<std::uint32_t> places(distance.size());
  std::iota(places.begin(), places.end(), 0U);
  const auto end = places.begin() + static_cast<std::ptrdiff_t>(k);
  std::partial_sort(places.begin(), end, places.end(), [&](std::uint32_t a, std::uint32_t b) {
    return distance[a] != distance[b] ? distance[a] < distance[b] : a < b;
  });
  places.erase(end, places.end());
  return places;
}
template std::vector<std::uint32_t> nearest(const std::vector<float>&, std::uint32_t);
template std::vector<std::uint32_t> nearest(const std::vector<double>&, std::uint32_t);

namespace {

constexpr std::uint32_t kThreads = 256;

class Nn final : public KernelProgram {
 public:
  explicit Nn(const Params& params) : records_(params.get("records")), k_(params.get("k")) {
    params.require(k_ <= records_, fmt::format("k={} must be at most records={}", k_, records_));
  }
  [[nodiscard]] runtime::AppInfo::KernelShape shape() const override {
    return {"distances", {blocks_for(records_, kThreads)}, {kThreads}};
  }
  void make_inputs(std::uint64_t seed) override {
    Random random(seed);
    const auto anywhere = [&] {
      return Place{random.uniform(-90.0F, 90.0F), random.uniform(-180.0F, 180.0F)};
    };
    target_ = anywhere();
    places_.resize(records_);
    for (Place& place : places_) place = anywhere();
  }
  void start(KernelRun& run) override {
    const auto places = run.upload(places_);
    const auto distance = run.allocate<float>(records_);
    run.launch(places, distance, records_, target_.latitude, target_.longitude);
    run.download(distance_, distance);
  }
  void check() override {
    // Two differences, squares, a sum and a root have less than four roundings, because those before the root
    // count half.
    const Tolerance tolerance{.relative = 4 * kFloatRounding};
    if (expected_.empty()) expected_ = distances(places_, target_);
    check_close("nn: distance", distance_, expected_, tolerance);
    std::vector<float> found;
    for (const std::uint32_t place : nearest(distance_, k_)) found.push_back(distance_[place]);
    std::vector<double> wanted;
    for (const std::uint32_t place : nearest(expected_, k_)) wanted.push_back(expected_[place]);
    check_close("nn: nearest", found, wanted, tolerance);
  }

 private:
  std::uint32_t records_;
  std::uint32_t k_;
  Place target_{};
  std::vector<Place> places_;
  std::vector<float> distance_;
  std::vector<double> expected_;
};

const KernelApp kNn{
    .name = "nn",
    .description =
        "nearest neighbours of a place: distances on the device, the k least on the host (Rodinia nn)",
    .params = {{"records", 2'097'152, 1, 16'000'000, "places"},
               {"k", 10, 1, 1000, "how many of the nearest are wanted, at most `records`"}},
    .ptx_file = "benchmarks/nn/nn.ptx",
    .ptx_text = embedded::nn_ptx,
};
[[maybe_unused]] const bool registered = register_kernel_app<Nn>(kNn);
// Registers as in Table 4.2.
[[maybe_unused]] const bool registered_awatramani17 = register_kernel_app<Nn, variant::Awatramani17>(kNn.with(
    "awatramani17/nn", "nn for awatramani17", {{"records", 4'194'304}}, {.registers_per_thread = 16}));

}  // namespace
}  // namespace gpumux::benchmarks::nn
