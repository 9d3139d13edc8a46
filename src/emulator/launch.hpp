// A decoded kernel, and a launch of it: the data that all its blocks share.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/huge_pages.hpp"
#include "emulator/op.hpp"
#include "emulator/program.hpp"

namespace gpumux::emulator {

class BlockPool;
class LaunchRaces;

/// The data of a loaded module. Its launches share it and may outlive the LoadedModule.
struct ModuleData {
  std::shared_ptr<const CompiledModule> compiled;
  workload::DeviceMemory* memory = nullptr;
  AppId app = 0;
  PrintSink* sink = nullptr;
  KernelErrors* errors = nullptr;           // nullptr: errors end the simulation
  RaceLog* races = nullptr;                 // nullptr: launches are not watched for races
  LoadedModule* loaded = nullptr;           // the module with this data
  DeviceRuntime* device_runtime = nullptr;  // nullptr: kernels launch no kernels
  std::string const_bank;
  std::vector<Address> symbol_address;                // by symbol: address in the symbol's own space
  std::string app_name;                               // in messages: "app NAME", or the module file's stem
  Address const_address = 0;                          // address of const_bank for the constant caches
  std::map<const KernelInfo*, Address> code_address;  // only for lookups
  Address workspaces = 0;                             // for cooperative launches, used in turn; 0: none yet
};

/// Memory by which the blocks of a cooperative launch synchronise, as nvcc's code for cooperative groups
/// expects: two words, the second of which counts arrivals. A completed launch leaves it ready for the next
/// one.
struct GridWorkspace {
  static constexpr std::uint32_t kBytes = 32;  // separate memory sectors
  static constexpr std::uint32_t kTurns = 32;  // more than the concurrent launches of any machine
};

/// A 32-lane row (or pair of rows) with one value, which a launch fills in.
struct ConstantRow {
  enum class From : std::uint8_t { Immediate, Parameter };
  From from = From::Immediate;
  bool wide = false;
  std::uint64_t value = 0;   // the bits, or an offset in the parameter bank
  std::uint32_t offset = 0;  // of the row
};

/// A row with a special register.
struct SpecialRow {
  isa::Special special = isa::Special::TidX;
  bool wide = false;
  Source place;  // in kWarpRows or kBlockRows
};

/// The sources of an Mma, a fetch or a surface access, which may be more than an Op can hold.
using ManyOperands = std::array<Source, std::tuple_size_v<decltype(isa::Instruction::src)>>;

/// A kernel in executable form. Immutable after decode().
struct Program {
  const KernelInfo* kernel = nullptr;
  std::vector<Op> ops;
  std::vector<ConstantRow> constants;
  std::vector<SpecialRow> specials;
  std::vector<ManyOperands> operands;  // by Op::offset of instructions with many operands
  std::uint32_t constant_bytes = 0;
  std::uint32_t register_bytes = 0;  // size of a warp's window
  std::uint32_t registers_from = 0;  // offset in the window; before it is the sink
  std::vector<std::pair<std::uint32_t, std::uint32_t>>
      zeroed;                             // to zero at a block's start: offset in the window, bytes
  std::uint32_t warp_row_bytes = 0;       // kWarpRows of one warp
  std::uint32_t block_row_bytes = 0;      // kBlockRows
  std::uint32_t num_preds = 0;            // including the constant true predicate and the sink
  std::uint32_t dynamic_shared_base = 0;  // offset of extern shared memory
  std::vector<Handler> unwatched;         // by pc: the original handlers, if races are watched
  bool warps_apart = false;               // barriers are the only way for warps to observe each other
  bool enqueues = false;                  // may leave work for the device
  bool has_streams = false;               // uses streams or events for device work
};

/// Decodes a kernel. Throws UserError at the location of an instruction that the emulator does not support.
[[nodiscard]] Program decode(const ModuleData& module, const KernelInfo& kernel);

struct LaunchData {
  std::shared_ptr<ModuleData> module;
  const Program* program = nullptr;
  std::shared_ptr<BlockPool> pool;
  LaunchConfig config;
  std::uint32_t threads = 0;
  std::uint32_t warps = 0;
  std::uint32_t shared_bytes = 0;  // that a block can address
  std::uint32_t local_words = 0;   // words per thread
  Address local_address = 0;       // local memory of residency 0, for the caches
  Address parameter_address = 0;   // parameters, for the constant caches
  Address code_address = 0;
  workload::BlockResources resources;  // resources of an SM per block
  std::uint64_t grid_id = 0;
  std::shared_ptr<LaunchRaces> races;   // nullptr: not watched
  Address workspace = 0;                // GridWorkspace of a cooperative launch; 0 for others
  HugePageVector<std::byte> warp_rows;  // kWarpRows, by warp
  std::unique_ptr<std::byte[]> constant_storage;
  std::byte* constants = nullptr;  // rows aligned to 64 bytes
};

}  // namespace gpumux::emulator
