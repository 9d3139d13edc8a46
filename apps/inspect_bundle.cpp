// gpumux inspect BUNDLE: its modules, memory, copies and launches. Launches of the same kernel and shape are
// shown as one.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/dump_json.hpp"
#include "base/error.hpp"
#include "bundle/reader.hpp"
#include "emulator/program.hpp"
#include "inspect_kernel.hpp"
#include "inspect_mix.hpp"

namespace gpumux::cli {
namespace {

using nlohmann::ordered_json;

/// Number of operations, and their bytes.
struct Count {
  std::uint64_t number = 0;
  std::uint64_t bytes = 0;
  void add(std::uint64_t more) {
    ++number;
    bytes += more;
  }
  [[nodiscard]] ordered_json json() const { return {{"number", number}, {"bytes", bytes}}; }
};

struct Module {
  std::string name;
  std::uint64_t ptx_bytes = 0;
  std::vector<workload::PlacedVariable> variables;
  std::shared_ptr<const emulator::CompiledModule> compiled;
};

/// Launches that differ only in parameters and streams.
struct Launches {
  bundle::Launch first;
  std::uint64_t number = 0;
};

class Contents {
 public:
  Contents(std::shared_ptr<const bundle::Bundle> opened, const arch::MachineConfig& machine)
      : bundle_(std::move(opened)), machine_(machine) {
    bundle::Reader reader(bundle_);
    for (bundle::Record record; reader.next(record);) std::visit([&](const auto& r) { take(r); }, record);
  }

  [[nodiscard]] ordered_json json(bool disassemble) const {
    ordered_json document = {{"schema", "gpumux.inspect/1"},
                             {"subject", bundle_->name()},
                             {"file", bundle_->name()},
                             {"machine", machine_.name},
                             {"file_bytes", bundle_->file_bytes()},
                             {"calls", bundle_->records()},
                             {"first_address", bundle_->addresses().base}};
    ordered_json modules = ordered_json::array();
    for (const Module& module : modules_) {
      ordered_json variables = ordered_json::array();
      for (const workload::PlacedVariable& v : module.variables)
        variables.push_back({{"name", v.name}, {"address", v.address}, {"bytes", v.bytes}});
      modules.push_back({{"module", module.name},
                         {"sm", module.compiled->module.sm},
                         {"ptx_bytes", module.ptx_bytes},
                         {"kernels", module.compiled->kernels.size()},
                         {"variables", std::move(variables)}});
    }
    document["modules"] = std::move(modules);
    ordered_json allocations = ordered_json::array();
    for (const bundle::Allocate& a : allocations_)
      allocations.push_back({{"address", a.address}, {"bytes", a.bytes}});
    document["allocations"] = std::move(allocations);
    document["peak_bytes"] = peak_;
    document["copies"] = {{"to_device", to_device_.json()},   {"from_device", from_device_.json()},
                          {"on_device", on_device_.json()},   {"fills", fills_.json()},
                          {"to_symbols", to_symbols_.json()}, {"host_writes", host_writes_.json()},
                          {"results", bundle_->results()}};
    document["streams"] = streams_;
    document["events"] = events_;
    document["synchronisations"] = synchronisations_;
    document["conditions"] = conditions_;
    document["textures"] = textures_;
    document["host_ns"] = host_ns_;
    document["launches"] = bundle_->launches();
    document["kernels"] = kernels(disassemble);
    return document;
  }

 private:
  [[nodiscard]] ordered_json kernels(bool disassemble) const {
    ordered_json all = ordered_json::array();
    for (const Launches& launches : launches_) {
      const bundle::Launch& launch = launches.first;
      const emulator::CompiledModule& compiled = *modules_[launch.module].compiled;
      const auto found = compiled.kernels.find(launch.kernel);
      ordered_json kernel;
      if (found == compiled.kernels.end()) {
        kernel = {{"kernel", launch.kernel},
                  {"cpp_name", launch.kernel},
                  {"error", fmt::format("module {} has no such kernel", modules_[launch.module].name)}};
      } else {
        Subject subject{launch.kernel, launch.grid, launch.block, launch.shared_bytes, {}};
        if (const auto known = registers_.find({launch.module, launch.kernel}); known != registers_.end())
          subject.metadata.registers_per_thread = known->second;
        kernel = describe_kernel(subject, compiled.module, found->second, machine_);
        if (disassemble) {
          ordered_json lines = ordered_json::array();
          for (const isa::Instruction& inst : found->second.code.code)
            lines.push_back(isa::to_text(compiled.module, found->second.code, inst));
          kernel["disassembly"] = std::move(lines);
        }
      }
      kernel["module"] = modules_[launch.module].name;
      kernel["launches"] = launches.number;
      kernel["cooperative"] = launch.cooperative;
      all.push_back(std::move(kernel));
    }
    return all;
  }

