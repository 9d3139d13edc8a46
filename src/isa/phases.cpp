#include "isa/phases.hpp"

#include <algorithm>
#include <bitset>

namespace gpumux::isa {

namespace {

constexpr unsigned kEndsBlock = kBranch | kExit | kBarrier | kFence;

/// True for a load whose result comes from outside the SM.
bool loads_from_afar(const StaticInst& inst) {
  return (inst.flags & kLoad) != 0 && (inst.flags & (kShared | kConstant)) == 0;
}

}  // namespace

std::vector<Phase> find_phases(const std::vector<StaticInst>& table,
                               const std::vector<std::uint32_t>& cycles) {
  std::vector<Phase> phases;
  std::bitset<kScoreboardSlots> loaded;  // registers written by long-latency instructions of the phase
  bool block_ended = true;
  for (std::uint32_t pc = 0; pc < table.size(); ++pc) {
    const StaticInst& inst = table[pc];
    bool begins = block_ended || (inst.flags & kLeader) != 0;
    // A register that is both read and written is listed only as written. An overwriting instruction waits as
    // well, so all listed registers count.
    for (unsigned i = 0; i < unsigned{inst.num_dst} + inst.num_src; ++i)
      begins = begins || loaded[inst.slot[i]];
    if (begins) {
      loaded.reset();
      phases.push_back({pc, pc, 0});
    }
    Phase& phase = phases.back();
    phase.end = pc + 1;
    phase.length += cycles[pc];
    for (unsigned i = 0; loads_from_afar(inst) && i < inst.num_dst; ++i) loaded[inst.slot[i]] = true;
    block_ended = (inst.flags & kEndsBlock) != 0;
  }
  return phases;
}

std::vector<std::uint16_t> phase_distances(const std::vector<Phase>& phases,
                                           const std::vector<std::uint32_t>& cycles,
                                           const PhaseAnnotation& annotation) {
  const auto rounded = [&](std::uint32_t distance) {
    return std::min((distance + annotation.unit - 1) / annotation.unit * annotation.unit, annotation.most);
  };
  std::vector<std::uint16_t> distances(cycles.size(), 0);
  for (const Phase& phase : phases) {
    std::uint32_t distance = 0;
    for (std::uint32_t pc = phase.end; pc-- > phase.first;) {
      distance = std::min(distance + cycles[pc], annotation.most);
      distances[pc] = static_cast<std::uint16_t>(rounded(distance));
    }
  }
  return distances;
}

}  // namespace gpumux::isa
