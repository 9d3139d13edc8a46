// Values of instruction forms that hand-written PTX and compilers other than nvcc use: registers of several
// elements, parameters in registers, constant expressions, names without a state space, votes without
// members.
#include <gtest/gtest.h>

#include <bit>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "emulator/ptx_runner.hpp"

namespace gpumux::emulator::test {
namespace {

constexpr const char* kHead = R"(
.visible .entry kernel(.param .u64 in, .param .u64 out)
{
  .reg .pred %p<9>;
  .reg .b16 %h<9>;
  .reg .b32 %r<20>;
  .reg .b64 %rd<20>;
  .reg .f32 %f<9>;
  .reg .f64 %fd<9>;
  ld.param.u64 %rd1, [in];
  ld.param.u64 %rd2, [out];
  mov.u32 %r1, %tid.x;
  mul.wide.u32 %rd3, %r1, 16;
  add.u64 %rd2, %rd2, %rd3;
  ld.global.v4.u32 {%r2, %r3, %r4, %r5}, [%rd1];
)";

/// What each of the threads stores: four words at %rd2. %r2 to %r5 are the input's, %r1 the thread's number.
std::vector<std::uint32_t> run_once(const std::string& module, const std::string& body, int optimize,
                                    std::uint32_t threads, const std::vector<std::uint32_t>& input) {
  PtxRunner runner(module + kHead + body + "\nret;\n}\n", optimize);
  std::vector<std::uint32_t> in = input;
  in.resize(64);
  std::vector<std::uint32_t> out(std::size_t{threads} * 4);
  const Address from = runner.device.upload(in);
  const Address to = runner.device.upload(out);
  runner.run("kernel", {1, 1, 1}, {threads, 1, 1}, {from, to});
  return runner.device.download<std::uint32_t>(to, out.size());
}

/// With and without the optimising passes.
std::vector<std::uint32_t> stored(const std::string& module, const std::string& body,
                                  const std::vector<std::uint32_t>& input = {}, std::uint32_t threads = 1) {
  std::vector<std::uint32_t> plain = run_once(module, body, 0, threads, input);
  EXPECT_EQ(plain, run_once(module, body, 1, threads, input)) << body;
  return plain;
}

using Stored = std::vector<std::uint32_t>;

constexpr const char* kStore = "st.global.v4.u32 [%rd2], {%r10, %r11, %r12, %r13};";

TEST(PtxForms, ParametersInRegistersAreCopies) {
  const std::string module = R"(
.func (.reg .u32 r) plus(.reg .u32 a, .reg .u32 b)
{
  add.u32 r, a, b;
  add.u32 a, a, 100;
  ret;
}
.func (.reg .u32 low, .reg .u64 sum, .reg .pred odd) several(.reg .u32 a, .reg .pred add_one, .reg .u16 c)
{
  .reg .u32 t;
  .reg .u64 w;
  cvt.u32.u16 t, c;
  add.u32 low, a, t;
  @add_one add.u32 low, low, 1;
  cvt.u64.u32 w, low;
  shl.b64 sum, w, 4;
  and.b32 t, low, 1;
  setp.eq.u32 odd, t, 1;
}
)";
  // The caller keeps its registers, and a number is an argument, too.
  EXPECT_EQ(stored(module, std::string(R"(
  mov.u32 %r10, %r2;
  call (%r11), plus, (%r10, %r3);
  call (%r12), plus, (%r10, 7);
  call (%r13), plus, (-1, -2);
)") + kStore,
                   {5, 6, 0, 0}),
            (Stored{5, 11, 12, 0xfffffffd}));
  // Predicates, narrow and wide values; a body's end is a return.
  EXPECT_EQ(stored(module, std::string(R"(
  setp.eq.u32 %p1, %r2, 5;
  cvt.u16.u32 %h1, %r3;
  call (%r10, %rd4, %p2), several, (%r2, %p1, %h1);
  cvt.u32.u64 %r11, %rd4;
  selp.u32 %r12, 1, 0, %p2;
  call (%r13, %rd4, %p2), several, (%r2, !%p1, %h1);
)") + kStore,
                   {5, 6, 0, 0}),
            (Stored{12, 192, 0, 11}));
}

TEST(PtxForms, GuardedCallsAndReturnsOfRegisterParameters) {
  const std::string module = R"(
.func (.reg .u32 r) clip(.reg .u32 a)
{
  .reg .pred p;
  mov.u32 r, 9;
  setp.gt.u32 p, a, 9;
  @p ret;
  mov.u32 r, a;
  ret;
}
)";
  const auto out = stored(module, std::string(R"(
  setp.lt.u32 %p1, %r1, 20;
  mov.u32 %r10, 77;
  mov.u32 %r11, 0;
  mov.u32 %r12, 0;
  mov.u32 %r13, 0;
  @%p1 call (%r10), clip, (%r1);
)") + kStore,
                          {}, 32);
  for (std::uint32_t t = 0; t < 32; ++t) EXPECT_EQ(out[4 * t], t >= 20 ? 77U : t > 9 ? 9U : t) << t;
}

