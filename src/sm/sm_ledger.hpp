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
#include "sm/exec_units.hpp"
#include "sm/warp.hpp"

namespace gpumux::sm {

struct SmLedger {
  static constexpr AppId kNobody = kMaxApps;

  arch::PairCounters& pair(AppId victim, AppId culprit) { return pairs[victim][culprit]; }
  std::array<arch::LedgerAppCounters, kMaxApps> apps{};
  std::array<std::array<arch::PairCounters, kMaxApps>, kMaxApps> pairs{};  // by victim and culprit

  // --- issue ----------------------------------------------------------------------------------------
  /// What an application's warps on a scheduler do in the cycles that are not counted yet.
  struct Turn {
    enum class Kind : std::uint8_t { Absent, Issues, Slot, Unit, Memory, Other };
    Kind kind = Kind::Absent;
    AppId culprit = kNobody;  // Slot, Unit
  };
  struct SchedulerView {
    std::array<WarpMask, kMaxApps> warps{};  // whose a warp's number was last
    std::array<Turn, kMaxApps> turns{};
  };
  SmLedger() { unit_user.fill(kNobody); }
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
    if (cycles == 0) return;
    for_apps([&](AppId app) {
      const Turn turn = schedulers[scheduler].turns[app];
      if (turn.kind == Turn::Kind::Absent) return;
      apps[app].resident_scheduler_cycles += cycles;
      switch (turn.kind) {
        case Turn::Kind::Slot: pair(app, turn.culprit).issue_cycles += cycles; break;
        case Turn::Kind::Unit: pair(app, turn.culprit).unit_cycles += cycles; break;
        case Turn::Kind::Memory: apps[app].memory_scheduler_cycles += cycles; break;
        case Turn::Kind::Absent:
        case Turn::Kind::Issues:
        case Turn::Kind::Other: break;
      }
    });
  }

  // --- load/store unit and network --------------------------------------------------------------------
  ledger::ServingLine heads;
  ledger::ServingLine requests;
  ledger::ServingLine replies;
  std::array<std::uint32_t, kMaxApps> queued{};  // places of the miss queue
  // Of the instruction at the head:
  AppId head_app = 0;
  Cycle head_start = 0;  // it could have come to the head

  void left_head(Cycle until) {
    charge_stall();
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
    std::uint64_t all = 0;
    for (const std::uint32_t places : held) all += places;
    for (std::uint32_t app = 0; app < kMaxApps && all != 0; ++app)
      if (app != head_app) pairs[head_app][app].l1_entry_cycles += stalled * held[app] / all;
    stalled = 0;
  }
  void request_sent(AppId app, Cycle ready, Cycle until) {
    requests.pass(app, ready, until, [&](AppId culprit, std::uint64_t cycles) {
      pair(app, culprit).request_port_cycles += cycles;
    });
  }
  void reply_taken(AppId app, Cycle arrived, Cycle until) {
    replies.pass(app, arrived, until, [&](AppId culprit, std::uint64_t cycles) {
      pair(app, culprit).reply_port_cycles += cycles;
    });
  }
};

}  // namespace gpumux::sm
