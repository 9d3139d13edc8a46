// Unsynchronised accesses that must be reported as races, and synchronised accesses that must not.
#include <algorithm>

#include <gtest/gtest.h>

#include "emulator/nvcc_module.hpp"
#include "emulator/ptx_runner.hpp"
#include "emulator/race_log.hpp"

namespace gpumux::emulator::test {
namespace {

/// A kernel `k` of two pointers, `data` in %rd1 and `more` in %rd2, with the thread's number in its block in
/// %r1, its block's in %r2 and its lane's in %r3.
std::string racing_kernel(const std::string& body) {
  return R"(
.visible .entry k(.param .u64 data, .param .u64 more)
{
  .shared .align 16 .b8 s[1024];
  .reg .pred %p<8>;
  .reg .b16 %rs<8>;
  .reg .b32 %r<40>;
  .reg .b64 %rd<40>;
  ld.param.u64 %rd1, [data];
  ld.param.u64 %rd2, [more];
  mov.u32 %r1, %tid.x;
  mov.u32 %r2, %ctaid.x;
  mov.u32 %r3, %laneid;
  mov.u32 %r4, s;
  shl.b32 %r5, %r1, 2;
  add.u32 %r5, %r4, %r5;        // &s[tid]
  mul.wide.u32 %rd3, %r1, 4;
  add.u64 %rd3, %rd1, %rd3;     // &data[tid]
)" + body +
         R"(
  ret;
}
)";
}

struct Shape {
  std::uint32_t blocks = 1;
  std::uint32_t threads = 64;
  RaceMode mode = RaceMode::Lockstep;
  int launches = 1;
  bool optimised = true;  // optimised code has the same races
};

/// "space kinds COUNT: first/second" of each pair.
std::vector<std::string> races_of(const std::string& body, Shape shape = {}) {
  std::vector<std::string> of[2];
  for (const int optimize : {0, 1}) {
    if (optimize == 1 && !shape.optimised) break;
    RaceLog log(shape.mode);
    PtxRunner runner(racing_kernel(body), optimize, &log);
    const Address data = runner.device.memory.allocate(4096);
    const Address more = runner.device.memory.allocate(4096);
    for (int i = 0; i < shape.launches; ++i)
      runner.run("k", {shape.blocks, 1, 1}, {shape.threads, 1, 1}, {data, more}, 0, 1'000'000);
    EXPECT_EQ(log.launches(), static_cast<std::uint64_t>(shape.launches));
    for (const Race& race : log.sorted()) {
      of[optimize].push_back(std::string(isa::name(race.space)) + " " + kinds_text(race) + " " +
                             std::to_string(race.count()) + ": " + race.first.what + "/" + race.second.what);
    }
    std::sort(of[optimize].begin(), of[optimize].end());
  }
  if (shape.optimised) {
    EXPECT_EQ(of[0], of[1]);
  }
  return of[0];
}

using Found = std::vector<std::string>;
const Found kNone;
constexpr const char* kBar = "bar.sync 0;";

// --- The block's barriers ----------------------------------------------------------------------------

/// Two warps add their halves.
std::string reduction(const std::string& between) {
  return "st.shared.u32 [%r5], %r1;" + between + R"(
  setp.lt.u32 %p1, %r1, 32;
  @!%p1 bra END;
  ld.shared.u32 %r10, [%r5+128];
  st.global.u32 [%rd3], %r10;
END:)";
}

TEST(Races, AReductionWithoutItsBarrier) {
  // Warp 0 is executed first, and reads what is there: on a GPU the order may be the other.
  EXPECT_EQ(races_of(reduction("")), Found{"shared write-after-read 32: read/write"});
  EXPECT_EQ(races_of(reduction(kBar)), kNone);
}

std::string stencil(const std::string& between) {
  return "st.shared.u32 [%r5+4], %r1; bar.sync 0;"
         "ld.shared.u32 %r10, [%r5]; ld.shared.u32 %r11, [%r5+8]; add.u32 %r10, %r10, %r11;" +
         between + "st.shared.u32 [%r5+4], %r10;";
}

TEST(Races, AStencilWithoutItsSecondBarrier) {
  // At the border of the two warps: the right neighbour's value has been read when it changes, the left one's
  // has changed when it is read.
  EXPECT_EQ(races_of(stencil("")),
            (Found{"shared read-after-write 1: write/read", "shared write-after-read 1: read/write"}));
  EXPECT_EQ(races_of(stencil(kBar)), kNone);
}

