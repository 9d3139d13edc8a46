#include "program/machine_code.hpp"

#include <elf.h>

#include <algorithm>
#include <cstring>
#include <string_view>
#include <vector>

#include <fmt/core.h>

#include "base/error.hpp"

namespace gpumux::program {
namespace {

constexpr std::uint64_t kMostName = 1U << 16U;
constexpr std::uint32_t kMostRegisters = 255;
constexpr unsigned kRegistersShift = 24;  // register count in sh_info of a .text section

/// Attributes of .nv.info start with a byte of format, a byte of meaning, and two bytes of value or of size
/// of the following data.
constexpr std::uint64_t kAttributeHead = 4;
constexpr std::uint8_t kSized = 4;
constexpr std::uint8_t kRegisterCount = 0x2f;  // data: a symbol and a number, four bytes each

class Image {
 public:
  Image(std::span<const std::byte> bytes, const std::string& file) : bytes_(bytes), file_(file) {}

  std::map<std::string, std::uint32_t> registers() {
    if (!is_cuda()) return {};
    read_sections();
    std::map<std::string, std::uint32_t> all;
    for (const Section& section : sections_) {
      const std::string_view name = text(sections_[names_], section.name);
      constexpr std::string_view kCode = ".text.";
      const auto registers = static_cast<std::uint32_t>(section.info >> kRegistersShift);
      if (name.substr(0, kCode.size()) == kCode && registers != 0)
        all.emplace(name.substr(kCode.size()), registers);
      if (name == ".nv.info") read_attributes(section, all);
    }
    return all;
  }

 private:
  struct Section {
    std::uint64_t header, name, at, bytes, link, info;
  };

  [[noreturn]] void fail(std::uint64_t at, const std::string& what) const {
    throw UserError({file_}, fmt::format("machine code, byte {}: {}", at, what));
  }

  /// A structure of the file. Throws UserError unless it is inside the file.
  template <class T>
  [[nodiscard]] T at(std::uint64_t place) const {
    if (place > bytes_.size() || sizeof(T) > bytes_.size() - place)
      fail(place, fmt::format("{} bytes wanted of {}", sizeof(T), bytes_.size()));
    T value;
    std::memcpy(&value, bytes_.data() + place, sizeof(T));
    return value;
  }

  [[nodiscard]] bool is_cuda() const {
    constexpr std::uint16_t kCudaMachine = 190;  // EM_CUDA
    if (bytes_.size() < sizeof(Elf64_Ehdr) || std::memcmp(bytes_.data(), ELFMAG, SELFMAG) != 0) return false;
    const auto head = at<Elf64_Ehdr>(0);
    return head.e_ident[EI_CLASS] == ELFCLASS64 && head.e_ident[EI_DATA] == ELFDATA2LSB &&
           head.e_machine == kCudaMachine;
  }

  void read_sections() {
    const auto head = at<Elf64_Ehdr>(0);
    if (head.e_shnum != 0 && head.e_shentsize != sizeof(Elf64_Shdr))
      fail(offsetof(Elf64_Ehdr, e_shentsize), fmt::format("section headers of {} bytes", head.e_shentsize));
    if (head.e_shoff > bytes_.size())
      fail(offsetof(Elf64_Ehdr, e_shoff), fmt::format("section headers at {}", head.e_shoff));
    for (std::uint64_t i = 0; i < head.e_shnum; ++i) {
      const std::uint64_t place = head.e_shoff + i * sizeof(Elf64_Shdr);
      const auto section = at<Elf64_Shdr>(place);
      sections_.push_back(
          {place, section.sh_name, section.sh_offset, section.sh_size, section.sh_link, section.sh_info});
    }
    names_ = head.e_shstrndx;
    if (!sections_.empty()) static_cast<void>(section(names_));
  }

  [[nodiscard]] const Section& section(std::uint64_t number) const {
    if (number >= sections_.size())
      fail(0, fmt::format("section {} does not exist; there are {}", number, sections_.size()));
    return sections_[number];
  }

  /// Checks that a section to be read is inside the file. Other sections, such as shared memory, may have no
  /// bytes in the file.
  void check_bytes(const Section& of) const {
    if (of.at > bytes_.size() || of.bytes > bytes_.size() - of.at)
      fail(of.header, fmt::format("a section of {} bytes at {}, of {}", of.bytes, of.at, bytes_.size()));
  }

  /// A name in a string table.
  [[nodiscard]] std::string_view text(const Section& table, std::uint64_t offset) const {
    check_bytes(table);
    if (offset >= table.bytes)
      fail(table.at, fmt::format("a name at {} of a table of {} bytes", offset, table.bytes));
    const auto* const first = reinterpret_cast<const char*>(bytes_.data() + table.at + offset);
    const std::size_t most = std::min(table.bytes - offset, kMostName);
    const std::size_t length = strnlen(first, most);
    if (length == most) fail(table.at + offset, "a name without an end");
    return {first, length};
  }

  [[nodiscard]] std::string_view symbol(const Section& table, std::uint64_t number) const {
    check_bytes(table);
    if (number >= table.bytes / sizeof(Elf64_Sym))
      fail(table.at, fmt::format("symbol {} of a table of {} bytes", number, table.bytes));
    const auto of = at<Elf64_Sym>(table.at + number * sizeof(Elf64_Sym));
    return text(section(table.link), of.st_name);
  }

  void read_attributes(const Section& from, std::map<std::string, std::uint32_t>& all) const {
    struct Head {
      std::uint8_t format, meaning;
      std::uint16_t value;
    };
    struct Count {
      std::uint32_t symbol, registers;
    };
    check_bytes(from);
    const std::uint64_t end = from.at + from.bytes;
    for (std::uint64_t place = from.at; place < end;) {
      if (end - place < kAttributeHead) fail(place, fmt::format("an attribute of {} bytes", end - place));
      const auto head = at<Head>(place);
      place += kAttributeHead;
      const std::uint64_t bytes = head.format == kSized ? head.value : 0;
      if (bytes > end - place)
        fail(place, fmt::format("an attribute of {} bytes, where {} are left", bytes, end - place));
      if (head.meaning == kRegisterCount && bytes == sizeof(Count)) {
        const auto of = at<Count>(place);
        if (of.registers == 0 || of.registers > kMostRegisters)
          fail(place, fmt::format("a function with {} registers", of.registers));
        all.insert_or_assign(std::string(symbol(section(from.link), of.symbol)), of.registers);
      }
      place += bytes;
    }
  }

  std::span<const std::byte> bytes_;
  const std::string& file_;
  std::vector<Section> sections_;
  std::uint64_t names_ = 0;  // index of the section with all sections' names
};

}  // namespace

std::map<std::string, std::uint32_t> registers_of(std::span<const std::byte> image, const std::string& file) {
  return Image(image, file).registers();
}

}  // namespace gpumux::program
