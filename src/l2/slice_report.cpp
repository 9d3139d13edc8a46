// Describes in words what a slice waits for, for the watchdog's report.
#include "l2/slice.hpp"

namespace gpumux::l2 {

std::string Slice::describe() const {
  if (idle()) return {};
  const std::string name = fmt::format("partition {} slice {}", s_.id, index_);
  std::string text;
  const auto line_of = [&](RequestIndex index) {
    const Request& r = s_.pool[index];
    constexpr const char* kKinds[] = {"read", "write", "atomic", "instruction fetch"};
    return fmt::format("{} of line {:#x} of the partition by SM {} (app {}, kernel slot {})",
                       kKinds[static_cast<unsigned>(r.kind)], s_.map.local_line(r.slice_line, index_, r.app),
                       r.sm, r.app, r.kernel);
  };
  if (approach_.network() != 0) {
    text += fmt::format("{} ejection port waits for a place in the slice: {}\n", name,
                        line_of(approach_.first_in_network().request));
  }
  if (approach_.input() != 0) {
    const char* cause = head_blocked_      ? "waits for a line, MSHR or miss queue entry"
                        : head_unanswered_ ? "waits for a place in the output queue"
                                           : "is on its way to the tags";
    text += fmt::format("{} input queue: {} requests; the first {}: {}\n", name, approach_.input(), cause,
                        line_of(approach_.front().request));
  }
  if (mshrs_.used() != 0)
    text += fmt::format("{}: {} of {} MSHRs in use\n", name, mshrs_.used(), mshrs_.count());
  if (!misses_.empty()) {
    text += fmt::format("{} miss queue: {} entries{}\n", name, misses_.size(),
                        controller_.on ? ", waits for the DRAM queue" : "");
  }
  if (!ready_.empty()) text += fmt::format("{} has data for {}\n", name, line_of(ready_.front()));
  if (!unsent_.empty()) {
    text +=
        fmt::format("{}: {} replies wait for credits of the reply network ({} left), the first for SM {}\n",
                    name, unsent_.size(), s_.reply_credits, unsent_.front().reply.sm);
  }
  return text;
}

}  // namespace gpumux::l2
