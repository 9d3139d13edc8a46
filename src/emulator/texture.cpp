// Texture fetches and queries of a warp: coordinates from its registers, results into them, and the lines
// that its texels lie in.
#include <algorithm>
#include <bit>

#include "emulator/addresses.hpp"
#include "emulator/texture_sampler.hpp"

namespace gpumux::emulator {
namespace {

using isa::Instruction;
using isa::Opcode;
using isa::Operand;
using isa::TextureGeometry;
using isa::Type;
using workload::MemHeader;
using workload::Texture;
using workload::Transaction;

/// The lines of a fetch in the order of their first lane, each with its sectors and lanes; found by hashing.
class TexelLines {
 public:
  static constexpr u32 kMost = kWarpSize * 8;  // each lane has eight texels at most, none across lines
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
  static constexpr u32 kSlots = 512;
  u64* words_;
  u32 count_ = 0;
  std::array<u16, kSlots> slot_{};
  std::array<u8, kMost> last_lane_{};
};

/// The texture of a lane. Throws SimulationFault when its handle is none, or names one of another geometry.
class Textures {
 public:
  Textures(const Warp& warp, const Op& op) : warp_(warp), op_(op), handles_(warp.src<u64>(op, 0)) {
    if (op.inst->src[0].kind != Operand::Kind::Symbol) return;
    // A texture reference holds what the host has bound to it; all lanes read the same.
    std::memcpy(&bound_, warp.block->memory().host(handles_[0]), sizeof(bound_));
    reference_ = true;
  }
  const Texture& of(u32 lane) {
    const u64 handle = reference_ ? bound_ : handles_[lane];
    if (texture_ != nullptr && handle == handle_) return *texture_;
    handle_ = handle;
    const workload::DeviceMemory& memory = warp_.block->memory();
    texture_ = memory.textures().find(handle);
    if (texture_ == nullptr) {
      warp_.block->fault(warp_, lane,
                         reference_ && handle == 0 ? std::string("a texture reference that is not bound")
                                                   : "texture access: " + memory.textures().describe(handle));
    }
    if (!memory.valid(texture_->address(), texture_->bytes)) {
      warp_.block->fault(
          warp_, lane, fmt::format("texture access: the memory of texture object 0x{:x} was freed", handle));
    }
    if (op_.inst->op == Opcode::Tex) check_geometry(lane);
    return *texture_;
  }

 private:
  void check_geometry(u32 lane) const {
    const Instruction& inst = *op_.inst;
    const std::string wanted = fmt::format("tex.{}", isa::name(inst.geometry));
    if (texture_->geometry() != wanted) {
      warp_.block->fault(warp_, lane,
                         fmt::format("texture access: texture object 0x{:x} is read by {}, not by {}",
                                     handle_, texture_->geometry(), wanted));
    }
    if (texture_->resource.kind == workload::TextureResource::Kind::Linear && inst.type2 == Type::F32) {
      warp_.block->fault(
          warp_, lane,
          fmt::format("texture access: texture object 0x{:x} is linear memory, which is read by integer "
                      "coordinates alone (tex1Dfetch)",
                      handle_));
    }
  }

  const Warp& warp_;
  const Op& op_;
  const u64* handles_;
  u64 bound_ = 0;
  bool reference_ = false;
  u64 handle_ = 0;
  const Texture* texture_ = nullptr;
};

void fetch(Warp& warp, const Op& op, LaneMask lanes) {
  const Instruction& inst = *op.inst;
  const bool layered = inst.geometry == TextureGeometry::A1 || inst.geometry == TextureGeometry::A2;
  const u32 first = layered ? 2 : 1;  // source of x
  const u32 axes = isa::coordinates(inst.geometry) - (layered ? 1U : 0U);
  const workload::DeviceMemory& memory = warp.block->memory();
  Textures textures(warp, op);
  u64* words = warp.buffer->room(TexelLines::kMost) + 1;
  TexelLines lines(words);
  alignas(64) u32 value[4][kWarpSize];
  TextureFetch at;
  at.integers = inst.type2 != Type::F32;
  for (LaneMask rest = lanes; rest != 0; rest &= rest - 1) {
    const u32 lane = static_cast<u32>(std::countr_zero(rest));
    const Texture& texture = textures.of(lane);
    if (layered) at.layer = warp.src<u32>(op, 1)[lane];
    for (u32 axis = 0; axis < axes; ++axis) {
      const u32 bits = warp.src<u32>(op, first + axis)[lane];
      at.at[axis] =
          at.integers ? static_cast<double>(static_cast<i32>(bits)) : double{std::bit_cast<float>(bits)};
    }
    const TextureSample got =
        inst.gather ? gather(texture, memory, at, inst.shift) : sample(texture, memory, at);
    for (u32 c = 0; c < 4; ++c) value[c][lane] = got.value[c];
    for (u32 i = 0; i < got.touches; ++i) lines.add(got.touched[i], lane);
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
  Textures textures(warp, op);
  alignas(64) u32 value[kWarpSize];
  for (LaneMask rest = lanes; rest != 0; rest &= rest - 1) {
    const u32 lane = static_cast<u32>(std::countr_zero(rest));
    value[lane] = answer(textures.of(lane), op.inst->query);
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
