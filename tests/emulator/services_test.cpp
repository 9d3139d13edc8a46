// printf, assert, malloc and free in kernels.
#include <gtest/gtest.h>

#include "emulator/ptx_runner.hpp"

namespace gpumux::emulator::test {
namespace {

const char* const kDeclarations = R"(
.extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a);
.extern .func __assertfail(.param .b64 m, .param .b64 f, .param .b32 l, .param .b64 fn, .param .b64 c);
.extern .func (.param .b64 r) malloc(.param .b64 n);
.extern .func free(.param .b64 p);
)";

std::string bytes_of(const std::string& text) {
  std::string list;
  for (const char c : text) list += std::to_string(static_cast<int>(static_cast<unsigned char>(c))) + ", ";
  return list + "0";
}

/// A kernel that fills `frame` and calls vprintf with the format.
std::string printing(const std::string& format, const std::string& fill) {
  return std::string(kDeclarations) + ".global .align 1 .b8 format[" + std::to_string(format.size() + 1) +
         "] = {" + bytes_of(format) + "};\n.global .align 1 .b8 word[4] = {97, 98, 99, 0};\n" + R"(
.visible .entry kernel()
{
  .local .align 8 .b8 frame[80];
  .reg .b32 %r<10>;
  .reg .f64 %fd<4>;
  .reg .b64 %rd<10>;
  mov.u64 %rd1, frame;
  cvta.local.u64 %rd2, %rd1;
  mov.u32 %r1, %tid.x;
)" + fill +
         R"(
  mov.u64 %rd3, format;
  cvta.global.u64 %rd4, %rd3;
  {
    .param .b64 p0; .param .b64 p1; .param .b32 r0;
    st.param.b64 [p0], %rd4;
    st.param.b64 [p1], %rd2;
    call.uni (r0), vprintf, (p0, p1);
    ld.param.b32 %r2, [r0];
  }
  ret;
}
)";
}

std::string printed(const std::string& format, const std::string& fill, std::uint32_t threads = 1) {
  std::string text[2];
  for (const int optimize : {0, 1}) {
    PtxRunner runner(printing(format, fill), optimize);
    runner.run("kernel", {1, 1, 1}, {threads, 1, 1}, {});
    text[optimize] = runner.device.sink.text;
  }
  EXPECT_EQ(text[0], text[1]);
  return text[0];
}

TEST(Printf, FormatsAsTheHostDoes) {
  EXPECT_EQ(printed("plain 100%%\n", ""), "plain 100%\n");
  EXPECT_EQ(printed("%d|%5d|%-5d|%05d|%+d|%u|%x|%#X", R"(
    mov.u32 %r3, -7; st.local.u32 [%rd1], %r3; st.local.u32 [%rd1+4], %r3; st.local.u32 [%rd1+8], %r3;
    st.local.u32 [%rd1+12], %r3; mov.u32 %r4, 255; st.local.u32 [%rd1+16], %r4; st.local.u32 [%rd1+20], %r3;
    st.local.u32 [%rd1+24], %r4; st.local.u32 [%rd1+28], %r4;)"),
            "-7|   -7|-7   |-0007|+255|4294967289|ff|0XFF");
  EXPECT_EQ(printed("%lld %lu %c %s %p %.2f %e %g %5.1f%%", R"(
    mov.u64 %rd5, -9000000000; st.local.u64 [%rd1], %rd5; mov.u64 %rd6, 18446744073709551615;
    st.local.u64 [%rd1+8], %rd6; mov.u32 %r3, 65; st.local.u32 [%rd1+16], %r3;
    mov.u64 %rd7, word; cvta.global.u64 %rd7, %rd7; st.local.u64 [%rd1+24], %rd7; mov.u64 %rd8, 4660;
    st.local.u64 [%rd1+32], %rd8; mov.f64 %fd1, 0d400921FB54442D18; st.local.f64 [%rd1+40], %fd1;
    st.local.f64 [%rd1+48], %fd1; st.local.f64 [%rd1+56], %fd1; st.local.f64 [%rd1+64], %fd1;)"),
            "-9000000000 18446744073709551615 A abc 0x1234 3.14 3.141593e+00 3.14159   3.1%");
  EXPECT_EQ(printed("%*d|%.*f|%q", R"(
    mov.u32 %r3, 6; st.local.u32 [%rd1], %r3; mov.u32 %r4, 42; st.local.u32 [%rd1+4], %r4; mov.u32 %r5, 1;
    st.local.u32 [%rd1+8], %r5; mov.f64 %fd1, 0d4004000000000000; st.local.f64 [%rd1+16], %fd1;)"),
            "    42|2.5|%q");
}

