#include "workload/overwrites.hpp"

#include <algorithm>
#include <bit>

namespace gpumux::workload {

namespace {

/// True for an access to memory that other blocks can access, too: global memory and textures.
bool in_shared_place(const MemHeader& header) {
  const bool there = header.where == MemHeader::Where::Global || header.where == MemHeader::Where::Texture;
  return there && header.transactions != 0;
}

}  // namespace

bool Overwrites::executed(std::uint32_t warp, std::uint64_t index, const isa::StaticInst& inst,
                          const MemHeader& header, const std::uint64_t* transactions) {
  // Shared and local memory belong to the block and are reset when it restarts.
  if (!in_shared_place(header)) return false;
  bool overwrites = (inst.flags & isa::kAtomic) != 0;
  for (std::uint32_t i = 0; i < header.transactions && !overwrites; ++i) {
    const Transaction transaction{transactions[i]};
    const auto sectors = static_cast<std::uint8_t>(transaction.sectors());
    if ((inst.flags & isa::kStore) == 0) {
      was_read_[transaction.line()] |= sectors;
    } else if (const auto found = was_read_.find(transaction.line()); found != was_read_.end()) {
      overwrites = (found->second & sectors) != 0;
    }
  }
  if (overwrites) first_[warp] = std::min(first_[warp], index);
  return overwrites;
}

bool is_idempotent(BlockStream& block, const std::vector<isa::StaticInst>& table) {
  constexpr std::uint32_t kAtOnce = 1024;
  struct Sectors {
    std::uint32_t read = 0, stored = 0;
  };
  std::unordered_map<std::uint64_t, Sectors> lines;
  for (bool finished = false; !finished;) {
    finished = true;
    for (std::uint32_t w = 0; w < block.warps(); ++w) {
      WarpStream& stream = block.stream(w);
      if (!stream.finished) block.refill(w, kAtOnce);
      for (; stream.next != stream.end; ++stream.next) {
        const isa::StaticInst& inst = table[stream.next->pc];
        if (inst.unit != isa::Unit::Memory) continue;
        const auto header = std::bit_cast<MemHeader>(*stream.mem_next);
        const std::uint64_t* const transactions = stream.mem_next + 1;
        stream.mem_next += 1 + header.transactions;
        if (!in_shared_place(header)) continue;
        if ((inst.flags & isa::kAtomic) != 0) return false;
        for (std::uint32_t i = 0; i < header.transactions; ++i) {
          const Transaction transaction{transactions[i]};
          Sectors& line = lines[transaction.line()];
          ((inst.flags & isa::kStore) != 0 ? line.stored : line.read) |= transaction.sectors();
          if ((line.read & line.stored) != 0) return false;
        }
      }
      finished = finished && stream.finished;
    }
  }
  return true;
}

}  // namespace gpumux::workload
