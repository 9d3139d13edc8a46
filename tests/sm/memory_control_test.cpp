// Memory schemes inside one SM: the papers' formulas by hand, then the mechanisms on streams made by hand.
#include "sm/memory_control.hpp"

#include <algorithm>

#include "sm/harness.hpp"

namespace gpumux::sm::testing {
namespace {

using arch::kNoMemoryLimit;
using arch::MemoryScheme;

std::array<std::uint32_t, kMaxApps> known(std::initializer_list<std::uint32_t> values) {
  std::array<std::uint32_t, kMaxApps> all{};
  all.fill(1);
  std::copy(values.begin(), values.end(), all.begin());
  return all;
}

// --- formulas ----------------------------------------------------------------------------------------------

TEST(Quotas, AreTheLeastCommonMultipleOverEachOnesRequests) {
  // ks and sv of dai18's table 2: 17 and 3 requests per instruction.
  EXPECT_EQ(quotas(known({17, 3}), 0b11)[0], 3);
  EXPECT_EQ(quotas(known({17, 3}), 0b11)[1], 17);
  const auto three = quotas(known({2, 3, 4}), 0b111);
  EXPECT_EQ(three[0], 6);
  EXPECT_EQ(three[1], 4);
  EXPECT_EQ(three[2], 3);
  EXPECT_EQ(quotas(known({5}), 0b1)[0], 1);
  const auto absent = quotas(known({17, 5, 3}), 0b101);
  EXPECT_EQ(absent[1], 0);
  EXPECT_EQ(absent[2], 17);
}

TEST(Quotas, KeepTheirProportionsWhenTheMultipleIsOutOfBounds) {
  const auto requests = known({31, 29, 23, 19, 17, 13, 11, 7, 32, 27, 25, 3, 2, 1, 30, 21});
  const auto quota = quotas(requests, 0xffff);
  for (std::size_t i = 0; i < kMaxApps; ++i) {
    EXPECT_GT(quota[i], 0);
    EXPECT_LE(quota[i], MemoryControl::kMostQuota);
    EXPECT_NEAR(static_cast<double>(quota[i]) * requests[i], quota[13], requests[i]) << i;
  }
}

TEST(RequestsPerInstruction, RoundToTheNearest) {
  EXPECT_EQ(requests_per_instruction(1024, 60), 17U);
  EXPECT_EQ(requests_per_instruction(1024, 341), 3U);
  EXPECT_EQ(requests_per_instruction(1024, 1024), 1U);
  EXPECT_EQ(requests_per_instruction(7, 2), 4U);
  EXPECT_EQ(requests_per_instruction(10, 3), 3U);
  EXPECT_EQ(requests_per_instruction(3, 0), 1U);
}

TEST(DynamicLimit, DividesThePeakByTheFailuresPerRequest) {
  EXPECT_EQ(dynamic_limit(128, 4095, 1024), 42U);  // the divisor of a full 12-bit counter is 3
  EXPECT_EQ(dynamic_limit(42, 4095, 1024), 14U);
  EXPECT_EQ(dynamic_limit(14, 4095, 1024), 4U);
  EXPECT_EQ(dynamic_limit(4, 4095, 1024), 1U);
  EXPECT_EQ(dynamic_limit(1, 4095, 1024), 1U);
  EXPECT_EQ(dynamic_limit(20, 2047, 1024), 20U);
  EXPECT_EQ(dynamic_limit(20, 2048, 1024), 10U);
  EXPECT_EQ(dynamic_limit(20, 1023, 1024), kNoMemoryLimit) << "less than one failure per request";
  EXPECT_EQ(dynamic_limit(128, 81'613, 1024), 1U) << "79.7 failures per request, not saturated";
  EXPECT_EQ(dynamic_limit(64, 512, 256), 32U);
}

// --- the unit ----------------------------------------------------------------------------------------------

MemoryScheme scheme_of(MemoryScheme::Order order, MemoryScheme::Limit limit) {
  MemoryScheme scheme;
  scheme.order = order;
  scheme.limit = limit;
  return scheme;
}
const MemoryScheme kDmil = scheme_of(MemoryScheme::Order::Warps, MemoryScheme::Limit::Dynamic);
const MemoryScheme kQbmi = scheme_of(MemoryScheme::Order::Quota, MemoryScheme::Limit::None);
const MemoryScheme kRbmi = scheme_of(MemoryScheme::Order::RoundRobin, MemoryScheme::Limit::None);

TEST(MilGenerator, FallsByThreeAtMostAndRecoversAtOnce) {
  MemoryControl control(0, 1);
  control.set(kDmil);
  control.set_sharers(1);
  const auto interval = [&](std::uint64_t failures) {
    control.failed(0, failures);
    for (int i = 0; i < 1024; ++i) static_cast<void>(control.requested(0, true));
    return control.client(0).limit;
  };
  for (int i = 0; i < 140; ++i) control.issued(0);  // more than the peak counter holds
  EXPECT_EQ(control.client(0).limit, kNoMemoryLimit);
  EXPECT_EQ(interval(1'000'000), 42U);
  while (control.client(0).in_flight > 42) static_cast<void>(control.ended(0));
  EXPECT_EQ(interval(1'000'000), 42U) << "the peak of this interval began at 140 in flight";
  EXPECT_EQ(interval(1'000'000), 14U);
  while (control.client(0).in_flight > 14) static_cast<void>(control.ended(0));
  (void)interval(2047);  // its peak began at 42
  EXPECT_EQ(interval(1024), 14U) << "divisor 1: the peak";
  EXPECT_EQ(interval(4095), 4U);
  EXPECT_EQ(interval(1023), kNoMemoryLimit);
  EXPECT_EQ(control.client(0).lowest_limit, 4U);
  EXPECT_EQ(control.client(0).limit_updates, 7U);
}

TEST(MilGenerator, CountsWithoutBoundWhenAsked) {
  MemoryScheme scheme = kDmil;
  scheme.unbounded = true;
  MemoryControl control(0, 1);
  control.set(scheme);
  for (int i = 0; i < 100; ++i) control.issued(0);
  control.failed(0, 20 * 1024);
  for (int i = 0; i < 1024; ++i) static_cast<void>(control.requested(0, true));
  EXPECT_EQ(control.client(0).limit, 5U);
}

TEST(MilGenerator, CountsEachApplicationAlone) {
  MemoryControl control(0, 1);
  control.set(kDmil);
  for (int i = 0; i < 30; ++i) control.issued(static_cast<AppId>(i % 2));
  control.failed(1, 4095);
  for (int i = 0; i < 1024; ++i) static_cast<void>(control.requested(0, true));
  EXPECT_EQ(control.client(0).limit, kNoMemoryLimit);
  for (int i = 0; i < 1024; ++i) static_cast<void>(control.requested(1, true));
  EXPECT_EQ(control.client(1).limit, 5U);
}

TEST(MilGenerator, OnlyTheMonitoredSmWorksOutGlobalLimits) {
  const MemoryScheme scheme = scheme_of(MemoryScheme::Order::Warps, MemoryScheme::Limit::DynamicGlobal);
  for (const SmId sm : {SmId{0}, SmId{1}}) {
    MemoryControl control(sm, 1);
    control.set(scheme);
    for (int i = 0; i < 30; ++i) control.issued(0);
    control.failed(0, 4095);
    for (int i = 0; i < 1024; ++i) static_cast<void>(control.requested(0, true));
    EXPECT_EQ(control.client(0).limit, sm == 0 ? 10U : kNoMemoryLimit);
  }
}

TEST(StaticLimit, HoldsBackAndLetsGo) {
  MemoryScheme scheme = scheme_of(MemoryScheme::Order::Warps, MemoryScheme::Limit::Static);
  scheme.limits[1] = 2;
  MemoryControl control(0, 1);
  control.set(scheme);
  control.ready(0).of[0] = 0b0011;
  control.ready(0).of[1] = 0b1100;
  control.issued(1);
  EXPECT_EQ(control.limited(0), 0U);
  control.issued(1);
  EXPECT_EQ(control.limited(0), 0b1100U);
  EXPECT_TRUE(control.ended(1)) << "somebody may go on";
  EXPECT_EQ(control.limited(0), 0U);
  EXPECT_FALSE(control.ended(1));
}

TEST(RoundRobin, TakesTheNextInTurnThatHasOne) {
  MemoryControl control(0, 1);
  control.set(kRbmi);
  control.set_sharers(0b111);
  EXPECT_EQ(control.first_of(0b111), 0U);
  control.issued(0);
  EXPECT_EQ(control.first_of(0b111), 1U);
  EXPECT_EQ(control.first_of(0b101), 2U);
  EXPECT_EQ(control.first_of(0b001), 0U);
  control.issued(2);
  EXPECT_EQ(control.first_of(0b111), 0U);
}

TEST(Qbmi, TheLargestQuotaGoesFirstAndFreshOnesAreAdded) {
  MemoryControl control(0, 1);
  control.set(kQbmi);
  control.set_sharers(0b11);
  // Before the first sample both have one request per instruction: quotas 1 and 1, equal, in turn.
  EXPECT_EQ(control.client(0).quota, 1);
  EXPECT_EQ(control.first_of(0b11), 0U);
  control.issued(0);  // at zero: a fresh set for both, 1 and 2
  EXPECT_EQ(control.client(0).quota, 1);
  EXPECT_EQ(control.client(1).quota, 2);
  EXPECT_EQ(control.first_of(0b11), 1U);
  EXPECT_EQ(control.first_of(0b01), 0U) << "nobody is blocked";
  // 1024 requests of 17 and of 3 an instruction.
  for (int i = 1; i <= 1024; ++i) static_cast<void>(control.requested(0, i % 17 == 0));
  for (int i = 1; i <= 1024; ++i) static_cast<void>(control.requested(1, i % 3 == 0));
  EXPECT_EQ(control.client(0).requests_per_instruction, 17U);
  EXPECT_EQ(control.client(1).requests_per_instruction, 3U);
  EXPECT_EQ(control.client(0).quota, 1) << "not before the next set";
  control.issued(0);
  EXPECT_EQ(control.client(0).quota, 0 + 3);
  EXPECT_EQ(control.client(1).quota, 2 + 17);
  // Over many instructions that both always have ready, requests balance: 3 x 17 and 17 x 3 a round.
  std::array<int, 2> served{};
  for (int i = 0; i < 2000; ++i) {
    const AppId app = control.first_of(0b11);
    ++served[app];
    control.issued(app);
  }
  EXPECT_NEAR(served[0], 300, 6);
  EXPECT_NEAR(served[1], 1700, 6);
}

TEST(Qbmi, OneWithoutASampleCountsAsOneRequestAnInstruction) {
  // 0 has 17 requests an instruction and is known after 1024; 1 is not known yet.
  MemoryControl control(0, 1);
  control.set(kQbmi);
  control.set_sharers(0b11);
  for (int i = 1; i <= 1024; ++i) static_cast<void>(control.requested(0, i % 17 == 0));
  for (int i = 1; i < 1024; ++i) static_cast<void>(control.requested(1, i % 3 == 0));
  EXPECT_EQ(control.client(0).requests_per_instruction, 17U);
  EXPECT_EQ(control.client(1).requests_per_instruction, 1U);
  EXPECT_EQ(control.client(0).quota, 1) << "of the first set, from 1 and 1";
  EXPECT_EQ(control.client(1).quota, 1);
  // lcm(17, 1) = 17: one instruction of 0 for 17 of 1.
  control.issued(0);
  EXPECT_EQ(control.client(0).quota, 0 + 1);
  EXPECT_EQ(control.client(1).quota, 1 + 17);
  for (int i = 0; i < 17; ++i) {
    EXPECT_EQ(control.first_of(0b11), 1U) << "it has more left, or as much and is not the last: " << i;
    control.issued(1);
    if (i == 16) break;
    EXPECT_EQ(control.client(1).quota, 17 - i);
  }
  EXPECT_EQ(control.client(1).quota, 1);
  EXPECT_EQ(control.first_of(0b11), 0U) << "1 and 1: in turn";
  // The sample of 1 is full: 3 requests an instruction. The next set is lcm(17, 3) / r: 3 and 17.
  static_cast<void>(control.requested(1, true));
  EXPECT_EQ(control.client(1).requests_per_instruction, 3U);
  control.issued(0);
  EXPECT_EQ(control.client(0).quota, 0 + 3);
  EXPECT_EQ(control.client(1).quota, 1 + 17);
}

TEST(Qbmi, TheQuotaOfASilentApplicationSaturates) {
  MemoryControl control(0, 1);
  control.set(kQbmi);
  control.set_sharers(0b11);
  for (int i = 0; i < 100'000; ++i) control.issued(0);
  EXPECT_EQ(control.client(1).quota, MemoryControl::kMostQuota);
  EXPECT_EQ(control.client(0).quota, 1);
  // One that has left gets no more.
  control.set_sharers(0b01);
  control.issued(1);
  control.issued(0);
  EXPECT_EQ(control.client(1).quota, MemoryControl::kMostQuota - 1);
}

TEST(Qbmi, NobodySavesQuotasUpBeforeHisBlocksCome) {
  MemoryControl control(0, 1);
  control.set(kQbmi);
  control.set_present(0);
  control.set_sharers(0b11);
  control.arrived(0);
  for (int i = 0; i < 1000; ++i) control.issued(0);
  EXPECT_EQ(control.client(1).quota, 0);
  control.arrived(1);
  EXPECT_EQ(control.client(0).quota, 1);
  EXPECT_EQ(control.client(1).quota, 1);
  for (int i = 0; i < 10; ++i) control.issued(1);
  EXPECT_EQ(control.client(0).quota, 11);
  control.left(0);
  for (int i = 0; i < 10; ++i) control.issued(1);
  EXPECT_EQ(control.client(0).quota, 11) << "gets none while he is away,";
  control.arrived(0);
  EXPECT_EQ(control.client(0).quota, 1) << "and begins anew";
}

TEST(Ends, ComeInOrderOfTime) {
  MemoryControl control(0, 1);
  control.set(kRbmi);
  for (const AppId app : {AppId{0}, AppId{1}, AppId{2}}) control.issued(app);
  control.ends_at(0, 40);
  control.ends_at(1, 60);
  control.ends_at(2, 50);
  EXPECT_TRUE(control.drained());
  EXPECT_EQ(control.next_end(), 40U);
  EXPECT_EQ(control.pop_end(), 0U);
  EXPECT_EQ(control.next_end(), 50U);
  EXPECT_EQ(control.pop_end(), 2U);
  EXPECT_EQ(control.pop_end(), 1U);
  EXPECT_EQ(control.next_end(), kNever);
  EXPECT_FALSE(control.drained()) << "ended() was not called";
}

// --- in the SM
// -----------------------------------------------------------------------------------------------

/// Loads, each followed by a dependent instruction, by one application per entry: warps x loads of distinct
/// lines.
struct TwoApps : Bench {
  explicit TwoApps(arch::MachineConfig machine, const MemoryScheme& scheme, Cycle memory_delay = 100)
      : Bench(std::move(machine), memory_delay) {
    sm.set_memory_scheme(scheme);
    for (std::uint16_t i = 0; i < 8; ++i) program.add(load(i));
    program.add(store());
    for (std::uint16_t i = 0; i < 8; ++i) program.add(alu(static_cast<std::uint16_t>(16 + i)));
  }
  void begin(std::vector<std::vector<WarpCode>> apps) {
    sm.set_memory_sharers((1U << apps.size()) - 1);
    for (std::size_t i = 0; i < apps.size(); ++i) {
      const auto slot = static_cast<KernelSlot>(i);
      bind(program, {static_cast<std::uint32_t>(apps[i].size()) * kWarpSize, 16, 0}, slot,
           static_cast<AppId>(i));
      launch(std::move(apps[i]), slot, static_cast<std::uint32_t>(i));
    }
  }
  /// Warps that load `count` lines each with `lines` lines an instruction.
  static std::vector<WarpCode> loads(std::uint32_t warps, std::uint32_t count, std::uint64_t base) {
    std::vector<WarpCode> code(warps);
    for (std::uint32_t w = 0; w < warps; ++w)
      for (std::uint32_t i = 0; i < count; ++i) code[w].global(i % 8, base + 1000 * w + i);
    return code;
  }
  void run_to(Cycle end) {
    while (now < end) window(std::min(end, now + 10));
  }
  [[nodiscard]] std::string order() const {
    std::string text;
    for (const MemRequest& request : sent) text += static_cast<char>('a' + request.app);
    return text;
  }
  Program program;
};

MemoryScheme limits_of(std::uint32_t first, std::uint32_t second = kNoMemoryLimit) {
  MemoryScheme scheme = scheme_of(MemoryScheme::Order::Warps, MemoryScheme::Limit::Static);
  scheme.limits[0] = first;
  scheme.limits[1] = second;
  return scheme;
}

TEST(StaticLimit, SpacesLoadsByTheirRoundTrip) {
  const auto times = [](std::uint32_t limit) {
    TwoApps bench(plain_machine(), limits_of(limit));
    bench.begin({TwoApps::loads(8, 1, 0)});
    bench.finish();
    EXPECT_EQ(bench.sm.memory_client(0).peak, std::min(limit, 8U));
    std::vector<Cycle> sent;
    for (const MemRequest& request : bench.sent) sent.push_back(request.time);
    EXPECT_EQ(sent.size(), 8U);
    return sent;
  };
  const std::vector<Cycle> free = times(kNoMemoryLimit), one = times(1), two = times(2);
  EXPECT_EQ(free[7] - free[0], 7U);
  // Alone in flight, each load is issued in the cycle in which the data of the one before are there: accepted
  // by the LSU a cycle later, sent another later, 10 there, 100 of delay in which the reply comes back.
  for (int i = 1; i < 8; ++i) EXPECT_EQ(one[i] - one[i - 1], one[1] - one[0]) << i;
  EXPECT_EQ(one[1] - one[0], 100U + 10U + 2U);
  for (int i = 2; i < 8; ++i) EXPECT_EQ(two[i] - two[i - 2], 100U + 10U + 2U) << i;
}

TEST(StaticLimit, AHitIsInFlightUntilItsDataAreThere) {
  arch::MachineConfig machine = plain_machine();
  const auto end = [&](std::uint32_t limit) {
    TwoApps bench(machine, limits_of(limit));
    // The first fetches the line, the others hit it.
    std::vector<WarpCode> code(5);
    for (WarpCode& warp : code) warp.global(0, 7);
    bench.begin({std::move(code)});
    return bench.finish();
  };
  // One at a time: after the miss, four hits, each issued when the one before has its data (30 cycles after
  // its access, which is a cycle after its issue). Without a limit all merge with the miss.
  EXPECT_EQ(end(1) - end(kNoMemoryLimit), 4U * 31U - 0U);
}

TEST(StaticLimit, LeavesTheOtherApplicationAndArithmeticAlone) {
  TwoApps bench(plain_machine(), limits_of(1));
  std::vector<WarpCode> compute(1);
  for (std::uint32_t i = 0; i < 50; ++i) compute[0].run(9 + i % 8);
  bench.begin({TwoApps::loads(4, 2, 0), TwoApps::loads(4, 2, 50'000)});
  bench.finish();
  EXPECT_EQ(bench.sm.memory_client(0).peak, 1U);
  EXPECT_EQ(bench.sm.memory_client(1).peak, 8U);

  arch::MachineConfig machine = plain_machine();
  machine.sm.branch_latency = 1;  // the loop of eight instructions
  TwoApps busy(machine, limits_of(1));
  std::vector<WarpCode> code = TwoApps::loads(4, 1, 0);
  for (WarpCode& warp : code)
    for (std::uint32_t i = 0; i < 4; ++i) warp.run(9 + i);
  code.push_back(compute[0]);
  busy.begin({std::move(code)});
  busy.run_to(60);
  EXPECT_GE(busy.counters().warp_instructions, 51U) << "the warp without loads runs at full rate";
}

TEST(StaticLimit, StoresEndWhenTakenOrWhenPerformed) {
  const auto end = [](bool performed) {
    MemoryScheme scheme = limits_of(1);
    scheme.stores_performed = performed;
    TwoApps bench(plain_machine(), scheme);
    std::vector<WarpCode> code(4);
    for (std::uint32_t w = 0; w < 4; ++w) code[w].global(8, 100 * w);
    bench.begin({std::move(code)});
    bench.finish();
    std::vector<Cycle> sent;
    for (const MemRequest& request : bench.sent) sent.push_back(request.time);
    return sent;
  };
  const std::vector<Cycle> accepted = end(false), performed = end(true);
  ASSERT_EQ(accepted.size(), 4U);
  // Issue, access one later; with the next issue in the cycle of the access a store every second cycle would
  // do, but a packet of data has five flits.
  EXPECT_LE(accepted[3] - accepted[0], 3U * 5U);
  EXPECT_GE(performed[3] - performed[0], 3U * 100U);
}

TEST(StaticLimit, SharedMemoryAndPredicatedOffPassBy) {
  MemoryScheme scheme = limits_of(1);
  TwoApps bench(plain_machine(), scheme);
  std::vector<WarpCode> code(2);
  code[0].global(0, 5);
  for (std::uint32_t i = 0; i < 10; ++i) code[1].shared(1 + i % 7, 1);
  code[1].access(0, Where::Global, {}, 0, 0);
  bench.begin({std::move(code)});
  bench.run_to(60);
  EXPECT_EQ(bench.counters().warp_instructions, 12U);
  EXPECT_EQ(bench.sm.memory_client(0).peak, 1U);
  bench.finish();
}

/// Eight loads of each application, four lines each, so that some always wait: the order of the instructions.
std::string order_of_loads(const arch::MachineConfig& machine, const MemoryScheme& scheme) {
  TwoApps bench(machine, scheme);
  std::vector<std::vector<WarpCode>> apps(2, std::vector<WarpCode>(8));
  for (std::uint64_t app = 0; app < 2; ++app) {
    for (std::uint64_t w = 0; w < 8; ++w) {
      const auto line = [&](std::uint64_t i) {
        return workload::Transaction::make(50'000 * app + 100 * w + i, 0xf, 8);
      };
      apps[app][w].access(0, Where::Global, {line(0), line(1), line(2), line(3)});
    }
  }
  bench.begin(std::move(apps));
  bench.finish();
  std::string text;
  for (std::size_t i = 0; i < bench.sent.size(); i += 4) text += bench.order()[i];
  return text;
}

TEST(RoundRobin, LoadsOfTwoApplicationsAlternate) {
  for (const arch::WarpScheduler warps : {arch::WarpScheduler::lrr, arch::WarpScheduler::gto}) {
    for (const std::uint32_t schedulers : {1U, 2U, 4U}) {
      arch::MachineConfig machine = plain_machine();
      machine.sm.warp_scheduler = warps;
      machine.sm.schedulers = schedulers;
      machine.sm.memory_queue = 1;
      machine.l1.miss_queue = 64;
      if (schedulers == 1) {
        EXPECT_EQ(order_of_loads(machine, MemoryScheme{}), "aaaaaaaabbbbbbbb") << static_cast<int>(warps);
      }
      const std::string order = order_of_loads(machine, kRbmi);
      ASSERT_EQ(order.size(), 16U);
      // Warps are fetched one after the other, those of b last.
      const std::size_t first = order.find('b');
      EXPECT_LE(first, 5U);
      for (std::size_t i = first;
           order.find('a', i) != std::string::npos && order.find('b', i + 1) != std::string::npos; ++i)
        EXPECT_NE(order[i], order[i + 1]) << order << " " << static_cast<int>(warps) << schedulers;
    }
  }
}

TEST(RoundRobin, SharedMemoryTakesItsTurnUnlessOnlyAccessesToL1Do) {
  // a's warps are older and load four lines each; b's shared accesses need the same load/store unit.
  arch::MachineConfig machine = plain_machine();
  machine.sm.schedulers = 1;
  machine.sm.warp_scheduler = arch::WarpScheduler::gto;
  machine.sm.memory_queue = 1;
  machine.l1.miss_queue = 64;
  const auto issued = [&](const MemoryScheme& scheme) {
    TwoApps bench(machine, scheme);
    std::vector<WarpCode> a(8), b(1);
    for (std::uint64_t w = 0; w < 8; ++w) {
      const auto line = [&](std::uint64_t i) { return workload::Transaction::make(100 * w + i, 0xf, 8); };
      a[w].access(0, Where::Global, {line(0), line(1), line(2), line(3)});
    }
    for (std::uint32_t i = 0; i < 6; ++i) b[0].shared(8, 1);  // no result: one after the other
    bench.begin({std::move(a), std::move(b)});
    while (bench.sm.counters(0).memory_instructions < 8) bench.window(bench.now + 1);
    const std::uint64_t shared = bench.sm.counters(1).memory_instructions;
    bench.finish();
    return shared;
  };
  MemoryScheme l1_only = kRbmi;
  l1_only.orders_all = false;
  EXPECT_EQ(issued(MemoryScheme{}), 0U);
  EXPECT_EQ(issued(l1_only), 0U);
  EXPECT_GE(issued(kRbmi), 4U) << "nearly one after each load, once its warp is fetched";
}

TEST(Qbmi, AnInstructionOfSharedMemoryTakesOneOffTheQuota) {
  MemoryControl control(0, 1);
  control.set(kQbmi);
  control.set_sharers(0b11);
  control.arrived(0);
  control.arrived(1);
  for (int turn = 0; turn < 10; ++turn) {
    const AppId who = control.first_of(0b11);
    EXPECT_EQ(who, turn % 2) << "of equal quotas nobody goes first twice";
    control.passed(who);
  }
  EXPECT_EQ(control.client(0).in_flight, 0U);
  EXPECT_EQ(control.client(0).quota_rounds, control.client(1).quota_rounds);
}

TEST(Qbmi, WhoWorksInSharedMemoryAloneDoesNotStarveTheOther) {
  arch::MachineConfig machine = plain_machine();
  machine.sm.schedulers = 2;
  machine.sm.warp_scheduler = arch::WarpScheduler::gto;
  const auto counts = [&](const MemoryScheme& scheme) {
    TwoApps bench(machine, scheme, 20);
    std::vector<WarpCode> a(8);
    for (WarpCode& code : a)
      for (std::uint32_t i = 0; i < 300; ++i) code.shared(8, 1);
    bench.begin({std::move(a), TwoApps::loads(8, 300, 0)});
    bench.run_to(1000);
    return std::pair{bench.sm.counters(0).memory_instructions, bench.sm.counters(1).memory_instructions};
  };
  const auto [shared_alone, starved] = counts(MemoryScheme{});
  EXPECT_LT(starved * 4, shared_alone) << "greedy then oldest";
  const auto [shared, loads] = counts(kQbmi);
  EXPECT_GT(loads * 2, shared);
}

TEST(RoundRobin, WhoLosesIssuesArithmeticOfAnotherWarp) {
  // Scheduler 0 has the loads of a and a warp of b that computes, scheduler 1 loads of b.
  arch::MachineConfig machine = plain_machine();
  machine.sm.schedulers = 2;
  machine.sm.warp_scheduler = arch::WarpScheduler::gto;
  const auto issued = [&](const MemoryScheme& scheme) {
    TwoApps bench(machine, scheme);
    std::vector<WarpCode> a(1), b(2);
    a[0].global(0, 1).global(1, 2).global(2, 3);
    b[0].global(0, 50'000).global(1, 50'001);
    b[1].run(9).run(10).run(11).run(12);
    bench.begin({std::move(a), std::move(b)});
    // Cycle 1: a's first load; b's has no place in the load/store unit. Cycle 2: b's turn.
    bench.window(3);
    const std::array<std::uint64_t, 4> counts = {
        bench.sm.counters(0).memory_instructions, bench.sm.counters(0).warp_instructions,
        bench.sm.counters(1).memory_instructions, bench.sm.counters(1).warp_instructions};
    bench.finish();
    return counts;
  };
  // Scheduler 0 goes on with its warp's second load when it may, else with arithmetic of b's other warp.
  for (const bool offers_ready : {true, false}) {
    MemoryScheme scheme = kRbmi;
    scheme.offers_ready = offers_ready;
    EXPECT_EQ(issued(scheme), (std::array<std::uint64_t, 4>{1, 1, 1, 2})) << offers_ready;
  }
}

TEST(RoundRobin, TheChosenInstructionGoesBeforeArithmeticUnlessItsSchedulerDoesNotWantIt) {
  // Greedy scheduler 0 is at b's first warp, which computes; another of its warps has a load of b ready soon.
  // Scheduler 1 has loads of a.
  arch::MachineConfig machine = plain_machine();
  machine.sm.schedulers = 2;
  machine.sm.warp_scheduler = arch::WarpScheduler::gto;
  const auto loads_of_b = [&](bool offers_ready) {
    MemoryScheme scheme = kRbmi;
    scheme.offers_ready = offers_ready;
    TwoApps bench(machine, scheme);
    std::vector<WarpCode> a(2), b(3);
    a[0].run(9);
    for (std::uint32_t i = 0; i < 6; ++i) a[1].global(i, i);  // scheduler 1
    for (std::uint32_t i = 0; i < 8; ++i) b[0].run(9 + i);    // scheduler 0
    b[1].run(9);
    b[2].global(0, 50'000);  // scheduler 0
    bench.begin({std::move(a), std::move(b)});
    bench.window(6);
    const std::uint64_t loads = bench.sm.counters(1).memory_instructions;
    bench.finish();
    return loads;
  };
  EXPECT_EQ(loads_of_b(true), 1U);
  EXPECT_EQ(loads_of_b(false), 0U);
}

TEST(Qbmi, BalancesRequestsOfTwoApplications) {
  // a: 8 requests an instruction, b: 1. In the long run b issues 8 instructions for one of a.
  arch::MachineConfig machine = plain_machine();
  machine.sm.warp_scheduler = arch::WarpScheduler::gto;
  MemoryScheme scheme = kQbmi;
  scheme.interval = 64;
  const auto ratio = [&](const MemoryScheme& used) {
    TwoApps bench(machine, used, 20);
    std::vector<WarpCode> a(16), b(16);
    for (std::uint32_t w = 0; w < 16; ++w) {
      for (std::uint32_t i = 0; i < 400; ++i) {
        WarpCode& code = a[w];
        code.run(i % 8);
        workload::MemHeader header;
        header.where = Where::Global;
        header.transactions = 8;
        code.memory.push_back(std::bit_cast<std::uint64_t>(header));
        for (std::uint32_t line = 0; line < 8; ++line)
          code.memory.push_back(workload::Transaction::make(w * 100'000 + i * 8 + line, 0xf, 4).word);
        b[w].global(i % 8, 10'000'000 + w * 100'000 + i);
      }
    }
    bench.begin({std::move(a), std::move(b)});
    while (bench.now < 8000) bench.window(bench.now + 10);
    return static_cast<double>(bench.sm.counters(0).l1_accesses) /
           static_cast<double>(bench.sm.counters(1).l1_accesses);
  };
  EXPECT_GT(ratio(MemoryScheme{}), 4.0) << "the one with more requests dominates";
  EXPECT_NEAR(ratio(scheme), 1.0, 0.15);
}

TEST(MemoryScheme, ResultsDoNotDependOnWindows) {
  MemoryScheme scheme = scheme_of(MemoryScheme::Order::Quota, MemoryScheme::Limit::Dynamic);
  scheme.interval = 64;
  arch::MachineConfig machine = plain_machine();
  machine.sm.schedulers = 2;
  machine.sm.warp_scheduler = arch::WarpScheduler::gto;
  machine.l1.mshr_entries = 6;
  machine.l1.miss_queue = 2;
  const auto figures = [&](Cycle window) {
    TwoApps bench(machine, scheme, 70);
    bench.begin({TwoApps::loads(12, 30, 0), TwoApps::loads(12, 30, 50'000)});
    const Cycle end = bench.finish(window);
    EXPECT_GT(bench.sm.memory_client(0).limit_updates, 2U);
    std::string text = std::to_string(end) + bench.order();
    for (const KernelSlot slot : {KernelSlot{0}, KernelSlot{1}})
      text += fmt::format(" {} {} {}", bench.sm.counters(slot).lsu_stall_cycles,
                          bench.sm.memory_client(slot).peak, bench.sm.memory_client(slot).lowest_limit);
    const arch::SchedulerCounters cycles = bench.sm.scheduler_counters();
    return text +
           fmt::format(" {} {} {}", cycles.throttled, cycles.pipeline_memory, cycles.scoreboard_memory);
  };
  const std::string ten = figures(10);
  EXPECT_EQ(ten, figures(1));
  EXPECT_EQ(ten, figures(7));
}

TEST(Shares, MshrsAndMissQueueAreDividedEvenly) {
  MemoryScheme scheme;
  scheme.divides_misses = true;
  arch::MachineConfig machine = plain_machine();
  machine.l1.mshr_entries = 8;
  const auto in_time = [&](const MemoryScheme& used) {
    TwoApps bench(machine, used);
    bench.begin({TwoApps::loads(8, 1, 0), TwoApps::loads(4, 1, 50'000)});
    bench.window(10);
    bench.window(20);
    bench.window(30);
    std::string order = bench.order();
    bench.finish();
    return order;
  };
  EXPECT_EQ(in_time(MemoryScheme{}), "aaaaaaaa");
  // In order: the fifth of a waits at the head, and b behind it, though b's share is free.
  EXPECT_EQ(in_time(scheme), "aaaa");
}

MemoryScheme dividing(bool misses) {
  MemoryScheme scheme;
  scheme.divides_misses = misses;
  scheme.divides_ways = !misses;
  scheme.ways_interval = 1000;
  return scheme;
}

/// Warps of arithmetic alone.
std::vector<WarpCode> busy(std::uint32_t instructions, std::uint32_t warps = 1) {
  std::vector<WarpCode> code(warps);
  for (WarpCode& warp : code)
    for (std::uint32_t i = 0; i < instructions; ++i) warp.run(9 + i % 8);
  return code;
}

TEST(Shares, AreOfThoseWhoHaveBlocksHere) {
  arch::MachineConfig machine = plain_machine();
  machine.l1.mshr_entries = 8;
  TwoApps bench(machine, dividing(true), 1000);
  // 1 and 2 have kernels, but no blocks on this SM.
  bench.sm.set_memory_sharers(0b111);
  bench.bind(bench.program, {8 * kWarpSize, 16, 0});
  bench.launch(TwoApps::loads(8, 1, 0));
  bench.run_to(60);
  EXPECT_EQ(bench.order(), "aaaaaaaa");
  bench.finish();
}

TEST(Shares, GrowAtOnceWhenAnApplicationsLastBlockEnds) {
  arch::MachineConfig machine = plain_machine();
  machine.l1.mshr_entries = 8;
  TwoApps bench(machine, dividing(true), 1000);
  bench.begin({TwoApps::loads(8, 1, 0), busy(80)});
  bench.run_to(60);
  EXPECT_EQ(bench.order(), "aaaa");
  bench.run_to(200);
  ASSERT_EQ(bench.sm.resident_blocks(1), 0U);
  EXPECT_EQ(bench.order(), "aaaaaaaa") << "long before the first reply";
  bench.finish();
}

TEST(Shares, OfTheMissQueueShrinkWhenAnotherComes) {
  arch::MachineConfig machine = plain_machine();
  machine.l1.miss_queue = 4;
  machine.l2.partitions = 1;
  machine.noc.input_buffer_flits = 4;
  machine.l1.mshr_entries = 128;
  TwoApps bench(machine, dividing(true));
  bench.answer = false;
  const std::uint32_t credits = bench.network.request_credits;  // a flit each
  std::vector<WarpCode> loads(credits + 2);
  for (std::uint32_t w = 0; w < loads.size(); ++w) loads[w].global(0, w);
  bench.begin({std::move(loads)});
  bench.run_to(100);
  // No more leave, for no credits come back: the last two wait in the queue, where two places are free.
  EXPECT_EQ(bench.sent.size(), credits);
  EXPECT_EQ(bench.counters().l1_accesses, credits + 2);
  bench.sm.set_memory_sharers(0b11);
  bench.bind(bench.program, {kWarpSize, 16, 0}, 1, 1);
  bench.launch(busy(1000), 1, 1, bench.now);
  bench.bind(bench.program, {kWarpSize, 16, 0}, 2, 0);
  bench.launch(TwoApps::loads(1, 1, 50'000), 2, 2, bench.now);
  bench.run_to(200);
  EXPECT_GT(bench.sm.counters(2).rsfail_miss_queue, 0U) << "half of the queue, which it has used up";
}

TEST(Ways, AreOfThoseWhoHaveBlocksHere) {
  TwoApps bench(plain_machine(), dividing(false));
  bench.begin({busy(400), busy(40)});
  bench.sm.set_memory_sharers(0b111);  // 2 has none here
  EXPECT_EQ(bench.sm.memory_client(0).ways, 2U);
  EXPECT_EQ(bench.sm.memory_client(1).ways, 2U);
  EXPECT_EQ(bench.sm.memory_client(2).ways, 0U);
  bench.run_to(200);
  ASSERT_EQ(bench.sm.resident_blocks(1), 0U);
  EXPECT_EQ(bench.sm.memory_client(0).ways, 4U) << "the other has gone";
  bench.launch(busy(40), 1, 1, bench.now);
  EXPECT_EQ(bench.sm.memory_client(0).ways, 2U) << "and is back";
  bench.finish();
}

TEST(Ways, OfOneThatHasGoneAreTaken) {
  // One set of four ways. 1 fills its two and goes; 0 then uses all four.
  arch::MachineConfig machine = plain_machine();
  machine.l1.bytes = 4 * kLineBytes;
  TwoApps bench(machine, dividing(false), 20);
  std::vector<WarpCode> first = busy(300);
  for (std::uint32_t round = 0; round < 2; ++round) {
    for (std::uint32_t i = 0; i < 4; ++i) first[0].global(i, i);
    for (std::uint32_t i = 0; i < 100; ++i) first[0].run(9 + i % 8);
  }
  std::vector<WarpCode> second(1);
  second[0].global(0, 50).global(1, 51);
  bench.begin({std::move(first), std::move(second)});
  bench.finish();
  EXPECT_EQ(bench.counters().l1_accesses, 8U);
  EXPECT_EQ(bench.counters().l1_misses, 4U) << "the second time all four are there";
}

TEST(Ways, AFlushEmptiesTheShadowTags) {
  // 0 loads three lines twice, between which L1 is flushed: a hit neither there nor with more ways.
  arch::MachineConfig machine = plain_machine();
  machine.l1.bytes = 4 * kLineBytes;
  const auto granted = [&](bool flush) {
    TwoApps bench(machine, dividing(false), 20);
    std::vector<WarpCode> code(1);
    const auto compute = [&](std::uint32_t count) {
      for (std::uint32_t i = 0; i < count; ++i) code[0].run(9 + i % 8);
    };
    for (std::uint32_t round = 0; round < 2; ++round) {
      for (std::uint32_t i = 0; i < 3; ++i) code[0].global(i, i);
      compute(400);
    }
    compute(100);
    code[0].global(3, 7);  // the first access after the interval
    compute(100);
    bench.begin({std::move(code), busy(3000)});
    bench.run_to(200);
    EXPECT_EQ(bench.sent.size(), 3U);
    if (flush) bench.sm.flush_l1();
    while (bench.counters().l1_accesses < 7) bench.window(bench.now + 10);
    EXPECT_EQ(bench.counters().l1_misses, flush ? 7U : 4U);
    const std::uint32_t ways = bench.sm.memory_client(0).ways;
    bench.finish();
    return ways;
  };
  EXPECT_EQ(granted(false), 3U);
  EXPECT_EQ(granted(true), 2U);
}

TEST(Ways, AStoreThatUpdatesALineMakesItTheOneUsedLast) {
  arch::MachineConfig machine = plain_machine();
  machine.l1.bytes = 4 * kLineBytes;
  const auto granted = [&](arch::L1Write write) {
    machine.l1.write = write;
    TwoApps bench(machine, dividing(false), 20);
    std::vector<WarpCode> code(1);
    for (std::uint32_t i = 0; i < 4; ++i) code[0].global(i, i);
    code[0].global(8, 0);  // the store: the order is 0, 3, 2, 1 now, or 3, 2, 1
    code[0].global(4, 2);
    for (std::uint32_t i = 0; i < 600; ++i) code[0].run(9 + i % 8);
    code[0].global(5, 7);  // the first access after the interval
    for (std::uint32_t i = 0; i < 100; ++i) code[0].run(9 + i % 8);
    bench.begin({std::move(code), busy(2000)});
    while (bench.counters().l1_accesses < 7) bench.window(bench.now + 10);
    const std::uint32_t ways = bench.sm.memory_client(0).ways;
    bench.finish();
    return ways;
  };
  EXPECT_EQ(granted(arch::L1Write::Through), 3U);
  EXPECT_EQ(granted(arch::L1Write::Evict), 2U);
}

TEST(Ways, AFlushLetsTheHeadGoOn) {
  // One set of four ways: two hold lines of 1. The third load of 0 waits for its own two, which are on their
  // way, until the flush makes room.
  arch::MachineConfig machine = plain_machine();
  machine.l1.bytes = 4 * kLineBytes;
  TwoApps bench(machine, dividing(false), 500);
  std::vector<WarpCode> other = busy(2000);
  other[0].records.insert(other[0].records.begin(), {{0, kAllLanes}, {1, kAllLanes}});
  WarpCode loads;
  loads.global(0, 50).global(1, 51);
  other[0].memory = loads.memory;
  bench.begin({busy(2000), std::move(other)});
  bench.run_to(600);
  EXPECT_EQ(bench.order(), "bb");
  bench.bind(bench.program, {kWarpSize, 16, 0}, 2, 0);
  std::vector<WarpCode> three(1);
  three[0].global(0, 1).global(1, 2).global(2, 3);
  bench.launch(std::move(three), 2, 2, bench.now);
  bench.run_to(700);
  EXPECT_EQ(bench.order(), "bbaa");
  bench.sm.flush_l1();
  bench.run_to(730);
  EXPECT_EQ(bench.order(), "bbaaa");
  bench.finish();
}

/// One set; two to four ways, the fewest while a kernel with shared memory is there.
arch::MachineConfig one_growing_set() {
  arch::MachineConfig machine = plain_machine();
  machine.l1.bytes = kLineBytes;
  machine.l1.ways = 1;
  machine.l1.unified_bytes = 4 * kLineBytes;
  machine.l1.shared_carveouts = {0, 2 * kLineBytes};
  machine.sm.shared_bytes = 2 * kLineBytes;
  machine.sm.shared_allocation_unit = kLineBytes;
  return machine;
}

TEST(Ways, FollowTheSizeOfL1) {
  TwoApps bench(one_growing_set(), dividing(false));
  bench.begin({busy(600), busy(600)});
  EXPECT_EQ(bench.sm.memory_client(0).ways + bench.sm.memory_client(1).ways, 4U);
  // A second kernel of 0 leaves L1 half.
  bench.bind(bench.program, {kWarpSize, 16, 2 * kLineBytes}, 2, 0);
  bench.launch(busy(40), 2, 2, bench.now);
  EXPECT_EQ(bench.sm.memory_client(0).ways + bench.sm.memory_client(1).ways, 2U);
  bench.run_to(200);
  ASSERT_EQ(bench.sm.resident_blocks(2), 0U);
  bench.bind(bench.program, {kWarpSize, 16, 0}, 3, 0);
  bench.launch(busy(40), 3, 3, bench.now);
  EXPECT_EQ(bench.sm.memory_client(0).ways + bench.sm.memory_client(1).ways, 4U);
  bench.finish();
}

TEST(Ways, ALargerL1LetsTheHeadGoOn) {
  for (const MemoryScheme& scheme : {MemoryScheme{}, dividing(false), dividing(true), kQbmi}) {
    TwoApps bench(one_growing_set(), scheme, 1000);
    bench.begin({busy(40)});
    bench.run_to(10);
    bench.bind(bench.program, {kWarpSize, 16, 2 * kLineBytes}, 1, 0);
    bench.launch(busy(40), 1, 1, bench.now);
    bench.bind(bench.program, {kWarpSize, 16, 0}, 2, 0);
    std::vector<WarpCode> three(1);
    three[0].global(0, 1).global(1, 2).global(2, 3);
    bench.launch(std::move(three), 2, 2, bench.now);
    bench.run_to(200);
    EXPECT_EQ(bench.order(), "aa");
    ASSERT_EQ(bench.sm.resident_blocks(1), 0U);
    bench.bind(bench.program, {kWarpSize, 16, 0}, 3, 0);
    bench.launch(busy(40), 3, 3, bench.now + 3);
    bench.run_to(230);
    EXPECT_EQ(bench.order(), "aaa") << "long before the first reply";
    bench.finish();
  }
}

}  // namespace
}  // namespace gpumux::sm::testing
