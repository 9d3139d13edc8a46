#include "ledger/serving_line.hpp"

#include <bit>

namespace gpumux::ledger {

ServingLine::Passed ServingLine::pass(AppId app, std::uint64_t arrived, std::uint64_t until, const Due& due) {
  const auto charge = [&due](AppId culprit, std::uint64_t time) {
    if (due.of != nullptr) due.of[culprit].*due.counter += time;
  };
  const std::uint64_t begin = std::max(arrived, until_);
  const std::uint64_t alone = std::max(arrived, of_[app].alone_until);
  const Passed passed{begin - arrived, std::max(until, begin) - begin};
  of_[app].alone_until = alone + passed.served;
  if (begin > alone) {
    look_from(arrived);
    // Of the window's first entry, what lies before its arrival is not of concern.
    const Entry none{arrived, arrived, app};
    const Entry& first = window_ != entries_ ? entries(window_) : none;
    const std::uint64_t before = arrived - std::min(arrived, first.begin);
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
      for (std::uint64_t i = window_;; ++i) {
        if (entries(i).app == app) continue;
        of_[app].culprit = entries(i).app;
        break;
      }
      for (std::uint32_t left = rest; left != 0; left &= left - 1) {
        const auto other = static_cast<AppId>(std::countr_zero(left));
        const std::uint64_t time = served(other);
        if (time != 0) charge(other, time == others ? waited : waited * time / others);
      }
    }
  }
  if (until <= begin) return passed;
  until_ = until;
  const std::uint64_t last = entries_ - 1;
  if (entries_ > first_ && entries(last).app == app && entries(last).end == begin) {
    entries(last).end = until;
    if (window_ <= last) add(app, passed.served);
    return passed;
  }
  if (entries_ - first_ == kKept) {
    if (window_ == first_) leave_first();
    ++first_;
  }
  entries(entries_++) = {begin, until, app};
  apps_ |= std::uint32_t{1} << app;
  add(app, passed.served);
  return passed;
}

}  // namespace gpumux::ledger
