// The exchange of messages between the parts, and the threads that simulate the parts.
#include "engine/exchange.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <map>
#include <numeric>
#include <random>

namespace gpumux::engine {
namespace {

constexpr std::uint32_t kReceivers = 7;

class Exchanged : public testing::TestWithParam<std::uint32_t> {};  // threads

/// Senders are run by any thread, as when one helps another.
TEST_P(Exchanged, EachMessageComesOnceAndASendersKeepTheirOrder) {
  const std::uint32_t threads = GetParam();
  std::array<arch::PartitionMailbox, kReceivers> boxes;
  std::vector<arch::PartitionMailbox*> receivers;
  for (arch::PartitionMailbox& box : boxes) receivers.push_back(&box);
  Exchange<arch::MemRequest> exchange(receivers, threads);
  Workers workers(threads);
  std::mt19937 random(threads);
  std::array<Cycle, kReceivers> next{};
  std::uint32_t tag = 0;
  for (int round = 0; round < 50; ++round) {
    next.fill(kNever);
    std::map<std::uint32_t, std::vector<arch::MemRequest>> sent;  // by receiver
    std::array<std::uint64_t, kReceivers> flits{};
    for (SmId sender = 0; sender < 5; ++sender) {
      arch::SmMailbox box;
      for (auto n = random() % 6; n > 0; --n) {
        arch::MemRequest request;
        request.tag = tag++;
        request.sm = sender;
        request.time = 1000 + random() % 100;
        request.partition = static_cast<PartitionId>(random() % kReceivers);
        box.out.push_back(request);
        sent[request.partition].push_back(request);
        const auto to = static_cast<std::uint16_t>(random() % kReceivers);
        box.credits_out.push_back({1, static_cast<std::uint16_t>(1 + random() % 9), to, sender});
        flits[to] += box.credits_out.back().flits;
      }
      exchange.post(static_cast<std::uint32_t>(random()) % threads, box, next.data());
      EXPECT_TRUE(box.out.empty() && box.credits_out.empty());
    }
    if (round % 3 == 0) {
      exchange.deliver_all(next.data());
    } else {
      std::vector<std::uint32_t> bounds(threads + 1);
      std::iota(bounds.begin(), bounds.end(), 0U);
      workers.run(bounds, [&](std::uint32_t, std::uint32_t first, std::uint32_t last) {
        for (std::uint32_t owner = first; owner < last; ++owner) exchange.deliver(owner, next.data());
      });
    }
    for (std::uint32_t r = 0; r < kReceivers; ++r) {
      Cycle first = kNever;
      for (const arch::MemRequest& request : sent[r]) first = std::min(first, request.time);
      EXPECT_EQ(next[r], first);
      auto& in = boxes[r].in;
      ASSERT_EQ(in.size(), sent[r].size());
      std::stable_sort(in.begin(), in.end(),
                       [](const arch::MemRequest& a, const arch::MemRequest& b) { return a.sm < b.sm; });
      for (std::size_t i = 0; i < in.size(); ++i) EXPECT_EQ(in[i].tag, sent[r][i].tag);
      std::uint64_t came = 0;
      for (const arch::Credit& credit : boxes[r].credits_in) came += credit.flits;
      EXPECT_EQ(came, flits[r]);
      in.clear();
      boxes[r].credits_in.clear();
    }
  }
}

TEST_P(Exchanged, ThreadsTakeEachIndexOnce) {
  const std::uint32_t threads = GetParam();
  Workers workers(threads);
  std::mt19937 random(threads);
  for (int round = 0; round < 300; ++round) {
    std::vector<std::uint32_t> bounds(threads + 1, 0);
    for (std::uint32_t t = 1; t <= threads; ++t)
      bounds[t] = bounds[t - 1] + static_cast<std::uint32_t>(random() % (round % 3 == 0 ? 2 : 30));
    std::vector<std::atomic<int>> taken(bounds.back());
    std::vector<std::atomic<int>> inside(threads);
    workers.run(bounds, [&](std::uint32_t thread, std::uint32_t first, std::uint32_t last) {
      ASSERT_LT(thread, threads);
      EXPECT_EQ(inside[thread].fetch_add(1), 0);  // a thread is at one place at a time
      for (std::uint32_t i = first; i < last; ++i) ++taken[i];
      --inside[thread];
    });
    for (const std::atomic<int>& count : taken) EXPECT_EQ(count.load(), 1);
  }
}

INSTANTIATE_TEST_SUITE_P(Threads, Exchanged, testing::Values(1U, 2U, 3U, 4U));

}  // namespace
}  // namespace gpumux::engine
