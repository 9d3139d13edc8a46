// Resident warps.
#pragma once

#include <algorithm>
#include <cstdint>

#include "arch/messages.hpp"
#include "workload/stream.hpp"

namespace gpumux::sm {

/// The event that a resident warp waits for. Index into the scheduler's masks.
enum class Wait : std::uint8_t {
  Nothing,  // ready: operands and instruction are available, the unit may be busy
  Memory,   // a register that memory writes
  Alu,      // a register that arithmetic writes
  Fetch,    // instruction fetch, or further records of the stream
  Sync      // barrier, fence, copies to shared memory or an mbarrier
};
inline constexpr unsigned kWaits = 5;

/// Reason of Wait::Sync. Async: the warp waits until sync_until, which is kNever until
/// AsyncCopies knows the cycle.
enum class Sync : std::uint8_t { None, Barrier, Released, Fence, Async };

/// A resident warp. Two cache lines of the host; arithmetic touches only the first one.
struct alignas(64) Warp {
  // Position in the stream: a copy of the block stream's while the SM runs.
  const workload::ExecRecord* next = nullptr;
  const workload::ExecRecord* few_left = nullptr;  // from this record on, issue must check: fewer records
                                                   // than the watermark are left, or none will come
  Cycle wake = 0;  // earliest cycle of the next issue, as far as known; kNever: an event will tell

  // Fetch: instructions in the buffer, and the batch on its way.
  Cycle fetch_ready = 0;       // cycle in which the next instruction is in the buffer
  Cycle incoming_at = 0;       // kNever: instruction cache miss
  std::uint32_t fetch_pc = 0;  // first instruction of the next batch
  std::uint32_t last_pc = 0;   // pc of the instruction issued last
  std::uint8_t buffered = 0;
  std::uint8_t incoming = 0;

  arch::KernelSlot kernel = 0;
  std::uint8_t block = 0;  // index of the block slot
  std::uint8_t index = 0;  // within its block
  std::uint8_t scheduler = 0;
  std::uint8_t local = 0;  // bit in the scheduler's masks
  Wait wait = Wait::Fetch;
  Sync sync = Sync::None;
  std::uint8_t barrier = 0;  // barrier at which it waits
  bool resident = false;     // the slot is taken until its block ends
  bool alive = false;        // resident and has not exited
  bool starved = false;      // no record is left, but the stream has not ended
  bool finished = false;     // the stream ends at `end`

  alignas(64) const std::uint64_t* mem_next = nullptr;
  const workload::ExecRecord* end = nullptr;
  Cycle starved_at = 0;          // cycle of its last issue
  Cycle sync_until = 0;          // barrier release, or end of a wait for copies
  Cycle memory_until = 0;        // latest return of a memory instruction so far, for fences
  std::uint32_t memory_out = 0;  // memory instructions issued and not performed
  std::uint32_t generation = 0;  // distinguishes successive warps of the slot

  /// Must be called after a change of `next`, `end` or `finished`, or of the watermark.
  void mark_few_left(std::uint32_t watermark) {
    const std::ptrdiff_t spare =
        end - next - (finished || watermark == 0 ? 0 : static_cast<std::ptrdiff_t>(watermark) - 1);
    few_left = next + std::max<std::ptrdiff_t>(spare, 0);
  }
};

static_assert(sizeof(Warp) == 128);

}  // namespace gpumux::sm
