// L1 alone: replacement, index, resizing, flushing, and agreement with a slow model.
#include "sm/l1.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <list>
#include <map>
#include <random>
#include <set>
#include <utility>

namespace gpumux::sm {
namespace {

arch::L1Config small(std::uint32_t sets, std::uint32_t ways) {
  arch::L1Config config;
  config.bytes = sets * ways * kLineBytes;
  config.ways = ways;
  config.index = arch::L1Index::Linear;
  config.sectored = false;
  config.mshr_entries = 8;
  config.mshr_merges = 4;
  return config;
}

void bring(L1& l1, std::uint64_t line) {
  const L1Access access = l1.load(line, 0xf, true);
  ASSERT_EQ(access.result, L1Result::Miss);
  l1.wait(access.mshr, 0, access.missing);
  std::uint32_t done = 0;
  l1.fill(access.mshr, 0xf, [&](std::uint32_t) { ++done; });
  EXPECT_EQ(done, 1U);
}

bool hits(L1& l1, std::uint64_t line) {
  const L1Access access = l1.load(line, 0xf, false);  // without room in the queue a miss changes nothing
  return access.result == L1Result::Hit;
}

TEST(L1, ReplacesTheLeastRecentlyUsed) {
  for (const arch::Allocate allocate : {arch::Allocate::OnMiss, arch::Allocate::OnFill}) {
    arch::L1Config config = small(1, 3);
    config.allocate = allocate;
    L1 l1(config);
    bring(l1, 1);
    bring(l1, 2);
    bring(l1, 3);
    EXPECT_TRUE(hits(l1, 1));  // 2 is the oldest now
    bring(l1, 4);
    EXPECT_TRUE(hits(l1, 1));
    EXPECT_FALSE(hits(l1, 2));
    EXPECT_TRUE(hits(l1, 3));
    EXPECT_TRUE(hits(l1, 4));
  }
}

TEST(L1, ReservedLinesCannotBeEvicted) {
  L1 l1(small(1, 2));
  const L1Access first = l1.load(1, 0xf, true);
  const L1Access second = l1.load(2, 0xf, true);
  EXPECT_EQ(l1.reserved_lines(), 2U);
  EXPECT_EQ(l1.load(3, 0xf, true).result, L1Result::FailLine);
  l1.fill(first.mshr, 0xf, [](std::uint32_t) {});
  EXPECT_EQ(l1.load(3, 0xf, true).result, L1Result::Miss);  // evicts 1
  l1.fill(second.mshr, 0xf, [](std::uint32_t) {});
  EXPECT_TRUE(hits(l1, 2));
  EXPECT_FALSE(hits(l1, 1));
}

TEST(L1, XorIndexSpreadsPowerOfTwoStrides) {
  arch::L1Config config = small(32, 1);
  const auto kept = [&](arch::L1Index index) {
    config.index = index;
    L1 l1(config);
    for (std::uint64_t i = 0; i < 32; ++i) bring(l1, i * 32);
    std::uint32_t present = 0;
    for (std::uint64_t i = 0; i < 32; ++i) present += hits(l1, i * 32) ? 1 : 0;
    return present;
  };
  EXPECT_EQ(kept(arch::L1Index::Linear), 1U);
  EXPECT_EQ(kept(arch::L1Index::Xor), 32U);
}

// Lines of addresses of one bit each: which sets they share with line 0 and with each other.
TEST(L1, FermisIndexTakesFiveOfTheUpperBits) {
  const auto alone = [](std::uint32_t sets, std::uint64_t address) {
    arch::L1Config config = small(sets, 1);
    config.index = arch::L1Index::Fermi;
    L1 l1(config);
    bring(l1, 0);
    bring(l1, address / kLineBytes);
    return hits(l1, 0);  // still there
  };
  const std::set<std::uint32_t> taken = {7, 8, 9, 10, 11, 13, 14, 15, 17, 19};
  for (std::uint32_t bit = 7; bit < 30; ++bit) {
    EXPECT_EQ(alone(32, std::uint64_t{1} << bit), taken.count(bit) != 0) << bit;
    EXPECT_EQ(alone(64, std::uint64_t{1} << bit), bit == 12 || taken.count(bit) != 0) << bit;
  }
  // Bit 13 goes onto bit 7, 14 onto 8, 15 onto 9, 17 onto 10 and 19 onto 11.
  for (const auto& [upper, lower] : {std::pair{13, 7}, {14, 8}, {15, 9}, {17, 10}, {19, 11}})
    EXPECT_FALSE(alone(32, (std::uint64_t{1} << upper) | (std::uint64_t{1} << lower))) << upper;
}

TEST(L1, FlushDropsLinesAndDataOnTheirWay) {
  for (const arch::Allocate allocate : {arch::Allocate::OnMiss, arch::Allocate::OnFill}) {
    arch::L1Config config = small(4, 2);
    config.allocate = allocate;
    L1 l1(config);
    bring(l1, 1);
    const L1Access pending = l1.load(2, 0xf, true);
    l1.wait(pending.mshr, 7, pending.missing);
    l1.flush();
    EXPECT_FALSE(hits(l1, 1));
    EXPECT_EQ(l1.load(2, 0xf, true).result, L1Result::FailMerge);
    std::uint32_t op = 0;
    l1.fill(pending.mshr, 0xf, [&](std::uint32_t which) { op = which; });
    EXPECT_EQ(op, 7U);
    EXPECT_FALSE(hits(l1, 2));
    EXPECT_EQ(l1.mshrs_in_use() + l1.waiters() + l1.reserved_lines(), 0U);
    bring(l1, 2);
    EXPECT_TRUE(hits(l1, 2));
  }
}

TEST(L1, ResizeKeepsTheNewestLinesAndReservedOnes) {
  arch::L1Config config = small(2, 2);
  config.unified_bytes = 2 * 8 * kLineBytes;
  L1 l1(config);
  l1.resize(2 * 8 * kLineBytes);
  for (std::uint64_t line = 0; line < 16; ++line) bring(l1, line);
  for (std::uint64_t line = 0; line < 16; ++line) EXPECT_TRUE(hits(l1, line));
  const L1Access pending = l1.load(100, 0xf, true);  // evicts 0
  l1.resize(2 * 1 * kLineBytes);
  EXPECT_EQ(l1.bytes(), 2U * kLineBytes);
  EXPECT_TRUE(hits(l1, 15));
  EXPECT_FALSE(hits(l1, 13));
  EXPECT_FALSE(hits(l1, 14));  // its set holds the reserved line
  l1.fill(pending.mshr, 0xf, [](std::uint32_t) {});
  EXPECT_TRUE(hits(l1, 100));
}

TEST(L1, StoresThatTakeLines) {
  // Two sets of four ways; even lines are in one of them.
  arch::L1Config config = small(2, 4);
  config.sectored = true;
  config.index = arch::L1Index::Linear;
  config.write = arch::L1Write::Allocate;
  L1 l1(config);
  EXPECT_EQ(l1.write(0, 0x3, true), 0U);
  EXPECT_EQ(l1.load(0, 0x3, true).result, L1Result::Hit);
  EXPECT_EQ(l1.write(0, 0x7, true), 0x3U);
  EXPECT_EQ(l1.load(0, 0x4, true).result, L1Result::Hit);
  // Half of a sector makes nothing readable, and takes a line all the same.
  l1.write(2, 0x1, false);
  bring(l1, 4);
  bring(l1, 6);
  bring(l1, 8);  // 0 goes, not 2
  EXPECT_FALSE(hits(l1, 0));
  L1 kept([&] {
    config.written_kept = 25;  // two of eight lines
    return config;
  }());
  kept.write(0, 0xf, true);
  for (std::uint64_t line = 2; line <= 16; line += 2) bring(kept, line);
  EXPECT_TRUE(hits(kept, 0));  // one line is written, which stays
  kept.write(2, 0xf, true);    // with two, they go as others do; 0 has been used since 12, 14 and 16 came
  bring(kept, 18);
  bring(kept, 20);
  EXPECT_TRUE(hits(kept, 0));
  bring(kept, 22);
  bring(kept, 24);
  bring(kept, 26);
  EXPECT_FALSE(hits(kept, 2));
}

TEST(L1, TooManyLinesAreRefused) {
  arch::L1Config config = small(1, 4);
  config.bytes = 64U << 20U;
  EXPECT_THROW(L1{config}, UserError);
}

/// The same cache with a list per set and maps: slow and plain.
class PlainL1 {
 public:
  PlainL1(const arch::L1Config& config, std::uint32_t sets)
      : config_(config), sets_(sets), on_miss_(config.allocate == arch::Allocate::OnMiss) {}
  struct Pending {
    std::uint8_t sectors = 0;
    std::uint32_t merges = 0;
  };
  L1Result load(std::uint64_t line, std::uint8_t sectors, bool room) {
    if (!config_.sectored) sectors = 0xf;
    auto& set = lines_[line % sets_];
    const auto at = std::find_if(set.begin(), set.end(), [&](const auto& l) { return l.line == line; });
    const unsigned valid = at == set.end() ? 0U : at->valid;
    const unsigned missing = sectors & ~valid;
    if (missing == 0) {
      set.splice(set.begin(), set, at);
      return L1Result::Hit;
    }
    const auto pending = pending_.find(line);
    const unsigned request = missing & ~(pending == pending_.end() ? 0U : pending->second.sectors);
    if (on_miss_ && at == set.end()) {
      std::uint32_t reserved = 0;
      for (const auto& l : set) reserved += pending_.count(l.line) != 0 ? 1 : 0;
      if (reserved >= config_.ways) return L1Result::FailLine;
    }
    if (pending == pending_.end() && pending_.size() >= config_.mshr_entries) return L1Result::FailMshr;
    if (pending != pending_.end() && pending->second.merges >= config_.mshr_merges)
      return L1Result::FailMerge;
    if (request != 0 && !room) return L1Result::FailMissQueue;
    if (at != set.end()) {
      set.splice(set.begin(), set, at);
    } else if (on_miss_) {
      insert(set, line, 0);
    }
    Pending& entry = pending_[line];
    entry.sectors = static_cast<std::uint8_t>(entry.sectors | request);
    ++entry.merges;
    return request != 0 ? L1Result::Miss : L1Result::Merged;
  }
  void fill(std::uint64_t line, std::uint8_t sectors) {
    auto& set = lines_[line % sets_];
    const auto at = std::find_if(set.begin(), set.end(), [&](const auto& l) { return l.line == line; });
    if (at == set.end()) {
      insert(set, line, sectors);
    } else {
      at->valid = static_cast<std::uint8_t>(at->valid | sectors);
      if (!on_miss_) set.splice(set.begin(), set, at);
    }
    Pending& entry = pending_[line];
    entry.sectors = static_cast<std::uint8_t>(entry.sectors & ~sectors);
    if (entry.sectors == 0) pending_.erase(line);
  }
  void write(std::uint64_t line, std::uint8_t sectors, bool whole) {
    auto& set = lines_[line % sets_];
    auto at = std::find_if(set.begin(), set.end(), [&](const auto& l) { return l.line == line; });
    const bool on_its_way = pending_.count(line) != 0;
    if (config_.write == arch::L1Write::Allocate) {
      if (at == set.end()) {
        std::uint32_t reserved = 0;
        for (const auto& l : set) reserved += on_miss_ && pending_.count(l.line) != 0 ? 1 : 0;
        if (on_its_way || reserved >= config_.ways) return;
        insert(set, line, 0);
      } else {
        set.splice(set.begin(), set, at);
      }
      at = set.begin();
      const unsigned made = config_.sectored || sectors == 0xf ? sectors : 0U;
      if (whole)
        at->valid =
            static_cast<std::uint8_t>(at->valid | (made & ~(on_its_way ? pending_[line].sectors : 0U)));
      at->written = config_.written_kept != 0;
      return;
    }
    if (at == set.end()) return;
    if (config_.write == arch::L1Write::Evict) {
      at->valid = config_.sectored ? static_cast<std::uint8_t>(at->valid & ~sectors) : std::uint8_t{0};
      if (at->valid == 0 && !(on_miss_ && on_its_way)) set.erase(at);
    } else if ((at->valid & sectors) != 0) {
      set.splice(set.begin(), set, at);
    }
  }