TEST(Races, BlocksHaveSharedMemoryOfTheirOwn) {
  EXPECT_EQ(races_of("st.shared.u32 [%r5], %r1; ld.shared.u32 %r10, [%r5];", {.blocks = 9}), kNone);
}

/// Warp 0 writes, warps 1 and 2 read.
std::string three_warps(const std::string& of_writer, const std::string& of_warp_1,
                        const std::string& of_warp_2) {
  return R"(
  setp.lt.u32 %p1, %r1, 32;
  setp.lt.u32 %p2, %r1, 64;
  @%p1 bra WRITE;
  @%p2 bra ONE;
)" + of_warp_2 +
         R"(
  ld.shared.u32 %r10, [%r4+4];
  bra END;
ONE:
)" + of_warp_1 +
         R"(
  ld.shared.u32 %r10, [%r4];
  bra END;
WRITE:
  setp.ne.u32 %p3, %r1, 0;
  @%p3 bra WRITTEN;
  st.shared.v2.u32 [%r4], {%r1, %r1};
WRITTEN:
)" + of_writer +
         R"(
END:
  st.global.u32 [%rd3], %r10;)";
}

TEST(Races, ABarrierOrdersThoseThatTakePart) {
  const Shape shape{.threads = 96};
  EXPECT_EQ(races_of(three_warps("bar.sync 1, 64;", "bar.sync 1, 64;", "bar.sync 1, 64; bar.sync 1, 64;"),
                     {.threads = 64}),
            kNone);
  EXPECT_EQ(races_of(three_warps("bar.arrive 1, 64;", "bar.sync 1, 64;", ""), shape).size(), 1U);
  EXPECT_EQ(races_of(three_warps("bar.sync 0;", "bar.sync 0;", "bar.sync 0;"), shape), kNone);
  // Who has only arrived does not know of the others.
  EXPECT_EQ(races_of("setp.lt.u32 %p1, %r1, 32; @%p1 bra A; st.shared.u32 [%r4], %r1; bar.sync 1, 64; bra B;"
                     "A: bar.arrive 1, 64; ld.shared.u32 %r10, [%r4]; st.global.u32 [%rd3], %r10; B:")
                .size(),
            2U);  // and the lanes of warp 1 store different values
}

TEST(Races, WarpsThatHaveEndedCountAsArrived) {
  EXPECT_EQ(races_of("st.shared.u32 [%r5], %r1; setp.ge.u32 %p1, %r1, 32; @%p1 exit; bar.sync 0;"
                     "ld.shared.u32 %r10, [%r5+128]; st.global.u32 [%rd3], %r10;"),
            kNone);
}

// --- Lanes of a warp ---------------------------------------------------------------------------------

/// `sync` may write %r20.
std::string warp_sum(const std::string& sync) {
  return "mov.u32 %r20, 0; st.shared.u32 [%r5], %r1;" + sync + "st.global.u32 [%rd3], %r20;" +
         "ld.shared.u32 %r10, [%r5+64];" + sync + "st.global.u32 [%rd3], %r20; st.shared.u32 [%r5], %r10;";
}

TEST(Races, LanesThatGoOnAsOneAreOrderedUnlessTheyAreTakenOneByOne) {
  // The compiler may exchange accesses that nothing orders, so that other pairs meet; and shuffles and votes
  // hold none of them up.
  const Shape one_by_one{.threads = 32, .mode = RaceMode::Warp};
  const Shape as_written{.threads = 32, .mode = RaceMode::Warp, .optimised = false};
  EXPECT_EQ(races_of(warp_sum(""), {.threads = 32}), kNone);
  EXPECT_EQ(races_of(warp_sum(""), as_written),
            (Found{"shared read-after-write 16: write/read", "shared write-after-read 16: read/write"}));
  EXPECT_EQ(races_of(warp_sum("bar.warp.sync 0xffffffff;"), one_by_one), kNone);
  EXPECT_EQ(races_of(warp_sum("bar.sync 0;"), one_by_one), kNone);
  EXPECT_EQ(races_of(warp_sum("shfl.sync.idx.b32 %r20, %r1, 0, 31, 0xffffffff;"), as_written), kNone);
  EXPECT_EQ(races_of(warp_sum("vote.sync.ballot.b32 %r20, %p1, 0xffffffff;"), as_written), kNone);
  // Half of the lanes meet: those that read others' values are not among them.
  EXPECT_EQ(races_of("st.shared.u32 [%r5], %r1; setp.lt.u32 %p1, %r1, 16; @!%p1 bra END;"
                     "bar.warp.sync 0xffff; ld.shared.u32 %r10, [%r5+64]; st.global.u32 [%rd3], %r10; END:",
                     one_by_one),
            Found{"shared read-after-write 16: write/read"});
}

