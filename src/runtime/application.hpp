// Applications that gpumux can run: what each benchmark implements, and the registry of their names.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "emulator/program.hpp"
#include "runtime/host.hpp"
#include "workload/address_space.hpp"
#include "workload/stream.hpp"

namespace gpumux::runtime {

/// Size parameters by name ("size" -> 1024), all integers. `NAME:size=1024,steps=4` on the command line.
using AppParams = std::map<std::string, std::int64_t>;

/// One instance of an application. run() is called once per completion (applications restart), each
/// time from a fresh state: it generates its inputs from `seed`, allocates, launches and frees.
class Application {
 public:
  virtual ~Application() = default;
  /// The host program. When `verify` is set it checks the device's results against its CPU reference
  /// at the end and throws SimulationFault that names the first wrong element, both values and the
  /// tolerance.
  virtual Task run(Host& host, bool verify) = 0;
  /// By kernel: what a block counts for on an SM where a paper's table says so.
  [[nodiscard]] virtual std::map<std::string, workload::BlockMetadata> block_metadata() const { return {}; }
  /// Where its addresses are to lie; usually its program sees them where the caches do.
  [[nodiscard]] virtual std::optional<workload::AddressSpace> address_space() const { return std::nullopt; }
  /// The file of the next run's device memory (workload/device_memory.hpp), for applications that share it
  /// with another process; asked for once per run, before it. It stays the application's.
  [[nodiscard]] virtual int memory_file() { return workload::DeviceMemory::kNoFile; }
  /// Its host program may write to that memory while it waits for the device, as another of its threads
  /// could.
  [[nodiscard]] virtual bool writes_while_it_waits() const { return false; }
  /// Takes what its kernels print in place of standard output; nullptr: nobody does.
  [[nodiscard]] virtual emulator::PrintSink* print_sink() { return nullptr; }
  /// Of the next run, for applications that go on after faults of their kernels; asked for once per run,
  /// before it. nullptr: a fault ends the simulation.
  [[nodiscard]] virtual emulator::KernelErrors* kernel_errors() { return nullptr; }
  /// Who made the run's calls has ended in the midst of it, so that nobody waits for its work: asked from
  /// time to time.
  [[nodiscard]] virtual bool has_gone() const { return false; }
  /// In one of its runs the order of its host threads' calls depended on how fast they compute, which another
  /// run may not repeat.
  [[nodiscard]] virtual bool host_order_varies() const { return false; }
};

struct AppParamInfo {
  std::string name;
  std::int64_t default_value;
  std::int64_t minimum;
  std::int64_t maximum;
  std::string description;  // with unit and constraints ("multiple of 16")
};

struct AppInfo {
  std::string name;
  std::string description;  // one line: algorithm, source of the algorithm
  std::vector<AppParamInfo> params;
  /// Files the PTX comes from and the kernels in it, for `inspect`.
  std::string ptx_file;       // "benchmarks/hotspot/hotspot.ptx"
  std::string_view ptx_text;  // embedded at build time
  /// Typical launch of each kernel at default size, for `inspect` (occupancy needs block and shared).
  struct KernelShape {
    std::string kernel;
    Dim3 grid;
    Dim3 block;
    std::uint32_t dynamic_shared_bytes = 0;
  };
  std::vector<KernelShape> (*shapes)(const AppParams& params);
  std::unique_ptr<Application> (*create)(const AppParams& params, std::uint64_t seed);
};

/// Registers in a table that list_apps() reads; called by a static object in each benchmark's file.
bool register_app(AppInfo info);
[[nodiscard]] const std::vector<AppInfo>& apps();  // sorted by name
[[nodiscard]] const AppInfo* find_app(const std::string& name);
/// Defaults overlaid with "key=value,..."; throws UserError for unknown keys and values out of range.
[[nodiscard]] AppParams parse_params(const AppInfo& info, std::string_view settings);

}  // namespace gpumux::runtime