TEST(PtxForms, RealCallsTakeRegisterParameters) {
  // Recursion and calls through pointers; `shape` says what the pointer's function takes.
  const std::string module = R"(
.func (.reg .u32 r) factorial(.reg .u32 n)
{
  .reg .pred p;
  .reg .u32 m;
  mov.u32 r, 1;
  setp.le.u32 p, n, 1;
  @p ret;
  sub.u32 m, n, 1;
  call (m), factorial, (m);
  mul.lo.u32 r, m, n;
  ret;
}
.func (.reg .u32 r) square(.reg .u32 n)
{
  mul.lo.u32 r, n, n;
  ret;
}
)";
  EXPECT_EQ(stored(module, std::string(R"(
  call (%r10), factorial, (%r2);
  mov.u64 %rd4, factorial;
  mov.u64 %rd5, square;
  setp.eq.u32 %p1, %r3, 1;
  selp.b64 %rd6, %rd4, %rd5, %p1;
shape: .callprototype (.reg .u32 _) _ (.reg .u32 _);
  call (%r11), %rd6, (%r4), shape;
targets: .calltargets factorial, square;
  call (%r12), %rd5, (6), targets;
  mov.u32 %r13, 0;
)") + kStore,
                   {6, 1, 5, 0}),
            (Stored{720, 120, 36, 0}));
}

TEST(PtxForms, RegistersAndNumbersArePassedToParametersInMemory) {
  const std::string module = R"(
.func (.param .u32 r) twice(.param .u32 a)
.func (.param .u32 r) twice(.param .u32 a)
{
  .reg .u32 t;
  ld.param.u32 t, [a];
  add.u32 t, t, t;
  st.param.u32 [r], t;
  ret;
}
)";
  EXPECT_EQ(stored(module, std::string(R"(
  call (%r10), twice, (%r2);
  call (%r11), twice, (21);
  .param .u32 given, back;
  st.param.u32 [given], 4;
  call (back), twice, (given);
  ld.param.u32 %r12, [back];
  call (_), twice, (1);
  mov.u32 %r13, 0;
)") + kStore,
                   {5, 0, 0, 0}),
            (Stored{10, 42, 8, 0}));
}

