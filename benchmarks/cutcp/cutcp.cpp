// cutcp: host program of the cutoff Coulomb potential.
#include <array>
#include <cmath>
#include <utility>
#include <vector>

#include "benchmarks/cutcp/cutcp_reference.hpp"
#include "benchmarks/kernel_program.hpp"
#include "embedded/cutcp.ptx.hpp"

namespace gpumux::benchmarks::cutcp {
namespace {

class Cutcp : public KernelProgram {
 public:
  explicit Cutcp(const Params& params, const char* kernel = "cutcp_lattice")
      : kernel_(kernel),
        lattice_{params.get("regions_x"), params.get("regions_y"), params.get("regions_z")},
        cutoff_(static_cast<float>(params.get("cutoff"))),
        atoms_per_bin_(params.get("atoms_per_bin")) {
    params.require_memory(sizeof(float) * lattice_.points());
  }
  [[nodiscard]] runtime::AppInfo::KernelShape shape() const override {
    return {kernel_, {lattice_.regions_x, lattice_.regions_y, lattice_.regions_z}, {8, 2, 8}};
  }
  void make_inputs(std::uint64_t seed) override {
    atoms_ = make_atoms(seed);
    bins_ = sort_into_bins(atoms_, lattice_, margin());
  }
  void start(KernelRun& run) override {
    const std::vector<BinOffset> neighbours = offsets(cutoff_);
    const auto bins = run.upload(bins_.slots);
    const auto potential = run.allocate<float>(lattice_.points());
    run.set_symbol("neighbours", neighbours);
    run.set_symbol("neighbour_count", std::array{static_cast<int>(neighbours.size())});
    launch(run, bins, potential);
    run.download(potential_, potential);
  }
  void check() override {
    const std::vector<float> kept = std::exchange(potential_, std::vector<float>(lattice_.points()));
    for (std::size_t at = 0, z = 0; z < lattice_.points_z(); ++z)
      for (std::size_t y = 0; y < lattice_.points_y(); ++y)
        for (std::size_t x = 0; x < lattice_.points_x(); ++x, ++at) potential_[at] = kept[place(x, y, z)];
    if (!bins_.overflow.empty()) {
      const std::vector<double> rest = cutcp_reference(bins_.overflow, lattice_, cutoff_).value;
      for (std::size_t i = 0; i < potential_.size(); ++i) potential_[i] += static_cast<float>(rest[i]);
    }
    if (expected_.value.empty()) expected_ = cutcp_reference(atoms_, lattice_, cutoff_);
    check_within("cutcp: potential", potential_, expected_.value, expected_.allowed);
  }

 protected:
  using Slots = DeviceArray<Atom>;
  /// Launches the kernel once. `plane...`: arguments that follow the arguments of all kernels.
  template <typename... Plane>
  void launch_one(KernelRun& run, const Slots& bins, const DeviceArray<float>& potential,
                  Plane... plane) const {
    run.launch(bins, potential, static_cast<int>(bins_.bins_x), static_cast<int>(bins_.bins_y), margin(),
               Lattice::kSpacing, cutoff_ * cutoff_, 1 / (cutoff_ * cutoff_), plane...);
  }
  virtual void launch(KernelRun& run, const Slots& bins, const DeviceArray<float>& potential) const {
    launch_one(run, bins, potential);
  }
  [[nodiscard]] virtual std::vector<BinOffset> offsets(float cutoff) const {
    return neighbour_offsets(cutoff);
  }
  /// Index of a lattice point's potential in the result of the kernel.
  [[nodiscard]] virtual std::size_t place(std::size_t x, std::size_t y, std::size_t z) const {
    return (z * lattice_.points_y() + y) * lattice_.points_x() + x;
  }
  [[nodiscard]] const Lattice& lattice() const { return lattice_; }

