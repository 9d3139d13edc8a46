// cutcp: host program of the cutoff Coulomb potential.
#include <cmath>
#include <memory>
#include <span>
#include <vector>

#include "benchmarks/common.hpp"
#include "benchmarks/cutcp/cutcp_reference.hpp"
#include "benchmarks/dai18_table2.hpp"
#include "embedded/cutcp.ptx.hpp"
#include "runtime/application.hpp"

namespace gpumux::benchmarks {
namespace {

constexpr const char* kName = "cutcp";
constexpr const char* kFile = "benchmarks/cutcp/cutcp.ptx";
constexpr Dim3 kBlock{8, 2, 8};

const std::vector<runtime::AppParamInfo>& param_table() {
  static const std::vector<runtime::AppParamInfo> table = {
      {"regions_x", 8, 1, 64, "regions of 8x8x8 lattice points (4 angstrom) along x, a block each"},
      {"regions_y", 8, 1, 64, "regions along y"},
      {"regions_z", 8, 1, 64, "regions along z"},
      {"cutoff", 4, 1, 12, "cutoff distance in angstrom"},
      {"atoms_per_bin", 2, 1, 8, "mean number of atoms in a cube of 4 angstrom"}};
  return table;
}

class Cutcp final : public runtime::Application {
 public:
  Cutcp(const char* kernel, const Lattice& lattice, std::uint32_t cutoff, std::uint32_t atoms_per_bin,
        std::uint64_t seed)
      : kernel_(kernel),
        lattice_(lattice),
        cutoff_(static_cast<float>(cutoff)),
        atoms_per_bin_(atoms_per_bin),
        seed_(seed) {}

  runtime::Task run(runtime::Host& host, bool verify) override {
    const std::vector<Atom> atoms = make_atoms();
    const std::vector<BinOffset> neighbours = neighbour_offsets(cutoff_);
    const auto margin = static_cast<std::uint32_t>(std::ceil(cutoff_ / Lattice::kBinLength));
    const Bins bins = sort_into_bins(atoms, lattice_, margin);

    const std::uint32_t module = host.load_module(embedded::cutcp_ptx, kFile);
    const auto device_bins = host.malloc<Atom>(bins.slots.size());
    const auto device_potential = host.malloc<float>(lattice_.points());
    host.to_device(device_bins, bins.slots);
    const std::vector<int> neighbour_count{static_cast<int>(neighbours.size())};
    host.copy_to_symbol(module, "neighbours", 0, std::as_bytes(std::span(neighbours)), 0);
    host.copy_to_symbol(module, "neighbour_count", 0, std::as_bytes(std::span(neighbour_count)), 0);
    const Dim3 grid{lattice_.regions_x, lattice_.regions_y, lattice_.regions_z};
    host.launch(module, kernel_, {.grid = grid, .block = kBlock}, device_bins, device_potential,
                static_cast<int>(bins.bins_x), static_cast<int>(bins.bins_y), static_cast<int>(margin),
                Lattice::kSpacing, cutoff_ * cutoff_, 1 / (cutoff_ * cutoff_));
    std::vector<float> potential(lattice_.points());
    host.from_device(potential, device_potential);
    co_await host.synchronize();
    if (!bins.overflow.empty()) {
      const std::vector<double> rest = cutcp_reference(bins.overflow, lattice_, cutoff_).value;
      for (std::size_t i = 0; i < potential.size(); ++i) potential[i] += static_cast<float>(rest[i]);
    }
    if (verify) {
      if (reference_.value.empty()) reference_ = cutcp_reference(atoms, lattice_, cutoff_);
      check_within("cutcp: potential", potential, reference_.value, reference_.allowed);
    }
    host.free(device_bins);
    host.free(device_potential);
  }

 private:
  [[nodiscard]] std::vector<Atom> make_atoms() const {
    Random random(seed_);
    const std::size_t bins = std::size_t{lattice_.regions_x} * lattice_.regions_y * lattice_.regions_z;
    std::vector<Atom> atoms(bins * atoms_per_bin_);
    // A coordinate a little off the multiples of the spacing, so that no atom lies on a lattice point.
    const auto coordinate = [&](std::uint32_t regions) {
      const std::uint32_t cell = random.below(regions * Lattice::kRegion);
      return (static_cast<float>(cell) + random.uniform(0.01F, 0.99F)) * Lattice::kSpacing;
    };
    for (Atom& atom : atoms) {
      atom.x = coordinate(lattice_.regions_x);
      atom.y = coordinate(lattice_.regions_y);
      atom.z = coordinate(lattice_.regions_z);
      const float charge = random.uniform(0.1F, 1.0F);  // never 0, which marks an empty slot
      atom.q = random.below(2) == 0 ? charge : -charge;
    }
    return atoms;
  }

  const char* kernel_;
  Lattice lattice_;
  float cutoff_;
  std::uint32_t atoms_per_bin_;
  std::uint64_t seed_;
  Potential reference_;
};

Lattice lattice_of(const Params& params) {
  return {params.get("regions_x"), params.get("regions_y"), params.get("regions_z")};
}

// dai18/cp: near the public input, and blocks for several waves.
constexpr const char* kDai18 = "dai18/cp";

const char* kernel_of(std::string_view app) { return app == kDai18 ? "cutcp_words" : "cutcp_lattice"; }

std::vector<runtime::AppInfo::KernelShape> shapes(const char* app, const runtime::AppParams& values) {
  const Params params(app, param_table(), values);
  const Lattice lattice = lattice_of(params);
  return {{kernel_of(app), {lattice.regions_x, lattice.regions_y, lattice.regions_z}, kBlock}};
}

std::unique_ptr<runtime::Application> create(const char* app, const runtime::AppParams& values,
                                             std::uint64_t seed) {
  const Params params(app, param_table(), values);
  const Lattice lattice = lattice_of(params);
  check_memory(app, sizeof(float) * lattice.points());
  return std::make_unique<Cutcp>(kernel_of(app), lattice, params.get("cutoff"), params.get("atoms_per_bin"),
                                 seed);
}

[[maybe_unused]] const bool registered = runtime::register_app({
    .name = kName,
    .description =
        "Coulomb potential with a cutoff on a lattice, atoms in bins staged through shared memory (as in "
        "Parboil)",
    .params = param_table(),
    .ptx_file = kFile,
    .ptx_text = embedded::cutcp_ptx,
    .shapes = [](const runtime::AppParams& values) { return shapes(kName, values); },
    .create = [](const runtime::AppParams& values,
                 std::uint64_t seed) { return create(kName, values, seed); },
});

[[maybe_unused]] const bool registered_dai18 = runtime::register_app({
    .name = kDai18,
    .description = "Coulomb potential as in Table 2 of dai18",
    .params = with_defaults(param_table(), {{"regions_x", 16}, {"cutoff", 12}, {"atoms_per_bin", 6}}),
    .ptx_file = kFile,
    .ptx_text = embedded::cutcp_ptx,
    .shapes = [](const runtime::AppParams& values) { return shapes(kDai18, values); },
    .create = [](const runtime::AppParams& values,
                 std::uint64_t seed) -> std::unique_ptr<runtime::Application> {
      return std::make_unique<Dai18Application>(kDai18, create(kDai18, values, seed));
    },
});

}  // namespace
}  // namespace gpumux::benchmarks
