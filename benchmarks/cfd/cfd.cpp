#include <algorithm>
#include <cmath>
#include <numeric>

#include "benchmarks/cfd/cfd_reference.hpp"
#include "benchmarks/kernel_program.hpp"
#include "embedded/cfd.ptx.hpp"

namespace gpumux::benchmarks::cfd {

Mesh diamond_mesh(std::size_t cells, std::size_t side, std::size_t window, std::uint64_t seed) {
  Random random(seed);
  std::vector<std::size_t> number(cells);  // number of the cell at each place
  std::iota(number.begin(), number.end(), std::size_t{0});
  for (std::size_t first = 0; first < cells; first += window) {
    const std::size_t end = std::min(cells, first + window);
    for (std::size_t i = end - 1; i > first; --i) {
      const std::size_t j = first + random.below(static_cast<std::uint32_t>(i - first + 1));
      std::swap(number[i], number[j]);
    }
  }
  const std::size_t height = cells / (side * side);
  Mesh mesh{cells, std::vector<std::int32_t>(kFaces * cells), std::vector<float>(3 * kFaces * cells)};
  const auto set_normal = [&](std::size_t face, std::size_t cell, const std::array<float, 3>& normal,
                              float sign) {
    for (std::size_t c = 0; c < 3; ++c) mesh.normals[(3 * face + c) * cells + cell] = sign * normal[c];
  };
  // Faces 0 and 1 lead along x, face 2 along y, face 3 along z. From even places, faces 0, 2 and 3 lead
  // forwards and face 1 backwards; from odd places the other way round. So a face has the same number in both
  // of its cells.
  for (std::size_t place = 0; place < cells; ++place) {
    const std::array<std::size_t, 3> at = {place % side, place / side % side, place / (side * side)};
    const bool up = (at[0] + at[1] + at[2]) % 2 == 0;
    for (std::size_t face = 0; face < kFaces; ++face) {
      const std::size_t axis = face < 2 ? 0 : face - 1;
      const bool forward = face == 0 ? up : face == 1 ? !up : up;
      const std::size_t extent = axis == 2 ? height : side;
      const std::size_t step = axis == 0 ? 1 : axis == 1 ? side : side * side;
      std::array<float, 3> normal{};
      for (float& component : normal) component = random.uniform(-1.0F, 1.0F);
      const std::size_t cell = number[place];
      if (forward ? at[axis] + 1 == extent : at[axis] == 0) {
        mesh.neighbours[face * cells + cell] = axis == 2 ? kWall : kFarField;
        set_normal(face, cell, normal, 1);
      } else if (forward) {
        const std::size_t other = number[place + step];
        mesh.neighbours[face * cells + cell] = static_cast<std::int32_t>(other);
        mesh.neighbours[face * cells + other] = static_cast<std::int32_t>(cell);
        set_normal(face, cell, normal, 1);
        set_normal(face, other, normal, -1);
      }
    }
  }
  return mesh;
}

std::array<float, kVariables> far_field() {
  constexpr float kSpeed = 0.4F * 1.1832160F;  // Mach 0.4; the speed of sound is sqrt(1.4) here
  return {1.0F, kSpeed, 0, 0, 2.5F + 0.5F * kSpeed * kSpeed};  // 1 / (gamma - 1) is the internal energy
}

std::vector<float> random_states(std::size_t cells, std::uint64_t seed) {
  Random random(seed);
  std::vector<float> states(kVariables * cells);
  for (std::size_t cell = 0; cell < cells; ++cell) {
    const float density = random.uniform(0.8F, 1.2F);
    const float pressure = random.uniform(0.8F, 1.2F);
    float square = 0;
    states[cell] = density;
    for (std::size_t axis = 1; axis <= 3; ++axis) {
      const float velocity = random.uniform(-0.3F, 0.3F);
      square += velocity * velocity;
      states[axis * cells + cell] = density * velocity;
    }
    states[4 * cells + cell] = pressure * 2.5F + 0.5F * density * square;
  }
  return states;
}

namespace {

constexpr double kGamma = 1.4;
constexpr double kSmoothing = 0.2;

struct State {
  std::array<double, kVariables> value{};
  std::array<double, 3> velocity{};
  double speed = 0;
  double pressure = 0;
  double sound = 0;
};

State derive(const std::array<double, kVariables>& value) {
  State s;
  s.value = value;
  double square = 0;
  for (std::size_t c = 0; c < 3; ++c) {
    s.velocity[c] = value[c + 1] / value[0];
    square += s.velocity[c] * s.velocity[c];
  }
  s.speed = std::sqrt(square);
  s.pressure = (kGamma - 1) * (value[4] - 0.5 * value[0] * square);
  s.sound = std::sqrt(kGamma * s.pressure / value[0]);
  return s;
}

/// Sums of terms, and the sums of the magnitudes of the same terms.
struct Sums {
  std::array<double, kVariables> value{};
  std::array<double, kVariables> magnitude{};
  void add(std::size_t variable, double term) {
    value[variable] += term;
    magnitude[variable] += std::abs(term);
  }
  /// Adds half of the flux of state `s` through a face.
  void carry(const State& s, const std::array<double, 3>& normal) {
    for (std::size_t axis = 0; axis < 3; ++axis) {
      const double through = 0.5 * normal[axis] * s.velocity[axis];
      for (std::size_t v = 0; v < kVariables; ++v) add(v, through * (s.value[v] + (v == 4 ? s.pressure : 0)));
      add(axis + 1, 0.5 * normal[axis] * s.pressure);
    }
  }
};

}  // namespace

Fluxes reference(const Mesh& mesh, const std::vector<float>& variables,
                 const std::array<float, kVariables>& surroundings) {
  const std::size_t cells = mesh.cells;
  const auto state_of = [&](std::size_t cell) {
    std::array<double, kVariables> value{};
    for (std::size_t v = 0; v < kVariables; ++v) value[v] = static_cast<double>(variables[v * cells + cell]);
    return derive(value);
  };
  const State outside =
      derive({surroundings[0], surroundings[1], surroundings[2], surroundings[3], surroundings[4]});
  Fluxes result{std::vector<double>(kVariables * cells), std::vector<double>(kVariables * cells)};
  for (std::size_t cell = 0; cell < cells; ++cell) {
    const State here = state_of(cell);
    Sums sums;
    for (std::size_t face = 0; face < kFaces; ++face) {
      std::array<double, 3> normal{};
      double square = 0;
      for (std::size_t c = 0; c < 3; ++c) {
        normal[c] = static_cast<double>(mesh.normals[(3 * face + c) * cells + cell]);
        square += normal[c] * normal[c];
      }
      const std::int32_t neighbour = mesh.neighbours[face * cells + cell];
      if (neighbour >= 0) {
        const State there = state_of(static_cast<std::size_t>(neighbour));
        const double viscosity =
            0.5 * kSmoothing * std::sqrt(square) * (here.speed + there.speed + here.sound + there.sound);
        for (std::size_t v = 0; v < kVariables; ++v) {
          sums.add(v, viscosity * here.value[v]);
          sums.add(v, -viscosity * there.value[v]);
        }
        sums.carry(here, normal);
        sums.carry(there, normal);
      } else if (neighbour == kWall) {
        for (std::size_t c = 0; c < 3; ++c) sums.add(c + 1, normal[c] * here.pressure);
      } else {
        sums.carry(here, normal);
        sums.carry(outside, normal);
      }
    }
    for (std::size_t v = 0; v < kVariables; ++v) {
      result.value[v * cells + cell] = sums.value[v];
      result.magnitude[v * cells + cell] = sums.magnitude[v];
    }
  }
  return result;
}

namespace {

template <std::uint32_t kThreads>
class Cfd final : public KernelProgram {
 public:
  explicit Cfd(const Params& params)
      : side_(params.get("side")), height_(params.get("height")), window_(params.get("window")) {
    params.require(cells() <= 2'000'000,
                   fmt::format("side={} squared times height={} must be at most 2000000", side_, height_));
  }
  [[nodiscard]] runtime::AppInfo::KernelShape shape() const override {
    return {"cfd_flux", {blocks_for(cells(), kThreads)}, {kThreads}};
  }
  void make_inputs(std::uint64_t seed) override {
    mesh_ = diamond_mesh(cells(), side_, window_, seed);
    variables_ = random_states(cells(), seed + 1);
  }
  void start(KernelRun& run) override {
    const auto neighbours = run.upload(mesh_.neighbours);
    const auto normals = run.upload(mesh_.normals);
    const auto variables = run.upload(variables_);
    const auto fluxes = run.allocate<float>(variables_.size());
    run.set_symbol("far_field", far_field());
    run.launch(cells(), neighbours, normals, variables, fluxes);
    run.download(fluxes_, fluxes);
  }
  void check() override {
    if (expected_.value.empty()) {
      expected_ = reference(mesh_, variables_, far_field());
      // A term consists of one value of a state in fewer than 24 operations, and passes at most 40 additions.
      // (The pressure is a difference of two numbers, at most 1.2 and 0.2 times as large as the value.)
      for (double& magnitude : expected_.magnitude) magnitude *= sum_tolerance(64).relative;
    }
    check_within("cfd: fluxes", fluxes_, expected_.value, expected_.magnitude);
  }

