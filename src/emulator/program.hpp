// A compiled module that is loaded into an application: symbols have addresses, kernels can be launched.
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

/// Receiver of printf text, with one call per formatted message.
class PrintSink {
 public:
  virtual ~PrintSink() = default;
  virtual void print(AppId app, std::string_view text) = 0;
};

class RaceLog;

struct KernelInfo {
  isa::Function code;                  // final code, physical (or virtual for differential tests)
  std::vector<isa::StaticInst> table;  // parallel to code.code
  std::uint32_t registers = 32;        // registers per thread on an SM, from our back end at any code level
  bool has_notices = false;            // ptx::CompileOptions::notices
  std::string error;                   // the error if the kernel could not be compiled, or empty

  /// Throws UserError if the kernel could not be compiled. Then only its name and parameters are valid.
  void check() const {
    if (!error.empty()) throw UserError::from_line(error);
  }
};

/// An immutable compiled module, which all applications that load the same PTX share.
struct CompiledModule {
  isa::Module module;  // virtual code and symbols
  std::map<std::string, KernelInfo> kernels;
};

/// Parses a module and compiles all its kernels. An error in a kernel is stored in its `error`. Results are
/// cached by content within the process. Thread safe.
[[nodiscard]] std::shared_ptr<const CompiledModule> compile_module(std::string_view ptx_text,
                                                                   const std::string& file,
                                                                   const ptx::CompileOptions& options);

/// The clock that kernels read. The emulator runs ahead of the machine and does not know its cycles.
struct KernelClock {
  std::uint32_t cycles_per_instruction = 1;  // for dependent instructions of a warp
  double cycles_per_ns = 1;
};

struct LaunchConfig {
  Dim3 grid;
  Dim3 block;
  std::uint32_t dynamic_shared_bytes = 0;
  std::string parameters;    // the constant bank: param_bytes bytes in the layout of Function::params
  bool cooperative = false;  // blocks may synchronise with each other, so all must be resident together
  std::uint64_t max_warp_instructions = 0;  // limit per warp, beyond which the kernel counts as endless; 0:
                                            // none
  std::uint32_t shared_banks = 32;          // shared memory banks of 4 bytes: a power of two, at most 32
  std::uint64_t heap_bytes = std::uint64_t{8}
                             << 20U;  // heap for malloc in kernels, of all the application's kernels
  std::uint32_t ticket = 0;           // identifies the grid in the module's DeviceRuntime
  KernelClock clock{};
  std::uint64_t textures_time =
      0;  // TextureTable::time() of the host's launch; 0: no object was destroyed yet
};

/// A module loaded into an application's memory: .global symbols are allocated and initialised.
class LoadedModule {
 public:
  /// `places`: addresses of variables, with their sizes. Other variables are allocated anywhere. Throws
  /// UserError when the module has no variable of that name and size, or when the memory is not free.
  /// `errors`: error handler of an application that continues after errors, or nullptr. `races`: log for
  /// races in its launches, or nullptr. Both must outlive the launches.
  LoadedModule(std::shared_ptr<const CompiledModule> compiled, workload::DeviceMemory& memory, AppId app,
               PrintSink* sink, std::span<const workload::PlacedVariable> places = {},
               KernelErrors* errors = nullptr, RaceLog* races = nullptr);
  ~LoadedModule();
  /// The kernel with this name, or nullptr.
  [[nodiscard]] const KernelInfo* find(const std::string& kernel) const;
  [[nodiscard]] std::vector<std::string> kernel_names() const;
  [[nodiscard]] const CompiledModule& compiled() const;
  /// Sets the interface for kernels that launch kernels, which fault without it. It must outlive the
  /// launches.
  void set_device_runtime(DeviceRuntime& runtime);
  /// Device address of a .global symbol, for cudaMemcpyToSymbol and similar (.const: write_const).
  [[nodiscard]] Address global_address(const std::string& symbol) const;  // 0: no such symbol
  /// All .global variables in the module's order.
  [[nodiscard]] std::vector<workload::PlacedVariable> variables() const;
  void write_const(const std::string& symbol, std::uint64_t offset, std::span<const std::byte> bytes);
  /// Reads bytes of a constant. Throws like write_const().
  void read_const(const std::string& symbol, std::uint64_t offset, std::span<std::byte> bytes) const;
  /// Size of a .global or .const symbol; 0 if there is none of this name.
  [[nodiscard]] std::uint64_t symbol_bytes(const std::string& symbol) const;
  /// Creates a launch for the machine. `metadata`: resources of a block on an SM; the code does not depend on
  /// them. Throws UserError when the parameters' size differs from the kernel's, and InternalError when the
  /// metadata have less shared memory than the kernel uses.
  [[nodiscard]] std::unique_ptr<workload::KernelSource> launch(const KernelInfo& kernel, LaunchConfig config,
                                                               const workload::BlockMetadata& metadata = {});

 private:
  friend class Block;
  /// Pointer to bytes of a constant in the module's bank.
  [[nodiscard]] char* const_bytes(const std::string& symbol, std::uint64_t offset, std::uint64_t bytes) const;
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// Runs a launch to its end without a timing model (FunctionalRun in emulator/functional_run.hpp). Returns
/// the number of warp instructions.
std::uint64_t run_functionally(workload::KernelSource& kernel, std::uint32_t resident = 8,
                               std::uint32_t most = 0);
/// Patience of FunctionalRun, in instructions of each warp.
inline constexpr std::uint64_t kBlockPatience = std::uint64_t{1} << 20U;

}  // namespace gpumux::emulator
