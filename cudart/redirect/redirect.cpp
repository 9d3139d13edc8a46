// For programs that have NVIDIA's run time linked into them, as nvcc does it unless it is told otherwise: a
// library that is loaded in front of all others (LD_PRELOAD) and, before the program's first constructor,
// makes each function of that run time jump to ours of the same name. They are found in the program's symbol
// table, which `strip` removes: then it says what to do. Programs without that run time stay as they are.
#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <vector>

namespace {

/// The program's file, mapped to be read.
class Image {
 public:
  Image() {
    const int file = ::open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    struct stat status {};
    if (file >= 0 && ::fstat(file, &status) == 0 && status.st_size > 0) {
      bytes_ = static_cast<std::size_t>(status.st_size);
      void* const mapped = ::mmap(nullptr, bytes_, PROT_READ, MAP_PRIVATE, file, 0);
      if (mapped != MAP_FAILED) first_ = static_cast<const std::byte*>(mapped);
    }
    if (file >= 0) ::close(file);
  }
  ~Image() {
    if (first_ != nullptr) ::munmap(const_cast<std::byte*>(first_), bytes_);
  }
  Image(const Image&) = delete;
  Image& operator=(const Image&) = delete;

  /// nullptr: so many do not lie there.
  template <class T>
  [[nodiscard]] const T* at(std::uint64_t offset, std::uint64_t count = 1) const {
    if (first_ == nullptr || offset > bytes_ || count > (bytes_ - offset) / sizeof(T)) return nullptr;
    return reinterpret_cast<const T*>(first_ + offset);
  }
  /// Of a string table; empty where it does not end in the file.
  [[nodiscard]] std::string_view text(std::uint64_t offset) const {
    const char* const text = at<char>(offset);
    if (text == nullptr) return {};
    const std::size_t length = ::strnlen(text, bytes_ - offset);
    return length == bytes_ - offset ? std::string_view() : std::string_view(text, length);
  }

 private:
  const std::byte* first_ = nullptr;
  std::size_t bytes_ = 0;
};

struct Function {
  std::string_view name;
  std::uint64_t address;  // before the program was moved to where it lies
  std::uint64_t bytes;
};

struct Contents {
  bool fat_binaries = false;
  bool symbols = false;
  bool shared_runtime = false;
  std::vector<Function> functions;  // whose names begin as those of the run time do
};

void read_symbols(const Image& image, const Elf64_Shdr& table, std::uint64_t names, Contents& found) {
  const std::uint64_t count = table.sh_size / sizeof(Elf64_Sym);
  const auto* const symbols = image.at<Elf64_Sym>(table.sh_offset, count);
  if (symbols == nullptr) return;
  found.symbols = count > 1;
  for (std::uint64_t i = 0; i < count; ++i) {
    const Elf64_Sym& symbol = symbols[i];
    if (ELF64_ST_TYPE(symbol.st_info) != STT_FUNC || symbol.st_shndx == SHN_UNDEF) continue;
    const std::string_view name = image.text(names + symbol.st_name);
    if (name.starts_with("cuda") || name.starts_with("__cuda"))
      found.functions.push_back({name, symbol.st_value, symbol.st_size});
  }
}

void read_needed(const Image& image, const Elf64_Shdr& table, std::uint64_t names, Contents& found) {
  const std::uint64_t count = table.sh_size / sizeof(Elf64_Dyn);
  const auto* const entries = image.at<Elf64_Dyn>(table.sh_offset, count);
  for (std::uint64_t i = 0; entries != nullptr && i < count; ++i) {
    if (entries[i].d_tag == DT_NEEDED &&
        image.text(names + entries[i].d_un.d_val).starts_with("libcudart.so"))
      found.shared_runtime = true;
  }
}

Contents contents(const Image& image) {
  Contents found;
  const auto* const header = image.at<Elf64_Ehdr>(0);
  if (header == nullptr || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0) return found;
  const auto* const sections = image.at<Elf64_Shdr>(header->e_shoff, header->e_shnum);
  if (sections == nullptr || header->e_shstrndx >= header->e_shnum) return found;
  for (unsigned i = 0; i < header->e_shnum; ++i) {
    const Elf64_Shdr& section = sections[i];
    if (image.text(sections[header->e_shstrndx].sh_offset + section.sh_name) == ".nv_fatbin")
      found.fat_binaries = true;
    if (section.sh_link >= header->e_shnum) continue;
    const std::uint64_t names = sections[section.sh_link].sh_offset;
    if (section.sh_type == SHT_SYMTAB) read_symbols(image, section, names, found);
    if (section.sh_type == SHT_DYNAMIC) read_needed(image, section, names, found);
  }
  return found;
}

/// How far the program lies from the addresses in its file; it comes first.
std::uintptr_t moved_by() {
  std::uintptr_t by = 0;
  ::dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* to) {
        *static_cast<std::uintptr_t*>(to) = info->dlpi_addr;
        return 1;
      },
      &by);
  return by;
}