 private:
  [[nodiscard]] std::uint32_t cells() const { return side_ * side_ * height_; }

  std::uint32_t side_;
  std::uint32_t height_;
  std::uint32_t window_;
  Mesh mesh_;
  std::vector<float> variables_;
  std::vector<float> fluxes_;
  Fluxes expected_;  // `magnitude` holds the allowed errors
};

const KernelApp kCfd{
    .name = "dai18/cd",
    .description = "fluxes of the Euler equations over an unstructured mesh (Rodinia CFD, euler3d)",
    .params = {{"side", 40, 2, 128, "cells of the mesh along x and along y"},
               {"height", 64, 1, 1024, "cells along z; side * side * height at most 2 million"},
               {"window", 512, 1, 65536,
                "numbers among which cells are shuffled: locality of the mesh's numbering"}},
    .ptx_file = "benchmarks/cfd/cfd.ptx",
    .ptx_text = embedded::cfd_ptx,
    .metadata = {.registers_per_thread = 64},
};
[[maybe_unused]] const bool registered = register_kernel_app<Cfd<64>>(kCfd);
// Rodinia's block size, registers as in Table 4.2, and nearly the grid of Table 3.2.
[[maybe_unused]] const bool registered_awatramani17 = register_kernel_app<Cfd<192>>(
    kCfd.with("awatramani17/cfd", "fluxes of the Euler equations: CFD of awatramani17",
              {{"side", 64}, {"height", 85}}, {.registers_per_thread = 52}));

}  // namespace
}  // namespace gpumux::benchmarks::cfd