TEST(PtxForms, AFunctionsParametersHaveAddressesInLocalMemory) {
  const std::string module = R"(
.func (.param .u32 r) third(.param .align 4 .b8 a[12])
{
  .reg .u64 at, generic;
  .reg .u32 t, u, v;
  mov.u64 at, a;
  ld.param.u32 t, [at+8];
  cvta.local.u64 generic, at;
  ld.u32 u, [generic+4];
  ld.param.u32 v, [a];
  add.u32 t, t, u;
  add.u32 t, t, v;
  st.param.u32 [r], t;
  ret;
}
.func (.param .u32 r) some(.param .u32 n, .param .align 8 .b8 rest[])
{
  .reg .u64 at, step;
  .reg .u32 t, n, i, sum;
  .reg .pred p;
  ld.param.u32 n, [n];
  mov.u64 at, rest;
  mov.u32 sum, 0;
  mov.u32 i, 0;
again:
  ld.local.u32 t, [at];
  add.u32 sum, sum, t;
  add.u64 at, at, 4;
  add.u32 i, i, 1;
  setp.lt.u32 p, i, n;
  @p bra again;
  st.param.u32 [r], sum;
  ret;
}
)";
  std::string call_some;
  for (const char* through : {"some", "%rd4"}) {
    call_some += std::string("{ .param .u32 n, sum; .param .align 8 .b8 rest[12];\n") +
                 "st.param.u32 [n], 3; st.param.u32 [rest], %r2; st.param.u32 [rest+4], %r3; st.param.u32 "
                 "[rest+8], %r4;\n mov.u64 %rd4, some;\n" +
                 "shape: .callprototype (.param .u32 _) _ (.param .u32 _, .param .align 8 .b8 _[]);\n" +
                 "call (sum), " + through + ", (n, rest), shape;\nld.param.u32 " +
                 (through[0] == '%' ? "%r12" : "%r11") + ", [sum]; }\n";
  }
  std::string renamed = module;  // a parameter and a register of one name are two things of one scope
  renamed.replace(renamed.find(".reg .u32 t, n, i, sum"), 22, ".reg .u32 t, m, i, sum");
  renamed.replace(renamed.find("ld.param.u32 n, [n]"), 19, "ld.param.u32 m, [n]");
  renamed.replace(renamed.find("p, i, n;"), 8, "p, i, m;");
  EXPECT_EQ(stored(renamed,
                   R"(
  { .param .u32 back; .param .align 4 .b8 given[12];
  st.param.u32 [given], %r2; st.param.u32 [given+4], %r3; st.param.u32 [given+8], %r4;
  call (back), third, (given);
  ld.param.u32 %r10, [back]; }
)" + call_some + "mov.u32 %r13, 0;\n" +
                       kStore,
                   {5, 60, 700, 0}),
            (Stored{765, 765, 765, 0}));
}

TEST(PtxForms, AccessesBehindAParameterReachNothingElse) {
  const std::string module = R"(
.func (.param .b8 r) bits(.param .b8 a)
{
  .reg .b16 t;
  ld.param.b8 t, [a];
  st.param.b8 [r], t;
  st.param.b8 [r+1], 77;
  st.param.b8 [r+2], 78;
  ret;
}
)";
  EXPECT_EQ(stored(module, std::string(R"(
  .param .b8 before, back, given;
  st.param.b8 [before], 11;
  st.param.b8 [given], 12;
  call (back), bits, (given);
  ld.param.b8 %r10, [back];
  ld.param.b8 %r11, [before];
  ld.param.b8 %r12, [given];
  mov.u32 %r13, 0;
)") + kStore),
            (Stored{12, 11, 12, 0}));
}

TEST(PtxForms, VectorsOfRegisters) {
  const std::string module = R"(
.func (.reg .v2 .u32 r) swapped(.reg .v2 .u32 a)
{
  mov.v2.u32 r, a;
  mov.v2.u32 {r.x, r.y}, {r.y, r.x};
  ret;
}
)";
  EXPECT_EQ(stored("", std::string(R"(
  .reg .v4 .u32 v;
  .reg .v2 .u32 w<3>;
  ld.global.v4.u32 v, [%rd1];
  add.u32 %r10, v.x, v.w;
  mov.v2.u32 w1, {v.y, v.z};
  mov.b64 %rd4, w1;
  mov.b64 w2, %rd4;
  sub.u32 %r11, w2.y, w2.x;
  mov.u32 v.r, 1;
  mov.u32 v.a, 2;
  add.u32 %r12, v.x, v.w;
  mov.v2.u32 w0, 9;
  add.u32 %r13, w0.x, w0.y;
)") + kStore,
                   {1, 20, 300, 4000}),
            (Stored{4001, 280, 3, 9}));
  EXPECT_EQ(stored(module, R"(
  .reg .v4 .u32 v;
  .reg .v2 .u32 w;
  mov.v4.u32 v, {%r2, %r3, %r4, %r5};
  mov.v4.u32 {v.x, v.y, v.z, v.w}, {v.w, v.x, v.y, v.z};
  mov.v2.u32 w, {v.x, v.y};
  call (w), swapped, (w);
  mov.v2.u32 {v.x, v.y}, w;
  st.global.v4.u32 [%rd2], v;
)",
                   {1, 2, 3, 4}),
            (Stored{1, 4, 2, 3}));
  EXPECT_EQ(stored("", R"(
  .reg .b128 q, p;
  mov.b64 %rd4, {%r2, %r3};
  mov.b64 %rd5, {%r4, %r5};
  mov.b128 q, {%rd5, %rd4};
  st.global.b128 [%rd2], q;
  ld.global.b128 p, [%rd2];
  mov.b128 {%rd5, %rd4}, p;
  add.u64 %rd5, %rd5, 1;
  mov.b128 q, {%rd5, %rd4};
  st.global.b128 [%rd2], q;
)",
                   {1, 2, 3, 4}),
            (Stored{4, 4, 1, 2}));
}

