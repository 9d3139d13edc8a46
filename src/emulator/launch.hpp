// A decoded kernel and one launch of it: what all its blocks share.
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

/// What loading a module made: shared by its launches, which may outlive the LoadedModule's handle.
struct ModuleData {
  std::shared_ptr<const CompiledModule> compiled;
  workload::DeviceMemory* memory = nullptr;
  AppId app = 0;
  PrintSink* sink = nullptr;
  KernelErrors* errors = nullptr;           // nullptr: they end the simulation
  RaceLog* races = nullptr;                 // nullptr: launches are not watched
  LoadedModule* loaded = nullptr;           // whose data this is
  DeviceRuntime* device_runtime = nullptr;  // nullptr: kernels launch none
  std::string const_bank;
  std::vector<Address> symbol_address;                // by symbol: as its own space sees it
  std::string app_name;                               // for messages: "app NAME", or the module file's stem
  Address const_address = 0;                          // where const_bank lies for the constant caches
  std::map<const KernelInfo*, Address> code_address;  // looked up only
  Address workspaces = 0;                             // of cooperative launches, in turn; 0: none yet
};

/// What a cooperative launch's blocks synchronise by, as the code that nvcc makes of cooperative groups has
/// it: two words of which the second counts arrivals. A launch leaves it fit for the next.
struct GridWorkspace {
  static constexpr std::uint32_t kBytes = 32;  // apart from each other in memory sectors
  static constexpr std::uint32_t kTurns = 32;  // launches at a time; no machine holds so many
};

/// A 32-lane row (or pair of rows) of one value that a launch fills in.
struct ConstantRow {
  enum class From : std::uint8_t { Immediate, Parameter };
  From from = From::Immediate;
  bool wide = false;
  std::uint64_t value = 0;   // the bits, or the offset in the parameter bank
  std::uint32_t offset = 0;  // of the row
};

/// A row that holds a special register.
struct SpecialRow {
  isa::Special special = isa::Special::TidX;
  bool wide = false;
  Source place;  // kWarpRows or kBlockRows
};

/// The sources of an Mma, a fetch or an access to a surface, which may be more than an Op holds.
using ManyOperands = std::array<Source, std::tuple_size_v<decltype(isa::Instruction::src)>>;

/// A kernel in executable form. Immutable after decode().
struct Program {
  const KernelInfo* kernel = nullptr;
  std::vector<Op> ops;
  std::vector<ConstantRow> constants;
  std::vector<SpecialRow> specials;
  std::vector<ManyOperands> operands;  // of an instruction that has this place as its Op::offset
  std::uint32_t constant_bytes = 0;
  std::uint32_t register_bytes = 0;  // of a warp's window
  std::uint32_t registers_from = 0;  // of the window; before it: the sink
  std::vector<std::pair<std::uint32_t, std::uint32_t>>
      zeroed;                             // at a block's start: offset in the window, bytes
  std::uint32_t warp_row_bytes = 0;       // of kWarpRows, of one warp
  std::uint32_t block_row_bytes = 0;      // of kBlockRows
  std::uint32_t num_preds = 0;            // with the constant true one and the sink
  std::uint32_t dynamic_shared_base = 0;  // where extern shared memory begins
  std::vector<Handler> unwatched;         // by pc, where launches are watched: what each handler stands for
  bool warps_apart = false;               // nothing shows them how far others are but barriers
  bool enqueues = false;                  // it may leave work for the device
  bool has_streams = false;               // and asks for streams or events for that
};

/// Throws UserError at the instruction's place when the emulator does not support it.
[[nodiscard]] Program decode(const ModuleData& module, const KernelInfo& kernel);

struct LaunchData {
  std::shared_ptr<ModuleData> module;
  const Program* program = nullptr;
  std::shared_ptr<BlockPool> pool;
  LaunchConfig config;
  std::uint32_t threads = 0;
  std::uint32_t warps = 0;
  std::uint32_t shared_bytes = 0;  // that the block can address
  std::uint32_t local_words = 0;   // per thread
  Address local_address = 0;       // where the local memory of residency 0 lies for the caches
  Address parameter_address = 0;   // where the parameters lie for the constant caches
  Address code_address = 0;
  workload::BlockResources resources;  // that a block takes of its SM
  std::uint64_t grid_id = 0;
  std::shared_ptr<LaunchRaces> races;   // nullptr: nobody watches
  Address workspace = 0;                // of a cooperative launch: GridWorkspace; 0: it is none
  HugePageVector<std::byte> warp_rows;  // kWarpRows, by warp
  std::unique_ptr<std::byte[]> constant_storage;
  std::byte* constants = nullptr;  // 64-byte aligned rows
};

}  // namespace gpumux::emulator
