// Instruction fetch, booked when a warp's buffer has room: fetch slots per scheduler, instruction cache.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <utility>
#include <vector>

#include "arch/config.hpp"
#include "sm/exec_units.hpp"
#include "sm/read_only_cache.hpp"
#include "sm/warp.hpp"

namespace gpumux::sm {

/// Fetch slots of one scheduler, one per fetch interval. Booking a slot far ahead (of a branch target)
/// leaves earlier slots free.
class FetchPort {
 public:
  /// First free slot at or after `wanted` (>= now). Slots beyond the next 64 are not reserved.
  Cycle book(Cycle now, Cycle wanted, std::uint32_t interval) {
    const Cycle now_slot = interval == 1 ? now : now / interval;
    const Cycle first = interval == 1 ? wanted : (wanted + interval - 1) / interval;
    const Cycle passed = now_slot - base_;
    taken_ = passed >= 64 ? 0 : taken_ >> passed;
    base_ = now_slot;
    const Cycle ahead = first - base_;
    if (ahead >= 64) return first * interval;
    const std::uint64_t free = ~taken_ >> ahead << ahead;
    if (free == 0) return (base_ + 64) * interval;
    const int slot = std::countr_zero(free);
    taken_ |= std::uint64_t{1} << slot;
    return (base_ + static_cast<Cycle>(slot)) * interval;
  }
  /// Branch-free book(now, now, 1) if `wanted` is all ones. Books nothing if `wanted` is 0.
  Cycle book_if(std::uint64_t wanted, Cycle now) {
    const Cycle passed = now - base_;
    const std::uint64_t taken = passed >= 64 ? 0 : taken_ >> passed;
    const std::uint64_t first = ~taken & (taken + 1);
    taken_ = taken | (first & wanted);
    base_ = now;
    return now + static_cast<Cycle>(std::countr_zero(first));  // 64 cycles ahead if all slots are taken
  }

 private:
  Cycle base_ = 0;
  std::uint64_t taken_ = 0;
};

class Fetch {
 public:
  static constexpr std::uint32_t kMaxSchedulers = ExecUnits::kMaxSchedulers;
  explicit Fetch(const arch::MachineConfig& config)
      : cache_(config.icache.bytes, config.icache.ways, config.icache.line_bytes),
        instruction_bytes_(config.icache.instruction_bytes),
        interval_(config.sm.fetch_interval),
        width_(config.sm.fetch_width),
        capacity_(config.sm.instruction_buffer),
        branch_latency_(config.sm.branch_latency),
        ports_(config.sm.schedulers) {
    width_ = std::min(width_, capacity_);
    simple_ = cache_.perfect() && interval_ == 1;
  }

  /// The instruction at last_pc was issued at `issue`, and at `now` it is known that `next_pc` follows.
  /// Removes the instruction from the buffer, books a fetch if there is room, and sets fetch_ready (kNever
  /// during a cache miss). `code()`: address of the kernel's first instruction.
  template <typename Code>
  [[gnu::always_inline]] void issued(Warp& warp, std::uint32_t next_pc, Cycle issue, Cycle now,
                                     const Code& code) {
    if (next_pc == warp.last_pc + 1) [[likely]] {
      if (simple_) {
        follow(warp, now);
        return;
      }
      --warp.buffered;
      if (warp.incoming == 0 && capacity_ - warp.buffered >= width_) book(warp, now, now, code());
      if (warp.buffered == 0) promote(warp);
      return;
    }
    restart(warp, next_pc, now, std::max(now, issue + branch_latency_ - 1), code());
  }
  /// Empties the buffer and fetches from `pc`, no earlier than `wanted`.
  void restart(Warp& warp, std::uint32_t pc, Cycle now, Cycle wanted, Address code) {
    warp.buffered = 0;
    warp.fetch_pc = pc;
    book(warp, now, wanted, code);
    promote(warp);
  }