TEST(PtxForms, VectorVariables) {
  EXPECT_EQ(
      stored(".global .v2 .u32 g[2] = {{1, 2}, {3, 4}}; .const .v4 .u16 c = {5, 6, 7, 8};", std::string(R"(
  .shared .v2 .u32 s[2];
  .reg .v2 .u32 v;
  .reg .v4 .u16 h;
  ld.global.v2.u32 v, [g+8];
  st.shared.v2.u32 [s+8], v;
  ld.shared.u32 %r10, [s+12];
  ld.const.v4.u16 h, [c];
  cvt.u32.u16 %r11, h.w;
  mov.u32 %r12, %total_smem_size;
  ld.shared.u32 %r13, [s+8];
)") + kStore),
      (Stored{4, 8, 16, 3}));
}

TEST(PtxForms, ANameSaysItsSpace) {
  EXPECT_EQ(stored(".global .u32 g = 40; .shared .u32 sum;", std::string(R"(
  .shared .u32 s[4];
  .local .u32 l[2];
  st.u32 [s+4], %r2;
  ld.u32 %r10, [s+4];
  st.volatile.u32 [l+4], %r3;
  ld.volatile.u32 %r11, [l+4];
  ld.u32 %r12, [g];
  st.u32 [sum], 5;
  atom.add.u32 %r13, [sum], %r4;
  red.add.u32 [sum], %r4;
  ld.shared.u32 %r13, [sum];
)") + kStore,
                   {7, 8, 9, 0}),
            (Stored{7, 8, 40, 23}));
}

TEST(PtxForms, VotesAndShufflesWithoutMembers) {
  // All lanes that execute one together take part: here those below 20, in two sides of a branch.
  const std::string old = ".version 5.0\n.target sm_60\n";
  const auto out = stored(old, std::string(R"(
  mov.u32 %r10, 0;
  mov.u32 %r11, 0;
  mov.u32 %r12, 0;
  mov.u32 %r13, 0;
  and.b32 %r6, %r1, 1;
  setp.eq.u32 %p1, %r6, 1;
  setp.ge.u32 %p2, %r1, 20;
  @%p2 bra done;
  vote.ballot.b32 %r10, %p1;
  vote.all.pred %p3, !%p2;
  vote.any.pred %p4, %p2;
  vote.uni.pred %p5, %p1;
  selp.u32 %r11, 1, 0, %p3;
  @%p4 add.u32 %r11, %r11, 2;
  @%p5 add.u32 %r11, %r11, 4;
  shfl.idx.b32 %r12, %r1, 3, 31;
  shfl.up.b32 %r13|%p6, %r1, 2, 0;
  @!%p6 mov.u32 %r13, 99;
done:
)") + kStore,
                          {}, 32);
  for (std::uint32_t t = 0; t < 32; ++t) {
    const bool takes_part = t < 20;
    EXPECT_EQ(out[4 * t], takes_part ? 0xaaaaaU : 0U) << t;
    EXPECT_EQ(out[4 * t + 1], takes_part ? 1U : 0U) << t;
    EXPECT_EQ(out[4 * t + 2], takes_part ? 3U : 0U) << t;
    EXPECT_EQ(out[4 * t + 3], !takes_part ? 0U : t < 2 ? 99U : t - 2) << t;
  }
}

TEST(PtxForms, SpecialRegistersOfFourElementsAndSixteenBits) {
  EXPECT_EQ(stored("", std::string(R"(
  mov.u32 %r10, %tid.w;
  mov.u32 %r6, %ntid.w;
  or.b32 %r10, %r10, %r6;
  mov.u32 %r6, %ctaid.w;
  or.b32 %r10, %r10, %r6;
  mov.u32 %r6, %nctaid.w;
  or.b32 %r10, %r10, %r6;
  mov.u32 %r6, %envreg0;
  or.b32 %r10, %r10, %r6;
  mov.u32 %r6, %pm3;
  or.b32 %r10, %r10, %r6;
  mov.u64 %rd4, %pm7_64;
  cvt.u32.u64 %r6, %rd4;
  or.b32 %r10, %r10, %r6;
  .reg .v4 .u32 v;
  mov.v4.u32 v, %ntid;
  mad.lo.u32 %r11, v.x, 1000, v.y;
  add.u32 %r11, %r11, v.w;
  mov.u16 %h1, %ntid.x;
  cvt.u32.u16 %r12, %h1;
  cvt.u32.u16 %r13, %ntid.r;
)") + kStore,
                   {}, 2),
            (Stored{0, 2001, 2, 2, 0, 2001, 2, 2}));
}

TEST(PtxForms, ConstantExpressions) {
  const struct {
    const char* text;
    std::uint64_t value;
  } cases[] = {{"7-2*3", 1},
               {"(7-2)*3", 15},
               {"1<<2+1", 8},
               {"5&3==3", 1},
               {"6|1^3&2", 7},
               {"-7/2", 0 - 3ULL},
               {"-7>>1", 0 - 4ULL},
               {"-7 % 3", 0},
               {"0xFFFFFFFFFFFFFFFF>>60", 15},
               {"~0>>60", 15},
               {"1-2>>60", ~0ULL},
               {"1U-2>>60", 15},
               {"-1<1", 1},
               {"-1<1U", 0},
               {"5<3?7:9", 9},
               {"1?2:3?4:5", 2},
               {"!0+1", 2},
               {"!5", 0},
               {"2||0&&0", 1},
               {"(.u64)-1>>60", 15},
               {"(.s64)0xFFFFFFFFFFFFFFFF>>60", ~0ULL},
               {"-1/2U", 0x7fffffffffffffffULL},
               {"1<<64", 1},
               {"WARP_SZ*2+1", 65},
               {"-WARP_SZ", 0 - 32ULL},
               {"--5", 5},
               {"1.5+1.5>2.5", 1},
               {"2.0*2.0 <= 4.0", 1},
               {"(1<=1)+(2>=3)+(1!=2)", 2}};
  for (const auto& one : cases) {
    const auto out = stored("", std::string("mov.u64 %rd4, ") + one.text + ";\nst.global.u64 [%rd2], %rd4;");
    EXPECT_EQ(out[0] | std::uint64_t{out[1]} << 32U, one.value) << one.text;
  }
  // Floats, offsets, initial values, and a number that is added to a register.
  EXPECT_EQ(stored(".global .u32 g[4] = {1+1, 3*4+(1<<2), -(2), 9};", std::string(R"(
  mov.f32 %f1, 1.0*3.0/4.0;
  mov.b32 %r10, %f1;
  ld.global.u32 %r11, [g+4*1];
  ld.global.u32 %r6, [g+2*(3+1)];
  add.u32 %r11, %r11, %r6;
  mov.u64 %rd4, g+2*4;
  ld.global.u32 %r12, [%rd4+4];
  add.u32 %r13, %r2+3, %r3+-1;
)") + kStore,
                   {10, 20, 0, 0}),
            (Stored{0x3f400000, 14, 9, 32}));
}

TEST(PtxForms, RegisterLimitsOfAWarpChangeNothing) {
  EXPECT_EQ(stored(".version 8.0\n.target sm_90a\n", std::string(R"(
  setmaxnreg.dec.sync.aligned.u32 40;
  add.u32 %r10, %r2, %r3;
  setmaxnreg.inc.sync.aligned.u32 232;
  mov.v4.u32 {%r10, %r11, %r12, %r13}, {%r10, %r2, %r3, %r4};
)") + kStore,
                   {1, 2, 3, 4}),
            (Stored{3, 1, 2, 3}));
}

TEST(PtxForms, ReferencesAndParametersOfTexturesHoldObjects) {
  const std::string module = R"(
.global .texref bound;
.visible .entry by_parameter(.param .texref t, .param .u64 in, .param .u64 out)
{
  .reg .b32 %r<9>;
  .reg .b64 %rd<9>;
  ld.param.u64 %rd1, [out];
  mov.u32 %r1, 2;
  tex.1d.v4.u32.s32 {%r2, %r3, %r4, %r5}, [t, {%r1, 7}];
  mov.u64 %rd2, bound;
  tex.1d.v4.u32.s32 {%r3, %r4, %r5, %r6}, [%rd2, {%r1, 7, 8, 9}];
  st.global.v2.u32 [%rd1], {%r2, %r3};
  ret;
}
)";
  for (const int optimize : {0, 1}) {
    PtxRunner runner(module, optimize);
    const auto texture = [&runner](std::uint32_t first) {
      std::vector<std::uint32_t> texels(64);
      for (std::uint32_t i = 0; i < texels.size(); ++i) texels[i] = first + i;
      return runner.device.memory.textures().create(
          workload::TextureResource::linear(runner.device.upload(texels),
                                            {workload::ChannelKind::Unsigned, 32, 1}, 64),
          {});
    };
    const std::uint64_t bound = texture(500);
    runner.device.memory.write(runner.module().global_address("bound"), std::as_bytes(std::span(&bound, 1)));
    const Address to = runner.device.upload(Stored(2));
    runner.run("by_parameter", {1, 1, 1}, {1, 1, 1}, {texture(100), 0, to});
    EXPECT_EQ(runner.device.download<std::uint32_t>(to, 2), (Stored{102, 502}));
  }
}

