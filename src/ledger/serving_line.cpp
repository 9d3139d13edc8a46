#include "ledger/serving_line.hpp"

#include <bit>

namespace gpumux::ledger {

void ServingLine::delayed(AppId app, std::uint64_t arrived, std::uint64_t begin, std::uint64_t alone,
                          const Due& due) {
  const auto charge = [&due](AppId culprit, std::uint64_t time) {
    if (due.of != nullptr) due.of[culprit].*due.counter += time;
  };
  look_from(arrived);
  // Service of the window's first entry that was before the arrival does not count.
  Entry none;
  none.begin = arrived & kTime;
  none.app = app;
  const Entry& first = window_ != entries_ ? entries(window_) : none;
  const std::uint64_t before = arrived - std::min<std::uint64_t>(arrived, first.begin);
  const auto served = [&](AppId of) { return of_[of].served - (of == first.app ? before : 0); };
  const std::uint64_t busy = busy_ - before;
  const std::uint64_t others = busy - served(app);
  const std::uint64_t waited = std::min(begin - alone, busy);
  const std::uint32_t rest = apps_ & ~(std::uint32_t{1} << app);
  if (others == 0) {
    if (waited != 0) charge(of_[app].culprit, waited);
  } else if (std::has_single_bit(rest)) {
    of_[app].culprit = static_cast<AppId>(std::countr_zero(rest));
    charge(of_[app].culprit, waited);
  } else {
    for (std::uint32_t i = window_;; ++i) {
      if (entries(i).app == app) continue;
      of_[app].culprit = static_cast<AppId>(entries(i).app);
      break;
    }
    for (std::uint32_t left = rest; left != 0; left &= left - 1) {
      const auto other = static_cast<AppId>(std::countr_zero(left));
      const std::uint64_t time = served(other);
      if (time != 0) charge(other, time == others ? waited : waited * time / others);
    }
  }
}

}  // namespace gpumux::ledger