 private:
  struct Line {
    std::uint64_t line;
    std::uint8_t valid;
    bool written;
  };
  using Set = std::list<Line>;  // newest first
  void insert(Set& set, std::uint64_t line, std::uint8_t valid) {
    if (set.size() >= config_.ways) {
      std::uint32_t written = 0;
      for (const auto& of_lines : lines_)
        for (const Line& l : of_lines.second) written += l.written ? 1 : 0;
      const bool kept = written * 100 < sets_ * config_.ways * config_.written_kept;
      auto victim = set.end();
      for (const bool any : {false, true}) {
        for (auto l = set.begin(); l != set.end(); ++l)
          if (!(on_miss_ && pending_.count(l->line) != 0) && (any || !kept || !l->written)) victim = l;
        if (victim != set.end()) break;
      }
      set.erase(victim);
    }
    set.push_front({line, valid, false});
  }
  arch::L1Config config_;
  std::uint32_t sets_;
  bool on_miss_;
  std::map<std::uint64_t, Set> lines_;
  std::map<std::uint64_t, Pending> pending_;
};

TEST(L1, AgreesWithThePlainModel) {
  std::mt19937 random(7);
  for (unsigned variant = 0; variant < 32; ++variant) {
    arch::L1Config config = small(variant % 3 == 0 ? 3 : 4, 1 + variant % 4);
    config.sectored = (variant & 1U) != 0;
    config.allocate = (variant & 2U) != 0 ? arch::Allocate::OnMiss : arch::Allocate::OnFill;
    config.write = (variant & 4U) != 0 ? arch::L1Write::Evict : arch::L1Write::Through;
    if (variant >= 16) config.write = arch::L1Write::Allocate;
    config.written_kept = variant % 4 == 3 ? 0 : 20 * (variant / 4);
    config.mshr_entries = static_cast<std::uint32_t>(1 + random() % 6);
    config.mshr_merges = static_cast<std::uint32_t>(1 + random() % 4);
    L1 l1(config);
    PlainL1 plain(config, variant % 3 == 0 ? 3 : 4);
    struct Flight {
      std::uint64_t line;
      std::uint8_t sectors;
      std::uint32_t mshr;
    };
    std::vector<Flight> flights;
    std::map<std::uint32_t, unsigned> waiting;  // op -> sectors
    for (std::uint32_t step = 0; step < 20'000; ++step) {
      const std::uint64_t line = random() % 24;
      const auto sectors = static_cast<std::uint8_t>(1 + random() % 15);
      const auto what = random() % 8;
      if (what == 0) {
        const bool whole = random() % 2 != 0;
        l1.write(line, sectors, whole);
        plain.write(line, sectors, whole);
      } else if (what <= 3 && !flights.empty()) {
        const std::size_t which = random() % flights.size();
        const Flight flight = flights[which];
        flights.erase(flights.begin() + static_cast<std::ptrdiff_t>(which));
        plain.fill(flight.line, flight.sectors);
        l1.fill(flight.mshr, flight.sectors, [&](std::uint32_t op) { waiting.erase(op); });
      } else {
        const bool room = random() % 8 != 0;
        const L1Access access = l1.load(line, sectors, room);
        ASSERT_EQ(access.result, plain.load(line, sectors, room))
            << "variant " << variant << " step " << step;
        if (access.result != L1Result::Miss && access.result != L1Result::Merged) continue;
        l1.wait(access.mshr, step, access.missing);
        waiting[step] = access.missing;
        if (access.request != 0) flights.push_back({line, access.request, access.mshr});
      }
    }
    while (!flights.empty()) {
      l1.fill(flights.back().mshr, flights.back().sectors, [&](std::uint32_t op) { waiting.erase(op); });
      flights.pop_back();
    }
    EXPECT_TRUE(waiting.empty());
    EXPECT_EQ(l1.mshrs_in_use() + l1.waiters() + l1.reserved_lines(), 0U);
  }
}

}  // namespace
}  // namespace gpumux::sm
