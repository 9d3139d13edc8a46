// Texture fetches and queries of a warp: reads coordinates from registers, writes results to registers, and
// records the lines of the texels.
#include <algorithm>
#include <bit>

#include "emulator/addresses.hpp"
#include "emulator/many_sources.hpp"
#include "emulator/texture_objects.hpp"
#include "emulator/texture_sampler.hpp"

namespace gpumux::emulator {
namespace {

using isa::Instruction;
using isa::Opcode;
using isa::Type;
using workload::MemHeader;
using workload::Texture;
using workload::Transaction;

/// The lines of a fetch in the order of their first lane, with sectors and lanes, found by hashing.
class TexelLines {
 public:
  static constexpr u32 kMost = kWarpSize * TextureSample::kMost;  // no texel crosses a line
  explicit TexelLines(u64* words) : words_(words) {}
  void add(Address at, u32 lane) {
    const u64 line = at / kLineBytes;
    const u32 sector = 1U << ((at / kSectorBytes) % kSectorsPerLine);
    u32 probe = static_cast<u32>(line * 0x9e3779b97f4a7c15ULL >> 55U);
    for (; slot_[probe] != 0; probe = (probe + 1) % kSlots) {
      const u32 index = slot_[probe] - 1U;
      u64& word = words_[index];
      if (word >> Transaction::kLineShift != line) continue;
      word |= sector;
      if (last_lane_[index] == lane) return;
      last_lane_[index] = static_cast<u8>(lane);
      word += 1U << 4U;
      return;
    }
    last_lane_[count_] = static_cast<u8>(lane);
    words_[count_++] = Transaction::make(line, sector, 1).word;
    slot_[probe] = static_cast<u16>(count_);
  }
  [[nodiscard]] u32 count() const { return count_; }

 private:
  static constexpr u32 kSlots = 512;  // at least the maximum number of lines
  u64* words_;
  u32 count_ = 0;
  std::array<u16, kSlots> slot_{};
  std::array<u8, kMost> last_lane_;  // by line
};

void fetch(Warp& warp, const Op& op, LaneMask lanes) {
  const Instruction& inst = *op.inst;
  const bool layered = isa::is_layered(inst.geometry);
  const u32 first = layered ? 2 : 1;  // source index of x
  const u32 axes = isa::coordinates(inst.geometry) - (layered ? 1U : 0U);
  const u32 behind = first + axes;
  const ManySources sources(warp, op);
  const workload::DeviceMemory& memory = warp.block->memory();
  TextureObjects textures(warp, op);
  const bool recorded = warp.buffer->used();
  u64* words = warp.buffer->room(TexelLines::kMost) + 1;
  TexelLines lines(words);
  alignas(64) u32 value[4][kWarpSize];
  TextureFetch at;
  at.integers = inst.type2 != Type::F32;
  at.detail = inst.detail;
  for (LaneMask rest = lanes; rest != 0; rest &= rest - 1) {
    const u32 lane = static_cast<u32>(std::countr_zero(rest));
    const Texture& texture = textures.of(lane);
    const auto number = [&](u32 which) {
      const u32 bits = sources.row<u32>(which)[lane];
      return at.integers ? static_cast<double>(static_cast<i32>(bits)) : double{std::bit_cast<float>(bits)};
    };
    if (layered) at.layer = sources.row<u32>(1)[lane];
    for (u32 axis = 0; axis < axes; ++axis) at.at[axis] = number(first + axis);
    if (inst.detail == isa::TextureDetail::Level) at.level = number(behind);
    if (inst.detail == isa::TextureDetail::Gradients) {
      for (u32 i = 0; i < 2 * axes; ++i) at.gradients[i] = number(behind + i);
    }
    const TextureSample got =
        inst.gather ? gather(texture, memory, at, inst.shift) : sample(texture, memory, at);
    for (u32 c = 0; c < 4; ++c) value[c][lane] = got.value[c];
    for (u32 i = 0; recorded && i < got.touches; ++i) lines.add(got.touched[i], lane);
  }
  for (u32 c = 0; c < 4; ++c)
    if (inst.dst[c]) merge(warp.dst<u32>(op, c), value[c], lanes);
  MemHeader header;
  header.where = MemHeader::Where::Texture;
  header.transactions = static_cast<u16>(lines.count());
  as_cached(warp, words, lines.count());
  warp.buffer->keep(header);
}

void query(Warp& warp, const Op& op, LaneMask lanes) {
  TextureObjects textures(warp, op);
  alignas(64) u32 value[kWarpSize];
  for (LaneMask rest = lanes; rest != 0; rest &= rest - 1) {
    const u32 lane = static_cast<u32>(std::countr_zero(rest));
    const u32 level = op.inst->detail == isa::TextureDetail::Level ? warp.src<u32>(op, 1)[lane] : 0;
    value[lane] = answer(textures.of(lane), op.inst->query, level);
  }
  merge(warp.dst<u32>(op), value, lanes);
}

}  // namespace

Handler select_texture(const Instruction& inst) {
  switch (inst.op) {
    case Opcode::Tex: return &fetch;
    case Opcode::Txq: return &query;
    default: return nullptr;
  }
}

}  // namespace gpumux::emulator
