#include "emulator/race_order.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "base/error.hpp"
#include "emulator/block.hpp"

namespace gpumux::emulator {
namespace {

GridClocks join_clocks(const GridClocks& a, const GridClocks& b) {
  if (b == nullptr || a == b) return a;
  if (a == nullptr) return b;
  // Nearly always, one clock includes the other and can be shared.
  const auto behind = [](const GridClocks& early, const GridClocks& late) {
    if (early->size() > late->size()) return false;
    return std::equal(early->begin(), early->end(), late->begin(),
                      [](std::uint32_t x, std::uint32_t y) { return x <= y; });
  };
  if (behind(b, a)) return a;
  if (behind(a, b)) return b;
  std::vector<std::uint32_t> both(std::max(a->size(), b->size()));
  std::copy(a->begin(), a->end(), both.begin());
  for (std::size_t i = 0; i < b->size(); ++i) both[i] = std::max(both[i], (*b)[i]);
  return std::make_shared<const std::vector<std::uint32_t>>(std::move(both));
}

/// Copies the value that a lane stores, up to 16 bytes, to `to`. Returns false if the instruction is no plain
/// store, so that the value is unknown.
bool stored_value(const Warp& warp, const Op& op, std::uint32_t lane, std::byte* to) {
  const isa::Instruction& inst = *op.inst;
  if (inst.op != isa::Opcode::St) return false;
  const unsigned bytes = isa::width_bytes(inst.type);
  for (unsigned e = 0; e < inst.vector; ++e) {
    const bool wide = bytes == 8 || inst.src[1 + e].kind == isa::Operand::Kind::Reg64;
    const std::uint64_t value =
        wide ? warp.src<std::uint64_t>(op, 1 + e)[lane] : warp.src<std::uint32_t>(op, 1 + e)[lane];
    std::memcpy(to + std::size_t{e} * bytes, &value, bytes);
  }
  return true;
}

/// The present bytes at an address, or nullptr for an invalid access.
const std::byte* content(const Warp& warp, isa::Space space, Address address, std::uint32_t bytes) {
  Block& block = *warp.block;
  if (space == isa::Space::Shared) {
    const std::uint32_t size = block.launch().shared_bytes;
    return address < size && bytes <= size - address ? block.shared() + address : nullptr;
  }
  return block.memory().valid(address, bytes) ? block.memory().host(address) : nullptr;
}

constexpr std::size_t kWidest = 16;  // maximum bytes of a lane's access

}  // namespace

void Knowledge::join(const Knowledge& other) {
  for (std::size_t i = 0; i < block.size(); ++i) block[i] = std::max(block[i], other.block[i]);
  grid = join_clocks(grid, other.grid);
}

LaunchRaces::LaunchRaces(const LaunchData& launch, RaceLog& log) : launch_(launch), log_(log) {}

BlockRaces::BlockRaces(LaunchRaces& launch, std::uint64_t index)
    : launch_(launch),
      index_(index),
      first_warp_(static_cast<std::uint32_t>(index * launch.launch_.warps)),
      orders_(launch.launch_.warps) {
  constexpr std::uint64_t kMostWarps = (std::uint64_t{1} << 32U) - 2;  // limit of Mark::warp
  if ((index + 1) * launch.launch_.warps > kMostWarps)
    throw UserError("races are looked for in grids of less than 2^32 warps");
  if (!std::exchange(launch_.begun_, true)) launch_.log_.launched();
  if (index_ >= launch_.ended_.size() || launch_.ended_[index_] == 0) return;
  const std::uint32_t since = launch_.ended_[index_];
  for (Order& order : orders_) {
    order.time = since;
    order.knows.block.fill(since);
    for (LaneTimes& lane : order.lanes) lane.fill(since);
  }
}

BlockRaces::~BlockRaces() {
  std::uint32_t last = 0;
  for (const Order& order : orders_) last = std::max(last, order.time);
  if (index_ >= launch_.ended_.size()) launch_.ended_.resize(index_ + 1);
  launch_.ended_[index_] = last;
}

// --- Lanes of a warp -------------------------------------------------------------------------------

/// Updates the knowledge of the lanes that have executed together: each knows the others up to now.
void BlockRaces::settle_group(Order& order) {
  for (LaneMask rest = order.together; rest != 0; rest &= rest - 1) {
    LaneTimes& knows = order.lanes[static_cast<std::size_t>(std::countr_zero(rest))];
    for (std::size_t a = 0; a < kWarpSize; ++a)
      knows[a] = ((order.together >> a) & 1U) != 0 ? order.time : knows[a];
  }
}

/// Each of `lanes` gets the combined knowledge of all, including their own accesses up to now.
void BlockRaces::join(Order& order, LaneMask lanes) {
  LaneTimes all{};
  for (LaneMask rest = lanes; rest != 0; rest &= rest - 1) {
    const auto lane = static_cast<std::size_t>(std::countr_zero(rest));
    for (std::size_t a = 0; a < kWarpSize; ++a) all[a] = std::max(all[a], order.lanes[lane][a]);
  }
  for (std::size_t a = 0; a < kWarpSize; ++a) all[a] = ((lanes >> a) & 1U) != 0 ? order.time : all[a];
  for (LaneMask rest = lanes; rest != 0; rest &= rest - 1)
    order.lanes[static_cast<std::size_t>(std::countr_zero(rest))] = all;
}

void BlockRaces::regroup(Order& order, LaneMask active) {
  settle_group(order);
  join(order, active);
  order.together = active;
}

void BlockRaces::join_lanes(const Warp& warp, LaneMask lanes) {
  Order& order = orders_[warp.index];
  if ((lanes & ~order.together) == 0) return;
  settle_group(order);
  join(order, lanes);
  if (order.together != 0) join(order, order.together);  // lanes that execute together share their knowledge
}

// --- Barriers --------------------------------------------------------------------------------------

void BlockRaces::arrives(const Warp& warp, std::uint32_t barrier) {
  enter(warp);
  barriers_[barrier].join(now(warp.index));
}

void BlockRaces::opens(std::uint32_t barrier, std::uint32_t ended) {
  for (std::uint32_t rest = ended; rest != 0; rest &= rest - 1)
    barriers_[barrier].join(now(static_cast<std::uint32_t>(std::countr_zero(rest))));
  opened_[barrier] = std::exchange(barriers_[barrier], Knowledge{});
}

void BlockRaces::passes(const Warp& warp, std::uint32_t barrier) {
  orders_[warp.index].knows.join(opened_[barrier]);
  join_lanes(warp, warp.barrier_lanes);
}

// --- Fences and atomics ----------------------------------------------------------------------------

void BlockRaces::fence(const Warp& warp, std::uint32_t scope) {
  Order& order = orders_[warp.index];
  order.fenced_block = now(warp.index);
  order.has_fenced_block = true;
  if (scope == 0) return;
  order.fenced_grid = order.fenced_block;
  order.has_fenced_grid = true;
  order.fenced = nullptr;
}

GridClocks BlockRaces::as_clocks(const Knowledge& knowledge) const {
  std::vector<std::uint32_t> all;
  if (knowledge.grid != nullptr) all = *knowledge.grid;
  all.resize(std::max(all.size(), std::size_t{first_warp_} + orders_.size()));
  for (std::size_t w = 0; w < orders_.size(); ++w)
    all[first_warp_ + w] = std::max(all[first_warp_ + w], knowledge.block[w]);
  return std::make_shared<const std::vector<std::uint32_t>>(std::move(all));
}

void BlockRaces::release(const Warp& warp, isa::Space space, Address address, bool at_once) {
  Order& order = orders_[warp.index];
  if (!at_once && !order.has_fenced_block) return;
  const Knowledge& to_block = at_once ? now(warp.index) : order.fenced_block;
  const bool shared = space == isa::Space::Shared;
  Released& at = shared ? released_[address] : launch_.released_[address];
  ++at.version;
  if (std::exchange(at.block, index_) != index_) at.within = Knowledge{};
  at.within.join(to_block);
  if (shared || (!at_once && !order.has_fenced_grid)) return;
  if (!at_once && order.fenced == nullptr) order.fenced = as_clocks(order.fenced_grid);
  at.grid = join_clocks(at.grid, at_once ? as_clocks(to_block) : order.fenced);
}

void BlockRaces::take(Order& order, std::uint32_t warp, LaneMask lanes, const Released& from) const {
  std::uint32_t own = 0;
  if (from.grid != nullptr) {
    order.knows.grid = join_clocks(order.knows.grid, from.grid);
    for (std::size_t w = 0; w < orders_.size() && first_warp_ + w < from.grid->size(); ++w)
      order.knows.block[w] = std::max(order.knows.block[w], (*from.grid)[first_warp_ + w]);
    if (grid_index(warp) < from.grid->size()) own = (*from.grid)[grid_index(warp)];
  }
  if (from.block == index_) {
    order.knows.join(from.within);
    own = std::max(own, from.within.block[warp]);
  }
  for (LaneMask rest = lanes; rest != 0 && own != 0; rest &= rest - 1)  // from other lanes of the warp
    for (std::uint32_t& time : order.lanes[static_cast<std::size_t>(std::countr_zero(rest))])
      time = std::max(time, own);
}

void BlockRaces::acquire(const Warp& warp, std::uint32_t lane, isa::Space space, Address address) {
  const auto& all = space == isa::Space::Shared ? released_ : launch_.released_;
  if (all.empty()) return;
  const auto found = all.find(address);
  if (found == all.end()) return;
  Order& order = orders_[warp.index];
  const Released& from = found->second;
  if (order.acquired != &from || order.acquired_version != from.version) order.acquired_by = 0;
  const LaneMask bit = LaneMask{1} << lane;
  if ((order.acquired_by & bit) != 0) return;
  order.acquired = &from;
  order.acquired_version = from.version;
  order.acquired_by |= bit;
  take(order, warp.index, bit, from);
}

void BlockRaces::mbarrier_arrives(const Warp& warp, LaneMask lanes, Address address) {
  Arrived& at = mbarriers_[address];
  at.knowledge.join(now(warp.index));
  at.lanes[warp.index] |= lanes;
}

void BlockRaces::mbarrier_passes(const Warp& warp, LaneMask lanes, Address address) {
  const auto found = mbarriers_.find(address);
  if (found == mbarriers_.end()) return;
  orders_[warp.index].knows.join(found->second.knowledge);
  join_lanes(warp, lanes | found->second.lanes[warp.index]);
}

// --- Accesses --------------------------------------------------------------------------------------

bool BlockRaces::ordered(const Mark& mark, const Order& order, std::uint32_t warp, std::uint32_t lane) const {
  const std::uint32_t index = mark.warp - 1;
  const std::uint32_t local = index - first_warp_;
  if (local == warp) {
    const std::uint32_t other = mark.lane();
    if (other == lane) return true;
    const LaneMask both = (LaneMask{1} << lane) | (LaneMask{1} << other);
    if ((order.together & both) == both) return mark.time < order.time;
    return mark.time <= order.lanes[lane][other];
  }
  if (local < orders_.size()) return mark.time <= order.knows.block[local];
  return order.knows.grid != nullptr && index < order.knows.grid->size() &&
         mark.time <= (*order.knows.grid)[index];
}

bool BlockRaces::conflict(const Mark& mark, const Mark& mine) const {
  if (!mark.strong() || !mine.strong()) return true;
  // Volatile accesses do not order lanes of a warp. RaceMode::Warp reports exactly this.
  return mode() == RaceMode::Warp && mark.warp == mine.warp && !mark.atomic() && !mine.atomic();
}

void BlockRaces::keep(std::array<Mark, 2>& marks, const Mark& mine, const Order& order,
                      std::uint32_t warp) const {
  // An access that is ordered after `mine` is also ordered after marks before `mine`. However, a strong
  // access permits more concurrent accesses, so it cannot replace a weak one.
  const auto stands_for = [&](const Mark& mark) { return !mine.strong() || mark.strong(); };
  const auto redundant = [&](const Mark& mark) {
    return mark && stands_for(mark) && ordered(mark, order, warp, mine.lane());
  };
  for (std::size_t i = 0; i < 2; ++i) {
    if (!redundant(marks[i])) continue;
    marks[i] = mine;
    if (i == 0 && redundant(marks[1])) marks[1] = Mark{};
    return;
  }
  for (Mark& mark : marks) {
    if (mark) continue;
    mark = mine;
    return;
  }
  const auto warps = static_cast<std::uint32_t>(orders_.size());
  const auto differ = [&](const Mark& a, const Mark& b) {  // degree of difference
    if (a.warp == b.warp) return a.lane() == b.lane() ? 0 : 1;
    return (a.warp - 1) / warps == (b.warp - 1) / warps ? 2 : 3;
  };
  for (std::size_t i = 2; i-- > 0;) {
    if (!stands_for(marks[i]) || differ(marks[1 - i], mine) <= differ(marks[0], marks[1])) continue;
    marks[i] = mine;
    return;
  }
}

void BlockRaces::check(const Warp& warp, const Access& access, const std::uint64_t* addresses, LaneMask lanes,
                       Shadow& shadow, isa::Space space) {
  const Order& order = orders_[warp.index];
  const bool writes = access.kind != Kind::Read;
  const std::uint32_t flags =
      (access.kind == Kind::Atomic ? Mark::kAtomic : 0U) | (access.strong ? Mark::kStrong : 0U);
  const std::uint32_t alignment = std::bit_ceil(access.bytes) - 1;
  for (LaneMask rest = lanes; rest != 0; rest &= rest - 1) {
    const auto lane = static_cast<std::uint32_t>(std::countr_zero(rest));
    const std::uint64_t address = addresses[lane];
    if ((address & alignment) != 0) continue;  // the handler reports the misalignment
    const Mark mine{grid_index(warp.index) + 1, order.time,
                    access.pc << Mark::kPcShift | lane << Mark::kLaneShift | flags};
    const Shadow::Cells cells = shadow.at(address, access.bytes);
    std::uint32_t counted = ~0U;  // last pc of a race of this access, so that a wide access counts once
    for (std::uint32_t c = 0; c < cells.count; ++c) {
      Cell& cell = cells.first[c];
      const auto look = [&](const Mark& mark, bool was_write) {
        if (!mark || !conflict(mark, mine) || ordered(mark, order, warp.index, lane)) return;
        const std::uint32_t which = mark.pc() << 1U | (was_write ? 1U : 0U);
        if (which == counted) return;
        const Place place{warp,
                          access,
                          addresses,
                          lane,
                          space,
                          address + std::uint64_t{c} * cells.bytes_each,
                          cells.bytes_each};
        if (found(place, mark, was_write)) counted = which;
      };
      for (const Mark& mark : cell.writes) look(mark, true);
      if (!writes) {
        keep(cell.reads, mine, order, warp.index);
        continue;
      }
      for (const Mark& mark : cell.reads) look(mark, false);
      if (access.strong) {
        keep(cell.writes, mine, order, warp.index);
      } else {  // a later race with an earlier access implies a race with this one
        cell = Cell{{mine, Mark{}}, {}};
      }
    }
  }
}

bool BlockRaces::found(const Place& at, const Mark& before, bool was_write) {
  const Order& order = orders_[at.warp.index];
  std::byte value[kWidest];
  bool same = false;
  if (was_write && at.access.kind == Kind::Write && stored_value(at.warp, *at.access.op, at.lane, value)) {
    const Address begin = at.addresses[at.lane];
    if (before.warp == grid_index(at.warp.index) + 1 && before.time == order.time) {
      std::byte other[kWidest];
      stored_value(at.warp, *at.access.op, before.lane(), other);
      const std::byte* const theirs = other + (at.address - at.addresses[before.lane()]);
      if (std::memcmp(value + (at.address - begin), theirs, at.bytes) == 0) return false;
    } else {
      const std::byte* const old = content(at.warp, at.space, begin, at.access.bytes);
      same = old != nullptr && std::memcmp(value, old, at.access.bytes) == 0;
    }
  }
  const std::uint64_t low = std::min(before.pc(), at.access.pc);
  const std::uint64_t high = std::max(before.pc(), at.access.pc);
  const std::uint64_t pair = low << 33U | high << 1U | (at.space == isa::Space::Shared ? 1U : 0U);
  const auto [known, is_new] = launch_.pairs_.try_emplace(pair, 0);
  if (is_new) {
    const isa::Function& code = launch_.launch_.program->kernel->code;
    const ModuleData& module = *launch_.launch_.module;
    const auto place = [&](std::uint64_t pc) {
      return std::uint64_t{code.code[pc].line} << 32U | code.code[pc].column;
    };
    const std::uint64_t a = place(low);
    const std::uint64_t b = place(high);
    const RaceLog::Entry entry = launch_.log_.enter(
        {module.app, module.compiled->module.file, code.name, at.space, std::min(a, b), std::max(a, b)});
    known->second = entry.index;
    if (entry.is_new) describe(launch_.log_.race(entry.index), at, before, was_write);
  }
  Race& race = launch_.log_.race(known->second);
  if (at.access.kind == Kind::Read) {
    ++race.read_after_write;
  } else if (!was_write) {
    ++race.write_after_read;
  } else {
    ++race.write_after_write;
    if (same) ++race.same_value;
  }
  return true;
}

void BlockRaces::describe(Race& race, const Place& at, const Mark& before, bool was_write) const {
  const LaunchData& launch = launch_.launch_;
  const isa::Function& code = launch.program->kernel->code;
  const auto access = [&](const Mark& mark, std::uint32_t pc, std::uint32_t lane, bool write, bool atomic) {
    const std::uint64_t warp = mark.warp - 1;
    return RaceAccess{atomic  ? "atomic"
                      : write ? "write"
                              : "read",
                      launch.module->compiled->module.place(code.code[pc].line),
                      launch.config.grid.at(warp / launch.warps),
                      launch.config.block.at(warp % launch.warps * kWarpSize + lane)};
  };
  race.app = launch.module->app;
  race.app_name = launch.module->app_name;
  race.kernel = code.name;
  race.space = at.space;
  race.first = access(before, before.pc(), before.lane(), was_write, before.atomic());
  const Mark mine{grid_index(at.warp.index) + 1, 0, 0};
  race.second =
      access(mine, at.access.pc, at.lane, at.access.kind != Kind::Read, at.access.kind == Kind::Atomic);
  race.address = at.address;
  race.bytes = at.bytes;
  if (at.space == isa::Space::Global) race.where = launch.module->memory->describe(at.address);
}

}  // namespace gpumux::emulator
