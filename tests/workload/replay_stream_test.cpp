// A restarted stream gives the same records as before, in whatever steps it was read.
#include "workload/replay_stream.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <memory>
#include <vector>

#include "base/hash.hpp"

namespace gpumux::workload {
namespace {

/// The whole of a warp: records and memory words.
struct Course {
  std::vector<ExecRecord> records;
  std::vector<std::uint64_t> words;
};

/// Has all records from the begin, as those of an emulated block that has passed its barriers.
class Given final : public BlockStream {
 public:
  explicit Given(std::vector<Course> courses)
      : BlockStream(static_cast<std::uint32_t>(courses.size())), courses_(std::move(courses)) {
    for (std::uint32_t w = 0; w < warps(); ++w) {
      const std::vector<ExecRecord>& records = courses_[w].records;
      streams_[w] = {records.data(), records.data() + records.size(), courses_[w].words.data(), true};
    }
  }
  void refill(std::uint32_t, std::uint32_t) override {}

 private:
  std::vector<Course> courses_;
};

std::vector<isa::StaticInst> table_of(std::uint32_t size) {
  std::vector<isa::StaticInst> table(size);
  for (std::uint32_t pc = 0; pc < size; ++pc)
    table[pc].unit = pc % 3 == 0 ? isa::Unit::Memory : isa::Unit::Sp;
  return table;
}

Course draw(Random& random, const std::vector<isa::StaticInst>& table, std::uint32_t length) {
  Course course;
  std::uint32_t pc = 0;
  LaneMask active = kAllLanes;
  for (std::uint32_t i = 0; i < length; ++i) {
    if (random.below(8) == 0) active = static_cast<LaneMask>(random.next());
    if (random.below(16) == 0) active = 0;
    course.records.push_back({pc, active});
    if (table[pc].unit == isa::Unit::Memory) {
      MemHeader header;
      header.transactions =
          static_cast<std::uint16_t>(random.below(5) == 0 ? random.below(33) : random.below(3));
      header.shared_passes = static_cast<std::uint16_t>(random.below(3) == 0 ? random.below(33) : 1);
      header.where = static_cast<MemHeader::Where>(random.below(5));
      course.words.push_back(std::bit_cast<std::uint64_t>(header));
      for (std::uint32_t t = 0; t < header.transactions; ++t) {
        const std::uint64_t line =
            random.below(4) == 0 ? random.next() >> 10U : (std::uint64_t{1} << 33U) + i + t;
        course.words.push_back(Transaction::make(line, 1 + random.below(15), 1 + random.below(32)).word);
      }
    }
    const std::uint32_t where = random.below(4);
    pc = where == 0 ? random.below(static_cast<std::uint32_t>(table.size()))
                    : (pc + 1) % static_cast<std::uint32_t>(table.size());
  }
  return course;
}

/// Gives so much as is wanted, or less now and then; and now and then of other warps too.
class Source final : public BlockStream {
 public:
  Source(std::vector<Course> courses, std::uint64_t seed)
      : BlockStream(static_cast<std::uint32_t>(courses.size())), courses_(std::move(courses)), random_(seed) {
    for (std::uint32_t w = 0; w < warps(); ++w) {
      streams_[w] = {courses_[w].records.data(), courses_[w].records.data(), courses_[w].words.data(),
                     courses_[w].records.empty()};
    }
  }
  void refill(std::uint32_t warp, std::uint32_t wanted) override {
    give(warp, random_.below(4) == 0 ? random_.below(wanted + 1) : wanted + random_.below(3));
    if (random_.below(4) == 0) give(random_.below(warps()), random_.below(20));
  }
  void moved(SmId sm) override { on = sm; }
  SmId on = 0;

