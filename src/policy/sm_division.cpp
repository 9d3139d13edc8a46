#include "policy/sm_division.hpp"

#include <algorithm>

namespace gpumux::policy {

std::uint32_t needed_sms(const RunningKernel& kernel) {
  const std::uint64_t left = kernel.blocks_total - kernel.blocks_done;
  const std::uint64_t per_sm = kernel.max_blocks_per_sm;
  return static_cast<std::uint32_t>(std::min<std::uint64_t>((left + per_sm - 1) / per_sm, 0xffff));
}

bool is_torn(const RunningKernel& kernel, std::uint32_t sms) {
  return kernel.cooperative && sms < needed_sms(kernel);
}

namespace {

std::vector<std::uint32_t> divide_evenly(const std::vector<RunningKernel>& kernels, std::uint32_t sms,
                                         bool smart) {
  std::vector<std::uint32_t> share(kernels.size(), 0);
  std::vector<bool> fixed(kernels.size(), false);
  std::uint32_t left = sms;
  std::size_t open = kernels.size();
  for (bool changed = smart; changed && open > 0;) {  // water filling
    changed = false;
    const auto even = static_cast<std::uint32_t>(left / open);
    for (std::size_t i = 0; i < kernels.size(); ++i) {
      const std::uint32_t need = std::max(needed_sms(kernels[i]), 1U);
      if (fixed[i] || need > even) continue;
      fixed[i] = true;
      share[i] = need;
      left -= need;
      --open;
      changed = true;
    }
  }
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    if (fixed[i]) continue;
    share[i] = static_cast<std::uint32_t>((left + open - 1) / open);
    left -= share[i];
    --open;
  }
  return share;
}

}  // namespace

std::vector<std::uint32_t> divide_sms(const std::vector<RunningKernel>& kernels, std::uint32_t sms,
                                      bool smart) {
  std::vector<std::uint32_t> share = divide_evenly(kernels, sms, smart);
  // The cooperative grid that is treated separately, and its SMs: all that it needs, or none.
  std::size_t grid = kernels.size();
  std::uint32_t its = 0;
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    if (!is_torn(kernels[i], share[i])) continue;
    if (resident_blocks(kernels[i]) > 0 && needed_sms(kernels[i]) <= sms) {
      grid = i;
      its = needed_sms(kernels[i]);
      break;
    }
    if (resident_blocks(kernels[i]) == 0) grid = i;  // the youngest
  }
  if (grid == kernels.size()) return share;
  std::vector<RunningKernel> others = kernels;
  others.erase(others.begin() + static_cast<std::ptrdiff_t>(grid));
  std::vector<std::uint32_t> all = divide_sms(others, sms - its, smart);
  all.insert(all.begin() + static_cast<std::ptrdiff_t>(grid), its);
  return all;
}

}  // namespace gpumux::policy
