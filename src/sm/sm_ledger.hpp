// An SM's ledger of interference: whose warps and requests waited while another application's issued, held a
// unit, or were in front.
#pragma once

#include <array>
#include <bit>
#include <cstdint>

#include "arch/statistics.hpp"
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
  struct SchedulerView {
    std::array<WarpMask, kMaxApps> warps{};  // whose a warp's number was last
    // Where its cycles count that are not counted yet:
    std::uint32_t resident = 0;                    // applications with warps here, as bits
    std::array<std::uint64_t*, kMaxApps> spent{};  // of a resident one: what it does
  };
  /// Of an L1 of so many sets and ways.
  SmLedger(std::uint32_t sets, std::uint32_t ways) : l1(sets, ways) { unit_user.fill(kNobody); }
  SmLedger(const SmLedger&) = delete;
  SmLedger& operator=(const SmLedger&) = delete;
  std::array<AppId, ExecUnits::kPools> unit_user;  // by pool: who took one of its units last
  std::array<SchedulerView, ExecUnits::kMaxSchedulers> schedulers{};
  std::uint32_t here = 0;  // applications that have come, as bits

  void came(std::uint32_t scheduler, std::uint32_t local, AppId app) {
    const WarpMask bit = WarpMask{1} << local;
    for (WarpMask& warps : schedulers[scheduler].warps) warps &= ~bit;
    schedulers[scheduler].warps[app] |= bit;
    here |= std::uint32_t{1} << app;
  }
  /// Calls each(app) for those that have come.
  template <typename Each>
  void for_apps(const Each& each) const {
    for (std::uint32_t left = here; left != 0; left &= left - 1)
      each(static_cast<AppId>(std::countr_zero(left)));
  }
  /// Counts cycles of the scheduler, which were as last said.
  void count(std::uint32_t scheduler, Cycle cycles) {
    const SchedulerView& view = schedulers[scheduler];
    for (std::uint32_t left = view.resident; left != 0; left &= left - 1)
      count(static_cast<AppId>(std::countr_zero(left)), view.spent[std::countr_zero(left)], cycles);
  }
  /// Counts cycles of one scheduler for an application that has warps there.
  void count(AppId app, std::uint64_t* spent, Cycle cycles) {
    apps[app].resident_scheduler_cycles += cycles;
    *spent += cycles;
  }
  // What the warps of an application on a scheduler do: something of no concern here; wait for memory or at
  // barriers; or wait while another has its turn or a unit (a counter of pair()).
  [[nodiscard]] std::uint64_t* present() { return &rest_; }
  [[nodiscard]] std::uint64_t* memory(AppId app) { return &apps[app].memory_scheduler_cycles; }
  [[nodiscard]] std::uint64_t* barrier(AppId app) { return &apps[app].barrier_scheduler_cycles; }
  void nobody(std::uint32_t scheduler) { schedulers[scheduler].resident = 0; }

  // --- load/store unit and network --------------------------------------------------------------------
  ledger::ShadowTags l1;
  ledger::ServingLine heads;
  ledger::ServingLine requests;
  ledger::ServingLine replies;
  std::array<std::uint32_t, kMaxApps> queued{};  // places of the miss queue
  Cycle port_until = 0;                          // the last packet is through
  // Of the instruction at the head:
  AppId head_app = 0;
  Cycle head_start = 0;  // it could have come to the head
  Cycle head_until = 0;  // the one before was there until then

  void left_head(Cycle until) {
    charge_stall();
    const Cycle begin = std::max(head_start, head_until);
    head_until = std::max(begin, until);
    apps[head_app].lsu_head_cycles += head_until - begin;
    heads.pass(head_app, head_start, until,
               [&](AppId culprit, std::uint64_t cycles) { pair(head_app, culprit).lsu_cycles += cycles; });
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
  // `charged`: its whole time is. It could go when it was `ready` and the one before it through, and went at
  // `now`; those that are queued then have waited as long.
  void request_sent(AppId app, bool charged, Cycle ready, Cycle now, Cycle until) {
    const Cycle able = std::max(ready, port_until);
    port_until = until;
    if (now > able)
      for_apps([&](AppId waits) { apps[waits].credit_wait_cycles += (now - able) * queued[waits]; });
    requests.closed_until(now);
    requests.pass(app, ready, until, [&](AppId culprit, std::uint64_t cycles) {
      if (charged) return;
      pair(app, culprit).request_port_cycles += cycles;
    });
  }
  void reply_taken(AppId app, bool charged, Cycle arrived, Cycle until) {
    replies.pass(app, arrived, until, [&](AppId culprit, std::uint64_t cycles) {
      if (!charged) pair(app, culprit).reply_port_cycles += cycles;
    });
  }

 private:
  std::uint64_t rest_ = 0;  // what is not counted
};

}  // namespace gpumux::sm