TEST(Printf, LanesComeInOrder) { EXPECT_EQ(printed("%d,", "st.local.u32 [%rd1], %r1;", 5), "0,1,2,3,4,"); }

TEST(Printf, ABadFormatPointerIsAFault) {
  PtxRunner runner(std::string(kDeclarations) + R"(
.visible .entry kernel()
{
  .reg .b32 %r<4>;
  .reg .b64 %rd<4>;
  mov.u64 %rd1, 64;
  {
    .param .b64 p0; .param .b64 p1; .param .b32 r0;
    st.param.b64 [p0], %rd1;
    st.param.b64 [p1], %rd1;
    call.uni (r0), vprintf, (p0, p1);
    ld.param.b32 %r2, [r0];
  }
  ret;
}
)");
  EXPECT_NE(runner.fault_of("kernel", {1, 1, 1}, {1, 1, 1}, {})
                .find("invalid read of 1 byte at 0x40 by printf (64 bytes after a null pointer)"),
            std::string::npos);
}

TEST(Assert, PrintsEachLaneAndFaults) {
  PtxRunner runner(std::string(kDeclarations) + ".global .align 1 .b8 m[6] = {" + bytes_of("x < 3") +
                   "};\n.global .align 1 .b8 f[5] = {" + bytes_of("a.cu") +
                   "};\n.global .align 1 .b8 n[7] = {" + bytes_of("void k") + "};\n" + R"(
.visible .entry kernel()
{
  .reg .pred %p<2>;
  .reg .b32 %r<4>;
  .reg .b64 %rd<8>;
  mov.u32 %r1, %tid.x;
  setp.lt.u32 %p1, %r1, 3;
  @%p1 bra FINE;
  mov.u64 %rd1, m; cvta.global.u64 %rd1, %rd1;
  mov.u64 %rd2, f; cvta.global.u64 %rd2, %rd2;
  mov.u64 %rd3, n; cvta.global.u64 %rd3, %rd3;
  mov.u32 %r2, 17;
  mov.u64 %rd4, 1;
  {
    .param .b64 p0; .param .b64 p1; .param .b32 p2; .param .b64 p3; .param .b64 p4;
    st.param.b64 [p0], %rd1;
    st.param.b64 [p1], %rd2;
    st.param.b32 [p2], %r2;
    st.param.b64 [p3], %rd3;
    st.param.b64 [p4], %rd4;
    call.uni __assertfail, (p0, p1, p2, p3, p4);
  }
FINE:
  ret;
}
)");
  const std::string message = runner.fault_of("kernel", {2, 1, 1}, {5, 1, 1}, {});
  EXPECT_EQ(runner.device.sink.text,
            "a.cu:17: void k: block: [0,0,0], thread: [3,0,0] Assertion `x < 3` failed.\n"
            "a.cu:17: void k: block: [0,0,0], thread: [4,0,0] Assertion `x < 3` failed.\n");
  EXPECT_EQ(
      message.substr(0, message.find(", pc")),
      "error: test: kernel kernel: assertion `x < 3` failed at a.cu:17, thread (3,0,0) of block (0,0,0)");
}

TEST(Heap, MallocGivesDistinctMemory) {
  PtxRunner runner(std::string(kDeclarations) + R"(
.visible .entry kernel(.param .u64 out)
{
  .reg .b32 %r<4>;
  .reg .b64 %rd<8>;
  ld.param.u64 %rd1, [out];
  mov.u32 %r1, %tid.x;
  mul.wide.u32 %rd2, %r1, 4;
  add.s64 %rd1, %rd1, %rd2;
  mov.u64 %rd3, 8;
  {
    .param .b64 p0; .param .b64 r0;
    st.param.b64 [p0], %rd3;
    call.uni (r0), malloc, (p0);
    ld.param.b64 %rd4, [r0];
  }
  add.s32 %r2, %r1, 30;
  st.u32 [%rd4+4], %r2;
  ld.u32 %r3, [%rd4+4];
  st.global.u32 [%rd1], %r3;
  {
    .param .b64 p0;
    st.param.b64 [p0], %rd4;
    call.uni free, (p0);
  }
  ret;
}
)");
  const Address out = runner.device.memory.allocate(4 * 40);
  const std::uint64_t before = runner.device.memory.allocated_bytes();
  runner.run("kernel", {1, 1, 1}, {40, 1, 1}, {out});
  const auto values = runner.device.download<std::uint32_t>(out, 40);
  for (std::uint32_t t = 0; t < 40; ++t) EXPECT_EQ(values[t], 30 + t);
  EXPECT_EQ(runner.device.memory.allocated_bytes(), before);
}

}  // namespace
}  // namespace gpumux::emulator::test
