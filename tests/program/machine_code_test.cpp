// Reads the numbers of kernels' registers from machine code, whole and damaged.
#include "program/machine_code.hpp"

#include <gtest/gtest.h>

#include "base/error.hpp"
#include "program/fat_binary.hpp"
#include "tests/program/make_fat_binary.hpp"
#include "tests/program/make_machine_code.hpp"

namespace gpumux::program {
namespace {

using Registers = std::map<std::string, std::uint32_t>;

Registers registers_in(const std::string& image) {
  return registers_of(std::as_bytes(std::span(image)), "app");
}

TEST(MachineCode, SaysTheRegistersOfItsFunctions) {
  EXPECT_EQ(registers_in(machine_code({{"add", 36}, {"scale", 255}})),
            (Registers{{"add", 36}, {"scale", 255}}));
  EXPECT_EQ(registers_in(machine_code({{"add", 36}, {"scale", 8}}, false)),
            (Registers{{"add", 36}, {"scale", 8}}));
  EXPECT_EQ(registers_in(machine_code({})), Registers{});
  EXPECT_EQ(registers_in(""), Registers{});
  EXPECT_EQ(registers_in("machine code"), Registers{});
  std::string other = machine_code({{"add", 36}});
  put<std::uint16_t>(other, offsetof(Elf64_Ehdr, e_machine), EM_X86_64);
  EXPECT_EQ(registers_in(other), Registers{});
}

TEST(MachineCode, IsRefusedWhereItIsDamaged) {
  const std::string whole = machine_code({{"add", 36}, {"scale", 8}});
  const auto expect_refused = [](const std::string& image, const std::string& why) {
    try {
      static_cast<void>(registers_in(image));
      FAIL() << "nothing was wrong with it; expected: " << why;
    } catch (const UserError& error) {
      EXPECT_EQ(std::string(error.what()).find("app: error: machine code, byte "), 0U) << error.what();
      EXPECT_NE(std::string(error.what()).find(why), std::string::npos) << error.what();
    }
  };
  const auto with = [&](std::size_t at, auto value) {
    std::string changed = whole;
    put(changed, at, value);
    return changed;
  };
  const auto sections = [&](std::size_t number, std::size_t member) {
    Elf64_Ehdr head;
    std::memcpy(&head, whole.data(), sizeof(head));
    return head.e_shoff + number * sizeof(Elf64_Shdr) + member;
  };
  expect_refused(with(offsetof(Elf64_Ehdr, e_shentsize), std::uint16_t{40}), "section headers of 40 bytes");
  expect_refused(with(offsetof(Elf64_Ehdr, e_shoff), ~std::uint64_t{0}), "section headers at 1844");
  expect_refused(with(offsetof(Elf64_Ehdr, e_shnum), std::uint16_t{8}), "64 bytes wanted of");
  expect_refused(with(offsetof(Elf64_Ehdr, e_shstrndx), std::uint16_t{7}), "section 7 does not exist");
  expect_refused(with(sections(3, offsetof(Elf64_Shdr, sh_offset)), ~std::uint64_t{0}),
                 "a section of 28 bytes");
  expect_refused(with(sections(3, offsetof(Elf64_Shdr, sh_size)), std::uint64_t{1} << 40U), "bytes at");
  expect_refused(with(sections(3, offsetof(Elf64_Shdr, sh_size)), std::uint64_t{27}), "where 7 are left");
  expect_refused(with(sections(3, offsetof(Elf64_Shdr, sh_size)), std::uint64_t{18}),
                 "an attribute of 2 bytes");
  expect_refused(with(sections(3, offsetof(Elf64_Shdr, sh_name)), ~std::uint32_t{0}), "a name at 4294967295");
  expect_refused(with(sections(3, offsetof(Elf64_Shdr, sh_link)), std::uint32_t{9}),
                 "section 9 does not exist");
  expect_refused(with(sections(2, offsetof(Elf64_Shdr, sh_size)), std::uint64_t{48}), "symbol 2 of a table");
  expect_refused(with(sections(1, offsetof(Elf64_Shdr, sh_size)), std::uint64_t{9}), "a name");
  expect_refused(machine_code({{"add", 256}}), "a function with 256 registers");
  expect_refused(machine_code({{"add", 0}}), "a function with 0 registers");
  expect_refused(machine_code({{std::string(1U << 16U, 'a'), 9}}), "a name without an end");
  // Nothing is read beyond its end, whatever it says.
  for (std::size_t bytes = sizeof(Elf64_Ehdr); bytes < whole.size(); ++bytes)
    EXPECT_THROW(registers_in(whole.substr(0, bytes)), UserError);
  for (std::size_t at = 0; at < whole.size(); ++at) {
    for (const int flip : {1, 0x80, 0xff}) {
      std::string changed = whole;
      changed[at] = static_cast<char>(changed[at] ^ flip);
      try {
        static_cast<void>(registers_in(changed));
      } catch (const UserError&) {
      }
    }
  }
}

TEST(MachineCode, IsThatOfTheMachinesGeneration) {
  std::string entries;
  for (const std::uint32_t architecture : {70, 75, 80, 86, 90})
    entries += fat_entry(2, architecture, machine_code({{"k", architecture}}),
                         architecture == 86 ? Packing::Zstd : Packing::Raw);
  const std::string binary = fat_binary(entries);
  const auto bytes = std::as_bytes(std::span(binary));
  const FatBinary all = read_fat_binary(bytes, "app");
  const auto of = [&](std::uint32_t capability, std::uint32_t ptx) {
    const FatBinary::MachineCode* const code = all.code_for(capability, ptx);
    if (code == nullptr) return 0U;
    const std::string image = read_machine_code(bytes, "app", *code);
    EXPECT_EQ(registers_in(image).at("k"), code->architecture);
    return code->architecture;
  };
  EXPECT_EQ(of(75, 75), 75U);
  EXPECT_EQ(of(72, 52), 70U);
  EXPECT_EQ(of(89, 75), 86U);
  EXPECT_EQ(of(100, 90), 90U);  // none that it could execute: what its PTX became elsewhere
  EXPECT_EQ(of(100, 52), 0U);
  EXPECT_EQ(of(61, 70), 70U);
}

}  // namespace
}  // namespace gpumux::program