TEST(Races, VolatileOrdersNoLanes) {
  const std::string body =
      "st.volatile.shared.u32 [%r5], %r1; ld.volatile.shared.u32 %r10, [%r5+64];"
      "st.global.u32 [%rd3], %r10;";
  EXPECT_EQ(races_of(body, {.threads = 32}), kNone);
  EXPECT_EQ(races_of(body, {.threads = 32, .mode = RaceMode::Warp}),
            Found{"shared read-after-write 16: write/read"});
}

TEST(Races, SidesOfABranchAreUnordered) {
  const auto body = [](const std::string& meet) {
    return "setp.lt.u32 %p1, %r1, 16; @%p1 bra THEN; st.shared.u32 [%r5], %r1; bra.uni MEET;"
           "THEN: ld.shared.u32 %r10, [%r5+64]; st.global.u32 [%rd3], %r10; MEET:" +
           meet + "ld.shared.u32 %r11, [%r4+64]; st.global.u32 [%rd3+64], %r11;";
  };
  // Where the compiler makes predicates of the branch, there are no sides.
  EXPECT_EQ(races_of(body(""), {.threads = 32, .optimised = false}),
            Found{"shared write-after-read 16: read/write"});
  // Lane by lane what comes behind the branch is unordered, too, unless they meet there.
  const Shape as_written{.threads = 32, .mode = RaceMode::Warp, .optimised = false};
  EXPECT_EQ(races_of(body(""), as_written),
            (Found{"shared read-after-write 31: write/read", "shared write-after-read 16: read/write"}));
  EXPECT_EQ(races_of(body("bar.warp.sync 0xffffffff;"), as_written),
            Found{"shared write-after-read 16: read/write"});
}

TEST(Races, OneStoreOfDifferentValuesToOnePlace) {
  EXPECT_EQ(races_of("st.shared.u32 [%r4], %r1;", {.threads = 32}),
            Found{"shared write-after-write 31: write/write"});
  EXPECT_EQ(races_of("st.shared.u32 [%r4], %r2;", {.threads = 32}), kNone);
  // Two warps: the same value is no excuse any more, but it is said.
  EXPECT_EQ(races_of("st.shared.u32 [%r4], 7;"),
            Found{"shared write-after-write (the same value each time) 1: write/write"});
  EXPECT_EQ(races_of("st.global.v2.u32 [%rd1], {%r2, %r1};", {.threads = 32}),
            Found{"global write-after-write 31: write/write"});
}

// --- Blocks ------------------------------------------------------------------------------------------

TEST(Races, ACounterThatBlocksCountWithoutAtomics) {
  const std::string plain = "ld.global.u32 %r10, [%rd1]; add.u32 %r10, %r10, 1; st.global.u32 [%rd1], %r10;";
  EXPECT_EQ(races_of(plain, {.blocks = 2, .threads = 1}),
            (Found{"global read-after-write 1: write/read", "global write-after-write 1: write/write"}));
  EXPECT_EQ(races_of("red.global.add.u32 [%rd1], 1; atom.global.add.u32 %r10, [%rd1], 1;", {.blocks = 5}),
            kNone);
  EXPECT_EQ(races_of(plain, {.blocks = 1, .threads = 1, .launches = 5}), kNone) << "launches are apart";
}

TEST(Races, AtomicsDoNotExcusePlainAccesses) {
  EXPECT_EQ(races_of("red.global.add.u32 [%rd1], 1; ld.global.u32 %r10, [%rd1];"
                     "mul.wide.u32 %rd4, %r2, 4; add.u64 %rd4, %rd2, %rd4; st.global.u32 [%rd4], %r10;",
                     {.blocks = 2, .threads = 1}),
            Found{"global read-after-write, write-after-read 2: read/atomic"});
  EXPECT_EQ(races_of("setp.eq.u32 %p1, %r2, 0; @%p1 st.global.u32 [%rd1], %r1;"
                     "@!%p1 red.global.add.u32 [%rd1], 1;",
                     {.blocks = 2, .threads = 1}),
            Found{"global write-after-write 1: write/atomic"});
}

