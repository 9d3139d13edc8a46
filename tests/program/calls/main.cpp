// A CUDA program like those that nvcc makes, from kernels.cu and without nvcc. `calls CASE` runs the case
// CASE, checks it, and ends with 0. tests/program runs this program under gpumux.
#include <map>

#include "tests/program/calls/program.hpp"
#include "tests/program/calls/units.hpp"
#include "tests/program/make_machine_code.hpp"

void** handle;
int table[4];
int counter;
int offset;
int seen;
int* shared_word;

namespace {

// Filled before main, in any order.
std::map<std::string, Case>& cases() {
  static std::map<std::string, Case> all;
  return all;
}

std::vector<const Kernel*>& kernels() {
  static std::vector<const Kernel*> all;
  return all;
}

std::string binary;
std::vector<std::string> unit_binaries;
Wrapper wrapper;

bool is_of_units(const Kernel& kernel) { return kernel.name == std::string("total"); }

void register_kernels(bool of_units) {
  for (const Kernel* kernel : kernels())
    if (is_of_units(*kernel) == of_units)
      __cudaRegisterFunction(handle, reinterpret_cast<const char*>(kernel), const_cast<char*>(kernel->name),
                             kernel->name, -1, nullptr, nullptr, nullptr, nullptr, nullptr);
}

void register_all(Packing packing) {
  const std::string ptx = file_text(GPUMUX_SOURCE_DIR "/tests/program/calls/kernels.ptx") + '\0';
  // One for a GPU that is too new, which must not be taken where there is another.
  std::string entries = fat_entry(1, 120, "no PTX at all", packing);
  entries += fat_entry(1, 75, ptx, packing);
  if (packing == Packing::BesideMachineCode)
    entries += fat_entry(2, 75, machine_code({{"add", 255}}), Packing::Zstd);
  if (packing == Packing::MachineCodeOnly) entries = fat_entry(2, 90, "ELF", Packing::Raw);
  binary = fat_binary(entries);
  wrapper.binary = binary.data();
  handle = __cudaRegisterFatBinary(&wrapper);
  register_kernels(false);
  __cudaRegisterVar(handle, reinterpret_cast<char*>(table), nullptr, "table", 0, sizeof(table), 1, 0);
  __cudaRegisterVar(handle, reinterpret_cast<char*>(&counter), nullptr, "counter", 0, sizeof(counter), 0, 0);
  __cudaRegisterManagedVar(handle, reinterpret_cast<void**>(&shared_word), nullptr, "shared_word", 0, 4, 0,
                           0);
  __cudaRegisterFatBinaryEnd(handle);
}

void register_units(bool all) {
  // The last is NVIDIA's own, which nvcc links to code without machine code, and which nobody needs here.
  for (const char* text : {kTotalUnit, all ? kTwiceUnit : kTwiceUnitWithoutOffset, kDeviceRuntimeUnit})
    unit_binaries.push_back(fat_binary(fat_entry(1, 75, std::string(text) + '\0', Packing::Zstd)));
  static std::vector<const void*> linked;
  for (const std::string& unit : unit_binaries) linked.push_back(unit.data());
  linked.push_back(nullptr);
  binary = fat_binary(fat_entry(2, 75, machine_code({{"total", 200}}), Packing::Raw));
  wrapper.version = 2;
  wrapper.binary = binary.data();
  wrapper.linked = linked.data();
  handle = __cudaRegisterFatBinary(&wrapper);
  register_kernels(true);
  __cudaRegisterVar(handle, reinterpret_cast<char*>(&offset), nullptr, "offset", 0, 4, 0, 0);
  __cudaRegisterVar(handle, reinterpret_cast<char*>(&seen), nullptr, "seen", 0, 4, 0, 0);
  __cudaRegisterFatBinaryEnd(handle);
}

}  // namespace

Case::Case(const char* name, std::function<void()> what, Packing how) : run(std::move(what)), packing(how) {
  cases().emplace(name, *this);
}

Case::Case(const char* name, std::function<void()> what, Units of) : run(std::move(what)), units(of) {
  cases().emplace(name, *this);
}

Kernel::Kernel(const char* of) : name(of) { kernels().push_back(this); }

// Visible for loader/, which calls it in a shared object.
__attribute__((visibility("default"))) int main(int argc, char** argv) {
  const auto found = cases().find(argc > 1 ? argv[1] : "");
  if (found == cases().end()) return 99;
  const Case& each = found->second;
  if (each.units == Case::Units::None) {
    register_all(each.packing);
  } else {
    register_units(each.units == Case::Units::All);
  }
  each.run();
  __cudaUnregisterFatBinary(handle);
  return 0;
}
