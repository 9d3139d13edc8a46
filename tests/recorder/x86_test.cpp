// Registers of x86-64 instructions, in ChampSim's numbering.
#include "recorder/x86.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace gpumux::recorder::test {
namespace {

using Sources = std::array<std::uint8_t, 4>;
using Destinations = std::array<std::uint8_t, 2>;
constexpr std::uint8_t kRdi = 3;
constexpr std::uint8_t kRsi = 4;
constexpr std::uint8_t kRbp = 5;
constexpr std::uint8_t kRsp = 6;
constexpr std::uint8_t kRbx = 7;
constexpr std::uint8_t kRdx = 8;
constexpr std::uint8_t kRcx = 9;
constexpr std::uint8_t kRax = 10;
constexpr std::uint8_t kR8 = 11;
constexpr std::uint8_t kR15 = 18;
constexpr std::uint8_t kFlags = cpu::kFlags;
constexpr std::uint8_t kRip = cpu::kInstructionPointer;
constexpr std::uint8_t kXmm0 = 64;

class X86 : public testing::Test {
 protected:
  Instruction of(std::vector<std::uint8_t> bytes) { return decoder_.decode(0x1000, bytes); }
  /// Sources and destinations, in any order.
  void expect(std::vector<std::uint8_t> bytes, std::vector<std::uint8_t> from, std::vector<std::uint8_t> to) {
    const cpu::Record record = of(std::move(bytes)).record;
    EXPECT_EQ(sorted(record.source_registers), sorted(from));
    EXPECT_EQ(sorted(record.destination_registers), sorted(to));
  }
  template <typename T>
  static std::vector<std::uint8_t> sorted(const T& list) {
    std::vector<std::uint8_t> result;
    for (const std::uint8_t number : list) {
      if (number != 0) result.push_back(number);
    }
    std::sort(result.begin(), result.end());
    return result;
  }
  Decoder decoder_;
};

TEST_F(X86, General) {
  expect({0x48, 0x01, 0xd8}, {kRax, kRbx}, {kRax, kFlags});        // add rax, rbx
  expect({0x00, 0xe3}, {kRax, kRbx}, {kRbx, kFlags});              // add bl, ah
  expect({0x4d, 0x89, 0xc7}, {kR8}, {kR15});                       // mov r15, r8
  expect({0x44, 0x88, 0xc7}, {kR8}, {kRdi});                       // mov dil, r8b
  expect({0x66, 0x89, 0xee}, {kRbp}, {kRsi});                      // mov si, bp
  expect({0x48, 0x8d, 0x44, 0x91, 0x08}, {kRcx, kRdx}, {kRax});    // lea rax, [rcx + rdx*4 + 8]
  expect({0x48, 0x39, 0xd8}, {kRax, kRbx}, {kFlags});              // cmp rax, rbx
  expect({0x48, 0xf7, 0xe3}, {kRax, kRbx}, {kRax, kRdx});          // mul rbx: its flags have no room
  expect({0x48, 0x0f, 0x44, 0xc3}, {kRax, kRbx, kFlags}, {kRax});  // cmove rax, rbx
  expect({0x50}, {kRax, kRsp}, {kRsp});                            // push rax
  expect({0xd3, 0xe0}, {kRax, kRcx}, {kRax, kFlags});              // shl eax, cl
  expect({0x64, 0x48, 0x8b, 0x04, 0x25, 0, 0, 0, 0}, {}, {kRax});  // mov rax, fs:[0]
  expect({0x48, 0x8b, 0x05, 0, 0, 0, 0}, {}, {kRax});              // mov rax, [rip]
  expect({0x90}, {}, {});                                          // nop
}

TEST_F(X86, Vectors) {
  expect({0x0f, 0x58, 0xc1}, {kXmm0, kXmm0 + 1}, {kXmm0});                         // addps xmm0, xmm1
  expect({0xc5, 0xf4, 0x58, 0xc2}, {kXmm0 + 1, kXmm0 + 2}, {kXmm0});               // vaddps ymm0, ymm1, ymm2
  expect({0xc4, 0xe2, 0xf5, 0xb8, 0xc2}, {kXmm0, kXmm0 + 1, kXmm0 + 2}, {kXmm0});  // vfmadd231pd
  expect({0x66, 0x48, 0x0f, 0x6e, 0xc8}, {kRax}, {kXmm0 + 1});                     // movq xmm1, rax
  expect({0x44, 0x0f, 0x29, 0x3b}, {kRbx, kXmm0 + 15}, {});                        // movaps [rbx], xmm15
}

TEST_F(X86, Branches) {
  const auto expect_branch = [this](std::vector<std::uint8_t> bytes, std::vector<std::uint8_t> from,
                                    std::vector<std::uint8_t> to, bool conditional) {
    const Instruction instruction = of(bytes);
    EXPECT_EQ(instruction.record.is_branch, 1);
    EXPECT_EQ(instruction.record.branch_taken, 1);
    EXPECT_EQ(instruction.conditional, conditional);
    EXPECT_EQ(instruction.next_ip, 0x1000 + bytes.size());
    expect(bytes, std::move(from), std::move(to));
  };
  expect_branch({0x74, 0x10}, {kRip, kFlags}, {kRip}, true);             // je
  expect_branch({0xe3, 0x10}, {kRip, kRcx}, {kRip}, true);               // jrcxz
  expect_branch({0xeb, 0x10}, {}, {kRip}, false);                        // jmp
  expect_branch({0xff, 0xe0}, {kRax}, {kRip}, false);                    // jmp rax
  expect_branch({0xe8, 0, 0, 0, 0}, {kRip, kRsp}, {kRip, kRsp}, false);  // call
  expect_branch({0xff, 0x13}, {kRip, kRsp, kRbx}, {kRip, kRsp}, false);  // call [rbx]
  expect_branch({0xc3}, {kRsp}, {kRip, kRsp}, false);                    // ret
  EXPECT_EQ(of({0x0f, 0x05}).record.is_branch, 0);                       // syscall
}

TEST_F(X86, LocksAndWhatIsNoInstruction) {
  EXPECT_TRUE(of({0xf0, 0x48, 0x0f, 0xc1, 0x03}).exchanges);  // lock xadd [rbx], rax
  EXPECT_TRUE(of({0x48, 0x87, 0x03}).exchanges);              // xchg [rbx], rax
  EXPECT_FALSE(of({0x48, 0x87, 0xc3}).exchanges);             // xchg rbx, rax
  EXPECT_FALSE(of({0x48, 0x01, 0x03}).exchanges);             // add [rbx], rax: two accesses
  expect({0x06}, {}, {});
  expect({0x0f}, {}, {});
}

}  // namespace
}  // namespace gpumux::recorder::test