/// The blocks leave partial results, and the last one adds them (the samples' threadFenceReduction).
std::string last_block(const std::string& fence) {
  return R"(
  mul.wide.u32 %rd4, %r2, 4;
  add.u64 %rd4, %rd2, %rd4;
  bar.sync 0;
  setp.ne.u32 %p1, %r1, 0;
  @%p1 bra WAIT;
  st.global.u32 [%rd4], %r2;
)" + fence +
         R"(
  atom.global.inc.u32 %r10, [%rd1+2048], 7;
  st.shared.u32 [%r4], %r10;
WAIT:
  bar.sync 0;
  ld.shared.u32 %r11, [%r4];
  setp.ne.u32 %p2, %r11, 7;
  setp.ge.u32 %p3, %r1, 8;
  or.pred %p2, %p2, %p3;
  @%p2 bra END;
  mul.wide.u32 %rd5, %r1, 4;
  add.u64 %rd5, %rd2, %rd5;
  ld.global.u32 %r12, [%rd5];
  st.global.u32 [%rd3], %r12;
END:)";
}

TEST(Races, TheLastBlockMayReadWhatOthersHaveFenced) {
  const Shape shape{.blocks = 8};
  EXPECT_EQ(races_of(last_block("membar.gl;"), shape), kNone);
  EXPECT_EQ(races_of(last_block("fence.acq_rel.gpu;"), shape), kNone);
  const Found missing{"global read-after-write 7: write/read"};
  EXPECT_EQ(races_of(last_block(""), shape), missing);
  EXPECT_EQ(races_of(last_block("membar.cta;"), shape), missing) << "a fence of the block alone";
}

/// Block 0 writes and raises a flag, block 1 waits for it and reads.
std::string flag(const std::string& raise, const std::string& look) {
  return R"(
  setp.eq.u32 %p1, %r2, 1;
  @%p1 bra LOOK;
  st.global.u32 [%rd1], 5;
)" + raise +
         R"(
  bra END;
LOOK:
)" + look +
         R"(
  setp.eq.u32 %p2, %r10, 0;
  @%p2 bra LOOK;
  ld.global.u32 %r11, [%rd1];
  st.global.u32 [%rd1+64], %r11;
END:)";
}

TEST(Races, FlagsBetweenBlocks) {
  const Shape shape{.blocks = 2, .threads = 1};
  const std::string look = "ld.volatile.global.u32 %r10, [%rd2];";
  EXPECT_EQ(races_of(flag("membar.gl; st.volatile.global.u32 [%rd2], 1;", look), shape), kNone);
  EXPECT_EQ(races_of(flag("st.release.gpu.global.u32 [%rd2], 1;", "ld.acquire.gpu.global.u32 %r10, [%rd2];"),
                     shape),
            kNone);
  EXPECT_EQ(races_of(flag("membar.gl; atom.global.exch.b32 %r12, [%rd2], 1;",
                          "atom.global.add.u32 %r10, [%rd2], 0;"),
                     shape),
            kNone);
  EXPECT_EQ(races_of(flag("st.volatile.global.u32 [%rd2], 1;", look), shape),
            Found{"global read-after-write 1: write/read"});
  EXPECT_EQ(races_of(flag("membar.gl; st.global.u32 [%rd2], 1;", look), shape).size(), 2U) << "the flag, too";
}

/// Threads of different blocks take a lock and count in turn.
std::string locked(const std::string& before_unlock) {
  return R"(
LOCK:
  atom.global.cas.b32 %r10, [%rd2], 0, 1;
  setp.ne.u32 %p1, %r10, 0;
  @%p1 bra LOCK;
  ld.global.u32 %r11, [%rd1];
  add.u32 %r11, %r11, 1;
  st.global.u32 [%rd1], %r11;
)" + before_unlock +
         R"(
  atom.global.exch.b32 %r12, [%rd2], 0;)";
}

TEST(Races, Locks) {
  EXPECT_EQ(races_of(locked("membar.gl;"), {.blocks = 6, .threads = 1}), kNone);
  EXPECT_FALSE(races_of(locked(""), {.blocks = 6, .threads = 1}).empty());
}

TEST(Races, ALockInSharedMemory) {
  const auto body = [](const std::string& fence) {
    return "setp.ne.u32 %p2, %r3, 0; @%p2 bra END;"
           "LOCK: atom.shared.cas.b32 %r10, [%r4], 0, 1; setp.ne.u32 %p1, %r10, 0; @%p1 bra LOCK;"
           "ld.shared.u32 %r11, [%r4+4]; add.u32 %r11, %r11, 1; st.shared.u32 [%r4+4], %r11;" +
           fence + "atom.shared.exch.b32 %r12, [%r4], 0; END:";
  };
  EXPECT_EQ(races_of(body("membar.cta;"), {.threads = 128}), kNone);
  EXPECT_FALSE(races_of(body(""), {.threads = 128}).empty());
}

