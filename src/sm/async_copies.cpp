#include "sm/async_copies.hpp"

#include <algorithm>
#include <utility>

#include <fmt/core.h>

#include "sm/state.hpp"

namespace gpumux::sm {

void AsyncCopies::came(std::uint32_t slot) {
  Copies& copies = warps_[slot];
  copies.epochs.clear();
  copies.first = 0;
  copies.wait = {};
}

void AsyncCopies::begin(std::uint32_t block, std::vector<MbarrierArrivals> mbarriers) {
  if (mbarriers_.size() <= block) {
    if (mbarriers.empty()) return;
    mbarriers_.resize(block + std::size_t{1});
  }
  mbarriers_[block] = std::move(mbarriers);
}

MbarrierArrivals& AsyncCopies::of(std::uint32_t block, std::uint32_t address) {
  if (mbarriers_.size() <= block) mbarriers_.resize(block + std::size_t{1});
  std::vector<MbarrierArrivals>& of_block = mbarriers_[block];
  const auto found = std::find_if(of_block.begin(), of_block.end(),
                                  [&](const MbarrierArrivals& m) { return m.address == address; });
  return found != of_block.end() ? *found : of_block.emplace_back(MbarrierArrivals{address, 0, 0});
}

bool AsyncCopies::performed(std::uint32_t slot, std::uint32_t block, std::uint32_t epoch, Cycle ready,
                            Cycle now) {
  Copies& copies = warps_[slot];
  Epoch& of_copy = copies.epochs[epoch - copies.first];
  GPUMUX_DCHECK(of_copy.out > 0);
  --of_copy.out;
  of_copy.ready = std::max(of_copy.ready, ready);
  return settle(copies, block, now);
}

/// Processes complete epochs: performs their arrivals and drops them. Arrivals happen when all copies
/// of their epoch and of earlier epochs have arrived. That time may be in the future. Returns true if
/// an arrival was performed.
bool AsyncCopies::settle(Copies& copies, std::uint32_t block, Cycle now) {
  bool arrived = false;
  Cycle ready = now;
  bool drop = true;
  for (std::size_t i = 0; i < copies.epochs.size();) {
    Epoch& epoch = copies.epochs[i];
    if (epoch.out > 0 || !epoch.ended) break;
    ready = std::max(ready, epoch.ready);
    for (const Arrivals& arrivals : epoch.arrivals) {
      MbarrierArrivals& at = of(block, arrivals.address);
      at.count += arrivals.count;
      at.latest = std::max(at.latest, ready);
      arrived = true;
    }
    epoch.arrivals.clear();
    drop = drop && epoch.ready <= now;
    if (!drop) {
      ++i;
      continue;
    }
    copies.epochs.pop_front();
    ++copies.first;
  }
  return arrived;
}

AsyncCopies::Epoch& AsyncCopies::end_epoch(Copies& copies) {
  if (copies.epochs.empty() || copies.epochs.back().ended) copies.epochs.emplace_back();
  copies.epochs.back().ended = true;
  return copies.epochs.back();
}

void AsyncCopies::commit(std::uint32_t slot, Cycle now) {
  Copies& copies = warps_[slot];
  end_epoch(copies).group = true;
  static_cast<void>(settle(copies, 0, now));  // performs no arrival: complete epochs with
                                              // arrivals were settled before
}

void AsyncCopies::arrive(std::uint32_t block, std::uint32_t address, std::uint64_t count, Cycle now) {
  MbarrierArrivals& at = of(block, address);
  at.count += count;
  at.latest = std::max(at.latest, now);
}

bool AsyncCopies::arrive_behind_copies(std::uint32_t slot, std::uint32_t block, std::uint32_t address,
                                       std::uint64_t count, Cycle now) {
  Copies& copies = warps_[slot];
  end_epoch(copies).arrivals.push_back({address, count});
  return settle(copies, block, now);
}

Cycle AsyncCopies::done(std::uint32_t slot, std::uint32_t block) const {
  const Copies& copies = warps_[slot];
  if (copies.wait.what == Waits::Arrivals) {
    if (copies.wait.count == 0)
      return 0;  // the phase before the first one counts as complete (PTX ISA 9.0, 9.7.13.15)
    if (block >= mbarriers_.size()) return kNever;
    for (const MbarrierArrivals& at : mbarriers_[block])
      if (at.address == copies.wait.number) return at.count >= copies.wait.count ? at.latest : kNever;
    return kNever;
  }
  // Dropped groups are complete. Of the groups left, all but the youngest `wait.number` must be complete.
  std::uint32_t groups = 0;
  for (const Epoch& epoch : copies.epochs) groups += epoch.group ? 1 : 0;
  Cycle ready = 0;
  for (const Epoch& epoch : copies.epochs) {
    if (groups <= copies.wait.number) break;
    if (epoch.out > 0) return kNever;
    ready = std::max(ready, epoch.ready);
    groups -= epoch.group ? 1 : 0;
  }
  return ready;
}

std::string AsyncCopies::describe_wait(std::uint32_t slot, std::uint32_t block) const {
  const Copies& copies = warps_[slot];
  if (copies.wait.what == Waits::Arrivals) {
    std::uint64_t count = 0;
    for (const MbarrierArrivals& at : arrivals(block))
      if (at.address == copies.wait.number) count = at.count;
    return fmt::format("the mbarrier at 0x{:x} of shared memory ({} arrivals so far, {} needed)",
                       copies.wait.number, count, copies.wait.count);
  }
  std::uint32_t out = 0;
  for (const Epoch& epoch : copies.epochs) out += epoch.out;
  return fmt::format("its copies to shared memory ({} under way)", out);
}

const std::vector<MbarrierArrivals>& AsyncCopies::arrivals(std::uint32_t block) const {
  static const std::vector<MbarrierArrivals> kNone;
  return block < mbarriers_.size() ? mbarriers_[block] : kNone;
}

void AsyncCopies::save_wait(std::uint32_t slot, BlockContext::WarpState& state) const {
  const Wait& wait = warps_[slot].wait;
  if (wait.what != Waits::Arrivals) return;
  state.mbarrier = wait.number;
  state.arrivals = wait.count;
}

void Sm::State::control_copies(Warp& warp, std::uint32_t slot, const TimedInst& inst, Cycle now) {
  if ((inst.flags & isa::kFence) == 0) {
    copies.commit(slot, now);
    return;
  }
  copies.wait_for_groups(slot, inst.barrier);
  warp.sync = Sync::Async;
  warp.sync_until = copies.done(slot, warp.block);
}

void Sm::State::access_mbarrier(Warp& warp, std::uint32_t slot, workload::MbarrierWord word, Cycle now) {
  using Kind = workload::MbarrierWord::Kind;
  bool arrived = false;
  switch (word.kind()) {
    case Kind::Arrivals:
      copies.arrive(warp.block, word.address(), word.number(), now);
      arrived = true;
      break;
    case Kind::CopiesArrivals:
      arrived = copies.arrive_behind_copies(slot, warp.block, word.address(), word.number(), now);
      break;
    case Kind::Wait: {
      copies.wait_for_arrivals(slot, word.address(), word.number());
      const Cycle done = copies.done(slot, warp.block);
      if (done > now) {
        warp.sync = Sync::Async;
        warp.sync_until = done;
      }
      break;
    }
  }
  if (arrived) end_waits(table.block(warp.block), now);
}

void Sm::State::copy_arrived(const MemoryOp& op, Cycle ready, Cycle now) {
  if (copies.performed(op.warp, op.block, op.epoch, ready, now)) end_waits(table.block(op.block), now);
  Warp& warp = table.warp(op.warp);
  if (!warp.alive || warp.sync != Sync::Async || warp.sync_until != kNever) return;
  warp.sync_until = copies.done(op.warp, op.block);
  if (warp.sync_until != kNever) stage.place(op.warp, now, now);
}

void Sm::State::end_waits(const Block& block, Cycle now) {
  for (const std::uint16_t slot : block.warps) {
    Warp& warp = table.warp(slot);
    if (!warp.alive || warp.sync != Sync::Async || warp.sync_until != kNever) continue;
    warp.sync_until = copies.done(slot, warp.block);
    if (warp.sync_until != kNever && warp.wait == Wait::Sync) stage.place(slot, now, now);
  }
}

void Sm::State::copies_came(const Block& block, const BlockContext* context) {
  if (block.warps.empty()) return;
  const std::uint32_t index = table.warp(block.warps.front()).block;
  copies.begin(index, context != nullptr ? context->mbarriers : std::vector<MbarrierArrivals>{});
  for (std::size_t w = 0; w < block.warps.size(); ++w) {
    const std::uint16_t slot = block.warps[w];
    copies.came(slot);
    if (context == nullptr || context->warps[w].arrivals == 0) continue;
    const BlockContext::WarpState& state = context->warps[w];
    copies.wait_for_arrivals(slot, state.mbarrier, state.arrivals);
    Warp& warp = table.warp(slot);
    warp.sync = Sync::Async;
    warp.sync_until = copies.done(slot, index);
  }
}

void Sm::State::copies_leave(const Block& block, BlockContext& context) const {
  context.mbarriers = copies.arrivals(table.warp(block.warps.front()).block);
  for (std::size_t w = 0; w < block.warps.size(); ++w) {
    const Warp& warp = table.warp(block.warps[w]);
    if (warp.sync == Sync::Async) copies.save_wait(block.warps[w], context.warps[w]);
  }
}

}  // namespace gpumux::sm
