// cp: host program of the Coulomb potential by direct summation.
#include <cmath>

#include "benchmarks/kernel_program.hpp"
#include "embedded/cp.ptx.hpp"

namespace gpumux::benchmarks::cp {
namespace {

constexpr Dim3 kBlock{16, 8};
constexpr std::uint32_t kPoints = 8;        // per thread (kPoints of cp.cu)
constexpr std::uint32_t kMostAtoms = 4000;  // per launch (kMostAtoms of cp.cu)
constexpr float kSpacing = 0.1F;
constexpr float kDepth = 3.0F;  // largest distance of an atom from the plane

struct Atom {
  float x, y, dz2, charge;
};

class Cp final : public KernelProgram {
 public:
  explicit Cp(const Params& params)
      : width_(params.get_multiple("width", kBlock.x * kPoints)),
        height_(params.get_multiple("height", kBlock.y)),
        count_(params.get("atoms")) {}
  [[nodiscard]] runtime::AppInfo::KernelShape shape() const override {
    return {"lattice_energy", {width_ / (kBlock.x * kPoints), height_ / kBlock.y}, kBlock};
  }
  void make_inputs(std::uint64_t seed) override {
    Random random(seed);
    for (std::uint32_t i = 0; i < count_; ++i) {
      // Atoms keep away from the plane, so no distance is near zero.
      const float z = random.uniform(0.5F, kDepth);
      atoms_.push_back({random.uniform(0.0F, kSpacing * static_cast<float>(width_)),
                        random.uniform(0.0F, kSpacing * static_cast<float>(height_)), z * z,
                        random.uniform(-1.0F, 1.0F)});
    }
  }
  void start(KernelRun& run) override {
    const auto energy = run.zeros<float>(std::size_t{width_} * height_);
    for (std::size_t first = 0; first < atoms_.size(); first += kMostAtoms) {
      const std::size_t some = std::min<std::size_t>(kMostAtoms, atoms_.size() - first);
      run.set_symbol("atoms", std::span(atoms_).subspan(first, some));
      run.launch(static_cast<std::uint32_t>(some), kSpacing, energy);
    }
    run.download(energy_, energy);
  }
  void check() override {
    if (expected_.empty()) make_reference();
    check_within("cp: energy", energy_, expected_, allowed_);
  }

 private:
  void make_reference() {
    for (std::uint32_t row = 0; row < height_; ++row) {
      for (std::uint32_t column = 0; column < width_; ++column) {
        double sum = 0;
        double magnitude = 0;
        for (const Atom& atom : atoms_) {
          const double dx = static_cast<double>(kSpacing) * column - static_cast<double>(atom.x);
          const double dy = static_cast<double>(kSpacing) * row - static_cast<double>(atom.y);
          const double term =
              static_cast<double>(atom.charge) / std::sqrt(dx * dx + dy * dy + static_cast<double>(atom.dz2));
          sum += term;
          magnitude += std::abs(term);
        }
        expected_.push_back(sum);
        // A term has an error of about 16 roundings, and of the roundings in its distance: the distance is
        // the result of eight additions of coordinates up to the lattice's width, whose errors are relative
        // to place / distance. The sum adds its own roundings.
        const double place = static_cast<double>(kSpacing) * std::max(width_, height_);
        allowed_.push_back(
            magnitude * (sum_tolerance(atoms_.size()).relative + (16 + 10 * place / 0.5) * kFloatRounding));
      }
    }
  }

  std::uint32_t width_;
  std::uint32_t height_;
  std::uint32_t count_;
  std::vector<Atom> atoms_;
  std::vector<float> energy_;
  std::vector<double> expected_;
  std::vector<double> allowed_;
};

const KernelApp kCp{
    .name = "cp",
    .description = "Coulomb potential of atoms on a plane of a lattice, by direct summation (Parboil cp)",
    .params = {{"width", 256, 128, 4096, "lattice points along x, a multiple of 128"},
               {"height", 64, 8, 4096, "lattice points along y, a multiple of 8"},
               {"atoms", 500, 1, 100'000, "atoms, 4000 a launch"}},
    .ptx_file = "benchmarks/cp/cp.ptx",
    .ptx_text = embedded::cp_ptx,
};
[[maybe_unused]] const bool registered = register_kernel_app<Cp>(kCp);
[[maybe_unused]] const bool registered_chimera15 = register_kernel_app<Cp, variant::Chimera15>(
    kCp.with("chimera15/CP", "Coulomb potential as in Table 2 of chimera15",
             {{"height", 256}, {"atoms", 2000}}, {.registers_per_thread = 14, .shared_bytes = 384}));

}  // namespace
}  // namespace gpumux::benchmarks::cp
