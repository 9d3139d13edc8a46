#include "sm/lost_locality.hpp"

#include <algorithm>

#include "base/error.hpp"

namespace gpumux::sm {

namespace {

constexpr std::uint64_t kNoLine = ~std::uint64_t{0};

}  // namespace

LostLocality::LostLocality(const arch::CcwsConfig& config, std::uint32_t warp_slots, std::uint32_t schedulers,
                           std::uint32_t l1_lines)
    : config_(config),
      schedulers_(schedulers),
      sets_(std::max(1U, config.victim_tags / config.victim_ways)),
      loader_(l1_lines, kNobody),
      victims_(std::size_t{warp_slots} * sets_ * config.victim_ways, kNoLine),
      lost_score_(warp_slots, 0),
      scored_at_(warp_slots, 0),
      generation_(warp_slots, 0) {
  GPUMUX_CHECK(schedulers <= kMostSchedulers);
}

void LostLocality::evicted(std::uint32_t index, std::uint64_t line) {
  const std::uint16_t slot = loader_[index];
  if (slot == kNobody) return;
  const auto first = victims_.begin() + static_cast<std::ptrdiff_t>(set_of(slot, line));
  std::move_backward(first, first + config_.victim_ways - 1, first + config_.victim_ways);
  *first = line;
}

bool LostLocality::has_lost(Loader loader, std::uint64_t line) const {
  if (!is_here(loader)) return false;
  const auto first = victims_.begin() + static_cast<std::ptrdiff_t>(set_of(loader.slot, line));
  return std::find(first, first + config_.victim_ways, line) != first + config_.victim_ways;
}

void LostLocality::missed(Loader loader, std::uint64_t line, arch::KernelSlot kernel,
                          std::uint64_t instructions, Cycle now) {
  const auto first = victims_.begin() + static_cast<std::ptrdiff_t>(set_of(loader.slot, line));
  const auto end = first + config_.victim_ways;
  if (const auto found = std::find(first, end, line); found != end) {  // the line is no longer a victim
    std::move(found + 1, end, found);
    *(end - 1) = kNoLine;
  }
  const std::uint64_t cutoff = std::uint64_t{running_} * config_.base_score;
  const std::uint64_t lost =
      ++found_[kernel] * config_.throttle * cutoff / std::max<std::uint64_t>(instructions, 1);
  lost_score_[loader.slot] = lost > config_.base_score ? lost - config_.base_score : 0;
  scored_at_[loader.slot] = now;
  stale_ = true;
}

void LostLocality::came(std::uint32_t slot, std::uint32_t generation) {
  generation_[slot] = generation;
  lost_score_[slot] = 0;
  const std::size_t ways = std::size_t{sets_} * config_.victim_ways;
  std::fill_n(victims_.begin() + static_cast<std::ptrdiff_t>(slot * ways), ways, kNoLine);
  // Lines of the slot's previous warp have no loader any more.
  std::replace(loader_.begin(), loader_.end(), static_cast<std::uint16_t>(slot), kNobody);
}

std::uint64_t LostLocality::score(std::uint32_t slot, Cycle now) const {
  const Cycle passed = now - std::min(now, scored_at_[slot]);
  return config_.base_score + (lost_score_[slot] > passed ? lost_score_[slot] - passed : 0);
}

void LostLocality::choose(const std::vector<std::uint16_t>& running, Cycle now) {
  running_ = static_cast<std::uint32_t>(running.size());
  stale_ = false;
  held_ = {};
  next_ = kNever;
  ranked_.clear();
  bool some_lost = false;
  for (const std::uint16_t slot : running) {
    ranked_.push_back({score(slot, now), slot, static_cast<std::uint16_t>(ranked_.size())});
    some_lost = some_lost || ranked_.back().score > config_.base_score;
  }
  if (!some_lost) return;  // the sum of the scores equals the cutoff
  // Equal scores: oldest first.
  std::sort(ranked_.begin(), ranked_.end(), [](const Ranked& a, const Ranked& b) {
    return a.score != b.score ? a.score > b.score : a.age < b.age;
  });
  const std::uint64_t cutoff = std::uint64_t{running_} * config_.base_score;
  std::uint64_t sum = ranked_.front().score;
  std::size_t may = 1;  // the warp with the highest score may always issue
  for (; may < ranked_.size() && sum + ranked_[may].score <= cutoff; ++may) sum += ranked_[may].score;
  for (std::size_t i = may; i < ranked_.size(); ++i)
    held_[ranked_[i].slot % schedulers_] |= WarpMask{1} << (ranked_[i].slot / schedulers_);
  if (may == ranked_.size()) return;
  // The next warp may issue loads when the scores have fallen far enough that the sum up to its own fits.
  // Each score falls by one per cycle, down to the base.
  const std::uint64_t room = cutoff - (may + 1) * config_.base_score;  // for the parts above the base
  std::uint64_t above = sum + ranked_[may].score - (may + 1) * config_.base_score;
  std::uint64_t cycles = 0;
  for (std::size_t i = may + 1; above > room && i-- > 0;) {  // lowest score first
    const std::uint64_t rest = ranked_[i].score - config_.base_score - cycles;
    const std::uint64_t falling = i + 1;
    const std::uint64_t wanted = (above - room + falling - 1) / falling;
    const std::uint64_t step = std::min(rest, wanted);
    above -= step * falling;
    cycles += step;
  }
  // A warp whose score has fallen to the base may have to give its place to an older warp.
  for (std::size_t i = 0; i < may && ranked_[i].score > config_.base_score; ++i)
    cycles = std::min(cycles, ranked_[i].score - config_.base_score);
  next_ = now + std::max<std::uint64_t>(cycles, 1);
}

}  // namespace gpumux::sm
