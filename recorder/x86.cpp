#include "recorder/x86.hpp"

#include <capstone/capstone.h>

#include <algorithm>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.hpp"

namespace gpumux::recorder {
namespace {

constexpr std::pair<std::string_view, std::uint8_t> kGeneral[] = {
    {"di", 3}, {"si", 4}, {"bp", 5}, {"sp", cpu::kStackPointer}, {"bx", 7}, {"dx", 8}, {"cx", 9}, {"ax", 10}};

std::uint8_t digits(std::string_view text) {
  unsigned value = 0;
  for (const char c : text) {
    if (c < '0' || c > '9') break;
    value = value * 10 + static_cast<unsigned>(c - '0');
  }
  return static_cast<std::uint8_t>(value);
}

/// The number of a register by its name in the disassembler, or 0 for a register that is not recorded.
std::uint8_t number_of(std::string_view name) {
  constexpr std::uint8_t kVector = 64;
  constexpr std::uint8_t kMask = 96;
  constexpr std::uint8_t kFloat = 104;
  constexpr std::uint8_t kEighth = 11;
  if (name == "rip" || name == "eip") return cpu::kInstructionPointer;
  if (name == "rflags" || name == "eflags" || name == "flags") return cpu::kFlags;
  if (name.size() >= 4 && name.substr(1, 2) == "mm")
    return static_cast<std::uint8_t>(kVector + digits(name.substr(3)));
  if (name.size() == 3 && name.substr(0, 2) == "mm")
    return static_cast<std::uint8_t>(kFloat + digits(name.substr(2)));
  if (name.starts_with("st"))
    return static_cast<std::uint8_t>(kFloat + (name.size() > 3 ? digits(name.substr(3)) : 0));
  if (name.size() == 2 && name[0] == 'k') return static_cast<std::uint8_t>(kMask + digits(name.substr(1)));
  if (name.size() >= 2 && name[0] == 'r' && name[1] >= '0' && name[1] <= '9') {
    return static_cast<std::uint8_t>(kEighth + digits(name.substr(1)) - 8);
  }
  for (const auto& [part, number] : kGeneral) {
    // Parts of a register: rax, eax, ax, al, ah; rdi, edi, di, dil.
    if (name == part || (name.size() == 3 && (name[0] == 'r' || name[0] == 'e') && name.substr(1) == part))
      return number;
    if (part[1] == 'x' ? (name.size() == 2 && name[0] == part[0] && (name[1] == 'l' || name[1] == 'h'))
                       : (name.size() == 3 && name.substr(0, 2) == part && name[2] == 'l')) {
      return number;
    }
  }
  return 0;
}

/// Puts distinct register numbers into `out`, in their order but with flags last, until `out` is full.
template <std::size_t kMost>
void put(std::array<std::uint8_t, kMost>& out, std::vector<std::uint8_t> numbers) {
  std::stable_partition(numbers.begin(), numbers.end(), [](std::uint8_t n) { return n != cpu::kFlags; });
  std::size_t count = 0;
  for (const std::uint8_t number : numbers) {
    if (number == 0 || std::find(out.begin(), out.end(), number) != out.end()) continue;
    if (count == kMost) return;
    out[count++] = number;
  }
}

}  // namespace

Decoder::Decoder() {
  if (cs_open(CS_ARCH_X86, CS_MODE_64, &handle_) != CS_ERR_OK ||
      cs_option(handle_, CS_OPT_DETAIL, CS_OPT_ON) != CS_ERR_OK) {
    throw InternalError("there is no disassembler for x86-64");
  }
  for (unsigned i = 1; i < X86_REG_ENDING && i < numbers_.size(); ++i) {
    numbers_[i] = number_of(cs_reg_name(handle_, i));
  }
}

Decoder::~Decoder() { cs_close(&handle_); }

Instruction Decoder::decode(std::uint64_t ip, std::span<const std::uint8_t> bytes) {
  Instruction result;
  result.record.ip = ip;
  result.next_ip = ip + bytes.size();
  cs_insn* found = nullptr;
  if (cs_disasm(handle_, bytes.data(), bytes.size(), ip, 1, &found) == 0) return result;
  const std::unique_ptr<cs_insn, void (*)(cs_insn*)> insn(found, [](cs_insn* one) { cs_free(one, 1); });
  const bool jump = cs_insn_group(handle_, found, CS_GRP_JUMP);
  const bool call = cs_insn_group(handle_, found, CS_GRP_CALL);
  const bool back = cs_insn_group(handle_, found, CS_GRP_RET) || cs_insn_group(handle_, found, CS_GRP_IRET);
  result.conditional = jump && found->id != X86_INS_JMP && found->id != X86_INS_LJMP;
  result.record.is_branch = jump || call || back ? 1 : 0;
  result.record.branch_taken = result.record.is_branch;

  std::vector<std::uint8_t> from;
  std::vector<std::uint8_t> to;
  if (jump || call || back) to.push_back(cpu::kInstructionPointer);
  if (call || back) {
    to.push_back(cpu::kStackPointer);
    from.push_back(cpu::kStackPointer);
  }
  if (call || result.conditional) from.push_back(cpu::kInstructionPointer);
  cs_regs read;
  cs_regs written;
  std::uint8_t reads = 0;
  std::uint8_t writes = 0;
  if (cs_regs_access(handle_, found, read, &reads, written, &writes) == CS_ERR_OK) {
    const auto add = [this](std::vector<std::uint8_t>& list, std::uint16_t reg) {
      const std::uint8_t number = reg < numbers_.size() ? numbers_[reg] : std::uint8_t{0};
      if (number != cpu::kInstructionPointer) list.push_back(number);
    };
    for (std::uint8_t i = 0; i < reads; ++i) add(from, read[i]);
    // A conditional move keeps its destination if the condition fails, so the destination is also read.
    // Capstone 4 reports this, Capstone 5 does not.
    const cs_x86& x86 = found->detail->x86;
    if (std::string_view(found->mnemonic).starts_with("cmov") && x86.op_count > 0 &&
        x86.operands[0].type == X86_OP_REG)
      add(from, static_cast<std::uint16_t>(x86.operands[0].reg));
    for (std::uint8_t i = 0; i < writes; ++i) add(to, written[i]);
  }
  put(result.record.source_registers, std::move(from));
  put(result.record.destination_registers, std::move(to));

  const cs_x86& x86 = found->detail->x86;
  const bool memory = std::any_of(x86.operands, x86.operands + x86.op_count,
                                  [](const cs_x86_op& operand) { return operand.type == X86_OP_MEM; });
  result.exchanges = memory && (x86.prefix[0] == X86_PREFIX_LOCK || found->id == X86_INS_XCHG);
  return result;
}

}  // namespace gpumux::recorder
