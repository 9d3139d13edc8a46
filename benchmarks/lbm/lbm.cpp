// lbm: host program of a lattice Boltzmann fluid.
#include "benchmarks/lbm/lbm.hpp"

#include <bit>

#include "benchmarks/kernel_program.hpp"
#include "embedded/lbm.ptx.hpp"

namespace gpumux::benchmarks::lbm {

// The 19 velocities in the order of their fields: at rest, along one axis, along two axes.
const std::array<std::array<int, 3>, kVelocities>& velocities() {
  static const std::array<std::array<int, 3>, kVelocities> all = {{{0, 0, 0},
                                                                   {0, 1, 0},
                                                                   {0, -1, 0},
                                                                   {1, 0, 0},
                                                                   {-1, 0, 0},
                                                                   {0, 0, 1},
                                                                   {0, 0, -1},
                                                                   {1, 1, 0},
                                                                   {-1, 1, 0},
                                                                   {1, -1, 0},
                                                                   {-1, -1, 0},
                                                                   {0, 1, 1},
                                                                   {0, 1, -1},
                                                                   {0, -1, 1},
                                                                   {0, -1, -1},
                                                                   {1, 0, 1},
                                                                   {1, 0, -1},
                                                                   {-1, 0, 1},
                                                                   {-1, 0, -1}}};
  return all;
}

std::uint32_t opposite(std::uint32_t velocity) {
  const auto& [x, y, z] = velocities()[velocity];
  std::uint32_t other = 0;
  while (velocities()[other] != std::array<int, 3>{-x, -y, -z}) ++other;
  return other;
}

double weight(std::uint32_t velocity) {
  const auto& [x, y, z] = velocities()[velocity];
  const int moving = x * x + y * y + z * z;
  return moving == 0 ? 1.0 / 3 : moving == 1 ? 1.0 / 18 : 1.0 / 36;
}

Flag flag(const Lattice& lattice, std::uint32_t x, std::uint32_t y, std::uint32_t z) {
  const auto [nx, ny, nz] = std::array{lattice.nx, lattice.ny, lattice.nz};
  if (x == 0 || y == 0 || z == 0 || x + 1 == nx || y + 1 == ny || z + 1 == nz) return kSolid;
  const bool beside = z == 1 || z + 2 == nz;
  return beside && x > 1 && x + 2 < nx && y > 1 && y + 2 < ny ? kDriven : kFluid;
}

namespace {

// The kernel's constants, rounded to float as in the kernel.
constexpr auto kOmega = static_cast<double>(1.95F);
constexpr std::array<double, 3> kDrivenVelocity = {static_cast<double>(0.005F), static_cast<double>(0.002F),
                                                   0};

using Populations = std::array<double, kVelocities>;

Populations collided(const Populations& f, bool driven) {
  double density = 0;
  std::array<double, 3> u{};
  for (std::uint32_t v = 0; v < kVelocities; ++v) {
    density += f[v];
    for (std::size_t axis = 0; axis < 3; ++axis) u[axis] += f[v] * velocities()[v][axis];
  }
  for (double& part : u) part /= density;
  if (driven) u = kDrivenVelocity;
  const double square = 1.5 * (u[0] * u[0] + u[1] * u[1] + u[2] * u[2]);
  Populations after{};
  for (std::uint32_t v = 0; v < kVelocities; ++v) {
    const auto& [cx, cy, cz] = velocities()[v];
    const double along = cx * u[0] + cy * u[1] + cz * u[2];
    const double equilibrium = weight(v) * density * (1 + 3 * along + 4.5 * along * along - square);
    after[v] = f[v] + kOmega * (equilibrium - f[v]);
  }
  return after;
}

}  // namespace

void step(const Lattice& lattice, const std::vector<double>& from, std::vector<double>& to) {
  std::array<std::uint32_t, kVelocities> opposites{};
  for (std::uint32_t v = 0; v < kVelocities; ++v) opposites[v] = opposite(v);
  for (std::uint32_t z = 0; z < lattice.nz; ++z) {
    for (std::uint32_t y = 0; y < lattice.ny; ++y) {
      for (std::uint32_t x = 0; x < lattice.nx; ++x) {
        Populations f{};
        for (std::uint32_t v = 0; v < kVelocities; ++v) f[v] = from[lattice.at(v, x, y, z)];
        const Flag kind = flag(lattice, x, y, z);
        Populations after{};
        if (kind == kSolid) {
          for (std::uint32_t v = 0; v < kVelocities; ++v) after[v] = f[opposites[v]];
        } else {
          after = collided(f, kind == kDriven);
        }
        for (std::uint32_t v = 0; v < kVelocities; ++v) {
          const auto& [cx, cy, cz] = velocities()[v];
          const std::ptrdiff_t by =
              (std::ptrdiff_t{cz} * lattice.rows + cy) * static_cast<std::ptrdiff_t>(Lattice::kRow) + cx;
          to[lattice.at(v, x, y, z) + static_cast<std::size_t>(by)] = after[v];
        }
      }
    }
  }
}

namespace {

class Lbm final : public KernelProgram {
 public:
  explicit Lbm(const Params& params)
      : lattice_{params.get("nx"), params.get("ny"), params.get("nz"), 120, 154},
        steps_(params.get("steps")) {
    constexpr Lattice kSmall{120, 30, 16, 30, 20};
    if (lattice_.ny <= kSmall.ny && lattice_.nz <= kSmall.nz) {
      kernel_ = "stream_collide_small";
      lattice_.rows = kSmall.rows;
      lattice_.planes = kSmall.planes;
    }
  }
  [[nodiscard]] runtime::AppInfo::KernelShape shape() const override {
    return {kernel_, {lattice_.ny, lattice_.nz}, {lattice_.nx}};
  }
  /// Makes a fluid nearly at rest. In Parboil's fluid, which is at rest, a population from a wrong cell would
  /// not show.
  void make_inputs(std::uint64_t seed) override {
    Random random(seed);
    start_.assign(lattice_.elements(), 0.0F);
    for (std::uint32_t v = 0; v < kVelocities; ++v) {
      each_cell([&](std::uint32_t x, std::uint32_t y, std::uint32_t z) {
        start_[lattice_.at(v, x, y, z)] = static_cast<float>(weight(v)) * random.uniform(0.99F, 1.01F);
      });
    }
    each_cell([&](std::uint32_t x, std::uint32_t y, std::uint32_t z) {
      start_[lattice_.at(kVelocities, x, y, z)] =
          std::bit_cast<float>(std::uint32_t{flag(lattice_, x, y, z)});
    });
  }
  void start(KernelRun& run) override {
    // No step writes flags, so both arrays need them. No cell of the box reads the padding that steps write.
    auto from = run.upload(start_);
    auto to = run.upload(start_);
    const auto first = static_cast<std::ptrdiff_t>(lattice_.first());
    for (std::uint32_t i = 0; i < steps_; ++i) {
      run.launch(from.first + first, to.first + first);
      std::swap(from, to);
    }
    run.download(result_, from);
  }
  void check() override {
    if (expected_.empty()) {
      expected_.assign(start_.begin(), start_.end());
      std::vector<double> other = expected_;
      for (std::uint32_t i = 0; i < steps_; ++i) {
        step(lattice_, expected_, other);
        std::swap(expected_, other);
      }
    }
    // u is one rounding of a number of about 1. A step adds at most 16 u, to the velocity at rest: omega / 3
    // of the density's 18 roundings and of a few more. Existing errors do not grow in the mean square,
    // because a collision multiplies parts of them by 1 and the rest by 1 - omega. 64 u leave room for single
    // cells.
    check_close("lbm: f", result_, expected_, {.relative = 0, .absolute = 64 * kFloatRounding * steps_});
    std::vector<std::uint32_t> flags, expected_flags;
    each_cell([&](std::uint32_t x, std::uint32_t y, std::uint32_t z) {
      flags.push_back(std::bit_cast<std::uint32_t>(result_[lattice_.at(kVelocities, x, y, z)]));
      expected_flags.push_back(flag(lattice_, x, y, z));
    });
    check_equal("lbm: flags", flags, expected_flags);
  }

