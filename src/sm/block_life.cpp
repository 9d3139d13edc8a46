// Blocks that leave before their end: stopped, to continue elsewhere; dropped, to be restarted; or killed.
#include <algorithm>

#include "sm/state.hpp"

namespace gpumux::sm {

void Sm::stop_block(std::uint32_t residency, arch::ContextMove move) {
  state_->ask_to_leave(residency, Left::Stopped, move);
}

void Sm::drop_block(std::uint32_t residency) { state_->ask_to_leave(residency, Left::Dropped, {}); }

void Sm::kill_blocks(KernelSlot slot) {
  for (const arch::ResidentBlock& block : blocks())
    if (block.kernel == slot) state_->ask_to_leave(block.residency, Left::Killed, {});
}

std::vector<arch::ResidentBlock> Sm::blocks() const {
  std::vector<arch::ResidentBlock> blocks;
  for (const std::uint8_t index : state_->table.order()) {
    const Block& block = state_->table.block(index);
    const Cycle here = std::max(state_->known_now(), block.began) - block.began;
    blocks.push_back({block.kernel, block.residency, block.leaves != Left::Ended, state_->table.issued(block),
                      block.cycles_before + here, state_->table.may_restart(block), block.notified,
                      block.restores});
  }
  return blocks;
}

void Sm::State::ask_to_leave(std::uint32_t residency, Left how, arch::ContextMove move) {
  Block* const block = table.find_running(residency);
  if (block == nullptr || (how == Left::Dropped && !table.may_restart(*block))) return;
  block->leave_from = known_now() + move.save;
  block->restore = move.restore;
  block->context_lines = block->restore_lines = move.lines;
  table.ask_to_leave(*block, how);
  stage.hold(*block);
  warps_changed(block->kernel, known_now());  // with a limit of warps, its warps make room for others
  look_at_leaving(*block, known_now());
}

/// Lets a block leave if it is ready to. A stopped block leaves when memory has performed all that it has
/// in flight and all other results are there. A dropped or killed block leaves at once; what is in flight
/// then finds its warps gone.
void Sm::State::look_at_leaving(Block& block, Cycle now) {
  if (!block.waits_to_leave || block.alive == 0) return;
  if (block.move != 0 && block.leaves == Left::Stopped) return;
  Cycle at = now;
  if (block.leaves == Left::Stopped) {
    if (table.in_flight(block)) return;
    if (block.context_lines > 0) {
      begin_move(block, true, block.context_lines, now);
      block.context_lines = 0;
      return;
    }
    at = std::max({at, block.leave_from, block.last_time, stage.results_at(block)});
    for (const std::uint16_t slot : block.warps) {
      const Warp& warp = table.warp(slot);
      at = std::max(at, warp.memory_until);
      if (warp.sync == Sync::Released || (warp.sync == Sync::Async && warp.sync_until != kNever))
        at = std::max(at, warp.sync_until);
    }
  }
  table.leaves_at(block, at);
  find_rare();
}

/// Starts to move a block's context to or from memory. The context has its own place in memory, above all
/// other addresses of the application (workload/device_memory.hpp).
void Sm::State::begin_move(Block& block, bool save, std::uint32_t lines, Cycle now) {
  constexpr std::uint64_t kFirst = std::uint64_t{7} << (kAppLineShift - 3);
  constexpr std::uint64_t kLinesEach = 4096;  // 512 KB, more than an SM's registers and shared memory
  GPUMUX_CHECK(lines <= kLinesEach);
  block.move = ++moves;
  block.lines_out = lines;
  lsu.move_context(save, first_line_of(block.app) + kFirst + block.residency * kLinesEach, lines,
                   block.kernel, block.app, block.move, now);
}

void Sm::State::context_moved(std::uint32_t move, Cycle now) {
  for (const std::uint8_t index : table.order()) {
    Block& block = table.block(index);
    if (block.move != move) continue;
    if (--block.lines_out > 0) return;
    block.move = 0;
    if (block.restores) {
      block.restores = false;
      stage.admit(std::uint32_t{1} << block.kernel, gate, now);
    }
    look_at_leaving(block, now);
    return;
  }
  // The block has been dropped or killed meanwhile.
}

void Sm::State::hand_over(Block& block, Cycle now) {
  stage.leaves(block, now);
  front.leaves(block);
  if (block.leaves == Left::Dropped) {
    arch::KernelCounters& counter = count(block.kernel);
    if (counter.warp_instructions > 0)
      counter.discarded_thread_instructions +=
          std::min(counter.useful_instructions(),
                   table.issued(block) * counter.thread_instructions / counter.warp_instructions);
  }
  FinishedBlock gone{block.kernel, block.residency, block.finish_at, std::move(block.stream),
                     block.leaves, nullptr};
  if (block.leaves == Left::Stopped) {
    gone.context = std::make_unique<BlockContext>(table.context_of(block));
    copies_leave(block, *gone.context);
  }
  finished.push_back(std::move(gone));
}

}  // namespace gpumux::sm
