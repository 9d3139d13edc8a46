#include "sm/front_end.hpp"

#include "sm/pool.hpp"

namespace gpumux::sm {

namespace {

/// If one warp of a block is short of records, all its warps get this multiple of a window's needs, so that
/// blocks are refilled less often.
constexpr std::uint32_t kTopUp = 4;

}  // namespace

void FrontEnd::launched(Block& block) {
  Kernel& kernel = kernels_[block.kernel];
  wants_records_ = true;
  if (!kernel.refills_itself) waits_for_turn_ = true;
  for (std::uint32_t w = 0; w < block.warps.size(); ++w) {
    table_.warp(block.warps[w]).mark_few_left(watermark_);
    kernel.supplied += block.stream->stream(w).available();
  }
  refilled_ = true;
}

void FrontEnd::leaves(Block& block) {
  for (std::uint32_t w = 0; w < block.warps.size(); ++w) {
    const Warp& warp = table_.warp(block.warps[w]);
    workload::WarpStream& stream = block.stream->stream(w);
    stream.next = warp.next;
    stream.mem_next = warp.mem_next;
    kernels_[block.kernel].supplied -= stream.available();
  }
}

bool FrontEnd::refill_in_turn(std::uint32_t records) {
  if (records > watermark_) {
    watermark_ = records;
    wants_records_ = true;
    for (const std::uint8_t index : table_.order()) {
      table_.block(index).wants_records = true;
      for (const std::uint16_t slot : table_.block(index).warps) table_.warp(slot).mark_few_left(records);
    }
  }
  if (!wants_records_) return false;
  wants_records_ = waits_for_turn_ = false;
  bool wakes = false;
  for (const std::uint8_t index : table_.order()) {
    Block& block = table_.block(index);
    const bool in_turn = !kernels_[block.kernel].refills_itself;
    if (block.wants_records && in_turn) wakes = refill(block, records) || wakes;
    wants_records_ = wants_records_ || block.wants_records;
    waits_for_turn_ = waits_for_turn_ || (block.wants_records && in_turn);
  }
  return wakes;
}

void FrontEnd::refill_independent() {
  wants_records_ = false;
  for (const std::uint8_t index : table_.order()) {
    Block& block = table_.block(index);
    if (block.wants_records && kernels_[block.kernel].refills_itself) refill(block, watermark_);
    wants_records_ = wants_records_ || block.wants_records;
  }
}

/// Refills a block. Returns true if a warp without records got some, or has no more to come.
bool FrontEnd::refill(Block& block, std::uint32_t records) {
  std::uint32_t least = kNil;
  for (const std::uint16_t slot : block.warps) {
    const Warp& warp = table_.warp(slot);
    if (warp.alive && !warp.finished)
      least = std::min(least, static_cast<std::uint32_t>(warp.end - warp.next));
  }
  bool wakes = false;
  if (least < records) {
    const bool in_turn = !kernels_[block.kernel].refills_itself;  // the stream itself decides which refills
                                                                  // are worthwhile
    for (std::uint32_t w = 0; w < block.warps.size(); ++w) {
      const Warp& warp = table_.warp(block.warps[w]);
      workload::WarpStream& stream = block.stream->stream(w);
      stream.next = warp.next;
      stream.mem_next = warp.mem_next;
    }
    for (std::uint32_t w = 0; w < block.warps.size(); ++w) {
      const workload::WarpStream& stream = block.stream->stream(w);
      if (table_.warp(block.warps[w]).alive && !stream.finished &&
          (in_turn || stream.available() < kTopUp * records))
        block.stream->refill(w, kTopUp * records);
    }
    least = kNil;
    for (std::uint32_t w = 0; w < block.warps.size(); ++w) {
      Warp& warp = table_.warp(block.warps[w]);
      const workload::WarpStream& stream = block.stream->stream(w);
      const std::uint64_t more = stream.available() - static_cast<std::uint64_t>(warp.end - warp.next);
      kernels_[block.kernel].supplied += more;
      block.supplied += more;
      warp.next = stream.next;
      warp.end = stream.end;
      warp.mem_next = stream.mem_next;
      warp.finished = stream.finished;
      warp.mark_few_left(watermark_);
      if (!warp.alive) continue;
      wakes = wakes || (warp.starved && (warp.finished || stream.available() > 0));
      if (!warp.finished) least = std::min(least, stream.available());
    }
    refilled_ = refilled_ || wakes;
  }
  block.wants_records = least < watermark_;
  return wakes;
}

void FrontEnd::resume(Warp& warp, Cycle now) {
  warp.starved = false;
  const Address code = kernels_[warp.kernel].code;
  if (warp.buffered == 0 && warp.incoming == 0) {
    fetch_.restart(warp, warp.next->pc, now, std::max(now, warp.sync_until), code);  // first instruction of
                                                                                     // the warp
  } else {
    fetch_.issued(warp, warp.next->pc, warp.starved_at, now, [code] { return code; });
  }
}

}  // namespace gpumux::sm