// --- Bytes, mbarriers, copies, heap ------------------------------------------------------------------

TEST(Races, BytesBesideEachOtherAreApart) {
  EXPECT_EQ(races_of("cvt.u64.u32 %rd4, %r1; add.u64 %rd4, %rd1, %rd4; st.global.u8 [%rd4], %rs1;"), kNone);
  // A word and its last byte, of two warps.
  EXPECT_EQ(races_of("setp.eq.u32 %p1, %r1, 0; setp.eq.u32 %p2, %r1, 32;"
                     "@%p1 st.global.u32 [%rd1+16], 5; @%p2 st.global.u8 [%rd1+19], %rs1;"),
            Found{"global write-after-write (the same value each time) 1: write/write"});
  EXPECT_EQ(races_of("setp.eq.u32 %p1, %r1, 0; setp.eq.u32 %p2, %r1, 32;"
                     "@%p1 st.global.u32 [%rd1+16], 5; @%p2 st.global.u8 [%rd1+20], %rs1;"),
            kNone);
  // Sixteen bytes count once.
  EXPECT_EQ(
      races_of("setp.eq.u32 %p1, %r1, 0; setp.eq.u32 %p2, %r1, 32;"
               "@%p1 st.global.v4.u32 [%rd1], {%r1, %r2, %r1, %r2};"
               "@%p2 ld.global.v4.u32 {%r10, %r11, %r12, %r13}, [%rd1]; st.global.u32 [%rd3+512], %r10;"),
      Found{"global read-after-write 1: write/read"});
}

TEST(Races, GenericAddresses) {
  EXPECT_EQ(races_of("cvt.u64.u32 %rd4, %r5; cvta.shared.u64 %rd4, %rd4; st.u32 [%rd4], %r1;"
                     "setp.lt.u32 %p1, %r1, 32; @!%p1 bra END; ld.shared.u32 %r10, [%r5+128];"
                     "st.u32 [%rd3], %r10; END:"),
            Found{"shared write-after-read 32: read/write"});
}

TEST(Races, AnMbarrierOrdersThoseWhoWaitBehindThoseWhoArrive) {
  const auto body = [](const std::string& wait) {
    return "setp.ne.u32 %p1, %r1, 0; @%p1 bra MADE; mbarrier.init.shared.b64 [%r4+512], 64;"
           "MADE: bar.sync 0; st.shared.u32 [%r5], %r1; mbarrier.arrive.shared.b64 %rd5, [%r4+512];"
           "setp.lt.u32 %p2, %r1, 32; @!%p2 bra END;" +
           wait + "ld.shared.u32 %r10, [%r5+128]; st.global.u32 [%rd3], %r10; END:";
  };
  EXPECT_EQ(races_of(body("WAIT: mbarrier.test_wait.shared.b64 %p3, [%r4+512], %rd5; @!%p3 bra WAIT;")),
            kNone);
  EXPECT_EQ(races_of(body("")), Found{"shared read-after-write 32: write/read"});
}

TEST(Races, CopiesReadAndWrite) {
  const auto body = [](const std::string& between) {
    return "cp.async.ca.shared.global [%r5], [%rd3], 4; cp.async.wait_all;" + between +
           "setp.lt.u32 %p1, %r1, 32; @!%p1 bra END; ld.shared.u32 %r10, [%r5+128];"
           "st.global.u32 [%rd3+512], %r10; END:";
  };
  EXPECT_EQ(races_of(body(kBar)), kNone);
  EXPECT_EQ(races_of(body("")), Found{"shared write-after-read 32: read/write"});
}

// --- Reports -----------------------------------------------------------------------------------------

