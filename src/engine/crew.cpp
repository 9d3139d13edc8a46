#include "engine/crew.hpp"

#include <algorithm>

namespace gpumux::engine {

Crew::Crew(unsigned threads) : workers_(threads) {
  for (std::uint32_t t = 0; t <= workers_.threads(); ++t) one_each_.push_back(t);
}

void Crew::share_out(std::uint32_t count) {
  bounds_.assign(1, 0);
  auto part = awake_.begin();
  for (std::uint32_t t = 1; t <= threads(); ++t) {
    part = std::lower_bound(part, awake_.end(), first_owned(t, count, threads()));
    bounds_.push_back(static_cast<std::uint32_t>(part - awake_.begin()));
  }
}

void Crew::note_error(std::uint32_t part) {
  const std::lock_guard lock(error_mutex_);
  if (error_ && error_part_ < part) return;
  error_ = std::current_exception();
  error_part_ = part;
}

}  // namespace gpumux::engine