 private:
  /// Number of empty bins around the lattice on each side.
  [[nodiscard]] std::uint32_t margin() const {
    return static_cast<std::uint32_t>(std::ceil(cutoff_ / Lattice::kBinLength));
  }
  [[nodiscard]] std::vector<Atom> make_atoms(std::uint64_t seed) const {
    Random random(seed);
    const std::size_t bins = std::size_t{lattice_.regions_x} * lattice_.regions_y * lattice_.regions_z;
    std::vector<Atom> atoms(bins * atoms_per_bin_);
    // Coordinates keep away from the multiples of the spacing, so no atom is on a lattice point.
    const auto coordinate = [&](std::uint32_t regions) {
      const std::uint32_t cell = random.below(regions * Lattice::kRegion);
      return (static_cast<float>(cell) + random.uniform(0.01F, 0.99F)) * Lattice::kSpacing;
    };
    for (Atom& atom : atoms) {
      atom.x = coordinate(lattice_.regions_x);
      atom.y = coordinate(lattice_.regions_y);
      atom.z = coordinate(lattice_.regions_z);
      const float charge = random.uniform(0.1F, 1.0F);  // never 0, because a charge of 0 marks an empty slot
      atom.q = random.below(2) == 0 ? charge : -charge;
    }
    return atoms;
  }

  const char* kernel_;
  Lattice lattice_;
  float cutoff_;
  std::uint32_t atoms_per_bin_;
  std::vector<Atom> atoms_;
  Bins bins_;
  std::vector<float> potential_;
  Potential expected_;
};

/// A kernel with the order of operations and the neighbours of Parboil's program. Each launch computes one
/// plane of regions.
class PlanesCutcp : public Cutcp {
 public:
  explicit PlanesCutcp(const Params& params, const char* kernel = "cutcp_plane") : Cutcp(params, kernel) {}
  [[nodiscard]] runtime::AppInfo::KernelShape shape() const override {
    runtime::AppInfo::KernelShape plane = Cutcp::shape();
    plane.grid.z = 1;
    return plane;
  }

 private:
  [[nodiscard]] std::vector<BinOffset> offsets(float cutoff) const override { return wider_offsets(cutoff); }
  void launch(KernelRun& run, const Slots& bins, const DeviceArray<float>& potential) const override {
    for (std::uint32_t plane = 0; plane < lattice().regions_z; ++plane)
      launch_one(run, bins, potential, static_cast<int>(plane));
  }
};

/// Parboil's base program: one point per thread, four blocks per region.
class PointsCutcp final : public PlanesCutcp {
 public:
  explicit PointsCutcp(const Params& params) : PlanesCutcp(params, "cutcp_points") {}
  [[nodiscard]] runtime::AppInfo::KernelShape shape() const override {
    return {"cutcp_points", {4 * lattice().regions_x, lattice().regions_y}, {8, 8, 2}};
  }

 private:
  [[nodiscard]] std::size_t place(std::size_t x, std::size_t y, std::size_t z) const override {
    constexpr std::size_t kEdge = Lattice::kRegion;
    const std::size_t region =
        ((z / kEdge) * lattice().regions_y + y / kEdge) * lattice().regions_x + x / kEdge;
    return ((region * kEdge + z % kEdge) * kEdge + y % kEdge) * kEdge + x % kEdge;
  }
};

const KernelApp kCutcp{
    .name = "cutcp",
    .description =
        "Coulomb potential with a cutoff on a lattice, atoms in bins staged through shared memory (as in "
        "Parboil)",
    .params = {{"regions_x", 8, 1, 64, "regions of 8x8x8 lattice points (4 angstrom) along x, a block each"},
               {"regions_y", 8, 1, 64, "regions along y"},
               {"regions_z", 8, 1, 64, "regions along z"},
               {"cutoff", 4, 1, 12, "cutoff distance in angstrom"},
               {"atoms_per_bin", 2, 1, 8, "mean number of atoms in a cube of 4 angstrom"}},
    .ptx_file = "benchmarks/cutcp/cutcp.ptx",
    .ptx_text = embedded::cutcp_ptx,
};
[[maybe_unused]] const bool registered = register_kernel_app<Cutcp>(kCutcp);

// Parboil's large input: 202 points in each direction, about six atoms per bin.
KernelApp large(const char* name, const char* description, const workload::BlockMetadata& metadata = {}) {
  return kCutcp.with(
      name, description,
      {{"regions_x", 26}, {"regions_y", 26}, {"regions_z", 26}, {"cutoff", 12}, {"atoms_per_bin", 6}},
      metadata);
}
[[maybe_unused]] const bool registered_dai18 =
    register_kernel_app<PointsCutcp>(large("dai18/cp", "Coulomb potential as in Table 2 of dai18",
                                           {.registers_per_thread = 28, .shared_bytes = 4116}));
[[maybe_unused]] const bool registered_wang17 =
    register_kernel_app<PlanesCutcp>(large("wang17/cutcp", "cutcp for wang17"));

}  // namespace
}  // namespace gpumux::benchmarks::cutcp