TEST(Races, TheReportSaysWhereAndWho) {
  RaceLog log(RaceMode::Lockstep);
  PtxRunner runner(racing_kernel("\n.loc 1 12 3\nst.global.u32 [%rd1+8], %r2;\n") + ".file 1 \"dir/a.cu\"\n",
                   0, &log);
  EXPECT_EQ(races_text(log, 9), "note: races: no kernel was executed that could have some\n");
  const Address data = runner.device.memory.allocate(64);
  runner.device.memory.name(data, "data");
  const Address more = runner.device.memory.allocate(64);
  runner.run("k", {1, 2, 1}, {33, 1, 1}, {data, more});
  const std::vector<Race> races = log.sorted();
  ASSERT_EQ(races.size(), 1U);
  const Race& race = races.front();
  EXPECT_EQ(race.address, data + 8);
  EXPECT_EQ(race.first.place, race.second.place);
  EXPECT_EQ(race.first.place.substr(0, 17), "a.cu:12, test.ptx");
  EXPECT_EQ(race.first.block, (Dim3{0, 0, 0}));
  EXPECT_EQ(race.second.thread, (Dim3{32, 0, 0}));
  const std::string text = races_text(log, 9);
  EXPECT_EQ(text.substr(0, text.find(" at a.cu")),
            "note: race: test: kernel k, global memory, write-after-write (the same value each time), 3 "
            "times: write");
  EXPECT_NE(text.find("4 bytes at 0x"), std::string::npos);
  EXPECT_NE(text.find("8 bytes into data, 64 bytes"), std::string::npos) << text;
  EXPECT_NE(text.find("note: races: 1 pair of instructions, 3 times, in 1 launch\n"), std::string::npos)
      << text;
  EXPECT_NE(races_text(log, 0).find("in 1 launch; 0 of the pairs are shown\n"), std::string::npos);
}

TEST(Races, ABlockThatIsDroppedAndBeginsAnewDoesNotRaceWithItself) {
  RaceLog log(RaceMode::Lockstep);
  PtxRunner runner(
      racing_kernel("setp.lt.u32 %p1, %r1, 32; @%p1 bra A; ld.global.u32 %r10, [%rd1];"
                    "st.global.u32 [%rd1+64], %r10; bra B; A: st.global.u32 [%rd1+128], %r2; B: bar.sync 0;"
                    "st.global.u32 [%rd1+128], %r2; bar.sync 0; ld.global.u32 %r10, [%rd1+128];"
                    "st.global.u32 [%rd3+512], %r10;"),
      1, &log);
  const Address data = runner.device.memory.allocate(4096);
  const auto launch = runner.launch("k", {1, 1, 1}, {64, 1, 1}, {data, data});
  const auto run = [&] {
    const auto block = launch->begin_block(0, 0, 0, 0);
    for (std::uint32_t w = 0; w < block->warps(); ++w)
      while (!block->stream(w).finished) block->refill(w, block->stream(w).available() + 64);
  };
  run();
  const std::size_t once = log.sorted().size();
  ASSERT_EQ(once, 1U);
  const std::uint64_t times = log.sorted().front().count();
  run();
  ASSERT_EQ(log.sorted().size(), once);
  for (const Race& race : log.sorted()) EXPECT_EQ(race.count(), 2 * times);
}

TEST(Races, WatchedKernelsDoTheSame) {
  std::uint64_t executed[2];
  std::vector<std::byte> content[2];
  for (const int watched : {0, 1}) {
    RaceLog log(RaceMode::Warp);
    PtxRunner runner(racing_kernel(last_block("membar.gl;")), 1, watched == 1 ? &log : nullptr);
    const Address data = runner.device.memory.allocate(4096);
    const Address more = runner.device.memory.allocate(4096);
    executed[watched] = runner.run("k", {8, 1, 1}, {64, 1, 1}, {data, more});
    content[watched].resize(4096);
    runner.device.memory.read(data, content[watched]);
  }
  EXPECT_EQ(executed[0], executed[1]);
  EXPECT_EQ(content[0], content[1]);
}

TEST(Races, BlocksThatSynchroniseAsAGrid) {
  for (const char* file : {"grid.sm_75.ptx", "grid.sm_100.ptx"}) {
    for (const int optimize : {0, 1}) {
      RaceLog log(RaceMode::Lockstep);
      NvccModule grid(file, optimize, &log);
      constexpr std::uint32_t kThreads = 6 * 96;
      const Address data = grid.put(std::vector<std::int32_t>(kThreads, 1));
      const Address out = grid.put(std::vector<std::int32_t>(kThreads));
      grid.run("grid_sum", {6, 1, 1}, {96, 1, 1}, {data, out, kThreads}, true);
      EXPECT_EQ(races_text(log, 9), "note: races: none in 1 launch\n") << file;
      EXPECT_EQ(grid.get<std::int32_t>(out, kThreads).back(), static_cast<std::int32_t>(kThreads));
    }
  }
}

}  // namespace
}  // namespace gpumux::emulator::test
