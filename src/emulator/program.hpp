// A compiled module loaded into one application: symbols have addresses, kernels can be launched.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/types.hpp"
#include "isa/instruction.hpp"
#include "isa/timing_class.hpp"
#include "ptx/compile.hpp"
#include "workload/address_space.hpp"
#include "workload/device_memory.hpp"
#include "workload/stream.hpp"

namespace gpumux::emulator {

class DeviceRuntime;
class KernelErrors;

/// Where the text of printf goes, one call per formatted message.
class PrintSink {
 public:
  virtual ~PrintSink() = default;
  virtual void print(AppId app, std::string_view text) = 0;
};

class RaceLog;

struct KernelInfo {
  isa::Function code;                  // final, physical (or virtual for differential tests)
  std::vector<isa::StaticInst> table;  // parallel to code.code
  std::uint32_t registers = 32;        // per thread that an SM sets aside: those of our back end at any level
  bool has_notices = false;            // ptx::CompileOptions::notices
  std::string error;                   // why it could not be compiled, as a whole message; empty: it was

  /// Throws UserError when it could not be compiled; what else it holds is then its name and parameters
  /// alone.
  void check() const {
    if (!error.empty()) throw UserError::from_line(error);
  }
};

/// Immutable compiled module, shared by all applications that load the same PTX.
struct CompiledModule {
  isa::Module module;  // virtual code and symbols
  std::map<std::string, KernelInfo> kernels;
};

/// Parses and compiles all kernels; what is wrong with one of them is in its `error`. Cached by content
/// within the process (thread-safe).
[[nodiscard]] std::shared_ptr<const CompiledModule> compile_module(std::string_view ptx_text,
                                                                   const std::string& file,
                                                                   const ptx::CompileOptions& options);

/// What kernels read as time: the emulator runs ahead of the machine, whose cycles it does not know.
struct KernelClock {
  std::uint32_t cycles_per_instruction = 1;  // of a warp, one of which waits for the last
  double cycles_per_ns = 1;
};

struct LaunchConfig {
  Dim3 grid;
  Dim3 block;
  std::uint32_t dynamic_shared_bytes = 0;
  std::string parameters;    // the constant bank: param_bytes bytes laid out by Function::params
  bool cooperative = false;  // its blocks may synchronise with each other; all have to be resident at once
  std::uint64_t max_warp_instructions = 0;  // of one warp before the kernel counts as endless; 0: none
  std::uint32_t shared_banks = 32;          // of shared memory, 4 bytes wide: a power of two, at most 32
  std::uint64_t heap_bytes = std::uint64_t{8}
                             << 20U;  // for malloc in kernels, of the application's all together
  std::uint32_t ticket = 0;           // by which the module's DeviceRuntime knows the grid
  KernelClock clock{};
  std::uint64_t textures_time =
      0;  // TextureTable::time() of the launch by the host; 0: none was ever destroyed
};

/// A module loaded into an application's memory: .global symbols allocated and initialised.
class LoadedModule {
 public:
  /// `places`: where variables are to lie, each with the size that it has; those that are not named lie
  /// anywhere. Throws UserError when the module has none of that name and size, or when something lies there.
  /// `errors`: of the application, if it goes on after them. `races`: its launches are watched for races,
  /// which go there; nullptr: they are not. Both outlive the launches.
  LoadedModule(std::shared_ptr<const CompiledModule> compiled, workload::DeviceMemory& memory, AppId app,
               PrintSink* sink, std::span<const workload::PlacedVariable> places = {},
               KernelErrors* errors = nullptr, RaceLog* races = nullptr);
  ~LoadedModule();
  /// nullptr when there is none.
  [[nodiscard]] const KernelInfo* find(const std::string& kernel) const;
  [[nodiscard]] std::vector<std::string> kernel_names() const;
  [[nodiscard]] const CompiledModule& compiled() const;
  /// For kernels that launch kernels, which fault without it; it outlives the launches.
  void set_device_runtime(DeviceRuntime& runtime);
  /// Device address and size of a .global or .const symbol for cudaMemcpyToSymbol and friends
  /// (.const: write_const).
  [[nodiscard]] Address global_address(const std::string& symbol) const;  // 0: none
  /// All .global variables, in the module's order.
  [[nodiscard]] std::vector<workload::PlacedVariable> variables() const;
  void write_const(const std::string& symbol, std::uint64_t offset, std::span<const std::byte> bytes);
  /// What a constant holds. Throws as write_const() does.
  void read_const(const std::string& symbol, std::uint64_t offset, std::span<std::byte> bytes) const;
  /// Bytes of a .global or .const symbol; 0: there is none of this name.
  [[nodiscard]] std::uint64_t symbol_bytes(const std::string& symbol) const;
  /// A launch for the machine. `metadata` says what a block takes of an SM; the code stays as it is. Throws
  /// UserError when the parameters' size differs from the kernel's, InternalError when the metadata have less
  /// shared memory than the kernel uses.
  [[nodiscard]] std::unique_ptr<workload::KernelSource> launch(const KernelInfo& kernel, LaunchConfig config,
                                                               const workload::BlockMetadata& metadata = {});

 private:
  friend class Block;
  /// Where the bytes of a constant begin in the module's bank.
  [[nodiscard]] char* const_bytes(const std::string& symbol, std::uint64_t offset, std::uint64_t bytes) const;
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// Runs a launch to its end without a timing model, as FunctionalRun does (emulator/functional_run.hpp).
/// Returns the number of warp instructions.
std::uint64_t run_functionally(workload::KernelSource& kernel, std::uint32_t resident = 8,
                               std::uint32_t most = 0);
/// Instructions of each warp.
inline constexpr std::uint64_t kBlockPatience = std::uint64_t{1} << 20U;

}  // namespace gpumux::emulator
