// lbm: host program of a lattice Boltzmann fluid.
#include "benchmarks/lbm/lbm.hpp"

#include "benchmarks/kernel_program.hpp"
#include "embedded/lbm.ptx.hpp"

namespace gpumux::benchmarks::lbm {

const std::array<std::array<int, 3>, kVelocities>& velocities() {
  static const std::array<std::array<int, 3>, kVelocities> all = {{{0, 0, 0},
                                                                   {1, 0, 0},
                                                                   {-1, 0, 0},
                                                                   {0, 1, 0},
                                                                   {0, -1, 0},
                                                                   {0, 0, 1},
                                                                   {0, 0, -1},
                                                                   {1, 1, 0},
                                                                   {-1, -1, 0},
                                                                   {1, -1, 0},
                                                                   {-1, 1, 0},
                                                                   {1, 0, 1},
                                                                   {-1, 0, -1},
                                                                   {1, 0, -1},
                                                                   {-1, 0, 1},
                                                                   {0, 1, 1},
                                                                   {0, -1, -1},
                                                                   {0, 1, -1},
                                                                   {0, -1, 1}}};
  return all;
}

double weight(std::uint32_t velocity) {
  const auto& [x, y, z] = velocities()[velocity];
  const int moving = x * x + y * y + z * z;
  return moving == 0 ? 1.0 / 3 : moving == 1 ? 1.0 / 18 : 1.0 / 36;
}

std::vector<double> step(const Lattice& lattice, const std::vector<double>& from,
                         const std::vector<std::uint8_t>& flags, double omega, double lid_speed) {
  const std::size_t cells = lattice.cells();
  std::vector<double> to(from.size());
  const auto wrap = [](std::uint32_t at, int by, std::uint32_t size) {
    return static_cast<std::uint32_t>(static_cast<int>(at + size) + by) % size;
  };
  for (std::uint32_t z = 0; z < lattice.nz; ++z) {
    for (std::uint32_t y = 0; y < lattice.ny; ++y) {
      for (std::uint32_t x = 0; x < lattice.nx; ++x) {
        const std::size_t cell = (std::size_t{z} * lattice.ny + y) * lattice.nx + x;
        double density = 0;
        std::array<double, 3> u{};
        for (std::uint32_t v = 0; v < kVelocities; ++v) {
          const double f = from[v * cells + cell];
          density += f;
          for (std::size_t axis = 0; axis < 3; ++axis) u[axis] += f * velocities()[v][axis];
        }
        for (double& part : u) part /= density;
        if (flags[cell] == kLid) u = {lid_speed, 0, 0};
        const double square = 1.5 * (u[0] * u[0] + u[1] * u[1] + u[2] * u[2]);
        for (std::uint32_t v = 0; v < kVelocities; ++v) {
          const auto& [cx, cy, cz] = velocities()[v];
          const std::size_t target =
              (std::size_t{wrap(z, cz, lattice.nz)} * lattice.ny + wrap(y, cy, lattice.ny)) * lattice.nx +
              wrap(x, cx, lattice.nx);
          const double along = 3 * (cx * u[0] + cy * u[1] + cz * u[2]);
          const double equilibrium = weight(v) * density * (1 + along * (1 + 0.5 * along) - square);
          const double f = from[v * cells + cell];
          const std::uint32_t opposite = v == 0 ? 0 : ((v - 1) ^ 1U) + 1;
          to[v * cells + target] =
              flags[cell] == kSolid ? from[opposite * cells + cell] : f + omega * (equilibrium - f);
        }
      }
    }
  }
  return to;
}

namespace {

constexpr float kOmega = 1.8F;
constexpr float kLidSpeed = 0.05F;

class Lbm final : public KernelProgram {
 public:
  explicit Lbm(const Params& params)
      : lattice_{params.get("nx"), params.get("ny"), params.get("nz")}, steps_(params.get("steps")) {
    params.require_memory(lattice_.cells() * (2 * kVelocities * sizeof(float) + 1), 1ULL << 30U);
  }
  [[nodiscard]] runtime::AppInfo::KernelShape shape() const override {
    return {"stream_collide", {lattice_.ny, lattice_.nz}, {lattice_.nx}};
  }
  /// A fluid at rest, nearly, among some solid cells, below a lid.
  void make_inputs(std::uint64_t seed) override {
    Random random(seed);
    const std::size_t cells = lattice_.cells();
    for (std::size_t cell = 0; cell < cells; ++cell) {
      const bool lid = cell / (std::size_t{lattice_.nx} * lattice_.ny) + 1 == lattice_.nz;
      flags_.push_back(lid ? kLid : random.below(16) == 0 ? kSolid : kFluid);
    }
    for (std::uint32_t v = 0; v < kVelocities; ++v)
      for (std::size_t cell = 0; cell < cells; ++cell)
        start_.push_back(static_cast<float>(weight(v)) * random.uniform(0.99F, 1.01F));
  }
  void start(KernelRun& run) override {
    const auto flags = run.upload(flags_);
    auto from = run.upload(start_);
    auto to = run.allocate<float>(start_.size());
    for (std::uint32_t i = 0; i < steps_; ++i) {
      run.launch(from, to, flags, kOmega, kLidSpeed);
      std::swap(from, to);
    }
    run.download(result_, from);
  }
  void check() override {
    if (expected_.empty()) {
      expected_.assign(start_.begin(), start_.end());
      for (std::uint32_t i = 0; i < steps_; ++i)
        expected_ =
            step(lattice_, expected_, flags_, static_cast<double>(kOmega), static_cast<double>(kLidSpeed));
    }
    // In a step some sixty roundings of numbers up to a density of about one, of which omega times a weight
    // of at most a third arrives.
    check_close("lbm: f", result_, expected_, {.relative = 0, .absolute = 64 * kFloatRounding * steps_});
  }

 private:
  Lattice lattice_;
  std::uint32_t steps_;
  std::vector<std::uint8_t> flags_;
  std::vector<float> start_, result_;
  std::vector<double> expected_;
};

const KernelApp kLbm{
    .name = "lbm",
    .description = "lattice Boltzmann fluid with 19 velocities below a moving lid (Parboil lbm)",
    .params = {{"nx", 120, 2, 1024, "cells along x, a block each row"},
               {"ny", 30, 2, 1024, "cells along y"},
               {"nz", 16, 2, 1024, "cells along z"},
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
