// An SM's ledger of interference: whose warps and requests waited while another application's issued, held a
// unit, or were in front.
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
  /// What applications do on a scheduler. All that an issue touches of three of them is in the first line of
  /// the host's cache.
  struct alignas(64) SchedulerView {
    struct OfApp {
      WarpMask warps = 0;              // alive
      std::uint64_t* spent = nullptr;  // where its cycles count from `since` on, if they do
      void spends(Cycle cycles, std::uint64_t* next) {
        *spent += cycles;
        spent = next;
      }
    };
    Cycle since = 0;               // the cycles before are counted
    std::uint32_t counted = 0;     // applications whose cycles count, as bits
    std::uint32_t with_warps = 0;  // those that have some; what differs comes or goes at the next spend()
    std::array<OfApp, kMaxApps> apps{};
    std::array<Cycle, kMaxApps> resident_since{};  // cycles as a resident are counted up to here
  };
  /// Of an L1 of so many sets and ways.
  SmLedger(std::uint32_t sets, std::uint32_t ways) : l1(sets, ways) { unit_user.fill(kNobody); }
  SmLedger(const SmLedger&) = delete;
  SmLedger& operator=(const SmLedger&) = delete;
  static void* operator new(std::size_t bytes) { return huge_page_allocate(bytes); }
  static void operator delete(void* ledger, std::size_t bytes) noexcept { huge_page_free(ledger, bytes); }
  std::array<AppId, ExecUnits::kPools> unit_user;  // by pool: who took one of its units last
  std::array<SchedulerView, ExecUnits::kMaxSchedulers> schedulers{};
  std::uint32_t here = 0;  // applications that have come, as bits

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
  /// Calls each(app) for each bit.
  template <typename Each>
  static void for_apps(std::uint32_t bits, const Each& each) {
    for (; bits != 0; bits &= bits - 1) each(static_cast<AppId>(std::countr_zero(bits)));
  }
  /// What the applications with warps on the scheduler do from `now` on is about to be told, each by
  /// spends(). Returns the cycles to be counted for what they did before.
  [[gnu::always_inline]] Cycle begin(SchedulerView& view, Cycle now) {
    if (view.counted != view.with_warps) [[unlikely]]
      come_and_go(view, view.with_warps, now);
    return now - std::exchange(view.since, now);
  }
  /// The cycles before `until` are counted.
  void settle(Cycle until) {
    for (SchedulerView& view : schedulers) settle(view, until);
  }
  // What the warps of an application on a scheduler do: something of no concern here; wait for memory or at
  // barriers; or wait while another has its turn or a unit (a counter of pair()).
  [[nodiscard]] std::uint64_t* present() { return &rest_; }
  [[nodiscard]] std::uint64_t* memory(AppId app) { return &apps[app].memory_scheduler_cycles; }
  [[nodiscard]] std::uint64_t* barrier(AppId app) { return &apps[app].barrier_scheduler_cycles; }
  /// All have gone.
  void nobody(Cycle now) {
    for (SchedulerView& view : schedulers) come_and_go(view, 0, now);
  }

  /// What the schedulers touch with few applications, into the host's cache.
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
  std::array<std::uint32_t, kMaxApps> queued{};        // places of the miss queue
  std::array<std::uint32_t, kMaxApps> queued_reads{};  // of these, not by stores
  Cycle port_until = 0;                                // the last packet is through
  // Of the instruction at the head:
  AppId head_app = 0;
  Cycle head_start = 0;  // it could have come to the head
  Cycle head_until = 0;  // the one before was there until then

  // Calls, so that the load/store unit without a ledger saves no registers for them.
  [[gnu::noinline]] void left_head(Cycle until) {
    charge_stall();
    const Cycle begin = std::max(head_start, head_until);
    head_until = std::max(begin, until);
    apps[head_app].lsu_head_cycles += head_until - begin;
    heads.pass(head_app, head_start, until, {pairs[head_app].data(), &arch::PairCounters::lsu_cycles});
    apps[head_app].lsu_queue_cycles += until - std::min(head_start, until);
  }
  std::array<std::uint32_t, kMaxApps> held{};  // of what the head stalls for, by application
  Cycle stalled = 0;                           // cycles for which it has, while these were held

  /// The head stalls while so many are held.
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
  // `counts`: somebody waits for it, and not all of its time is charged. It could go when it was `ready` and
  // the one before it through, and went at `now`; those that are queued then have waited as long.
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
  /// From `now` on these count on the scheduler, and no others.
  void come_and_go(SchedulerView& view, std::uint32_t with_warps, Cycle now) {
    settle(view, now);
    for_apps(with_warps & ~view.counted, [&](AppId app) {
      view.apps[app].spent = present();
      view.resident_since[app] = now;
    });
    view.counted = with_warps;
    view.since = now;
  }

  std::uint64_t rest_ = 0;  // what is not counted
};

}  // namespace gpumux::sm
