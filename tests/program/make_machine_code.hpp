// Makes ELF images like those of ptxas, with the numbers of registers of their kernels.
#pragma once

#include <elf.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

/// `registers`: name and number of registers of each kernel. With `attribute`, the numbers are in .nv.info;
/// otherwise in the headers of the code's sections, as for GPUs before Hopper.
inline std::string machine_code(const std::vector<std::pair<std::string, std::uint32_t>>& registers,
                                bool attribute = true) {
  const auto bytes_of = [](const auto& value) {
    return std::string(reinterpret_cast<const char*>(&value), sizeof(value));
  };
  std::string names(1, '\0'), symbols(sizeof(Elf64_Sym), '\0'), info;
  const auto name = [&](const std::string& text) {
    const auto at = static_cast<std::uint32_t>(names.size());
    names += text + '\0';
    return at;
  };
  // Sections: null, names, symbols, attributes, then code.
  std::vector<Elf64_Shdr> headers(4);
  std::vector<std::string> contents(4);
  headers[1].sh_type = SHT_STRTAB;
  headers[1].sh_name = name(".strtab");
  headers[2].sh_type = SHT_SYMTAB;
  headers[2].sh_name = name(".symtab");
  headers[2].sh_link = 1;
  headers[3].sh_type = SHT_LOPROC;
  headers[3].sh_name = name(".nv.info");
  headers[3].sh_link = 2;
  info += std::string("\x02\x05\x05\0", 4);  // an attribute whose value is in its header
  std::uint32_t number = 0;
  for (const auto& [kernel, count] : registers) {
    Elf64_Sym symbol{};
    symbol.st_name = name(kernel);
    symbols += bytes_of(symbol);
    ++number;
    if (attribute) info += std::string("\x04\x2f\x08\0", 4) + bytes_of(number) + bytes_of(count);
    Elf64_Shdr code{};
    code.sh_type = SHT_PROGBITS;
    code.sh_name = name(".text." + kernel);
    code.sh_info = (attribute ? 0 : count << 24U) | number;
    headers.push_back(code);
    contents.emplace_back(128, '\x40');
  }
  // Shared memory: its section type is CUDA's own, and its bytes are not in the file.
  Elf64_Shdr shared{};
  shared.sh_type = SHT_LOPROC + 0xa;
  shared.sh_name = name(".nv.shared");
  headers.push_back(shared);
  contents.emplace_back();
  contents[1] = names;
  contents[2] = symbols;
  contents[3] = info;
  Elf64_Ehdr head{};
  std::memcpy(head.e_ident,
              "\x7f"
              "ELF\x02\x01\x01\x41\x08",
              9);
  head.e_type = ET_EXEC;
  head.e_machine = 190;
  head.e_shentsize = sizeof(Elf64_Shdr);
  head.e_shnum = static_cast<std::uint16_t>(headers.size());
  head.e_shstrndx = 1;
  std::string image(sizeof(head), '\0');
  for (std::size_t i = 1; i < headers.size(); ++i) {
    headers[i].sh_offset = image.size();
    headers[i].sh_size = contents[i].size();
    image += contents[i];
  }
  headers.back().sh_size = 1U << 16U;
  head.e_shoff = image.size();
  for (const Elf64_Shdr& header : headers) image += bytes_of(header);
  std::memcpy(image.data(), &head, sizeof(head));
  return image;
}