constexpr std::size_t kJumpBytes = 5;    // jmp rel32
constexpr std::size_t kEntryBytes = 16;  // jmp [rip], and the address behind it
constexpr std::uintptr_t kReach = 0x7000'0000;

/// Memory so near to `place` that a jump of 32 bits reaches it; nullptr: there is none.
std::byte* near_memory(std::uintptr_t place, std::size_t bytes) {
  constexpr std::uintptr_t kStep = 0x100'0000;
  for (std::uintptr_t away = kStep; away < kReach; away += kStep) {
    for (const bool below : {true, false}) {
      if (below && away >= place) continue;
      const std::uintptr_t wanted = (below ? place - away : place + away) & ~std::uintptr_t{0xfff};
      void* const got = ::mmap(reinterpret_cast<void*>(wanted), bytes, PROT_READ | PROT_WRITE,
                               MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
      if (got == reinterpret_cast<void*>(wanted)) return static_cast<std::byte*>(got);
      if (got != MAP_FAILED) ::munmap(got, bytes);  // a kernel that does not know the flag
    }
  }
  return nullptr;
}

bool allow(std::uintptr_t first, std::size_t bytes, int protection) {
  const std::uintptr_t page = 0xfff;
  const std::uintptr_t begin = first & ~page;
  return ::mprotect(reinterpret_cast<void*>(begin), ((first + bytes + page) & ~page) - begin, protection) ==
         0;
}

[[noreturn]] void give_up(const char* why) {
  std::fprintf(stderr,
               "gpumux: the CUDA run time in this program cannot be replaced (%s): relink it with nvcc "
               "-cudart shared\n",
               why);
  std::_Exit(2);
}

/// Makes each function jump to its namesake of `library`.
void redirect(const std::vector<Function>& functions, void* library) {
  const std::uintptr_t moved = moved_by();
  std::byte* const table = near_memory(moved + functions.front().address, functions.size() * kEntryBytes);
  if (table == nullptr) give_up("there is no room near it");
  std::byte* entry = table;
  for (const Function& function : functions) {
    void* const ours = ::dlsym(library, function.name.data());
    if (ours == nullptr || function.bytes < kJumpBytes) continue;
    constexpr std::uint8_t kJumpThere[] = {0xff, 0x25, 0, 0, 0, 0};  // jmp [rip + 0]
    std::memcpy(entry, kJumpThere, sizeof(kJumpThere));
    std::memcpy(entry + sizeof(kJumpThere), static_cast<const void*>(&ours), sizeof(ours));
    const std::uintptr_t place = moved + function.address;
    const auto distance = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(entry)) -
                          static_cast<std::int64_t>(place + kJumpBytes);
    if (distance > INT32_MAX || distance < INT32_MIN) give_up("it is too large");
    if (!allow(place, kJumpBytes, PROT_READ | PROT_WRITE | PROT_EXEC)) give_up("its code cannot be changed");
    const auto offset = static_cast<std::int32_t>(distance);
    auto* const code = reinterpret_cast<std::uint8_t*>(place);
    code[0] = 0xe9;
    std::memcpy(code + 1, &offset, sizeof(offset));
    allow(place, kJumpBytes, PROT_READ | PROT_EXEC);
    entry += kEntryBytes;
  }
  ::mprotect(table, functions.size() * kEntryBytes, PROT_READ | PROT_EXEC);
}

__attribute__((constructor)) void begin() {
  const Image image;
  const Contents found = contents(image);
  const bool has_runtime = std::ranges::any_of(
      found.functions, [](const Function& f) { return f.name == "__cudaRegisterFatBinary"; });
  if (!has_runtime) {
    if (found.fat_binaries && !found.symbols && !found.shared_runtime) {
      std::fputs(
          "gpumux: this program has kernels, CUDA's run time within it and no symbol table, by which its "
          "calls could be served: relink it with nvcc -cudart shared, or do not strip it\n",
          stderr);
    }
    return;
  }
  // Structures differ between the two.
  const bool is_12 = std::ranges::any_of(
      found.functions, [](const Function& f) { return f.name == "cudaGetDeviceProperties_v2"; });
  void* const library = ::dlopen(is_12 ? "libcudart.so.12" : "libcudart.so.13", RTLD_NOW | RTLD_GLOBAL);
  if (library == nullptr) give_up(::dlerror());
  redirect(found.functions, library);
}

}  // namespace
