#include "cpu/trace/applications.hpp"

#include <fmt/core.h>

#include <string>

#include "base/error.hpp"

namespace gpumux::cpu {
namespace {

constexpr auto kLow = MpkiClass::Low;
constexpr auto kMedium = MpkiClass::Medium;
constexpr auto kHigh = MpkiClass::High;
constexpr CpuApplication kApplications[] = {
    {"perlbench", 0.2, kLow}, {"povray", 0.2, kLow},         {"tonto", 0.2, kLow},
    {"applu", 0.3, kLow},     {"calculix", 0.3, kLow},       {"gcc", 0.3, kLow},
    {"namd", 0.4, kLow},      {"barnes", 0.7, kLow},         {"gromacs", 0.7, kLow},
    {"sjeng", 0.8, kLow},     {"dealII", 1, kLow},           {"wrf", 1.3, kLow},
    {"h264ref", 1.5, kLow},   {"cactus", 1.6, kLow},         {"gobmk", 1.6, kLow},
    {"bzip2", 3.1, kMedium},  {"sjas", 4, kMedium},          {"tpcw", 4.8, kMedium},
    {"Gems", 5.2, kMedium},   {"hmmer", 7, kMedium},         {"astar", 7.1, kMedium},
    {"sjbb", 7.5, kMedium},   {"swim", 10, kMedium},         {"ocean", 10.6, kMedium},
    {"sphinx3", 12, kMedium}, {"libquantum", 12.5, kMedium}, {"art", 13.6, kMedium},
    {"lbm", 14, kMedium},     {"leslie3d", 14.2, kMedium},   {"xalan", 14.6, kMedium},
    {"milc", 25, kHigh},      {"omnetpp", 25.8, kHigh},      {"mcf", 49.8, kHigh},
    {"soplex", 103.2, kHigh}};

constexpr CpuMix kMixes[] = {{"L1",
                              {"povray", "tonto", "applu", "calculix", "gcc", "namd", "barnes", "gromacs",
                               "sjeng", "dealII", "wrf", "h264ref", "cactus", "gobmk"}},
                             {"L2",
                              {"sjeng", "dealII", "wrf", "h264ref", "cactus", "gobmk", "sjeng", "dealII",
                               "wrf", "h264ref", "cactus", "gobmk", "sjeng", "dealII"}},
                             {"M1",
                              {"sjas", "tpcw", "Gems", "hmmer", "astar", "sjbb", "swim", "ocean", "sphinx3",
                               "libquantum", "art", "lbm", "leslie3d", "xalan"}},
                             {"M2",
                              {"ocean", "sphinx3", "libquantum", "art", "lbm", "leslie3d", "xalan", "ocean",
                               "sphinx3", "libquantum", "art", "lbm", "leslie3d", "xalan"}},
                             {"H1",
                              {"milc", "soplex", "milc", "omnetpp", "mcf", "soplex", "milc", "omnetpp", "mcf",
                               "soplex", "mcf", "soplex", "omnetpp", "mcf"}},
                             {"H2",
                              {"omnetpp", "omnetpp", "omnetpp", "omnetpp", "omnetpp", "milc", "milc", "milc",
                               "milc", "milc", "soplex", "soplex", "mcf", "mcf"}}};

template <typename T>
const T& find(std::span<const T> known, std::string_view name, const char* what) {
  std::string names;
  for (const T& one : known) {
    if (one.name == name) return one;
    names += fmt::format("{}{}", names.empty() ? "" : ", ", one.name);
  }
  throw UserError(fmt::format("'{}' is no {}; known: {}", name, what, names));
}

}  // namespace

std::span<const CpuApplication> cpu_applications() { return kApplications; }
std::span<const CpuMix> cpu_mixes() { return kMixes; }

const CpuApplication& cpu_application(std::string_view name) {
  return find(cpu_applications(), name, "CPU application");
}
const CpuMix& cpu_mix(std::string_view name) { return find(cpu_mixes(), name, "CPU mix"); }

std::unique_ptr<TraceSource> generated_trace(const CpuApplication& application, std::uint64_t seed,
                                             std::uint32_t core) {
  TraceModel model;
  model.l2_mpki = application.l2_mpki;
  for (const char c : application.name) seed = mix64(seed ^ static_cast<unsigned char>(c));
  return std::make_unique<GeneratedTrace>(model, seed, core);
}

}  // namespace gpumux::cpu
