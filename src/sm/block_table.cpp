#include "sm/block_table.hpp"
#include "base/round_up.hpp"

#include <algorithm>
#include <bit>
#include <utility>

namespace gpumux::sm {

namespace {}  // namespace

BlockTable::BlockTable(const arch::SmConfig& config, std::uint32_t warp_slots)
    : config_(config), warps_(warp_slots), blocks_(config.max_blocks) {}

void BlockTable::bind(arch::KernelSlot kernel, AppId app, const workload::BlockResources& resources) {
  GPUMUX_CHECK(kernel < arch::kMaxKernelSlots && resident_[kernel] == 0);
  kernels_[kernel] = {resources, app};
  limit_[kernel] = 0;
}

std::uint32_t BlockTable::registers_of(const workload::BlockResources& resources) const {
  return resources.warps() *
         round_up(resources.registers_per_thread * kWarpSize, config_.register_allocation_unit);
}

std::uint32_t BlockTable::shared_of(const workload::BlockResources& resources) const {
  return round_up(resources.shared_bytes, config_.shared_allocation_unit);
}

bool BlockTable::fits(const workload::BlockResources& resources) const {
  return order_.size() < config_.max_blocks && used_.threads + resources.threads <= config_.max_threads &&
         used_.warps + resources.warps() <= config_.max_warps &&
         used_.registers + registers_of(resources) <= config_.registers &&
         used_.shared + shared_of(resources) <= config_.shared_bytes;
}

std::uint32_t BlockTable::shared_need() const {
  std::uint32_t need = 0;
  for (std::size_t k = 0; k < kernels_.size(); ++k) {
    if (resident_[k] == 0) continue;
    const workload::BlockResources& resources = kernels_[k].resources;
    const std::uint32_t shared = shared_of(resources);
    if (shared == 0) continue;
    std::uint32_t occupancy = std::min(config_.max_blocks, config_.shared_bytes / shared);
    occupancy = std::min(occupancy, config_.max_threads / std::max(1U, resources.threads));
    occupancy = std::min(occupancy, config_.max_warps / std::max(1U, resources.warps()));
    occupancy = std::min(occupancy, config_.registers / std::max(1U, registers_of(resources)));
    need += occupancy * shared;
  }
  return std::max(std::min(need, config_.shared_bytes), used_.shared);
}

std::uint32_t BlockTable::present() const {
  std::uint32_t kernels_here = 0;
  for (std::size_t k = 0; k < resident_.size(); ++k) kernels_here |= std::uint32_t{resident_[k] > 0} << k;
  return kernels_here;
}

Block& BlockTable::admit(arch::KernelSlot kernel, std::uint32_t residency,
                         std::unique_ptr<workload::BlockStream> stream, Cycle start,
                         const BlockContext* context, Cycle delay) {
  const workload::BlockResources& resources = kernels_[kernel].resources;
  GPUMUX_CHECK(fits(resources) && stream->warps() <= resources.warps() && stream->warps() <= 64);
  std::size_t index = 0;
  while (blocks_[index].resident) ++index;
  Block& block = blocks_[index];
  std::vector<std::uint16_t> slots = std::move(block.warps);  // reuses the vector's memory
  slots.clear();
  block = Block{};
  block.warps = std::move(slots);
  block.resident = true;
  block.kernel = kernel;
  block.app = kernels_[kernel].app;
  block.residency = residency;
  block.threads = resources.threads;
  block.registers = registers_of(resources);
  block.shared_bytes = shared_of(resources);
  block.alive = stream->warps();
  block.began = start;
  block.last_time = start + delay;
  block.warps.reserve(stream->warps());
  block.stream = std::move(stream);
  used_.threads += block.threads;
  used_.warps += block.stream->warps();
  used_.registers += block.registers;
  used_.shared += block.shared_bytes;
  order_.push_back(static_cast<std::uint8_t>(index));
  ++resident_[kernel];
  ++of_app_[block.app];

  std::uint32_t free = 0;
  for (std::uint32_t w = 0; w < block.stream->warps(); ++w) {
    while (warps_[free].resident) ++free;
    Warp& warp = warps_[free];
    const std::uint8_t scheduler = warp.scheduler;
    const std::uint8_t local = warp.local;
    const std::uint32_t generation = warp.generation;
    warp = Warp{};
    warp.scheduler = scheduler;
    warp.local = local;
    warp.generation = generation;
    warp.kernel = kernel;
    warp.block = static_cast<std::uint8_t>(index);
    warp.index = static_cast<std::uint8_t>(w);
    block.alive_warps |= std::uint64_t{1} << w;
    warp.resident = warp.alive = true;
    warp.starved = true;  // until the first records and the first fetch
    warp.wake = kNever;
    warp.sync_until = delay + start + config_.block_launch_latency;  // first fetch
    if (context != nullptr) warp.sync_until += context->restore;
    block.warps.push_back(static_cast<std::uint16_t>(free));
    const workload::WarpStream& source = block.stream->stream(w);
    block.supplied += source.available();
    warp.next = source.next;
    warp.end = source.end;
    warp.mem_next = source.mem_next;
    warp.finished = source.finished;
  }
  if (context != nullptr) go_on(block, *context);
  // A block without warps ends at once. Warps without threads do not exist.
  if (block.alive == 0) check_finished(block);
  return block;
}

void BlockTable::go_on(Block& block, const BlockContext& context) {
  block.barriers = context.barriers;
  block.supplied += context.instructions;
  block.cycles_before = context.cycles;
  block.notified = context.notified;
  for (std::size_t w = 0; w < block.warps.size(); ++w) {
    const BlockContext::WarpState& state = context.warps[w];
    Warp& warp = warps_[block.warps[w]];
    if (!state.alive) {
      warp.alive = warp.starved = false;
      --block.alive;
      block.alive_warps &= ~(std::uint64_t{1} << w);
    } else if (state.waits) {
      warp.sync = Sync::Barrier;
      warp.barrier = state.barrier;
      ++block.at_barrier;
    }
  }
}

Block* BlockTable::find_running(std::uint32_t residency) {
  for (const std::uint8_t index : order_) {
    Block& block = blocks_[index];
    if (block.residency == residency && block.alive > 0 && block.leaves == Left::Ended) return &block;
  }
  return nullptr;
}

std::uint32_t BlockTable::accesses_out() const {
  std::uint32_t sum = 0;
  for (const std::uint8_t index : order_) sum += blocks_[index].accesses_out;
  return sum;
}

bool BlockTable::in_flight(const Block& block) const {
  return std::any_of(block.warps.begin(), block.warps.end(),
                     [this](std::uint16_t slot) { return warps_[slot].memory_out > 0; });
}

std::uint64_t BlockTable::issued(const Block& block) const {
  std::uint64_t left = 0;
  for (const std::uint16_t slot : block.warps)
    left += static_cast<std::uint64_t>(warps_[slot].end - warps_[slot].next);
  return block.supplied - left;
}

bool BlockTable::may_restart(const Block& block) const {
  std::array<std::uint32_t, 64> left{};
  for (std::size_t w = 0; w < block.warps.size(); ++w) {
    const Warp& warp = warps_[block.warps[w]];
    left[w] = static_cast<std::uint32_t>(warp.end - warp.next);
  }
  return block.stream->may_restart(std::span(left).first(block.warps.size()));
}

BlockContext BlockTable::context_of(const Block& block) const {
  BlockContext context;
  context.barriers = block.barriers;
  context.instructions = issued(block);
  context.notified = block.notified;
  context.cycles = block.cycles_before + block.finish_at - block.began;
  context.restore = block.restore;
  context.lines = block.restore_lines;
  for (const std::uint16_t slot : block.warps) {
    const Warp& warp = warps_[slot];
    const bool alive = (block.alive_warps >> warp.index & 1U) != 0;
    context.warps.push_back({alive, alive && warp.sync == Sync::Barrier, warp.barrier});
  }
  return context;
}

BlockTable::Released BlockTable::exits(std::uint32_t slot, Cycle now) {
  Warp& warp = warps_[slot];
  Block& block = blocks_[warp.block];
  warp.alive = false;
  --block.alive;
  block.alive_warps &= ~(std::uint64_t{1} << warp.index);
  block.last_time = std::max(block.last_time, now);
  Released released;
  if (block.alive == 0) {
    check_finished(block);
    return released;
  }
  for (std::uint32_t number = 0; number < block.barriers.size(); ++number)
    try_open(block, number, now, released);
  open_if_stuck(block, now, released);
  return released;
}

BlockTable::Released BlockTable::arrives(std::uint32_t slot, std::uint32_t number, std::uint32_t expected,
                                         bool waits, Cycle now) {
  Warp& warp = warps_[slot];
  Block& block = blocks_[warp.block];
  number %= static_cast<std::uint32_t>(block.barriers.size());
  Barrier& barrier = block.barriers[number];
  if (barrier.arrivals++ == 0) barrier.expected = expected;
  barrier.warps |= std::uint64_t{1} << warp.index;
  if (waits) {
    warp.sync = Sync::Barrier;
    warp.barrier = static_cast<std::uint8_t>(number);
    ++block.at_barrier;
  }
  Released released;
  if (!try_open(block, number, now, released)) open_if_stuck(block, now, released);
  return released;
}

bool BlockTable::try_open(Block& block, std::uint32_t number, Cycle now, Released& released) {
  const Barrier& barrier = block.barriers[number];
  if (barrier.arrivals == 0) return false;
  const bool opens = barrier.expected == 0 ? (block.alive_warps & ~barrier.warps) == 0
                                           : barrier.arrivals >= barrier.expected;
  if (opens) open(block, number, now, released);
  return opens;
}

void BlockTable::open(Block& block, std::uint32_t number, Cycle now, Released& released) {
  block.barriers[number] = {};
  released.opened = true;
  for (const std::uint16_t slot : block.warps) {
    Warp& warp = warps_[slot];
    if (!warp.alive || warp.sync != Sync::Barrier || warp.barrier != number) continue;
    warp.sync = Sync::Released;
    warp.sync_until = now + config_.barrier_latency;
    --block.at_barrier;
    released.warps |= WarpMask{1} << warp.index;
  }
}

/// Opens a barrier among part of the block's warps whose number of arrivals the static table does not
/// give. The stream shows that the barrier opens. So if every warp of the block waits at a barrier,
/// the lowest barrier opens.
void BlockTable::open_if_stuck(Block& block, Cycle now, Released& released) {
  if (block.alive == 0 || block.at_barrier < block.alive) return;
  for (std::uint32_t number = 0; number < block.barriers.size(); ++number) {
    if (block.barriers[number].arrivals == 0) continue;
    open(block, number, now, released);
    return;
  }
}

void BlockTable::check_finished(Block& block) {
  if (block.alive > 0 || block.accesses_out > 0) return;
  block.finish_at = block.last_time;
  next_end_ = std::min(next_end_, block.finish_at);
}

void BlockTable::give_back(Block& block) {
  for (const std::uint16_t slot : block.warps) {
    Warp& warp = warps_[slot];
    warp.resident = warp.alive = false;
    ++warp.generation;  // results in flight of a dropped block's warp belong to no warp any more
  }
  if (block.waits_to_leave) --stopping_;  // the block's last warp has exited before it left
  used_.threads -= block.threads;
  used_.warps -= block.stream->warps();
  used_.registers -= block.registers;
  used_.shared -= block.shared_bytes;
  --resident_[block.kernel];
  --of_app_[block.app];
  block.resident = false;
}

}  // namespace gpumux::sm
