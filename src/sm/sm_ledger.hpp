// An SM's ledger of interference: for how long warps and requests of an application waited while another
// application issued, held a unit, or was served first.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <utility>

#include "arch/statistics.hpp"
#include "base/huge_pages.hpp"
#include "base/prefetch.hpp"
#include "base/types.hpp"
#include "isa/timing_class.hpp"
#include "ledger/serving_line.hpp"
#include "ledger/shadow_tags.hpp"
#include "sm/exec_units.hpp"
#include "sm/warp.hpp"

namespace gpumux::sm {

struct SmLedger {
  static constexpr AppId kNobody = kMaxApps;

  arch::PairCounters& pair(AppId victim, AppId culprit) { return pairs[victim][culprit]; }
  std::array<arch::LedgerAppCounters, kMaxApps> apps{};
  std::array<std::array<arch::PairCounters, kMaxApps>, kMaxApps> pairs{};  // by victim and culprit

  // --- issue ----------------------------------------------------------------------------------------
  /// States of the applications on a scheduler. What an issue touches of three applications
  /// is in the first cache line.
  struct alignas(64) SchedulerView {
    struct OfApp {
      WarpMask warps = 0;              // alive warps
      std::uint64_t* spent = nullptr;  // counter for cycles from `since` on, while the application is counted
      void spends(Cycle cycles, std::uint64_t* next) {
        *spent += cycles;
        spent = next;
      }
    };
    Cycle since = 0;               // earlier cycles are counted
    std::uint32_t counted = 0;     // mask of the applications whose cycles count
    std::uint32_t with_warps = 0;  // mask of the applications with warps; differences to `counted` take
                                   // effect at the next begin()
    std::array<OfApp, kMaxApps> apps{};
    std::array<Cycle, kMaxApps> resident_since{};  // resident cycles are counted up to here
  };
  /// Ledger of an SM whose L1 has this many sets and ways.
  SmLedger(std::uint32_t sets, std::uint32_t ways) : l1(sets, ways) { unit_user.fill(kNobody); }
  SmLedger(const SmLedger&) = delete;
  SmLedger& operator=(const SmLedger&) = delete;
  static void* operator new(std::size_t bytes) { return huge_page_allocate(bytes); }
  static void operator delete(void* ledger, std::size_t bytes) noexcept { huge_page_free(ledger, bytes); }
  std::array<AppId, ExecUnits::kPools> unit_user;  // by pool: application that booked one of its units last
  std::array<SchedulerView, ExecUnits::kMaxSchedulers> schedulers{};
  std::uint32_t here = 0;  // mask of the applications that have had a block here

  void came(std::uint32_t scheduler, std::uint32_t local, AppId app) {
    SchedulerView& view = schedulers[scheduler];
    view.apps[app].warps |= WarpMask{1} << local;
    view.with_warps |= std::uint32_t{1} << app;
    here |= std::uint32_t{1} << app;
  }
  void exits(std::uint32_t scheduler, std::uint32_t local, AppId app) {
    SchedulerView& view = schedulers[scheduler];
    view.apps[app].warps &= ~(WarpMask{1} << local);
    if (view.apps[app].warps == 0) view.with_warps &= ~(std::uint32_t{1} << app);
  }
  /// Calls each(app) for each application of the mask.
  template <typename Each>
  static void for_apps(std::uint32_t bits, const Each& each) {
    for (; bits != 0; bits &= bits - 1) each(static_cast<AppId>(std::countr_zero(bits)));
  }
  /// Starts to set, by spends(), what each application with warps on the scheduler does from `now` on.
  /// Returns the cycles to count for what the applications did before.
  [[gnu::always_inline]] Cycle begin(SchedulerView& view, Cycle now) {
    if (view.counted != view.with_warps) [[unlikely]]
      come_and_go(view, view.with_warps, now);
    return now - std::exchange(view.since, now);
  }
  /// Counts the cycles before `until`.
  void settle(Cycle until) {
    for (SchedulerView& view : schedulers) settle(view, until);
  }
  // Counters for the state of an application's warps on a scheduler: a state that does not matter
  // here; waiting for memory; or waiting at barriers. Waits for another application's turn or
  // unit are counters of pair().
  [[nodiscard]] std::uint64_t* present() { return &rest_; }
  [[nodiscard]] std::uint64_t* memory(AppId app) { return &apps[app].memory_scheduler_cycles; }
  [[nodiscard]] std::uint64_t* barrier(AppId app) { return &apps[app].barrier_scheduler_cycles; }
  /// All warps have left.
  void nobody(Cycle now) {
    for (SchedulerView& view : schedulers) come_and_go(view, 0, now);
  }

