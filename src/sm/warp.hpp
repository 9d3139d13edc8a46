// Resident warps.
#pragma once

#include <algorithm>
#include <cstdint>

#include "arch/messages.hpp"
#include "workload/stream.hpp"

namespace gpumux::sm {

/// What a resident warp waits for; index of the scheduler's masks.
enum class Wait : std::uint8_t {
  Nothing,  // ready: operands and instruction are there, the unit may be busy
  Memory,   // a register that memory writes
  Alu,      // a register that arithmetic writes
  Fetch,    // instruction fetch, or the stream has run dry
  Sync      // barrier, fence, copies to shared memory or an mbarrier
};
inline constexpr unsigned kWaits = 5;

/// Async: the warp waits until sync_until, which is kNever as long as AsyncCopies does not know it.
enum class Sync : std::uint8_t { None, Barrier, Released, Fence, Async };

/// Two cache lines of the host. The first is all that arithmetic touches.
struct alignas(64) Warp {
  // Stream cursor, a copy of the block stream's while the SM runs.
  const workload::ExecRecord* next = nullptr;
  const workload::ExecRecord* few_left =
      nullptr;     // from here on issue looks: fewer than the watermark, or none to come
  Cycle wake = 0;  // earliest cycle of the next issue as far as known; kNever: an event will tell

  // Fetch: instructions in the buffer, and the batch on its way.
  Cycle fetch_ready = 0;       // the next instruction is in the buffer
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
  std::uint8_t barrier = 0;  // where it waits
  bool resident = false;     // the slot is taken until its block ends
  bool alive = false;        // resident and not exited
  bool starved = false;      // no record left, but not finished
  bool finished = false;     // the stream ends at `end`

  alignas(64) const std::uint64_t* mem_next = nullptr;
  const workload::ExecRecord* end = nullptr;
  Cycle starved_at = 0;          // its last issue
  Cycle sync_until = 0;          // barrier release, or end of a wait for copies
  Cycle memory_until = 0;        // latest return of memory instructions so far, for fences
  std::uint32_t memory_out = 0;  // memory instructions issued and not performed
  std::uint32_t generation = 0;  // tells warps apart that used the slot one after the other

  /// After a change of `next`, `end` or `finished`, or of the records that a warp shall have.
  void mark_few_left(std::uint32_t watermark) {
    const std::ptrdiff_t spare =
        end - next - (finished || watermark == 0 ? 0 : static_cast<std::ptrdiff_t>(watermark) - 1);
    few_left = next + std::max<std::ptrdiff_t>(spare, 0);
  }
};

static_assert(sizeof(Warp) == 128);

}  // namespace gpumux::sm
