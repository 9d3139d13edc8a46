// Probes, the watchdog's report and conservation checks.
#include <algorithm>

#include "sm/state.hpp"

namespace gpumux::sm {

namespace {

const char* text(Stall stall) {
  switch (stall) {
    case Stall::None: return "nothing";
    case Stall::Line: return "a line: every line of the set is reserved";
    case Stall::Mshr: return "an MSHR";
    case Stall::Merge: return "room in the MSHR's merge list";
    case Stall::MissQueue: return "room in the miss queue";
  }
  return "?";
}

const char* text(Purpose purpose) {
  switch (purpose) {
    case Purpose::L1Fill: return "L1 fill";
    case Purpose::Load: return "load";
    case Purpose::Store: return "store";
    case Purpose::Atomic: return "atomic";
    case Purpose::TextureFill: return "texture fill";
    case Purpose::Instruction: return "instruction fetch";
    case Purpose::Constant: return "constant";
    case Purpose::ContextSave: return "context save";
    case Purpose::ContextRestore: return "context restore";
  }
  return "?";
}

}  // namespace

std::string Sm::State::whereabouts(KernelSlot slot, std::uint32_t most) {
  std::string text;
  for (const std::uint8_t index : table.order()) {
    Block& block = table.block(index);
    if (block.kernel != slot || !block.stream) continue;
    for (std::uint32_t w = 0; w < block.stream->warps() && most > 0; ++w) {
      const std::string where = block.stream->whereabouts(w);
      if (where.empty()) continue;
      text += where + '\n';
      --most;
    }
  }
  return text;
}

bool Sm::State::waits_for_others(KernelSlot slot) {
  for (const std::uint8_t index : table.order()) {
    Block& block = table.block(index);
    if (block.kernel != slot) continue;
    if (!block.may_issue() || block.alive == 0 || !block.stream) return false;
    bool some = false;
    for (std::uint32_t w = 0; w < block.stream->warps(); ++w) {
      const workload::Outlook outlook = block.stream->outlook(w);
      if (outlook == workload::Outlook::GoesOn) return false;
      some = some || outlook == workload::Outlook::Waits;
    }
    if (!some) return false;
  }
  return true;
}

std::string Sm::State::describe_waits(const WaitNames& names) const {
  std::string out;
  const auto block_text = [&](const Block& block) {
    if (names.block) return fmt::format("sm {} {}", id, names.block(block.kernel, block.residency));
    return fmt::format("sm {} kernel {} block residency {}", id, block.kernel, block.residency);
  };
  const auto pc_text = [&](KernelSlot kernel, std::uint32_t pc) {
    return names.pc ? fmt::format("pc {} ({})", pc, names.pc(kernel, pc)) : fmt::format("pc {}", pc);
  };
  for (const std::uint8_t index : table.order()) {
    const Block& block = table.block(index);
    if (block.alive == 0) {
      out += fmt::format("{}: exited, waits for {} memory instructions\n", block_text(block),
                         block.accesses_out);
    }
    // Neighbouring warps that wait for the same condition share a line.
    struct Group {
      std::uint32_t first, last;
      std::string reason;
    };
    std::vector<Group> groups;
    for (std::uint32_t w = 0; w < block.warps.size(); ++w) {
      const std::uint16_t slot = block.warps[w];
      const Warp& warp = table.warp(slot);
      if (!warp.alive) continue;
      std::string reason;
      if (warp.sync == Sync::Barrier) {
        reason = fmt::format("barrier {} ({} arrivals, {} warps run)", warp.barrier,
                             block.barriers[warp.barrier].arrivals, block.alive);
      } else if (warp.sync == Sync::Released) {
        reason = "release of its barrier";
      } else if (warp.sync == Sync::Fence) {
        reason = fmt::format("its fence ({} memory instructions under way)", warp.memory_out);
      } else if (warp.sync == Sync::Async) {
        reason = copies.describe_wait(slot, warp.block);
      } else if (warp.starved) {
        reason = "more records of its stream";
      } else {
        const TimedInst& inst = stage.kernel(warp.kernel).table[warp.next->pc];
        switch (warp.wait) {
          case Wait::Nothing:
            reason = gate.paused()                  ? "its SM to go on"
                     : !gate.may_issue(warp.kernel) ? "its kernel to be allowed to issue"
                     : !gate.open(warp.kernel)      ? "its kernel's next budget of instructions"
                     : stage.memory_concerned() && inst.unit == isa::Unit::Memory &&
                             memory.client(stage.kernel(warp.kernel).app).in_flight >=
                                 memory.client(stage.kernel(warp.kernel).app).limit
                         ? "its application's memory instructions in flight to become fewer"
                     : inst.unit == isa::Unit::Memory ? "the load/store unit"
                                                      : "its turn or its unit";
            break;
          case Wait::Memory: {
            const int out_slot = stage.slot_out(slot, inst);
            const int predicates = stage.kernel(warp.kernel).predicates;
            reason = out_slot < 0 ? "memory data that has arrived, in its last cycles"
                     : out_slot >= predicates
                         ? fmt::format("memory data of predicate {}", out_slot - predicates)
                         : fmt::format("memory data of register {}", out_slot);
            break;
          }
          case Wait::Alu: reason = "an arithmetic result"; break;
          case Wait::Fetch:
            reason = warp.fetch_ready == kNever ? "an instruction cache miss" : "instruction fetch";
            break;
          case Wait::Sync: reason = "synchronisation"; break;
        }
      }
      reason += fmt::format(" {} {}", warp.starved ? "after" : "at",
                            pc_text(block.kernel, warp.starved ? warp.last_pc : warp.next->pc));
      if (!groups.empty() && groups.back().last + 1 == w && groups.back().reason == reason) {
        groups.back().last = w;
      } else {
        groups.push_back({w, w, std::move(reason)});
      }
    }
    for (const Group& group : groups) {
      out += group.first == group.last
                 ? fmt::format("{} warp {} waits for {}\n", block_text(block), group.first, group.reason)
                 : fmt::format("{} warps {} to {} wait for {}\n", block_text(block), group.first, group.last,
                               group.reason);
    }
  }
  const NetworkInterface& network = lsu.network();
  if (const MemoryOp* const op = lsu.head()) {
    out += fmt::format("sm {} LSU head: kernel {} slot {} {}, {} of {} lines accepted, waits for {}\n", id,
                       op->kernel, op->warp, pc_text(op->kernel, op->pc), lsu.taken(), op->transactions,
                       text(lsu.stalled_by()));
  }
  if (lsu.queued() > 0) out += fmt::format("sm {} LSU queue: {} instructions\n", id, lsu.queued());
  const L1& l1 = lsu.l1();
  if (l1.mshrs_in_use() > 0)
    out += fmt::format("sm {} L1: {} MSHRs with {} waiters, {} lines reserved\n", id, l1.mshrs_in_use(),
                       l1.waiters(), l1.reserved_lines());
  if (!network.injection().empty()) {
    const Fifo<std::uint32_t>& misses = network.injection().misses();
    const Request* const first = misses.empty() ? nullptr : &network.request(misses.at(0));
    const std::string head = first == nullptr
                                 ? "instruction or constant fetches"
                                 : fmt::format("{} of line {:#x} to partition {}", text(first->purpose),
                                               first->line, first->partition);
    out += fmt::format("sm {} miss queue: {} packets, first {}, {} credits\n", id, misses.size(), head,
                       network.injection().credits(now_));
  }
  if (network.requests() > 0) out += fmt::format("sm {} requests under way: {}\n", id, network.requests());
  return out;
}

void Sm::State::check_drained(bool credits_home) const {
  const auto check = [this](bool good, const char* what) {
    if (!good) throw InternalError(fmt::format("sm {}: {} leaked", id, what));
  };
  check(table.drained(), "block resources");
  const char* const leaked = lsu.leaked();
  check(leaked == nullptr, leaked);
  check(memory.drained(), "a memory instruction of a memory scheme");
  check(front.misses() == 0, "an instruction miss");
  for (std::size_t slot = 0; slot < counters.size(); ++slot) {
    const auto kernel = static_cast<KernelSlot>(slot);
    check(front.records_left(kernel, counters[slot].warp_instructions) == 0, "a record of a stream");
  }
  check(stage.drained(), "a warp of a scheduler");
  const std::uint32_t credits = lsu.network().injection().all_credits();
  const std::uint32_t most = lsu.network().network().request_credits;
  check(credits <= most, "credits (too many)");
  if (credits_home) check(credits == most, "credits");
}

}  // namespace gpumux::sm
