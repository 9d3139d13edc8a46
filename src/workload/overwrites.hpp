// Detection of the first instruction after which a thread block cannot be restarted: an atomic, or a store to
// global memory that the block has read. Detection uses the addresses of executed instructions. This is the
// relaxed idempotence condition of chimera15 section 3.4 (D20), except that a store counts if it hits a
// sector of 32 bytes that was read.
#pragma once

#include <bit>
#include <cstdint>
#include <limits>
#include <span>
#include <unordered_map>
#include <vector>

#include "isa/timing_class.hpp"
#include "workload/stream.hpp"

namespace gpumux::workload {

class Overwrites {
 public:
  explicit Overwrites(std::uint32_t warps) : first_(warps, kNone), warps_(warps) {}
  /// Examines the records of each warp w beyond the first already[w], barrier by barrier: instructions after
  /// a barrier follow all instructions before it, whichever warp was refilled first. Calls visit(warp,
  /// record, overwrites) for each memory instruction. `overwrites`: after this instruction the block cannot
  /// be restarted, whether it is the first such instruction or not.
  template <typename Visit>
  void follow(BlockStream& block, std::span<const std::uint32_t> already,
              const std::vector<isa::StaticInst>& table, Visit visit,
              std::span<const std::uint64_t> already_words = {});
  /// Reports a memory instruction: the warp's record `index` (from 0) with these words. Returns true if the
  /// instruction is an atomic or overwrites memory that was read.
  bool executed(std::uint32_t warp, std::uint64_t index, const isa::StaticInst& inst, const MemHeader& header,
                const std::uint64_t* transactions);
  /// The index of the warp's first record after whose issue the block cannot be restarted, or kNone so far.
  [[nodiscard]] std::uint64_t first(std::uint32_t warp) const { return first_[warp]; }
  static constexpr std::uint64_t kNone = std::numeric_limits<std::uint64_t>::max();

 private:
  /// Progress of follow() in a warp's stream.
  struct Warp {
    const ExecRecord* next = nullptr;
    const ExecRecord* end = nullptr;
    const std::uint64_t* words = nullptr;
    std::uint64_t records = 0;   // number of records before `next`
    std::uint64_t barriers = 0;  // number of barriers of the whole block before `next`
  };
  std::vector<std::uint64_t> first_;  // by warp
  std::vector<Warp> warps_;
  std::unordered_map<std::uint64_t, std::uint8_t> was_read_;  // by line: mask of sectors that were read
};

template <typename Visit>
void Overwrites::follow(BlockStream& block, std::span<const std::uint32_t> already,
                        const std::vector<isa::StaticInst>& table, Visit visit,
                        std::span<const std::uint64_t> already_words) {
  const auto is_memory = [&](const ExecRecord& record) { return table[record.pc].unit == isa::Unit::Memory; };
  for (std::uint32_t w = 0; w < warps_.size(); ++w) {
    const WarpStream& stream = block.stream(w);
    Warp& warp = warps_[w];
    warp.next = stream.next + already[w];
    warp.end = stream.end;
    warp.words = stream.mem_next;
    if (!already_words.empty()) {
      warp.words += already_words[w];
      continue;
    }
    for (const ExecRecord* record = stream.next; record != warp.next; ++record)
      if (is_memory(*record)) warp.words += 1 + std::bit_cast<MemHeader>(*warp.words).transactions;
  }
  while (true) {
    Warp* least = nullptr;
    for (Warp& warp : warps_)
      if (warp.next != warp.end && (least == nullptr || warp.barriers < least->barriers)) least = &warp;
    if (least == nullptr) return;
    const auto index = static_cast<std::uint32_t>(least - warps_.data());
    for (bool passed = false; !passed && least->next != least->end; ++least->next, ++least->records) {
      const isa::StaticInst& inst = table[least->next->pc];
      if (is_memory(*least->next)) {
        const auto header = std::bit_cast<MemHeader>(*least->words);
        visit(index, *least->next, executed(index, least->records, inst, header, least->words + 1));
        least->words += 1 + header.transactions;
      }
      passed = (inst.flags & isa::kBarrier) != 0 && (inst.flags & isa::kArrive) == 0 &&
               inst.barrier_warps == 0 && least->next->active != 0;
      if (passed) ++least->barriers;
    }
  }
}

/// True if a block that has issued nothing could be restarted at any time, whatever the order of its warps:
/// the block performs no atomic and stores to no sector that it reads. Consumes the whole stream.
[[nodiscard]] bool is_idempotent(BlockStream& block, const std::vector<isa::StaticInst>& table);

}  // namespace gpumux::workload
