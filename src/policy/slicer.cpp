#include "policy/slicer.hpp"

#include <algorithm>

namespace gpumux::policy {

Slicer::Options Slicer::read(const SettingReader& read) {
  Options options;
  if (read.choice("normalize", "max", {"max", "full"}) == "full") options.normalize = Normalize::Full;
  if (read.text("fallback", "off") != "off") options.fallback = read.real("fallback", 0, 0, 1);
  return options;
}

std::vector<std::pair<std::string, std::string>> Slicer::settings() {
  return {
      {"normalize",
       "a curve is divided by its maximum (max) or by its value at the most blocks (full) [max]"},
      {"fallback", "off, or the predicted loss of a kernel, 0 to 1, beyond which all share spatially [off]"}};
}

void Slicer::divide(Control& control, const std::vector<RunningKernel>& kernels,
                    const std::vector<ScalabilityCurve>& curves) {
  const auto spot = water_filling(sm_capacity(control.config().sm), sharers(control.config(), kernels),
                                  curves, options_.normalize);
  if (!spot) throw_too_many(policy_, kernels);
  const double worst = *std::min_element(spot->normalized.begin(), spot->normalized.end());
  if (options_.fallback && 1 - worst > *options_.fallback) {
    ++fallbacks_;
    stop(control);
    divide_sms(control, kernels);
    return;
  }
  set_partition(control, kernels, spot->blocks);
  Partition partition;
  for (std::size_t i = 0; i < kernels.size(); ++i)
    partition.parts.push_back({kernels[i].app, kernels[i].name, spot->blocks[i], spot->normalized[i]});
  log_.use(control.now(), std::move(partition));
}

void Slicer::report(const Probes& control, Report& to) const {
  log_.report(control.now(), to);
  if (options_.fallback) to.numbers.push_back({"spatial_fallbacks", static_cast<double>(fallbacks_), {}});
}

void divide_sms(Control& control, const std::vector<RunningKernel>& kernels) {
  const auto sms = static_cast<std::size_t>(control.config().sms);
  const std::size_t count = kernels.size();
  set_partition(control, kernels, std::vector<std::uint32_t>(count, 0));
  std::uint32_t sm = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t part = sms / count + (i < sms % count ? 1 : 0);
    for (std::size_t n = 0; n < part; ++n) control.sm(sm++).limit_blocks(kernels[i].slot, kUnlimited);
  }
}

}  // namespace gpumux::policy
