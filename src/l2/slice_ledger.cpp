#include "l2/slice_ledger.hpp"

#include <algorithm>
#include <utility>

#include "l2/slice.hpp"

namespace gpumux::l2 {

using ledger::ShadowTags;

void Slice::keep_ledger() {
  ledger_ = std::make_unique<SliceLedger>(tags_.sets(), tags_.ways(), mshrs_.count(), misses_.capacity());
}

void Slice::note_head(RequestIndex index) {
  SliceLedger& ledger = *ledger_;
  ledger.head = s_.pool[index];
  ledger.misses = s_.of_app[ledger.head.app].l2_misses;
}

AppId Slice::fetched_for(const Request& request) const {
  if (request.charged != 0) return request.app;
  const AppId other =
      ledger_->shadow.evictor(request.app, request.set, request.slice_line, whole(request.sectors));
  return other == ShadowTags::kNobody ? request.app : other;
}

void Slice::note_register(std::uint16_t mshr, AppId due_to) {
  ledger_->register_due_to[mshr] = due_to;
  note_held(ledger_->registers, due_to, true);
}

void Slice::note_queued(AppId due_to) {
  ledger_->queued_due_to.push(due_to);
  note_held(ledger_->queued, due_to, true);
}

void Slice::note_sent() {
  note_held(ledger_->queued, ledger_->queued_due_to.front(), false);
  ledger_->queued_due_to.pop();
}

AppId Slice::other_holder(std::uint32_t way) {
  ledger::Holders holders;
  const std::uint32_t first = tags_.first_way(tags_.set(way));
  for (std::uint32_t other = first; other < first + tags_.ways(); ++other)
    if (tags_.line(other).present()) holders.add(tags_.app(other));
  return holders.most_beside(tags_.app(way));
}

void Slice::note_stall(Cycle now, Outcome cause) {
  SliceLedger& ledger = *ledger_;
  const SliceLedger::Counts* holders = cause == Outcome::NoMissQueue ? &ledger.queued
                                       : cause == Outcome::NoMerge   ? nullptr
                                                                     : &ledger.registers;
  if (ledger.stalled_since != kNever && ledger.stalls_for == holders) return;
  end_stall(now);
  ledger.stalled_since = now;
  ledger.stalls_for = holders;
}

void Slice::note_held(SliceLedger::Counts& places, AppId app, bool taken) {
  SliceLedger& ledger = *ledger_;
  const bool stalls = ledger.stalled_since != kNever && ledger.stalls_for == &places;
  if (stalls) end_stall(next_core_);
  places[app] += taken ? 1U : ~0U;
  ledger.apps = std::max(ledger.apps, app + 1U);
  if (stalls) ledger.stalled_since = next_core_;
}

void Slice::end_stall(Cycle now) {
  SliceLedger& ledger = *ledger_;
  if (ledger.stalled_since == kNever) return;
  const Cycle since = std::exchange(ledger.stalled_since, kNever);
  if (ledger.stalls_for == nullptr) return;
  const SliceLedger::Counts& counts = *ledger.stalls_for;
  std::uint64_t all = 0;
  for (std::uint32_t app = 0; app < ledger.apps; ++app) all += counts[app];
  const std::uint64_t cycles = now - std::min(now, since);
  if (all == 0 || cycles == 0) return;
  for (std::uint32_t app = 0; app < ledger.apps; ++app)
    if (counts[app] != 0) ledger.held[app] += cycles * SliceLedger::kPartsOfCycle * counts[app] / all;
  ledger.some_held = true;
}

void Slice::note_access(RequestIndex index) {
  SliceLedger& ledger = *ledger_;
  const Request& head = ledger.head;
  auto& pairs = s_.of_pair[head.app];
  const bool waited_for = head.charged == 0 && head.kind != RequestKind::Write;
  const Cycle arrived = s_.l2_clock.to_core(s_.l2_clock.tick_at(head.time) + latency_ - 1);
  end_stall(next_core_);
  const Cycle until = s_.l2_clock.to_core(tag_free_);
  std::uint64_t of_others = 0;  // part of the service that was a wait for other applications
  AppId by = head.app;          // the application with the largest part of that
  for (std::uint32_t app = 0; app < ledger.apps && ledger.some_held; ++app) {
    if (app == head.app) continue;
    const std::uint64_t cycles = ledger.held[app] / SliceLedger::kPartsOfCycle;
    of_others += cycles;
    if (by == head.app || ledger.held[app] > ledger.held[by]) by = static_cast<AppId>(app);
    if (waited_for) pairs[app].l2_entry_cycles += cycles;
  }
  const auto passed = ledger.tags.pass(
      head.app, arrived, until, {waited_for ? pairs.data() : nullptr, &arch::PairCounters::l2_queue_cycles},
      of_others, by);
  if (head.kind != RequestKind::Write) ledger.tag_waits[head.app] += passed.waited;
  ledger.busy.add(head.app, until, passed.served - std::min(of_others, passed.served));
  if (std::exchange(ledger.some_held, false)) ledger.held.fill(0);
  AppId displaced_by = ledger.shadow.use(head.app, head.set, head.slice_line, whole(head.sectors));
  const bool missed = s_.of_app[head.app].l2_misses != ledger.misses;
  if (!missed) return;
  if (head.charged != 0) displaced_by = ShadowTags::kNobody;
  if (displaced_by != ShadowTags::kNobody) ++pairs[displaced_by].l2_extra_misses;
  if (head.kind == RequestKind::Write) return;  // a write is answered already
  Request& request = s_.pool[index];
  request.displaced_by = displaced_by;
  request.waits_since = next_core_;
}

void Slice::note_drained(RequestIndex index, std::uint64_t tick) {
  const Request& request = s_.pool[index];
  if (request.displaced_by == ShadowTags::kNobody) return;
  s_.of_pair[request.app][request.displaced_by].l2_line_cycles +=
      s_.l2_clock.to_core(tick) - request.waits_since;
}

void Slice::note_reply(const Asker& asker, Cycle ready, Cycle last) {
  ledger_->replies.pass(
      asker.app, ready, last,
      {asker.charged ? nullptr : s_.of_pair[asker.app].data(), &arch::PairCounters::reply_port_cycles});
}

}  // namespace gpumux::l2
