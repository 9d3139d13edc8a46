#include "emulator/texture_objects.hpp"

#include <cstring>

#include <fmt/core.h>

#include "workload/device_memory.hpp"

namespace gpumux::emulator {

using isa::Opcode;

TextureObjects::TextureObjects(const Warp& warp, const Op& op)
    : warp_(warp), op_(op), handles_(warp.src<std::uint64_t>(op, 0)) {
  if (op.inst->src[0].kind != isa::Operand::Kind::Symbol) return;
  // A texture reference holds the object that the host has bound to it. All lanes read the same reference.
  std::memcpy(&bound_, warp.block->memory().host(handles_[0]), sizeof(bound_));
  reference_ = true;
}

void TextureObjects::look_up(std::uint64_t handle, std::uint32_t lane) {
  handle_ = handle;
  const workload::DeviceMemory& memory = warp_.block->memory();
  object_ = memory.textures().find(handle, warp_.block->launch().config.textures_time);
  if (object_ == nullptr) {
    warp_.block->fault(warp_, lane,
                       reference_ && handle == 0 ? std::string("a texture reference that is not bound")
                                                 : "texture access: " + memory.textures().describe(handle));
  }
  if (!memory.valid(object_->address(), object_->bytes)) {
    warp_.block->fault(warp_, lane,
                       fmt::format("texture access: the memory of texture object 0x{:x} was freed", handle));
  }
  if (op_.inst->op != Opcode::Txq) check(lane);
}

void TextureObjects::check(std::uint32_t lane) const {
  const isa::Instruction& inst = *op_.inst;
  const bool to_surface = inst.op != Opcode::Tex;
  if (object_->geometry != inst.geometry || object_->surface != to_surface) {
    warp_.block->fault(
        warp_, lane,
        fmt::format("{} access: {} object 0x{:x} is read by {}, not by {}.{}",
                    to_surface ? "surface" : "texture", object_->surface ? "surface" : "texture", handle_,
                    object_->read_by(), to_surface ? "suld" : "tex", isa::name(inst.geometry)));
  }
  if (object_->resource.kind == workload::TextureResource::Kind::Linear && inst.type2 == isa::Type::F32) {
    warp_.block->fault(
        warp_, lane,
        fmt::format("texture access: texture object 0x{:x} is linear memory, which is read by integer "
                    "coordinates alone (tex1Dfetch)",
                    handle_));
  }
}

}  // namespace gpumux::emulator
