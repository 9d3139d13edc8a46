#include "emulator/block.hpp"

#include <algorithm>
#include <bit>
#include <iterator>

#include <fmt/core.h>

#include "base/error.hpp"
#include "base/text.hpp"
#include "emulator/addresses.hpp"
#include "emulator/execute.hpp"
#include "emulator/race_order.hpp"

namespace gpumux::emulator {
namespace {

/// Minimum number of warp instructions per call, which amortises the cost of a call.
constexpr std::uint32_t kChunk = 192;
/// Limit in records for running warps ahead of their consumption when another warp waits for them at a
/// barrier. The limit bounds the buffers, and prevents a warp that spins on another block from blocking the
/// refill.
constexpr std::uint32_t kAhead = 512;
/// Programs whose warps meet only at barriers (Program::warps_apart): a stream with less than half of these
/// records, or of these words of memory, is refilled to this depth, because each refill stops an SM.
constexpr std::uint32_t kDeep = 512;
constexpr std::uint32_t kDeepWords = 2048;
/// Depth in records, or in words, up to a barrier in such programs. Warps that wait at the barrier must find
/// their next record when it opens.
constexpr std::uint32_t kDeepToBarrier = 4096;
constexpr std::size_t kRowAlign = 64;
/// Number of instructions after which a warp is first tested for repeating the same state. The next test
/// comes when the number has doubled. This is rare enough to cost nothing, and early enough to find `while
/// (true);` soon.
constexpr std::uint64_t kFirstWatch = 4096;
/// Number of instructions of a test, and so of the longest loop that is recognised.
constexpr std::uint32_t kWatched = 1024;

}  // namespace

std::unique_ptr<BlockStorage> BlockPool::take() {
  if (free_.empty()) return std::make_unique<BlockStorage>();
  auto storage = std::move(free_.back());
  free_.pop_back();
  return storage;
}

void BlockPool::give(std::unique_ptr<BlockStorage> storage) { free_.push_back(std::move(storage)); }

Block::Block(std::shared_ptr<LaunchData> launch, std::uint64_t index, std::uint32_t residency, SmId sm,
             Cycle now, bool recorded)
    : BlockStream(launch->warps),
      launch_(std::move(launch)),
      storage_(launch_->pool->take()),
      ctaid_(launch_->config.grid.at(index)),
      index_(index),
      residency_(residency),
      sm_(sm),
      start_(now),
      recorded_(recorded),
      all_warps_(launch_->warps == 32 ? ~0U : (1U << launch_->warps) - 1) {
  const Program& program = *launch_->program;
  const std::uint32_t count = launch_->warps;
  BlockStorage& storage = *storage_;
  const std::size_t bytes = std::size_t{count} * program.register_bytes + kRowAlign;
  if (storage.register_capacity < bytes) {
    storage.registers = make_huge_page_array<std::byte>(bytes);
    storage.register_capacity = bytes;
  }
  auto first = reinterpret_cast<std::uintptr_t>(storage.registers.get());
  std::byte* rows = storage.registers.get() + (kRowAlign - first % kRowAlign) % kRowAlign;
  storage.preds.assign(std::size_t{count} * program.num_preds, 0);
  storage.shared.assign(launch_->shared_bytes, std::byte{0});
  storage.mbarriers.clear();
  storage.local.assign(std::size_t{count} * launch_->local_words * kWarpSize, 0);
  if (storage.block_rows.size() < program.block_row_bytes) storage.block_rows.resize(program.block_row_bytes);
  if (storage.warps.size() < count) storage.warps.resize(count);
  if (storage.buffers.size() < count) storage.buffers.resize(count);
  for (std::uint32_t w = 0; w < count; ++w) {
    Warp& warp = storage.warps[w];
    warp.base[kRegisterRows] = rows + std::size_t{w} * program.register_bytes;
    warp.base[kConstantRows] = launch_->constants;
    warp.base[kWarpRows] = launch_->warp_rows.data() + std::size_t{w} * program.warp_row_bytes;
    warp.base[kBlockRows] = storage.block_rows.data();
    warp.preds = storage.preds.data() + std::size_t{w} * program.num_preds;
    warp.preds[0] = kAllLanes;
    const std::uint32_t lanes = std::min(kWarpSize, launch_->threads - w * kWarpSize);
    warp.alive = lanes == kWarpSize ? kAllLanes : (1U << lanes) - 1;
    warp.active = warp.alive;
    warp.pc = 0;
    warp.reconverge = isa::kNoTarget;
    warp.status = WarpStatus::Running;
    warp.block = this;
    warp.index = w;
    warp.paths.clear();
    warp.executed = 0;
    warp.watch_at = kFirstWatch;
    warp.split = false;
    warp.spin = SpinWatch{};
    warp.buffer = &storage.buffers[w];
    warp.buffer->begin(recorded);
    for (const auto& [from, size] : program.zeroed) std::memset(warp.base[kRegisterRows] + from, 0, size);
  }
  fill_block_rows();
  if (launch_->races) races_ = std::make_unique<BlockRaces>(*launch_->races, index);
}

void Block::moved(SmId sm) {
  sm_ = sm;
  fill_block_rows();
}

Block::~Block() {
  races_.reset();  // must be destroyed before `launch_`, to which it refers
  launch_->pool->give(std::move(storage_));
}

Address Block::local_line(std::uint32_t warp) const {
  const Address row = Address{residency_} * launch_->warps + warp;
  return launch_->local_address + row * launch_->local_words * kLineBytes;
}

Dim3 Block::thread(const Warp& warp, std::uint32_t lane) const {
  return launch_->config.block.at(warp.index * kWarpSize + lane);
}

std::string Block::thread_text(const Warp& warp, std::uint32_t lane) const {
  return fmt::format("thread {} of block {}", triple(thread(warp, lane)), triple(ctaid_));
}

std::string Block::place_text(std::uint32_t pc) const {
  const isa::Function& function = launch_->program->kernel->code;
  return fmt::format("pc {} ({})", pc, module().compiled->module.place(function.code[pc].line));
}

std::string Block::fault_text(const Warp& warp, std::uint32_t lane, const std::string& what) const {
  return fmt::format("error: {}: kernel {}: {}, {}, {}", module().app_name,
                     launch_->program->kernel->code.name, what, thread_text(warp, lane), place_text(warp.pc));
}

void Block::fault(const Warp& warp, std::uint32_t lane, const std::string& what, FaultKind kind) const {
  throw KernelFault(kind, fault_text(warp, lane, what));
}

void Block::check_stack(const Warp& warp, std::uint32_t lane) const {
  const isa::Function& function = launch_->program->kernel->code;
  const auto depth =
      std::count_if(warp.paths.begin(), warp.paths.end(), [](const PathEntry& p) { return p.caller; });
  if (depth == 0 || !function.physical) return;
  // The frame of the running function starts at the stack pointer, register 0 in kernels with calls.
  const std::uint64_t size = std::uint64_t{launch_->local_words} * 4;
  std::uint32_t pointer = 0;
  std::memcpy(&pointer, warp.base[kRegisterRows] + launch_->program->registers_from + lane * 4, 4);
  const isa::Instruction& inst = function.code[warp.pc];
  const bool by_pointer = inst.src[0].kind == isa::Operand::Kind::Reg32 && inst.src[0].reg == 0;
  const auto behind = std::find_if(function.frames.begin(), function.frames.end(),
                                   [&](const auto& part) { return part.first > warp.pc; });
  const std::uint64_t frame = behind == function.frames.begin() ? 0 : std::prev(behind)->second;
  if (pointer + frame <= size && !by_pointer) return;
  fault(warp, lane,
        fmt::format("stack overflow: calls nest {} deep, and a thread has {} bytes of local memory and stack",
                    depth, size));
}

namespace {

/// The text of a lane mask: "lane 3", "lanes 0, 2 and 8 to 31".
std::string lanes_text(LaneMask lanes) {
  std::vector<std::string> parts;
  for (std::uint32_t lane = 0; lane < kWarpSize;) {
    if (((lanes >> lane) & 1U) == 0) {
      ++lane;
      continue;
    }
    std::uint32_t end = lane;
    while (end < kWarpSize && ((lanes >> end) & 1U) != 0) ++end;
    parts.push_back(end - lane == 1 ? fmt::format("{}", lane) : fmt::format("{} to {}", lane, end - 1));
    lane = end;
  }
  std::string text = std::popcount(lanes) == 1 ? "lane " : "lanes ";
  for (std::size_t i = 0; i < parts.size(); ++i)
    text += fmt::format("{}{}", i == 0 ? "" : i + 1 == parts.size() ? " and " : ", ", parts[i]);
  return text;
}

}  // namespace

/// The text of the lanes on other paths than the running one: "; lane 0 waits for them at pc 12 (a.ptx:60)".
std::string Block::waiting_lanes(const Warp& warp) const {
  std::string text;
  LaneMask rest = warp.alive & ~warp.active;
  for (auto path = warp.paths.rbegin(); path != warp.paths.rend() && rest != 0; ++path) {
    const LaneMask lanes = path->lanes & rest;
    if (lanes == 0) continue;
    rest &= ~lanes;
    text += fmt::format("; {} wait{} for them at {}", lanes_text(lanes), std::popcount(lanes) == 1 ? "s" : "",
                        place_text(path->pc));
  }
  return text;
}

std::string Block::watched_memory(Warp& warp) {
  Address loaded = 0;
  Address locked = 0;
  try {  // the simulation has ended, so changes of state are harmless
    execute(warp, kWatched, [&](const Op& op, std::uint32_t pc, LaneMask active) {
      const isa::Opcode opcode = op.inst->op;
      const LaneMask lanes = active & warp.pred(op.guard);
      const bool global = op.inst->space == isa::Space::Global || op.inst->space == isa::Space::Generic;
      if (lanes == 0 || !global || (opcode != isa::Opcode::Ld && opcode != isa::Opcode::Atom)) return true;
      warp.pc = pc;
      Addresses addresses;
      make_addresses(addresses, warp, op, lanes);
      const Address address = addresses.at[std::countr_zero(lanes)];
      (opcode == isa::Opcode::Atom ? locked : loaded) = address;
      return true;
    });
  } catch (const std::exception&) {
    return "";
  }
  const Address address = locked != 0 ? locked : loaded;
  if (address == 0) return "";
  return fmt::format("0x{:x}, {}", address, memory().describe(address));
}

std::string Block::whereabouts(std::uint32_t index) {
  Warp& warp = storage_->warps[index];
  if (warp.status == WarpStatus::Done) return "";
  const std::string who = fmt::format("warp {} of block {}: ", index, triple(ctaid_));
  if (warp.status == WarpStatus::AtBarrier)
    return fmt::format("{}at barrier {}, {}", who, warp.barrier, place_text(warp.pc));
  const std::string lanes = lanes_text(warp.active);
  const std::string place = place_text(warp.pc);
  const std::string waiting = waiting_lanes(warp);
  const std::string memory = watched_memory(warp);
  return fmt::format("{}{} at {}{}{}{}", who, lanes, place,
                     memory.empty() ? "" : ", looking again and again at ", memory, waiting);
}

namespace {

/// The value of a special register that is the same in all blocks.
std::uint32_t launch_special(isa::Special special, const LaunchData& launch, std::uint32_t warp,
                             std::uint32_t lane) {
  const Dim3& grid = launch.config.grid;
  const Dim3& block = launch.config.block;
  const Dim3 thread = block.at(std::uint64_t{warp} * kWarpSize + lane);
  const std::uint32_t own = 1U << lane;
  switch (special) {
    case isa::Special::TidX: return thread.x;
    case isa::Special::TidY: return thread.y;
    case isa::Special::TidZ: return thread.z;
    case isa::Special::NtidX: return block.x;
    case isa::Special::NtidY: return block.y;
    case isa::Special::NtidZ: return block.z;
    case isa::Special::NctaidX: return grid.x;
    case isa::Special::NctaidY: return grid.y;
    case isa::Special::NctaidZ: return grid.z;
    case isa::Special::LaneId: return lane;
    case isa::Special::WarpId: return warp;
    case isa::Special::NwarpId: return 64;       // hardware warp slots of an SM
    case isa::Special::NsmId: return 1U << 16U;  // above all ids; the emulator knows no machine
    case isa::Special::GridId: return static_cast<std::uint32_t>(launch.grid_id);
    case isa::Special::LanemaskEq: return own;
    case isa::Special::LanemaskLe: return own | (own - 1);
    case isa::Special::LanemaskLt: return own - 1;
    case isa::Special::LanemaskGe: return ~(own - 1);
    case isa::Special::LanemaskGt: return ~(own | (own - 1));
    case isa::Special::DynamicSmemSize: return launch.config.dynamic_shared_bytes;
    case isa::Special::TotalSmemSize: return launch.shared_bytes;
    case isa::Special::EnvReg1: return static_cast<std::uint32_t>(launch.workspace >> 32U);
    case isa::Special::EnvReg2: return static_cast<std::uint32_t>(launch.workspace);
    default: return 0;
  }
}

void put_lane(std::byte* row, bool wide, std::uint32_t lane, std::uint32_t value) {
  if (wide) {
    const std::uint64_t extended = value;
    std::memcpy(row + lane * 8, &extended, 8);
  } else {
    std::memcpy(row + lane * 4, &value, 4);
  }
}

}  // namespace

void fill_warp_rows(LaunchData& launch) {
  const Program& program = *launch.program;
  launch.warp_rows.resize(std::size_t{launch.warps} * program.warp_row_bytes);
  for (const SpecialRow& row : program.specials) {
    if (row.place.base != kWarpRows) continue;
    for (std::uint32_t warp = 0; warp < launch.warps; ++warp) {
      std::byte* const at = launch.warp_rows.data() + warp * program.warp_row_bytes + row.place.offset;
      for (std::uint32_t lane = 0; lane < kWarpSize; ++lane)
        put_lane(at, row.wide, lane, launch_special(row.special, launch, warp, lane));
    }
  }
}

void Block::fill_block_rows() {
  for (const SpecialRow& row : launch_->program->specials) {
    if (row.place.base != kBlockRows) continue;
    const std::uint32_t value = row.special == isa::Special::CtaidX   ? ctaid_.x
                                : row.special == isa::Special::CtaidY ? ctaid_.y
                                : row.special == isa::Special::CtaidZ ? ctaid_.z
                                                                      : sm_;
    std::byte* const at = storage_->block_rows.data() + row.place.offset;
    if (row.wide) {
      std::fill_n(reinterpret_cast<std::uint64_t*>(at), kWarpSize, value);
    } else {
      std::fill_n(reinterpret_cast<std::uint32_t*>(at), kWarpSize, value);
    }
  }
}

namespace {

/// True if an instruction's effect on the warp's registers, predicates and paths depends only on them. Stores
/// have no such effect.
bool depends_on_warp_alone(const Op& op) {
  const isa::Instruction& inst = *op.inst;
  switch (inst.op) {
    case isa::Opcode::Bar:
    case isa::Opcode::Syscall: return false;
    case isa::Opcode::Mov:
      return inst.src[0].kind != isa::Operand::Kind::Special ||
             !is_clock(static_cast<isa::Special>(inst.src[0].reg));
    case isa::Opcode::Ld: return inst.space == isa::Space::Param;
    case isa::Opcode::St:
    case isa::Opcode::Red:
    case isa::Opcode::Prefetch:
    case isa::Opcode::Notify: return true;
    default: return op.kind != OpKind::Memory;
  }
}

bool same_path(const PathEntry& a, const PathEntry& b) {
  return a.pc == b.pc && a.reconverge == b.reconverge && a.lanes == b.lanes && a.caller == b.caller;
}

}  // namespace

void Block::run(Warp& warp, std::uint32_t limit) {
  try {
    run_up_to(warp, limit);
  } catch (const KernelFault& fault) {
    if (launch_->module->errors == nullptr) throw;
    launch_->module->errors->end(fault.kind(), fault.what());
    warp.buffer->publish(streams_[warp.index]);  // moved by execute(), without its instructions
    stop(warp);
  }
}

void Block::stop(Warp& warp) {
  streams_[warp.index].finished = true;
  warp.status = WarpStatus::Done;
  done_warps_ |= 1U << warp.index;
}

void Block::run_up_to(Warp& warp, std::uint32_t limit) {
  const std::uint64_t most = launch_->config.max_warp_instructions;
  if (most != 0) {
    const auto left = [&] {
      if (warp.executed >= most) report_endless(warp);
      return most - warp.executed;
    };
    if (warp.executed >= warp.watch_at && !warp.split) {
      watch_for_repetition(warp, static_cast<std::uint32_t>(std::min<std::uint64_t>(kWatched, left())));
      if (warp.status != WarpStatus::Running) return;
    }
    limit = static_cast<std::uint32_t>(std::min<std::uint64_t>(limit, left()));
  }
  if (!warp.paths.empty()) {
    if (warp.executed >= warp.spin.look_at && yield_if_spinning(warp)) return;
    if (warp.status != WarpStatus::Running) return;
    if (warp.split) return run_split(warp, limit);
  }
  if (launch_->program->enqueues) {
    const std::uint64_t first = warp.executed;
    const bool nothing_before = streams_[warp.index].available() == 0;
    return execute(warp, limit, [&](const Op& op, std::uint32_t, LaneMask) {
      return !isa::enqueues(op.inst->service) || (nothing_before && warp.executed == first);
    });
  }
  execute(warp, limit, [](const Op&, std::uint32_t, LaneMask) { return true; });
}

// Throws if the warp returns to an earlier state and has read only its own registers in the meantime. Such a
// warp repeats forever, because nothing outside can affect it.
void Block::watch_for_repetition(Warp& warp, std::uint32_t limit) {
  const Program& program = *launch_->program;
  const std::byte* const registers = warp.base[kRegisterRows] + program.registers_from;
  const std::size_t bytes = program.register_bytes - program.registers_from;
  const std::vector<std::byte> first_registers(registers, registers + bytes);
  const std::vector<LaneMask> first_preds(warp.preds, warp.preds + program.num_preds);
  const std::vector<PathEntry> first_paths = warp.paths;
  const std::uint32_t first_pc = warp.pc;
  const LaneMask first_active = warp.active;
  const std::uint64_t first = warp.executed;
  execute(warp, limit, [&](const Op& op, std::uint32_t pc, LaneMask active) {
    if (pc == first_pc && active == first_active && warp.executed != first &&
        std::equal(first_registers.begin(), first_registers.end(), registers) &&
        std::equal(first_preds.begin(), first_preds.end(), warp.preds) &&
        std::equal(first_paths.begin(), first_paths.end(), warp.paths.begin(), warp.paths.end(), same_path)) {
      report_repetition(warp, pc, warp.executed - first);
    }
    return depends_on_warp_alone(op);
  });
  warp.watch_at = 2 * warp.executed;
}

void Block::refill(std::uint32_t index, std::uint32_t wanted) {
  Warp& warp = storage_->warps[index];
  workload::WarpStream& stream = streams_[index];
  if (ended_by_errors() && warp.status != WarpStatus::Done) stop(warp);
  const bool deep = launch_->program->warps_apart && stream.available() < kDeep / 2;
  const auto has_enough = [&](std::uint32_t has) {
    return has >= wanted && (!deep || has >= kDeep || warp.buffer->words_left(stream) >= kDeepWords);
  };
  while (warp.status != WarpStatus::Done && !has_enough(stream.available())) {
    const std::uint32_t has = stream.available();
    if (warp.status == WarpStatus::Running) {
      if (holds_back(warp)) return;
      run(warp, has < wanted ? std::max(kChunk, wanted - has) : std::min(kChunk, kDeep - has));
    } else {
      let_others_run(warp);
      if (ended_by_errors()) return stop(warp);
      if (warp.status == WarpStatus::AtBarrier) return;
    }
  }
}

std::uint64_t Block::advance(std::uint32_t turn) {
  std::uint64_t executed = 0;
  bool stuck = true;
  for (std::uint32_t w = 0; w < launch_->warps; ++w) {
    Warp& warp = storage_->warps[w];
    const std::uint64_t before = warp.executed;
    while (warp.status == WarpStatus::Running && warp.executed - before < turn) {
      stuck = false;
      if (ended_by_errors()) {
        stop(warp);
      } else {
        run(warp, turn - static_cast<std::uint32_t>(warp.executed - before));
      }
    }
    executed += warp.executed - before;
  }
  if (stuck && !ended()) {
    if (!ended_by_errors()) report_deadlock();
    for (std::uint32_t w = 0; w < launch_->warps; ++w) stop(storage_->warps[w]);
  }
  return executed;
}

void Block::let_others_run(const Warp& stuck) {
  bool someone_runs = false;
  const bool apart = launch_->program->warps_apart;
  const std::uint32_t ahead = apart ? kDeepToBarrier : kAhead;
  const std::uint32_t chunk = apart ? kChunk : kAhead;  // buffers get room for a whole chunk
  for (std::uint32_t w = 0; w < launch_->warps; ++w) {
    Warp& other = storage_->warps[w];
    if (other.status != WarpStatus::Running) continue;
    someone_runs = true;
    while (other.status == WarpStatus::Running && !holds_back(other) && streams_[w].available() < ahead &&
           (!apart || other.buffer->words_left(streams_[w]) < ahead)) {
      run(other, std::min(chunk, ahead - streams_[w].available()));
      if (stuck.status != WarpStatus::AtBarrier || ended_by_errors()) return;
    }
  }
  if (!someone_runs && stuck.status == WarpStatus::AtBarrier) report_deadlock();
}

void Block::arrive(Warp& warp, std::uint32_t barrier, std::uint32_t count, const Op& op, LaneMask lanes,
                   bool waits) {
  Barrier& b = barriers_[barrier];
  if (races_) races_->arrives(warp, barrier);
  if (b.warps_arrived == 0 && b.arrivals == 0) {
    b.count = count;
  } else if (b.count != count) {
    fault(warp, static_cast<std::uint32_t>(std::countr_zero(lanes)),
          fmt::format("barrier {} with {} threads while others wait at it with {}", barrier, count, b.count));
  }
  barriers_in_use_ |= 1U << barrier;
  b.warps_arrived |= 1U << warp.index;
  ++b.arrivals;
  if (op.inst->bar >= isa::BarMode::RedPopc) {
    const LaneMask holds = warp.pred(op.pred_src[0]) & lanes;
    b.popc += static_cast<std::uint32_t>(std::popcount(holds));
    b.all = b.all && holds == lanes;
  }
  if (waits) {
    b.warps_waiting |= 1U << warp.index;
    warp.status = WarpStatus::AtBarrier;
    warp.barrier = barrier;
    warp.barrier_op = &op;
    warp.barrier_lanes = lanes;
  } else if (++warp.pc == warp.reconverge) {
    warp.settle();
  }
  try_open(barrier);
}

void Block::try_open(std::uint32_t barrier) {
  Barrier& b = barriers_[barrier];
  if (b.arrivals == 0) return;
  const bool open =
      b.count == 0 ? (b.warps_arrived | done_warps_) == all_warps_ : b.arrivals * kWarpSize >= b.count;
  if (!open) return;
  const Barrier opened = b;
  b = Barrier{};
  barriers_in_use_ &= ~(1U << barrier);
  if (races_) races_->opens(barrier, opened.count == 0 ? done_warps_ : 0);
  for (std::uint32_t rest = opened.warps_waiting; rest != 0; rest &= rest - 1) {
    Warp& warp = storage_->warps[static_cast<std::size_t>(std::countr_zero(rest))];
    const Op& op = *warp.barrier_op;
    switch (op.inst->bar) {
      case isa::BarMode::RedPopc: {
        auto* d = warp.dst<std::uint32_t>(op);
        for (std::uint32_t i = 0; i < kWarpSize; ++i) {
          if ((warp.barrier_lanes >> i) & 1U) d[i] = opened.popc;
        }
        break;
      }
      case isa::BarMode::RedAnd:
        warp.set_pred(op.pred_dst[0], opened.all ? kAllLanes : 0, warp.barrier_lanes);
        break;
      case isa::BarMode::RedOr:
        warp.set_pred(op.pred_dst[0], opened.popc != 0 ? kAllLanes : 0, warp.barrier_lanes);
        break;
      default: break;
    }
    if (races_) races_->passes(warp, barrier);
    warp.status = WarpStatus::Running;
    if (++warp.pc == warp.reconverge) warp.settle();
  }
}

void Block::warp_done(Warp& warp) {
  done_warps_ |= 1U << warp.index;
  for (std::uint32_t rest = barriers_in_use_; rest != 0; rest &= rest - 1) {
    const auto b = static_cast<std::uint32_t>(std::countr_zero(rest));
    if (barriers_[b].count == 0) try_open(b);
  }
}

void Block::report_deadlock() const {
  std::string who;
  std::uint32_t listed = 0;
  std::uint32_t waiting = 0;
  for (std::uint32_t w = 0; w < launch_->warps; ++w) {
    const Warp& warp = storage_->warps[w];
    if (warp.status != WarpStatus::AtBarrier) continue;
    ++waiting;
    if (++listed > 4) continue;
    who += fmt::format("{}warp {} at barrier {}, {}", listed == 1 ? "" : "; ", w, warp.barrier,
                       place_text(warp.pc));
  }
  if (waiting > 4) who += fmt::format("; and {} more", waiting - 4);
  throw SimulationFault(fmt::format(
      "error: {}: kernel {}: barrier deadlock in block {}: {} of {} warps wait and none can arrive any more: "
      "{}",
      module().app_name, launch_->program->kernel->code.name, triple(ctaid_), waiting, launch_->warps, who));
}

void Block::report_endless(const Warp& warp) const {
  throw SimulationFault(
      fmt::format("error: {}: kernel {}: endless: warp {} of block {} has executed {} instructions without "
                  "an end, {} at {}{}; runtime.max_warp_instructions says how many it may",
                  module().app_name, launch_->program->kernel->code.name, warp.index, triple(ctaid_),
                  warp.executed, lanes_text(warp.active), place_text(warp.pc), waiting_lanes(warp)));
}

void Block::report_repetition(const Warp& warp, std::uint32_t pc, std::uint64_t period) const {
  throw SimulationFault(
      fmt::format("error: {}: kernel {}: endless: warp {} of block {} comes back to the same state every {} "
                  "instruction{} and reads no memory on the way, {} at {}{}",
                  module().app_name, launch_->program->kernel->code.name, warp.index, triple(ctaid_), period,
                  period == 1 ? "" : "s", lanes_text(warp.active), place_text(pc), waiting_lanes(warp)));
}

}  // namespace gpumux::emulator
