#include "policy/qos/hill_climbing.hpp"

#include <algorithm>
#include <cmath>

namespace gpumux::policy {
namespace {

/// Surplus of IPC over the goal with one SM fewer, as a fraction of the goal; negative: it would miss the
/// goal.
double to_spare(const Climber& app) {
  const double n = app.sms;
  return app.ipc * (n - 1) / n / *app.goal - 1;
}

/// The application with the largest surplus, if not negative, among applications with a goal and more than
/// one SM.
std::optional<std::size_t> with_most_to_spare(const std::vector<Climber>& apps) {
  std::optional<std::size_t> best;
  for (std::size_t i = 0; i < apps.size(); ++i) {
    if (!apps[i].goal || apps[i].sms <= 1 || to_spare(apps[i]) < 0) continue;
    if (!best || to_spare(apps[i]) > to_spare(apps[*best])) best = i;
  }
  return best;
}

/// The fewest SMs, at least one, with which the application reaches its goal by the linear model; all SMs if
/// its IPC is 0.
std::uint32_t needs(const Climber& app, std::uint32_t all) {
  if (app.ipc <= 0) return all;
  const double sms = std::ceil(*app.goal / app.ipc * app.sms);
  return sms >= all ? all : std::max<std::uint32_t>(1, static_cast<std::uint32_t>(sms));
}

}  // namespace

std::optional<SmMove> climb(const std::vector<Climber>& apps, const ClimbingRules& rules) {
  std::optional<std::size_t> largest;  // without a goal
  std::optional<std::size_t> smallest;
  std::optional<std::size_t> misses;
  std::uint32_t all = 0;
  for (std::size_t i = 0; i < apps.size(); ++i) {
    all += apps[i].sms;
    if (apps[i].goal) {
      if (!misses && apps[i].ipc < *apps[i].goal) misses = i;
      continue;
    }
    if (apps[i].sms > rules.least && (!largest || apps[i].sms > apps[*largest].sms)) largest = i;
    if (!smallest || apps[i].sms < apps[*smallest].sms) smallest = i;
  }
  const std::optional<std::size_t> rich = with_most_to_spare(apps);
  const auto spare = [&] {  // SMs that `rich` can give
    return rules.by_model ? std::max(1U, apps[*rich].sms - std::min(apps[*rich].sms, needs(apps[*rich], all)))
                          : 1U;
  };
  if (misses) {
    const Climber& poor = apps[*misses];
    const std::uint32_t wants =
        rules.by_model ? std::max(1U, needs(poor, all) - std::min(poor.sms, needs(poor, all))) : 1U;
    if (largest) return SmMove{*largest, *misses, std::min(wants, apps[*largest].sms - rules.least)};
    if (rich) return SmMove{*rich, *misses, std::min(wants, spare())};
    return std::nullopt;
  }
  if (rich && smallest) return SmMove{*rich, *smallest, spare()};
  return std::nullopt;
}

}  // namespace gpumux::policy