TEST(PtxForms, FiniteSumsOfHalfMatrices) {
  // Sixteen products of 256 x 256 onto c: 2^20, which f16 does not have.
  const auto sum = [](const char* types, std::uint32_t a, std::uint32_t c, const char* registers) {
    std::string body = "mov.u32 %r6, " + std::to_string(a) + ";\nmov.u32 %r7, " + std::to_string(c) + ";\n";
    const std::string factors = "{%r6, %r6, %r6, %r6, %r6, %r6, %r6, %r6}";
    std::string given;
    for (const char* at = registers; *at != '\0'; ++at) given += *at == '%' ? "%" : std::string(1, *at);
    const bool halves = std::string(types) == "f16.f16";
    const std::string addends = halves ? "{%r7, %r7, %r7, %r7}" : "{%f1, %f1, %f1, %f1, %f1, %f1, %f1, %f1}";
    body += "mov.b32 %f1, %r7;\nwmma.mma.sync.aligned.row.row.m16n16k16." + std::string(types) +
            ".satfinite " + given + ", " + factors + ", " + factors + ", " + addends + ";\n";
    body += halves ? "" : "mov.b32 %r10, %f2;\n";
    return stored("", body + "st.global.u32 [%rd2], %r10;", {}, 32)[0];
  };
  const char* const halves = "{%r10, %r11, %r12, %r13}";
  const char* const singles = "{%f2, %f3, %f4, %f5, %f6, %f7, %f8, %f0}";
  constexpr std::uint32_t k256 = 0x5c005c00;
  EXPECT_EQ(sum("f16.f16", k256, 0, halves), 0x7bff7bffU);
  EXPECT_EQ(sum("f16.f16", 0, 0xfc007c00, halves), 0xfbff7bffU);
  EXPECT_EQ(sum("f16.f16", 0, 0x7e003c00, halves), 0x00003c00U);
  EXPECT_EQ(sum("f32.f32", k256, 0, singles), 0x49800000U);
  EXPECT_EQ(sum("f32.f32", 0, 0x7f800000, singles), 0x7f7fffffU);
  EXPECT_EQ(sum("f32.f32", 0, 0xff800000, singles), 0xff7fffffU);
  EXPECT_EQ(sum("f32.f32", 0, 0x7fc00000, singles), 0U);
}

}  // namespace
}  // namespace gpumux::emulator::test
