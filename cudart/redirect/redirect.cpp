// Support for programs and shared objects with NVIDIA's run time linked statically, which is nvcc's default.
// This library is loaded before all others (LD_PRELOAD). Before the first constructor of an object with that
// run time, it makes each function of the run time jump to gpumux's function of the same name. The functions
// are found in the object's symbol table. If `strip` has removed the table, the library prints what to do.
// Other objects are not changed.
//
// Objects that are present at the start are handled in this library's constructor, which the linker makes the
// first of all (-z initfirst). Objects that are loaded later are handled when the dynamic linker calls the
// function by which it notifies debuggers (r_debug::r_brk). At that time, the objects are mapped and none of
// their code has run.
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
#include <string>
#include <string_view>
#include <vector>

namespace {

/// A file that is mapped for reading.
class Image {
 public:
  explicit Image(const char* path) {
    const int file = ::open(path, O_RDONLY | O_CLOEXEC);
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

  /// `count` objects at an offset, or nullptr if they are not inside the file.
  template <class T>
  [[nodiscard]] const T* at(std::uint64_t offset, std::uint64_t count = 1) const {
    if (first_ == nullptr || offset > bytes_ || count > (bytes_ - offset) / sizeof(T)) return nullptr;
    return reinterpret_cast<const T*>(first_ + offset);
  }
  /// A string of a string table. Empty if it does not end inside the file.
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
  std::uint64_t address;  // address in the file, before relocation
  std::uint64_t bytes;
};

struct Contents {
  bool fat_binaries = false;
  bool symbols = false;
  bool shared_runtime = false;
  std::vector<Function> functions;  // functions with the name prefix of the run time
  std::vector<std::string_view> exported;
};

void read_symbols(const Image& image, const Elf64_Shdr& table, std::uint64_t names, Contents& found) {
  const std::uint64_t count = table.sh_size / sizeof(Elf64_Sym);
  const auto* const symbols = image.at<Elf64_Sym>(table.sh_offset, count);
  if (symbols == nullptr) return;
  for (std::uint64_t i = 0; i < count; ++i) {
    const Elf64_Sym& symbol = symbols[i];
    if (ELF64_ST_TYPE(symbol.st_info) != STT_FUNC || symbol.st_shndx == SHN_UNDEF) continue;
    const std::string_view name = image.text(names + symbol.st_name);
    if (!name.starts_with("cuda") && !name.starts_with("__cuda")) continue;
    if (table.sh_type == SHT_DYNSYM) {
      found.exported.push_back(name);
    } else {
      found.functions.push_back({name, symbol.st_value, symbol.st_size});
    }
  }
  found.symbols = table.sh_type == SHT_SYMTAB && count > 1 ? true : found.symbols;
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
    if (section.sh_type == SHT_SYMTAB || section.sh_type == SHT_DYNSYM)
      read_symbols(image, section, names, found);
    if (section.sh_type == SHT_DYNAMIC) read_needed(image, section, names, found);
  }
  return found;
}

constexpr std::size_t kJumpBytes = 5;  // jmp rel32
constexpr std::uintptr_t kReach = 0x7000'0000;
constexpr std::uintptr_t kPage = 0x1000;

/// Allocates memory within reach of a 32-bit jump from `place`, or returns nullptr.
std::byte* near_memory(std::uintptr_t place, std::size_t bytes) {
  constexpr std::uintptr_t kStep = 0x100'0000;
  for (std::uintptr_t away = kStep; away < kReach; away += kStep) {
    for (const bool below : {true, false}) {
      if (below && away >= place) continue;
      const std::uintptr_t wanted = (below ? place - away : place + away) & ~std::uintptr_t{0xfff};
      void* const got = ::mmap(reinterpret_cast<void*>(wanted), bytes, PROT_READ | PROT_WRITE,
                               MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
      if (got == reinterpret_cast<void*>(wanted)) return static_cast<std::byte*>(got);
      if (got != MAP_FAILED) ::munmap(got, bytes);  // kernels without support of the flag
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
  std::fprintf(
      stderr,
      "gpumux: the CUDA run time in this program or in a library of its own cannot be replaced (%s): relink "
      "it with nvcc -cudart shared\n",
      why);
  std::_Exit(2);
}

void write_jump(std::uintptr_t place, std::uintptr_t to) {
  const auto distance = static_cast<std::int64_t>(to) - static_cast<std::int64_t>(place + kJumpBytes);
  if (distance > INT32_MAX || distance < INT32_MIN) give_up("it is too large");
  if (!allow(place, kJumpBytes, PROT_READ | PROT_WRITE | PROT_EXEC)) give_up("its code cannot be changed");
  const auto offset = static_cast<std::int32_t>(distance);
  auto* const code = reinterpret_cast<std::uint8_t*>(place);
  code[0] = 0xe9;
  std::memcpy(code + 1, &offset, sizeof(offset));
  allow(place, kJumpBytes, PROT_READ | PROT_EXEC);
}

// --- jumps to gpumux's functions ------------------------------------------------------------------------

/// A function of a statically linked run time. Its replacement is looked up at the first call, since no
/// library may be loaded while the dynamic linker reports objects.
struct Redirected {
  std::string name;
  bool is_12;  // structures differ between versions 12 and 13
  std::uintptr_t* slot;
};

std::vector<Redirected>& redirected() {
  static auto* const all = new std::vector<Redirected>;  // must live as long as the jumping code
  return *all;
}

void* library_of(bool is_12) {
  static void* loaded[2] = {};
  void*& library = loaded[is_12 ? 1 : 0];
  if (library == nullptr)
    library = ::dlopen(is_12 ? "libcudart.so.12" : "libcudart.so.13", RTLD_NOW | RTLD_GLOBAL);
  if (library == nullptr) give_up(::dlerror());
  return library;
}

}  // namespace

/// Called by gpumux_redirect_first() with the number in redirected().
extern "C" __attribute__((visibility("hidden"))) std::uintptr_t gpumux_redirect_find(std::uint64_t number) {
  const Redirected& function = redirected()[number];
  void* const ours = ::dlsym(library_of(function.is_12), function.name.c_str());
  if (ours == nullptr) give_up("a function is missing");
  const auto address = reinterpret_cast<std::uintptr_t>(ours);
  __atomic_store_n(function.slot, address, __ATOMIC_RELEASE);
  return address;
}

// Initial target of a slot, with the slot's number in r11. Saves the registers of arguments, looks up
// gpumux's function, and jumps to it.
extern "C" __attribute__((visibility("hidden"))) void gpumux_redirect_first();
asm(R"(
  .text
  .hidden gpumux_redirect_first
  .globl gpumux_redirect_first
  .type gpumux_redirect_first, @function
gpumux_redirect_first:
  pushq %rbp
  movq %rsp, %rbp
  pushq %rdi
  pushq %rsi
  pushq %rdx
  pushq %rcx
  pushq %r8
  pushq %r9
  pushq %rax
  pushq %r10
  andq $-16, %rsp
  subq $128, %rsp
  movups %xmm0, (%rsp)
  movups %xmm1, 16(%rsp)
  movups %xmm2, 32(%rsp)
  movups %xmm3, 48(%rsp)
  movups %xmm4, 64(%rsp)
  movups %xmm5, 80(%rsp)
  movups %xmm6, 96(%rsp)
  movups %xmm7, 112(%rsp)
  movl %r11d, %edi
  call gpumux_redirect_find
  movq %rax, %r11
  movups (%rsp), %xmm0
  movups 16(%rsp), %xmm1
  movups 32(%rsp), %xmm2
  movups 48(%rsp), %xmm3
  movups 64(%rsp), %xmm4
  movups 80(%rsp), %xmm5
  movups 96(%rsp), %xmm6
  movups 112(%rsp), %xmm7
  leaq -64(%rbp), %rsp
  popq %r10
  popq %rax
  popq %r9
  popq %r8
  popq %rcx
  popq %rdx
  popq %rsi
  popq %rdi
  popq %rbp
  jmpq *%r11
  .size gpumux_redirect_first, .-gpumux_redirect_first
)");

namespace {

/// The jump table of an object: an entry of kEntryBytes of code for each function, followed by the target
/// addresses on pages of their own.
class Table {
 public:
  Table(std::uintptr_t near, std::size_t functions) {
    const std::size_t code = (functions * kEntryBytes + kFirstBytes + kPage - 1) / kPage * kPage;
    code_bytes_ = code;
    code_ = near_memory(near, code + (functions + 1) * sizeof(std::uintptr_t));
    if (code_ == nullptr) give_up("there is no room near it");
    slots_ = reinterpret_cast<std::uintptr_t*>(code_ + code);
    slots_[0] = reinterpret_cast<std::uintptr_t>(&gpumux_redirect_first);
    put_jump(code_, &slots_[0]);
    next_ = code_ + kFirstBytes;
  }
  /// Adds an entry that jumps to gpumux's function of this name, and returns its address.
  std::uintptr_t add(std::string_view name, bool is_12) {
    std::byte* const entry = next_;
    next_ += kEntryBytes;
    std::uintptr_t* const slot = &slots_[++count_];
    const auto number = static_cast<std::uint32_t>(redirected().size());
    redirected().push_back({std::string(name), is_12, slot});
    put_jump(entry, slot);
    // mov r11d, number; jmp to the first entry
    std::byte* const lazy = entry + kFirstBytes;
    const std::uint8_t move[] = {0x41, 0xbb};
    std::memcpy(lazy, move, sizeof(move));
    std::memcpy(lazy + 2, &number, sizeof(number));
    const auto back = static_cast<std::int32_t>(code_ - (lazy + 6 + kJumpBytes));
    lazy[6] = std::byte{0xe9};
    std::memcpy(lazy + 7, &back, sizeof(back));
    *slot = reinterpret_cast<std::uintptr_t>(lazy);
    return reinterpret_cast<std::uintptr_t>(entry);
  }
  void finish() { ::mprotect(code_, code_bytes_, PROT_READ | PROT_EXEC); }

 private:
  static constexpr std::size_t kFirstBytes = 8;
  static constexpr std::size_t kEntryBytes = 24;
  /// jmp [rip + distance]
  static void put_jump(std::byte* at, const std::uintptr_t* slot) {
    const std::uint8_t jump[] = {0xff, 0x25};
    std::memcpy(at, jump, sizeof(jump));
    const auto distance = static_cast<std::int32_t>(reinterpret_cast<const std::byte*>(slot) - (at + 6));
    std::memcpy(at + 2, &distance, sizeof(distance));
  }
  std::byte* code_ = nullptr;
  std::size_t code_bytes_ = 0;
  std::byte* next_ = nullptr;
  std::uintptr_t* slots_ = nullptr;
  std::size_t count_ = 0;
};

/// True if gpumux's libraries, which are in the folder of this one, have a function of this name.
bool is_ours(std::string_view name) {
  static const auto* const names = [] {
    auto* const all = new std::vector<std::string>;
    Dl_info here{};
    if (::dladdr(reinterpret_cast<void*>(&is_ours), &here) == 0 || here.dli_fname == nullptr) return all;
    const std::string own = here.dli_fname;
    const std::string folder = own.substr(0, own.rfind('/') + 1);
    for (const char* library : {"libcuda.so.1", "libcudart.so.13", "libcudart.so.12"}) {
      const Image image((folder + library).c_str());
      for (const std::string_view exported : contents(image).exported) all->emplace_back(exported);
    }
    std::ranges::sort(*all);
    return all;
  }();
  return std::ranges::binary_search(*names, name, {},
                                    [](const auto& text) { return std::string_view(text); });
}

/// Makes the functions of an object's run time jump to gpumux's functions. `moved`: load address minus
/// address in the file.
void look_at(const char* path, std::uintptr_t moved, bool is_program) {
  const Image image(path);
  const Contents found = contents(image);
  const auto has = [&](const char* name) {
    return std::ranges::any_of(found.functions, [&](const Function& f) { return f.name == name; });
  };
  if (!found.fat_binaries) return;
  if (!has("__cudaRegisterFatBinary")) {
    if (is_program && !found.symbols && !found.shared_runtime) {
      std::fputs(
          "gpumux: this program has kernels, CUDA's run time within it and no symbol table, by which its "
          "calls could be served: relink it with nvcc -cudart shared, or do not strip it\n",
          stderr);
    }
    return;
  }
  const bool is_12 = has("cudaGetDeviceProperties_v2");
  Table table(moved + found.functions.front().address, found.functions.size());
  for (const Function& function : found.functions) {
    if (function.bytes < kJumpBytes || !is_ours(function.name)) continue;
    write_jump(moved + function.address, table.add(function.name, is_12));
  }
  table.finish();
}

// --- objects that are loaded later ----------------------------------------------------------------------

struct Seen {
  const link_map* object;
  std::uintptr_t moved;
  friend bool operator==(const Seen&, const Seen&) = default;
};

void look_at_new_objects() {
  static auto* const before = new std::vector<Seen>;
  std::vector<Seen> now;
  for (const link_map* object = _r_debug.r_map; object != nullptr; object = object->l_next) {
    const Seen seen{object, object->l_addr};
    now.push_back(seen);
    if (std::ranges::find(*before, seen) != before->end()) continue;
    const bool is_program = object == _r_debug.r_map;
    if (is_program) {
      look_at("/proc/self/exe", object->l_addr, true);
    } else if (object->l_name != nullptr && object->l_name[0] != '\0') {
      look_at(object->l_name, object->l_addr, false);
    }
  }
  before->swap(now);
}

/// Replaces the function by which the dynamic linker notifies debuggers, which is empty. New objects are
/// mapped, but neither relocated nor initialised.
void objects_changed() {
  if (_r_debug.r_state == r_debug::RT_CONSISTENT) look_at_new_objects();
}

__attribute__((constructor)) void begin() {
  look_at_new_objects();
  const auto told = static_cast<std::uintptr_t>(_r_debug.r_brk);
  if (told == 0) return;
  std::byte* const entry = near_memory(told, kPage);
  if (entry == nullptr) return;
  constexpr std::uint8_t kJumpThere[] = {0xff, 0x25, 0, 0, 0, 0};  // jmp [rip + 0]
  const auto ours = reinterpret_cast<std::uintptr_t>(&objects_changed);
  std::memcpy(entry, kJumpThere, sizeof(kJumpThere));
  std::memcpy(entry + sizeof(kJumpThere), &ours, sizeof(ours));
  ::mprotect(entry, kPage, PROT_READ | PROT_EXEC);
  if (allow(told, kJumpBytes, PROT_READ | PROT_WRITE | PROT_EXEC))
    write_jump(told, reinterpret_cast<std::uintptr_t>(entry));
}

}  // namespace
