#include "constants.hpp"

#include <sys/mman.h>

#include <iterator>
#include <map>

namespace gpumux::cudart {
namespace {

constexpr std::size_t kRangeBytes = std::size_t{1} << 30U;
constexpr std::size_t kAlignment = 256;

struct Places {
  std::uintptr_t first = 0;  // start of the address range; 0: not reserved yet
  std::size_t used = 0;
  std::map<std::uintptr_t, program::VariableDescription> all;
};
Places& places() {
  static auto* const all = new Places;
  return *all;
}

}  // namespace

void* place_constant(const program::VariableDescription& variable) {
  const std::scoped_lock lock(Session::get().lock());
  Places& in = places();
  if (in.first == 0) {
    void* const range =
        mmap(nullptr, kRangeBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (range == MAP_FAILED) return nullptr;
    in.first = reinterpret_cast<std::uintptr_t>(range);
  }
  const std::size_t bytes = (variable.bytes + kAlignment - 1) / kAlignment * kAlignment;
  if (bytes > kRangeBytes - in.used) return nullptr;
  const std::uintptr_t address = in.first + in.used;
  in.used += bytes;
  in.all[address] = variable;
  return reinterpret_cast<void*>(address);
}

std::optional<ConstantPlace> constant_at(const void* pointer) {
  const Places& in = places();
  const auto address = reinterpret_cast<std::uintptr_t>(pointer);
  if (in.first == 0 || address - in.first >= in.used) return std::nullopt;
  const auto& [begin, variable] = *std::prev(in.all.upper_bound(address));
  if (address - begin >= variable.bytes) return std::nullopt;
  return ConstantPlace{variable, address - begin};
}

}  // namespace gpumux::cudart