 private:
  void give(std::uint32_t warp, std::uint32_t wanted) {
    WarpStream& stream = streams_[warp];
    const ExecRecord* const last = courses_[warp].records.data() + courses_[warp].records.size();
    while (stream.available() < wanted && stream.end != last) ++stream.end;
    stream.finished = stream.end == last;
  }
  std::vector<Course> courses_;
  Random random_;
};

/// Reads up to `most` instructions of the warp, and checks them.
void take(ReplayStream& stream, std::uint32_t warp, std::uint32_t most, const Course& course,
          const std::vector<isa::StaticInst>& table, std::size_t& record, std::size_t& word) {
  WarpStream& warp_stream = stream.stream(warp);
  for (; most > 0 && warp_stream.next != warp_stream.end; --most, ++warp_stream.next, ++record) {
    ASSERT_LT(record, course.records.size());
    ASSERT_EQ(warp_stream.next->pc, course.records[record].pc);
    ASSERT_EQ(warp_stream.next->active, course.records[record].active);
    if (table[warp_stream.next->pc].unit != isa::Unit::Memory) continue;
    const auto header = std::bit_cast<MemHeader>(course.words[word]);
    for (std::uint32_t i = 0; i < 1U + header.transactions; ++i, ++word)
      ASSERT_EQ(*warp_stream.mem_next++, course.words[word]);
  }
}

TEST(ReplayStream, GivesTheSameAgainFromTheBegin) {
  const std::vector<isa::StaticInst> table = table_of(40);
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const std::uint32_t warps = 1 + random.below(4);
    std::vector<Course> courses;
    for (std::uint32_t w = 0; w < warps; ++w) courses.push_back(draw(random, table, random.below(200)));
    ReplayStream stream(std::make_unique<Source>(courses, seed), table);
    std::vector<std::size_t> record(warps), word(warps);
    std::uint32_t restarts = random.below(4);
    for (std::uint32_t step = 0; step < 100'000; ++step) {
      bool ended = true;
      for (std::uint32_t w = 0; w < warps; ++w)
        ended = ended && stream.stream(w).finished && stream.stream(w).available() == 0;
      if (ended && restarts == 0) break;
      if (restarts > 0 && (ended || random.below(60) == 0)) {
        --restarts;
        stream.restart();
        record.assign(warps, 0);
        word.assign(warps, 0);
      }
      const std::uint32_t w = random.below(warps);
      if (random.below(2) == 0) stream.refill(w, 1 + random.below(16));
      take(stream, w, random.below(12), courses[w], table, record[w], word[w]);
      if (HasFatalFailure()) return;
    }
    for (std::uint32_t w = 0; w < warps; ++w) EXPECT_EQ(record[w], courses[w].records.size());
  }
}

TEST(ReplayStream, KeepsAnInstructionInAByteWhereNothingIsUnusual) {
  std::vector<isa::StaticInst> table(100);
  for (isa::StaticInst& inst : table) inst.unit = isa::Unit::Sp;
  Course course;
  for (std::uint32_t pc = 0; pc < 100; ++pc) course.records.push_back({pc, kAllLanes});
  ReplayStream stream(std::make_unique<Source>(std::vector<Course>{course}, 1), table);
  while (!stream.stream(0).finished) {
    stream.refill(0, 100);
    stream.stream(0).next = stream.stream(0).end;
  }
  EXPECT_EQ(stream.records(), 100U);
  EXPECT_EQ(stream.bytes(), 100U);
}

TEST(ReplayStream, MayRestartUntilWhatWasReadIsOverwritten) {
  std::vector<isa::StaticInst> table(3);
  for (isa::StaticInst& inst : table) inst.unit = isa::Unit::Memory;
  table[0].flags = isa::kLoad;
  table[1].flags = isa::kStore;
  table[2].unit = isa::Unit::Sp;
  MemHeader header;
  header.where = MemHeader::Where::Global;
  header.transactions = 1;
  const std::uint64_t line = Transaction::make(7, 1, 32).word;
  // Loads the line, computes, stores to it, computes.
  const Course course{
      {{0, kAllLanes}, {2, kAllLanes}, {1, kAllLanes}, {2, kAllLanes}},
      {std::bit_cast<std::uint64_t>(header), line, std::bit_cast<std::uint64_t>(header), line}};
  ReplayStream stream(std::make_unique<Source>(std::vector<Course>{course}, 1), table);
  while (!stream.stream(0).finished) stream.refill(0, 4);
  const auto may = [&](std::uint32_t left) { return stream.may_restart(std::vector<std::uint32_t>{left}); };
  EXPECT_TRUE(may(4));
  EXPECT_TRUE(may(2));   // the store is the next
  EXPECT_FALSE(may(1));  // it has issued
  EXPECT_FALSE(may(0));
  stream.restart();
  stream.refill(0, 4);
  EXPECT_TRUE(may(stream.stream(0).available()));
  EXPECT_FALSE(may(1));
}

TEST(ReplayStream, AStoreBehindABarrierComesAfterWhatOthersReadBeforeIt) {
  std::vector<isa::StaticInst> table(3);
  table[0].unit = table[1].unit = isa::Unit::Memory;
  table[0].flags = isa::kLoad;
  table[1].flags = isa::kStore;
  table[2].unit = isa::Unit::Control;
  table[2].flags = isa::kBarrier;
  MemHeader header;
  header.where = MemHeader::Where::Global;
  header.transactions = 1;
  const std::vector<std::uint64_t> words = {std::bit_cast<std::uint64_t>(header),
                                            Transaction::make(7, 1, 32).word};
  // Warp 0 stores what warp 1 reads, behind the barrier, or before it.
  for (const bool behind : {true, false}) {
    const Course stores{behind ? std::vector<ExecRecord>{{2, kAllLanes}, {1, kAllLanes}}
                               : std::vector<ExecRecord>{{1, kAllLanes}, {2, kAllLanes}},
                        words};
    const Course loads{behind ? std::vector<ExecRecord>{{0, kAllLanes}, {2, kAllLanes}}
                              : std::vector<ExecRecord>{{2, kAllLanes}, {0, kAllLanes}},
                       words};
    for (const bool turned : {false, true}) {  // whoever comes first
      const std::vector<Course> courses =
          turned ? std::vector<Course>{loads, stores} : std::vector<Course>{stores, loads};
      ReplayStream stream(std::make_unique<Given>(courses), table);
      EXPECT_EQ(stream.may_restart(std::vector<std::uint32_t>{0, 0}), !behind) << behind << turned;
    }
  }
}

TEST(ReplayStream, TellsTheStreamInsideOfAMove) {
  auto inside = std::make_unique<Source>(std::vector<Course>(1), 1);
  const Source& source = *inside;
  const std::vector<isa::StaticInst> table;
  ReplayStream stream(std::move(inside), table);
  stream.moved(7);
  EXPECT_EQ(source.on, 7U);
  EXPECT_EQ(stream.release().get(), &source);
}

}  // namespace
}  // namespace gpumux::workload
