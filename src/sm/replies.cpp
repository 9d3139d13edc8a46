// What comes back from the memory partitions, and instruction misses on their way out.
#include "sm/state.hpp"

namespace gpumux::sm {

void Sm::State::send_fetch_misses(Cycle now) {
  for (Fetch::Miss& miss : fetch.misses) {
    if (miss.sent) continue;
    miss.sent = true;
    const ReadOnlyCache& cache = fetch.cache();
    const std::uint32_t index =
        new_request(cache.memory_line(miss.line), Purpose::Instruction, miss.kernel, hot[miss.kernel].app,
                    kNil, cache.memory_sectors(miss.line), std::max(now, miss.wanted));
    ++outstanding[miss.kernel];
    injection.push_side(index, requests);
  }
  fetch.unsent = false;
}

void Sm::State::send_requests(Cycle now) {
  do {
    const bool full = !injection.room();
    const Request* const sent = injection.send(now, requests, id, mailbox.out);
    if (sent == nullptr) return;
    if (miss_queue_each != 0 && sent->purpose <= Purpose::Atomic) [[unlikely]] {
      --misses_queued[sent->app];
      lsu_retry(now);
    }
    if (full && injection.room()) lsu_retry(now);
    ++count(sent->kernel).requests_sent;
    ++progress;
  } while (injection.next() <= now);
}

/// What the next replies will touch, one thing after the other.
[[gnu::always_inline]] inline void Sm::State::prefetch_replies() const {
  const auto request = [this](std::size_t n) -> const Request* {
    const std::uint32_t tag = ejection.coming(n);
    return tag == kNil ? nullptr : &requests[tag];
  };
  const auto first_op = [this](const Request& answered) {
    if (answered.purpose == Purpose::L1Fill) return l1.first_waiter(answered.target);
    return answered.purpose <= Purpose::Atomic ? answered.target : kNil;
  };
  if (const Request* const fifth = request(5)) __builtin_prefetch(fifth, 1);
  if (const Request* const fourth = request(4)) prefetch_target(*fourth);
  if (const Request* const second = request(2)) {
    const std::uint32_t waiter = first_op(*second);
    if (waiter != kNil) __builtin_prefetch(&ops[waiter], 1);
  }
  if (const Request* const first = request(1)) {
    const std::uint32_t waiter = first_op(*first);
    if (waiter != kNil) prefetch_warp(ops[waiter].warp);
  }
  if (const Request* const next = request(0)) {
    const std::uint32_t waiter = first_op(*next);
    if (waiter != kNil) prefetch_records(table.warp(ops[waiter].warp));
  }
}

void Sm::State::reply(Cycle now) {
  const arch::MemReply message = ejection.pop();
  prefetch_replies();
  Request& request = requests[message.tag];
  ++progress;
  mailbox.credits_out.push_back({now + network.latency, message.flits, request.partition, id});

  // A read may be answered in parts; sectors that nobody asked for are ignored.
  const bool read = request.purpose == Purpose::L1Fill || request.purpose == Purpose::Load ||
                    request.purpose == Purpose::Instruction || request.purpose == Purpose::Constant;
  std::uint8_t sectors = request.sectors;
  if (read && message.sectors != 0) sectors &= static_cast<std::uint8_t>(message.sectors);
  request.sectors &= static_cast<std::uint8_t>(~sectors);
  const bool last = !read || request.sectors == 0;

  switch (request.purpose) {
    case Purpose::L1Fill:
      l1.fill(request.target, sectors, [&](std::uint32_t op) { transaction_done(op, now, now); });
      lsu_retry(now);
      break;
    case Purpose::Load:
    case Purpose::Store:
    case Purpose::Atomic:
      if (last) transaction_done(request.target, now, now);
      break;
    case Purpose::Instruction:
      if (last) {
        --outstanding[request.kernel];
        const std::uint64_t line = fetch.cache().line_of_request(request.line, request.wanted);
        const Fetch::Miss miss = fetch.filled(line);
        for (std::uint32_t s = 0; s < schedulers_count; ++s) {
          for (WarpMask mask = miss.warps[s]; mask != 0; mask &= mask - 1) {
            const std::uint32_t slot = slot_of(s, static_cast<std::uint32_t>(std::countr_zero(mask)));
            Warp& warp = table.warp(slot);
            if (!warp.alive || !fetch.deliver(warp, line, now, hot[warp.kernel].code_address)) continue;
            if (warp.wait == Wait::Fetch) place(slot, now, now);
          }
        }
      }
      break;
    case Purpose::Constant:
      if (last) {
        const std::uint64_t line = constants.line_of_request(request.line, request.wanted);
        constants.fill(line);
        for (std::size_t i = 0; i < constant_misses.size(); ++i) {
          if (constant_misses[i].line != line) continue;
          const std::vector<std::uint32_t> waiting = std::move(constant_misses[i].ops);
          constant_misses.erase(constant_misses.begin() + static_cast<std::ptrdiff_t>(i));
          for (const std::uint32_t op : waiting) transaction_done(op, now, now);
          break;
        }
      }
      break;
  }
  if (last) requests.give(message.tag);
}

}  // namespace gpumux::sm