 private:
  template <typename Do>
  void each_cell(const Do& act) const {
    for (std::uint32_t z = 0; z < lattice_.nz; ++z)
      for (std::uint32_t y = 0; y < lattice_.ny; ++y)
        for (std::uint32_t x = 0; x < lattice_.nx; ++x) act(x, y, z);
  }

  const char* kernel_ = "stream_collide";
  Lattice lattice_;
  std::uint32_t steps_;
  std::vector<float> start_, result_;
  std::vector<double> expected_;
};

const KernelApp kLbm{
    .name = "lbm",
    .description = "lattice Boltzmann fluid with 19 velocities in a box, driven near two walls (Parboil lbm)",
    .params = {{"nx", 120, 2, 120, "cells along x, a block each row"},
               {"ny", 30, 2, 120, "cells along y"},
               {"nz", 16, 2, 150, "cells along z"},
               {"steps", 2, 1, 10000, "steps"}},
    .ptx_file = "benchmarks/lbm/lbm.ptx",
    .ptx_text = embedded::lbm_ptx,
};
[[maybe_unused]] const bool registered = register_kernel_app<Lbm>(kLbm);
// Parboil's long input.
[[maybe_unused]] const bool registered_wang17 = register_kernel_app<Lbm, variant::Wang17>(
    kLbm.with("wang17/lbm", "lbm for wang17", {{"ny", 120}, {"nz", 150}, {"steps", 3000}}));

}  // namespace
}  // namespace gpumux::benchmarks::lbm