  struct Miss {
    std::uint64_t line = 0;
    Cycle wanted = 0;
    arch::KernelSlot kernel = 0;
    bool sent = false;
    std::array<WarpMask, kMaxSchedulers> warps{};
  };
  /// Calls send(miss) for each miss since the last call.
  template <typename Send>
  void take_unsent(Send&& send) {
    for (Miss& miss : misses_) {
      if (miss.sent) continue;
      miss.sent = true;
      send(std::as_const(miss));
    }
    unsent_ = false;
  }
  [[nodiscard]] bool has_unsent() const { return unsent_; }
  /// Number of lines on their way.
  [[nodiscard]] std::size_t misses() const { return misses_.size(); }
  /// The line has arrived. Returns the miss with the warps whose fetch it may complete.
  Miss filled(std::uint64_t line) {
    cache_.fill(line);
    for (std::size_t i = 0; i < misses_.size(); ++i) {
      if (misses_[i].line != line) continue;
      const Miss miss = misses_[i];
      misses_.erase(misses_.begin() + static_cast<std::ptrdiff_t>(i));
      return miss;
    }
    return {};
  }
  /// Returns true if the warp waited for this line. Its instructions are then in the
  /// buffer one cycle after `now`.
  bool deliver(Warp& warp, std::uint64_t line, Cycle now, Address code) {
    if (warp.incoming == 0 || warp.incoming_at != kNever) return false;
    if (cache_.line_of(code + Address{warp.fetch_pc - warp.incoming} * instruction_bytes_) != line)
      return false;
    warp.incoming_at = now + 1;
    if (warp.buffered == 0) promote(warp);
    return true;
  }
  [[nodiscard]] const ReadOnlyCache& cache() const { return cache_; }

 private:
  /// issued() if only the fetch port limits fetch. Free of branches: whether a fetch is booked, and whether
  /// the buffer is empty, changes from instruction to instruction, so the host would mispredict.
  [[gnu::always_inline]] void follow(Warp& warp, Cycle now) {
    const auto buffered = static_cast<std::uint8_t>(warp.buffered - 1U);
    const bool room = warp.incoming == 0 && capacity_ - buffered >= width_;
    const std::uint64_t booked = std::uint64_t{!room} - 1;  // all ones if a fetch is booked
    const Cycle at = ports_[warp.scheduler].book_if(booked, now) + 1;
    const Cycle incoming_at = warp.incoming_at ^ ((warp.incoming_at ^ at) & booked);
    const auto count = static_cast<std::uint32_t>(width_ & booked);
    const auto incoming = static_cast<std::uint8_t>(warp.incoming + count);  // one of the two terms is 0
    const std::uint64_t empty = std::uint64_t{buffered != 0} - 1;
    warp.incoming_at = incoming_at;
    warp.fetch_pc += count;
    warp.fetch_ready ^= (warp.fetch_ready ^ incoming_at) & empty;
    warp.buffered = static_cast<std::uint8_t>(buffered + (incoming & empty));
    warp.incoming = static_cast<std::uint8_t>(incoming & ~empty);
  }
  void promote(Warp& warp) {
    warp.fetch_ready = warp.incoming_at;
    if (warp.incoming_at == kNever) return;  // deliver() promotes
    warp.buffered = warp.incoming;
    warp.incoming = 0;
  }
  void book(Warp& warp, Cycle now, Cycle wanted, Address code) {
    const Cycle slot = ports_[warp.scheduler].book(now, wanted, interval_);
    std::uint32_t count = width_;
    warp.incoming_at = slot + 1;
    if (!cache_.perfect()) {
      // A fetch does not cross a cache line.
      const Address address = code + Address{warp.fetch_pc} * instruction_bytes_;
      const auto room = static_cast<std::uint32_t>(
          (cache_.line_bytes() - address % cache_.line_bytes() + instruction_bytes_ - 1) /
          instruction_bytes_);
      count = std::min(count, room);
      if (!cache_.access(cache_.line_of(address))) {
        warp.incoming_at = kNever;
        miss(cache_.line_of(address), slot, warp);
      }
    }
    warp.incoming = static_cast<std::uint8_t>(count);
    warp.fetch_pc += count;
  }
  void miss(std::uint64_t line, Cycle slot, const Warp& warp) {
    Miss* found = nullptr;
    for (Miss& miss : misses_)
      if (miss.line == line) found = &miss;
    if (found == nullptr) {
      misses_.push_back({line, slot, warp.kernel, false, {}});
      found = &misses_.back();
      unsent_ = true;
    }
    found->warps[warp.scheduler] |= WarpMask{1} << warp.local;
  }

  ReadOnlyCache cache_;
  std::uint32_t instruction_bytes_;
  std::uint32_t interval_;
  std::uint32_t width_;
  std::uint32_t capacity_;
  std::uint32_t branch_latency_;
  bool simple_ = false;  // no cache misses, a fetch slot each cycle
  bool unsent_ = false;  // a miss in misses_ has not been sent
  std::vector<FetchPort> ports_;
  std::vector<Miss> misses_;
};

}  // namespace gpumux::sm
