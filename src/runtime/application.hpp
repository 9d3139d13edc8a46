// Interface of the applications that gpumux can run, and the registry of the built-in ones.
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

/// Size parameters by name ("size" -> 1024), all integers. On the command line: `NAME:size=1024,steps=4`.
using AppParams = std::map<std::string, std::int64_t>;

/// One instance of an application. run() is called once per completion, since applications restart. Each run
/// starts from a fresh state: it generates its inputs from `seed`, allocates, launches and frees.
class Application {
 public:
  virtual ~Application() = default;
  /// The host program. With `verify`, it compares the device's results with its CPU reference at the end. On
  /// a difference, it throws SimulationFault that names the first wrong element, both values and the
  /// tolerance.
  virtual Task run(Host& host, bool verify) = 0;
  /// By kernel, the resources of a block that a paper's table states, if any.
  [[nodiscard]] virtual std::map<std::string, workload::BlockMetadata> block_metadata() const { return {}; }
  /// The address range that the program must see. Nothing for most applications: their program sees the same
  /// addresses as the caches.
  [[nodiscard]] virtual std::optional<workload::AddressSpace> address_space() const { return std::nullopt; }
  /// File descriptor of the next run's device memory (workload/device_memory.hpp), for applications that
  /// share it with another process. Called once before each run. The application keeps ownership.
  [[nodiscard]] virtual int memory_file() { return workload::DeviceMemory::kNoFile; }
  /// True if the host program may write to the shared device memory while it waits for the device, as another
  /// of its threads could.
  [[nodiscard]] virtual bool writes_while_it_waits() const { return false; }
  /// Receiver of the text that kernels print, in place of standard output. nullptr: none.
  [[nodiscard]] virtual emulator::PrintSink* print_sink() { return nullptr; }
  /// Handler of kernel faults in the next run, for applications that continue after a fault. Called once
  /// before each run. nullptr: a fault ends the simulation.
  [[nodiscard]] virtual emulator::KernelErrors* kernel_errors() { return nullptr; }
  /// True if the process that made the run's calls ended early, so that no one waits for its work. Polled
  /// from time to time.
  [[nodiscard]] virtual bool has_gone() const { return false; }
  /// True if the order of calls of different host threads depended on their speed in some run, so that
  /// another run may not repeat it.
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
  /// Source of the PTX for `inspect`.
  std::string ptx_file;       // "benchmarks/hotspot/hotspot.ptx"
  std::string_view ptx_text;  // embedded at build time
  /// The typical launch of each kernel at default size, for `inspect`. The occupancy needs block size and
  /// shared memory.
  struct KernelShape {
    std::string kernel;
    Dim3 grid;
    Dim3 block;
    std::uint32_t dynamic_shared_bytes = 0;
  };
  std::vector<KernelShape> (*shapes)(const AppParams& params);
  std::unique_ptr<Application> (*create)(const AppParams& params, std::uint64_t seed);
};

/// Registers an application in the table of apps(). Called by a static object in each benchmark's file.
bool register_app(AppInfo info);
[[nodiscard]] const std::vector<AppInfo>& apps();  // sorted by name
[[nodiscard]] const AppInfo* find_app(const std::string& name);
/// The default parameters, overridden by "key=value,...". Throws UserError for unknown keys and values out of
/// range.
[[nodiscard]] AppParams parse_params(const AppInfo& info, std::string_view settings);

}  // namespace gpumux::runtime
