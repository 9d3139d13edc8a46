// Records of memory instructions and line requests in flight.
#pragma once

#include <cstdint>

#include "arch/messages.hpp"
#include "isa/timing_class.hpp"
#include "sm/l1.hpp"
#include "sm/pool.hpp"
#include "sm/timing_table.hpp"
#include "workload/stream.hpp"

namespace gpumux::sm {

using Where = workload::MemHeader::Where;

/// A memory instruction from issue until its last transaction is performed: loads and atomics until the data
/// has arrived, stores until the acknowledgement.
struct MemoryOp {
  const TimedInst* inst = nullptr;
  Cycle start = 0;              // earliest cycle in the LSU (operand collection)
  Cycle ready_at = 0;           // latest return of data so far
  std::uint32_t remaining = 0;  // transactions that have not been performed
  std::uint32_t pc = 0;
  std::uint32_t generation = 0;  // of the warp
  std::uint32_t epoch = 0;       // epoch of a copy to shared memory, see AsyncCopies
  std::uint16_t warp = 0;
  std::uint16_t transactions = 0;
  std::uint16_t passes = 0;
  Where where = Where::None;
  arch::KernelSlot kernel = 0;
  AppId app = 0;
  std::uint8_t block = 0;
  std::uint8_t lanes = 0;  // active lanes
};

/// Purpose of a request. Requests up to TextureFill use the miss queue.
enum class Purpose : std::uint8_t {
  L1Fill,
  Load,
  Store,
  Atomic,
  TextureFill,
  Instruction,
  Constant,
  ContextSave,
  ContextRestore
};

/// A packet that waits for the network or for its reply. Its index is the packet's tag.
struct Request {
  std::uint64_t line = 0;
  Cycle queued = 0;             // the packet leaves after this cycle
  std::uint32_t target = kNil;  // MSHR (L1Fill, TextureFill), memory instruction, or move of a context
  PartitionId partition = 0;
  arch::KernelSlot kernel = 0;
  AppId app = 0;
  Purpose purpose = Purpose::Load;
  std::uint8_t sectors = 0;  // reads: sectors that have not arrived
  std::uint8_t wanted = 0;   // all sectors of the packet
  std::uint8_t operations = 0;
  std::uint8_t rounds = 0;
  std::uint8_t data_bytes = 0;
  std::uint8_t flits = 1;         // size of the packet
  AppId displaced_by = kMaxApps;  // with a ledger: application that evicted the line,
                                  // which would otherwise be in L1
  /// True if an instruction or warp waits for the request.
  [[nodiscard]] bool waited_for() const {
    return purpose != Purpose::Store && purpose != Purpose::ContextSave;
  }
};
static_assert(sizeof(Request) == 32);

enum class Stall : std::uint8_t { None, Line, Mshr, Merge, MissQueue };

}  // namespace gpumux::sm