  /// Prefetches what the schedulers touch with few applications.
  [[gnu::always_inline]] void prefetch() const {
    for (const SchedulerView& view : schedulers) prefetch_lines(&view, &view.apps[3]);
    prefetch_lines(&unit_user, &unit_user + 1);
    prefetch_lines(apps.data(), apps.data() + 2);
    __builtin_prefetch(&pairs[0][1], 1);
    __builtin_prefetch(&pairs[1][0], 1);
    heads.prefetch();
    requests.prefetch();
    replies.prefetch();
  }

  // --- load/store unit and network --------------------------------------------------------------------
  ledger::ShadowTags l1;
  ledger::ServingLine heads;
  ledger::ServingLine requests;
  ledger::ServingLine replies;
  std::array<std::uint32_t, kMaxApps> queued{};        // entries of the miss queue, by application
  std::array<std::uint32_t, kMaxApps> queued_reads{};  // entries of `queued` that are not stores
  Cycle port_until = 0;                                // when the port has finished the last packet
  // State of the instruction at the head:
  AppId head_app = 0;
  Cycle head_start = 0;  // when it could have reached the head
  Cycle head_until = 0;  // until when the previous instruction was at the head

  // Not inlined, so that a load/store unit without a ledger saves no registers for these calls.
  [[gnu::noinline]] void left_head(Cycle until) {
    charge_stall();
    const Cycle begin = std::max(head_start, head_until);
    head_until = std::max(begin, until);
    apps[head_app].lsu_head_cycles += head_until - begin;
    heads.pass(head_app, head_start, until, {pairs[head_app].data(), &arch::PairCounters::lsu_cycles});
    apps[head_app].lsu_queue_cycles += until - std::min(head_start, until);
  }
  std::array<std::uint32_t, kMaxApps> held{};  // by application: resources held of the
                                               // kind that the head waits for
  Cycle stalled = 0;                           // stall cycles of the head while these were held

  /// The head stalls while `now_held` resources are held.
  void stalls_for(const std::array<std::uint32_t, kMaxApps>& now_held) {
    if (held == now_held) return;
    charge_stall();
    held = now_held;
  }
  void charge_stall() {
    if (stalled == 0) return;
    apps[head_app].lsu_head_stall_cycles += stalled;
    std::uint64_t all = 0;
    for (const std::uint32_t places : held) all += places;
    for (std::uint32_t app = 0; app < kMaxApps && all != 0; ++app)
      if (app != head_app && held[app] != 0)
        pairs[head_app][app].l1_entry_cycles += stalled * held[app] / all;
    stalled = 0;
  }
  // A request was sent at `now`. `counts`: an instruction waits for it, and its time is not charged already.
  // The request could have left when it was `ready` and the previous packet had passed the port. Queued
  // requests have waited just as long.
  [[gnu::noinline]] void request_sent(AppId app, bool counts, Cycle ready, Cycle now, Cycle until) {
    const Cycle able = std::max(ready, port_until);
    port_until = until;
    if (now > able)
      for_apps(here,
               [&](AppId waits) { apps[waits].credit_wait_cycles += (now - able) * queued_reads[waits]; });
    requests.closed_until(now);
    requests.pass(app, ready, until,
                  {counts ? pairs[app].data() : nullptr, &arch::PairCounters::request_port_cycles});
  }
  [[gnu::noinline]] void reply_taken(AppId app, bool counts, Cycle arrived, Cycle until) {
    replies.pass(app, arrived, until,
                 {counts ? pairs[app].data() : nullptr, &arch::PairCounters::reply_port_cycles});
  }

 private:
  void settle(SchedulerView& view, Cycle until) {
    const Cycle end = std::max(until, view.since);
    for_apps(view.counted, [&](AppId app) {
      *view.apps[app].spent += end - view.since;
      apps[app].resident_scheduler_cycles += end - view.resident_since[app];
      view.resident_since[app] = end;
    });
    view.since = end;
  }
  /// From `now` on, exactly these applications count on the scheduler.
  void come_and_go(SchedulerView& view, std::uint32_t with_warps, Cycle now) {
    settle(view, now);
    for_apps(with_warps & ~view.counted, [&](AppId app) {
      view.apps[app].spent = present();
      view.resident_since[app] = now;
    });
    view.counted = with_warps;
    view.since = now;
  }

  std::uint64_t rest_ = 0;  // cycles in states that do not matter
};

}  // namespace gpumux::sm