  void take(const bundle::LoadModule& r) {
    const std::string file = fmt::format("{}:{}", bundle_->name(), r.name);
    modules_.push_back({r.name, r.ptx.bytes, r.variables,
                        emulator::compile_module(bundle_->content(r.ptx), file, {.level = machine_.code})});
    for (const workload::PlacedVariable& variable : r.variables) grow(variable.bytes);
  }
  void take(const bundle::Allocate& r) {
    allocations_.push_back(r);
    live_[r.address] = r.bytes;
    grow(r.bytes);
  }
  void take(const bundle::Free& r) {
    allocated_ -= live_.at(r.address);
    live_.erase(r.address);
  }
  void take(const bundle::CopyToDevice& r) { to_device_.add(r.from.bytes); }
  void take(const bundle::CopyFromDevice& r) { from_device_.add(r.bytes); }
  void take(const bundle::CopyOnDevice& r) { on_device_.add(r.bytes); }
  void take(const bundle::CopyToArray& r) { on_device_.add(r.to.texel_bytes()); }
  void take(const bundle::Fill& r) { fills_.add(r.bytes); }
  void take(const bundle::CopyToSymbol& r) { to_symbols_.add(r.from.bytes); }
  void take(const bundle::HostWrite& r) { host_writes_.add(r.from.bytes); }
  void take(const bundle::CopyPinned& r) {
    (r.direction == runtime::HostCopy::ToDevice ? to_device_ : from_device_).add(r.bytes);
  }
  void take(const bundle::CreateTexture&) { ++textures_; }
  void take(const bundle::CreateMipmapTexture&) { ++textures_; }
  void take(const bundle::CreateSurface&) { ++textures_; }
  void take(const bundle::MapHost&) {}
  void take(const bundle::UnmapHost&) {}
  void take(const bundle::SetRegisters& r) { registers_[{r.module, r.kernel}] = r.registers; }
  void take(const bundle::CopyToBox& r) { to_device_.add(r.from.bytes); }
  void take(const bundle::CopyFromBox& r) { from_device_.add(r.size.total()); }
  void take(const bundle::CopyBox& r) {
    Count& sum = !r.link ? on_device_ : *r.link == runtime::HostCopy::ToDevice ? to_device_ : from_device_;
    sum.add(r.size.total());
  }
  void take(const bundle::DestroyTexture&) {}
  void take(const bundle::LaunchWithPriority& r) { take(r.launch); }
  void take(const bundle::LimitLaunches&) {}
  void take(const bundle::Launch& r) {
    const auto key = std::tuple(r.module, r.kernel, r.grid.x, r.grid.y, r.grid.z, r.block.x, r.block.y,
                                r.block.z, r.shared_bytes, r.cooperative);
    const auto [found, added] = same_.emplace(key, launches_.size());
    if (added) launches_.push_back({r, 0});
    ++launches_[found->second].number;
  }
  void take(const bundle::BeginBody&) {}
  void take(const bundle::EndBody&) {}
  void take(const bundle::EnqueueCondition&) { ++conditions_; }
  void take(const bundle::CreateStream&) { ++streams_; }
  void take(const bundle::CreateEvent&) { ++events_; }
  void take(const bundle::RecordEvent&) {}
  void take(const bundle::StreamWaitEvent&) {}
  void take(const bundle::Synchronize&) { ++synchronisations_; }
  void take(const bundle::HostTime& r) { host_ns_ += r.ns; }
  void take(const bundle::Result&) {}
  void grow(std::uint64_t bytes) {
    allocated_ += bytes;
    peak_ = std::max(peak_, allocated_);
  }

