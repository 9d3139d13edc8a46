// A part of the machine reserved for one application: SMs, and memory partitions with their L2 slices and
// DRAM channels. Applications in different instances share only the link to the host.
#pragma once

#include <cstdint>

namespace gpumux::arch {

struct Instance {
  std::uint32_t first_sm = 0;
  std::uint32_t sms = 0;
  std::uint32_t first_partition = 0;
  std::uint32_t partitions = 0;
  [[nodiscard]] bool has_sm(std::uint32_t sm) const { return sm >= first_sm && sm - first_sm < sms; }
};

}  // namespace gpumux::arch
