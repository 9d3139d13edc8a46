#include "policy/qos/hill_climbing.hpp"

namespace gpumux::policy {
namespace {

/// What it reaches beyond its goal with one SM less, as a part of the goal; negative: it would miss it.
double to_spare(const Climber& app) {
  const double n = app.sms;
  return app.ipc * (n - 1) / n / *app.goal - 1;
}

/// Of those that have more than one SM, the one that has most to spare, and something.
std::optional<std::size_t> with_most_to_spare(const std::vector<Climber>& apps) {
  std::optional<std::size_t> best;
  for (std::size_t i = 0; i < apps.size(); ++i) {
    if (!apps[i].goal || apps[i].sms <= 1 || to_spare(apps[i]) < 0) continue;
    if (!best || to_spare(apps[i]) > to_spare(apps[*best])) best = i;
  }
  return best;
}

}  // namespace

std::optional<SmMove> climb(const std::vector<Climber>& apps) {
  std::optional<std::size_t> largest;  // without a goal
  std::optional<std::size_t> smallest;
  std::optional<std::size_t> misses;
  for (std::size_t i = 0; i < apps.size(); ++i) {
    if (apps[i].goal) {
      if (!misses && apps[i].ipc < *apps[i].goal) misses = i;
      continue;
    }
    if (apps[i].sms > 1 && (!largest || apps[i].sms > apps[*largest].sms)) largest = i;
    if (!smallest || apps[i].sms < apps[*smallest].sms) smallest = i;
  }
  const std::optional<std::size_t> rich = with_most_to_spare(apps);
  if (misses) {
    if (largest) return SmMove{*largest, *misses};
    if (rich) return SmMove{*rich, *misses};
    return std::nullopt;
  }
  if (rich && smallest) return SmMove{*rich, *smallest};
  return std::nullopt;
}

}  // namespace gpumux::policy