  using Shape = std::tuple<std::uint32_t, std::string, std::uint32_t, std::uint32_t, std::uint32_t,
                           std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t, bool>;
  std::shared_ptr<const bundle::Bundle> bundle_;
  const arch::MachineConfig& machine_;
  std::vector<Module> modules_;
  std::map<std::pair<std::uint32_t, std::string>, std::uint32_t> registers_;  // of this program's code
  std::vector<bundle::Allocate> allocations_;
  std::map<Address, std::uint64_t> live_;
  std::uint64_t allocated_ = 0;
  std::uint64_t peak_ = 0;
  Count to_device_, from_device_, on_device_, fills_, to_symbols_, host_writes_;
  std::uint64_t streams_ = 1;
  std::uint64_t events_ = 0;
  std::uint64_t synchronisations_ = 0;
  std::uint64_t conditions_ = 0;
  std::uint64_t textures_ = 0;
  std::uint64_t host_ns_ = 0;
  std::vector<Launches> launches_;
  std::map<Shape, std::size_t> same_;  // for lookups only
};

void print(const ordered_json& d) {
  const auto whole = [&](const char* key) { return d[key].get<std::uint64_t>(); };
  fmt::print("{} (bundle of {} bytes): {} calls, {} launches on {} streams\n", d["file"].get<std::string>(),
             whole("file_bytes"), whole("calls"), whole("launches"), whole("streams"));
  for (const ordered_json& module : d["modules"]) {
    fmt::print("  module         {}, {} bytes of PTX for sm_{}, {} kernels, {} variables\n",
               module["module"].get<std::string>(), module["ptx_bytes"].get<std::uint64_t>(),
               module["sm"].get<std::uint32_t>(), module["kernels"].get<std::size_t>(),
               module["variables"].size());
  }
  fmt::print("  memory         {} allocations, {} bytes at most at a time\n", d["allocations"].size(),
             whole("peak_bytes"));
  constexpr std::size_t kShown = 16;
  for (std::size_t i = 0; i < std::min(kShown, d["allocations"].size()); ++i)
    fmt::print("                 {} bytes at 0x{:x}\n", d["allocations"][i]["bytes"].get<std::uint64_t>(),
               d["allocations"][i]["address"].get<std::uint64_t>());
  if (d["allocations"].size() > kShown)
    fmt::print("                 and {} more (--json has all)\n", d["allocations"].size() - kShown);
  const std::array<std::pair<const char*, const char*>, 6> kCopies = {
      {{"to_device", "to the device"},
       {"from_device", "from it"},
       {"on_device", "on it"},
       {"fills", "filled"},
       {"to_symbols", "to variables by name"},
       {"host_writes", "written by the host"}}};
  std::string copies;
  for (const auto& [key, what] : kCopies) {
    const ordered_json& count = d["copies"][key];
    if (count["number"] == 0) continue;
    copies += fmt::format("{}{} {} ({} bytes)", copies.empty() ? "" : ", ",
                          count["number"].get<std::uint64_t>(), what, count["bytes"].get<std::uint64_t>());
  }
  fmt::print("  copies         {}; {} results to verify\n", copies.empty() ? "none" : copies,
             d["copies"]["results"].get<std::uint64_t>());
  fmt::print(
      "  host           {} synchronisations, {} events, {} textures, {:.3f} ms computed between calls\n",
      whole("synchronisations"), whole("events"), whole("textures"),
      1e-6 * static_cast<double>(whole("host_ns")));
  for (const ordered_json& kernel : d["kernels"]) {
    print_kernel(kernel);
    fmt::print("  launched       {} times so, from {}{}\n", kernel["launches"].get<std::uint64_t>(),
               kernel["module"].get<std::string>(),
               kernel["cooperative"].get<bool>() ? ", cooperatively" : "");
    if (!kernel.contains("disassembly")) continue;
    std::size_t pc = 0;
    for (const ordered_json& line : kernel["disassembly"])
      fmt::print("  {:>5}  {}\n", pc++, line.get<std::string>());
  }
}

}  // namespace

void inspect_bundle(const std::string& path, const arch::MachineConfig& machine, bool disassemble,
                    bool json) {
  const ordered_json document = Contents(bundle::Bundle::open(path), machine).json(disassemble);
  if (json) {
    fmt::print("{}\n", dump_json(document, 2));
  } else {
    print(document);
  }
}

}  // namespace gpumux::cli
