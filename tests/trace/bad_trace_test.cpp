// Malicious traces: an error of one line that names the file and the line, and never a crash.
#include <algorithm>

#include "base/hash.hpp"
#include "tests/compressed.hpp"
#include "tests/trace/trace_folder.hpp"
#include "trace/format.hpp"
#include "trace/kernel.hpp"
#include "trace/reference.hpp"

namespace gpumux::trace::test {
namespace {

using BadTrace = TraceFolder;

TEST_F(BadTrace, TheGoodCaseIsGood) {
  write_kernel(Header().text() + block(kExit, 1));
  EXPECT_EQ(error(), "");
  EXPECT_EQ(load()->warp_instructions(), 1U);
}

TEST_F(BadTrace, KernelsList) {
  EXPECT_NE(error().find("it has no kernelslist.g"), std::string::npos);
  write("kernelslist_ctx_0xb.g", "");
  EXPECT_NE(error().find("has no kernelslist.g; name one of its lists: "), std::string::npos) << error();
  const auto expect = [&](const std::string& list, const std::string& start, const std::string& part) {
    write("kernelslist.g", list);
    const std::string text = error();
    EXPECT_EQ(text.find(start), 0U) << text;
    EXPECT_NE(text.find(part), std::string::npos) << text;
  };
  expect("", "kernelslist.g: error: ", "names no kernel");
  expect("MemcpyHtoD,0x10,4\nkernel-7.traceg\n", "kernelslist.g:2: error: ", "no file kernel-7.traceg");
  expect("kernel-7.traceg.xz\n", "kernelslist.g:1: error: ", "no file kernel-7.traceg.xz");
  expect("kernel-1.trace\n", "kernelslist.g:1: error: ", "raw trace");
  expect("frobnicate\n", "kernelslist.g: error: ", "names no kernel");  // a warning, and nothing else
  expect("MemcpyHtoD,0x10\n", "kernelslist.g:1: error: ", "0xADDRESS,BYTES");
  expect("MemcpyHtoD,zz,12\n", "kernelslist.g:1: error: ", "0xADDRESS,BYTES");
  expect("MemcpyHtoD,0x10,99999999999999999\n", "kernelslist.g:1: error: ", "impossible");
  expect(std::string(1'000'000, 'x'), "kernelslist.g:1: error: ", "too long");
}

TEST_F(BadTrace, Headers) {
  const auto expect = [&](const Header& header, const std::string& line, const std::string& part) {
    write_kernel(header.text() + block(kExit, 1));
    const std::string text = error();
    EXPECT_EQ(text.find("kernel-1.traceg:" + line), 0U) << text;
    EXPECT_NE(text.find(part), std::string::npos) << text;
  };
  Header h;
  h.grid = "(0,1,1)";
  expect(h, "3:13: error: ", "is no grid");
  h.grid = "(4294967295,4294967295,4294967295)";
  expect(h, "3:13: error: ", "is no grid");
  h.grid = "4,1";
  expect(h, "3:13: error: ", "(X,Y,Z)");
  h.grid = "(2,1,1)";
  expect(h, "24: error: ", "after 1 of the grid's 2 blocks");
  h = {};
  h.block = "(1024,2,1)";
  expect(h, "4:14: error: ", "is no block");
  h.block = "(64,1,1)";
  expect(h, "24: error: ", "no warp 1");
  h = {};
  h.sm = "35";
  expect(h, "7: error: ", "SASS version 35 is not supported");
  h.sm = "x";
  expect(h, "7:19: error: ", "is no SASS version");
  h = {};
  h.tracer = "2";
  expect(h, "12: error: ", "tracer version 2 is not supported");
  h = {};
  h.registers = "9999";
  expect(h, "6:10: error: ", "number of registers");
  h = {};
  h.shared = "-1";
  expect(h, "5:10: error: ", "shared memory");

  write_kernel("-kernel name = k\n#traces format = x\n");
  EXPECT_NE(error().find("kernel-1.traceg:2: error: the kernel's header has no '-grid dim'"),
            std::string::npos);
  write_kernel("");
  EXPECT_NE(error().find("ends within the kernel's header"), std::string::npos);
  write_kernel("hello\n");
  EXPECT_NE(error().find("kernel-1.traceg:1: error: 'hello' is no line"), std::string::npos);
}

TEST_F(BadTrace, MixedVersions) {
  write("kernelslist.g", "kernel-1.traceg\nkernel-2.traceg\n");
  Header h;
  write("kernel-1.traceg", h.text() + block(kExit, 1));
  h.tracer = "5";
  write("kernel-2.traceg", h.text() + block(kExit, 1));
  EXPECT_NE(error().find("kernel-2.traceg:12: error: tracer version 5 in a trace that began with version 4"),
            std::string::npos)
      << error();
  h = {};
  h.sm = "80";
  write("kernel-2.traceg", h.text() + block(kExit, 1));
  EXPECT_NE(error().find("kernel-2.traceg:7: error: SASS version 80"), std::string::npos) << error();
  h.sm = "75";  // of the same family
  write("kernel-2.traceg", h.text() + block(kExit, 1));
  EXPECT_EQ(error(), "");
}

TEST_F(BadTrace, AccessesBeyondTheAddressSpace) {
  const auto text_of = [&](const std::string& line) {
    write_kernel(Header().text() + block(line + "0010 ffffffff 0 EXIT 0 0\n", 2));
    return error();
  };
  const auto expect = [&](const std::string& line, const std::string& part) {
    const std::string text = text_of(line);
    EXPECT_EQ(text.find("kernel-1.traceg:"), 0U) << line << text;
    EXPECT_NE(text.find(part), std::string::npos) << line << text;
  };
  expect("0000 00000001 1 R1 LDG.E 1 R2 16 1 0xfffffffffffffff8 0 0\n",
         "an access of 16 bytes at 0xfffffffffffffff8 ends beyond 64 bits");
  expect("0000 00000003 1 R1 LDG.E 1 R2 4 1 0x0 -2 0\n", "4 bytes at 0xfffffffffffffffe");
  expect("0000 00000001 0 STG.E 2 R2 R3 8 0 0xfffffffffffffff9 0\n", "8 bytes at 0xfffffffffffffff9");
  expect("0000 00000001 1 R1 LD.E 1 R2 8 1 0xfffffffffffffffc 0 0\n", "8 bytes");
  expect("0000 00000001 1 R1 LDC 1 R2 8 1 0xfffffffffffffffc 0 0\n", "8 bytes");
  EXPECT_EQ(text_of("0000 00000001 1 R1 LDG.E 1 R2 16 1 0xfffffffffffffff0 0 0\n"), "");
}

TEST_F(BadTrace, Blocks) {
  const std::string head = Header().text();
  const auto expect = [&](const std::string& blocks, const std::string& part) {
    write_kernel(head + blocks);
    const std::string text = error();
    EXPECT_EQ(text.find("kernel-1.traceg:"), 0U) << text;
    EXPECT_NE(text.find(part), std::string::npos) << text;
  };
  expect("", "after 0 of the grid's 1 blocks");
  expect("hello\n", "#BEGIN_TB was expected");
  expect("#BEGIN_TB\n", "'thread block = ' was expected");
  expect("#BEGIN_TB\nthread block = 1,0,0\n", "is no block of a grid of (1,1,1)");
  expect("#BEGIN_TB\nthread block = 0,0\n", "is no block of a grid");
  expect("#BEGIN_TB\nthread block = 0,0,0\n", "no #END_TB");
  expect("#BEGIN_TB\nthread block = 0,0,0\nwarp = 1\ninsts = 0\n", "warp 1 of a block of 1 warps");
  expect("#BEGIN_TB\nthread block = 0,0,0\nwarp = 0\n", "'insts = ' was expected");
  expect("#BEGIN_TB\nthread block = 0,0,0\nwarp = 0\ninsts = 0\nwarp = 0\ninsts = 0\n", "warp 0 comes twice");
  expect("#BEGIN_TB\nthread block = 0,0,0\n#END_TB\n", "no warp 0");
  expect(block(kExit, 1) + block(kExit, 1), "the block comes twice");
  expect(block(kExit, 2), "'#END_TB' after 1 of the warp's 2 instructions");
  expect(block(kExit + kExit, 1), "'warp = ' or #END_TB was expected");
  expect("#BEGIN_TB\nthread block = 0,0,0\nwarp = 0\ninsts = 3\n" + kExit, "after 1 of the warp's 3");
}

TEST_F(BadTrace, Instructions) {
  const std::string head = Header().text();
  const auto expect = [&](const std::string& line, const std::string& place, const std::string& part) {
    write_kernel(head + block(line + "\n", 1));
    const std::string text = error();
    EXPECT_EQ(text.find("kernel-1.traceg:22:" + place + ": error: "), 0U) << text;
    EXPECT_NE(text.find(part), std::string::npos) << text;
  };
  expect("0000 ffffffff 1 R1 FROB.E 0 0 0", "20", "unknown opcode 'FROB.E'");
  expect("zzzz ffffffff 0 EXIT 0 0 0", "1", "is no pc");
  expect("0000 fffffffff 0 EXIT 0 0 0", "6", "is no mask");
  expect("0000", "5", "ends where mask");
  expect("0000 ffffffff", "14", "ends where number of destinations");
  expect("0000 ffffffff 9 R1", "15", "is no number of destinations");
  expect("0000 ffffffff 1 X1 MOV 0 0 0", "17", "'X1' is no register");
  expect("0000 ffffffff 1 R256 MOV 0 0 0", "17", "'R256' is no register");
  expect("0000 ffffffff 0 EXIT 0 17 0", "24", "is no width");
  expect("0000 ffffffff 0 EXIT 0 0 0 0", "28", "nothing was expected");
  expect("0000 ffffffff 0 EXIT 0 0 hello", "26", "'hello' is no immediate");
  expect("0000 ffffffff 1 R1 LDG.E 1 R2 4 3 0x0", "33", "is no address mode");
  expect("0000 ffffffff 1 R1 LDG.E 1 R2 4 0 0x0", "38", "ends where address");
  expect("0000 ffffffff 1 R1 LDG.E 1 R2 4 1 0x0", "38", "ends where stride");
  expect("0000 00000003 1 R1 LDG.E 1 R2 4 2 0x0 x 0", "39", "is no address difference");
  expect("0000 00000001 1 R1 LDG.E 1 R2 4 1 0x11112222333344445 4", "35", "is no address");
  write_kernel(head + block("ffffffff ffffffff 0 EXIT 0 0 0\n", 1));
  EXPECT_EQ(error().find("kernel-1.traceg:22: error: pc 0xffffffff is too large"), 0U) << error();
}

TEST_F(BadTrace, TooManyRegions) {
  std::string lines;
  for (int i = 0; i < 65; ++i) {
    lines += "0000 00000001 1 R1 LDG.E 1 R2 4 1 0x" + std::to_string(i + 10) + "00000000 4 0\n";
  }
  write_kernel(Header().text() + block(lines, 65));
  EXPECT_NE(error().find("more than 64 regions of 4 GiB"), std::string::npos) << error();
}

TEST_F(BadTrace, Compressed) {
  const std::string good = gpumux::test::as_xz(Header().text() + block(kExit, 1));
  write("kernelslist.g", "kernel-1.traceg.xz\n");
  write("kernel-1.traceg.xz", good);
  EXPECT_EQ(error(), "");
  write("kernelslist.g", "kernel-1.traceg\n");  // compressed after the list was made
  EXPECT_EQ(error(), "");
  // At the line up to which it could be read.
  const auto expect = [&](const std::string& compressed, std::size_t first, std::size_t last,
                          const char* what) {
    write("kernel-1.traceg.xz", compressed);
    const std::string text = error();
    constexpr std::string_view kFile = "kernel-1.traceg.xz:";
    ASSERT_EQ(text.find(kFile), 0U) << text;
    const std::size_t line = std::stoul(text.substr(kFile.size()));
    EXPECT_GE(line, first) << text;
    EXPECT_LE(line, last) << text;
    EXPECT_NE(text.find(std::string(": error: cannot be read: ") + what), std::string::npos) << text;
  };
  expect(good.substr(0, good.size() / 2), 1, 24, "the xz data ends too early");
  const std::string longer = reference_text(ReferenceKernel::Diverge, 16);
  const auto lines = static_cast<std::size_t>(std::count(longer.begin(), longer.end(), '\n'));
  const std::string compressed = gpumux::test::as_xz(longer);
  expect(compressed.substr(0, compressed.size() * 3 / 4), lines / 2, lines * 7 / 8,
         "the xz data ends too early");
  // Its check lies before the index, whose size in words is in the footer's fifth byte.
  std::string with_other_check = compressed;
  const std::size_t index = (static_cast<unsigned char>(compressed[compressed.size() - 8]) + 1U) * 4;
  with_other_check[compressed.size() - 12 - index - 1] ^= 0x55;
  expect(with_other_check, lines + 1, lines + 1, "the xz data is damaged");
  write("kernel-1.traceg.xz", "no xz at all");
  EXPECT_NE(error().find("it is not in xz format"), std::string::npos) << error();
  std::string damaged = good;
  damaged[good.size() / 2] = static_cast<char>(damaged[good.size() / 2] ^ 0x55);
  write("kernel-1.traceg.xz", damaged);
  EXPECT_NE(error(), "");
}

// Every prefix of a good text is an error with a line, and no random change of it does worse.
TEST_F(BadTrace, CutAndChangedTexts) {
  const std::string good = reference_text(ReferenceKernel::Stream, 1);
  Random random(7);
  for (int i = 0; i < 60; ++i) {
    write_kernel(good.substr(0, random.below(static_cast<std::uint32_t>(good.size()) - 12)));
    EXPECT_EQ(error().find("kernel-1.traceg:"), 0U) << error();
  }
  for (int i = 0; i < 150; ++i) {
    std::string changed = good;
    for (int k = 0; k < 3; ++k) {
      changed[random.below(static_cast<std::uint32_t>(changed.size()))] =
          static_cast<char>(random.below(256));
    }
    write_kernel(changed);
    (void)error();
  }
}

/// Opens it and takes everything out of it. Empty when that works.
std::string use(std::string bytes) {
  try {
    const auto trace = Trace::from_bytes(std::move(bytes), "x.gmt");
    workload::DeviceMemory memory(0);
    for (std::uint64_t i = 0; i < trace->launches().size(); ++i) {
      const auto kernel = make_kernel(trace, i, memory, 32);
      for (std::uint64_t b = 0; b < std::min<std::uint64_t>(kernel->blocks(), 64); ++b) {
        (void)kernel->records(b);
        const auto stream = kernel->begin_block(b, 0, 0, 0);
        for (std::uint32_t w = 0; w < stream->warps(); ++w) {
          for (int turn = 0; turn < 1000 && !stream->stream(w).finished; ++turn) {
            stream->refill(w, 64);
            stream->stream(w).next = stream->stream(w).end;
          }
        }
      }
    }
  } catch (const UserError& error) {
    return error.what();
  }
  return "";
}

TEST(BadCompactTrace, Damaged) {
  MemoryOutput output;
  write_reference(ReferenceKernel::Diverge, 2, output);
  const std::string good = output.take();
  EXPECT_EQ(use(good), "");
  EXPECT_NE(use("").find("is no compact trace"), std::string::npos);
  EXPECT_NE(use("hello").find("is no compact trace"), std::string::npos);
  std::string version = good;
  version[7] = 9;
  EXPECT_NE(use(version).find("another version"), std::string::npos);
  for (const std::size_t size :
       {std::size_t{8}, std::size_t{31}, std::size_t{32}, good.size() / 2, good.size() - 1}) {
    EXPECT_NE(use(good.substr(0, size)).find("x.gmt: error: is a damaged trace"), std::string::npos) << size;
  }
  EXPECT_NE(use(good + "x").find("its size"), std::string::npos);
  Random random(3);
  for (int i = 0; i < 200; ++i) {  // any one byte
    std::string changed = good;
    const std::uint32_t at = random.below(static_cast<std::uint32_t>(good.size()));
    changed[at] = static_cast<char>(changed[at] ^ (1 + random.below(255)));
    EXPECT_NE(use(changed), "") << at;
  }
}

// Even with the right checksum nothing crashes: all numbers are checked against what they index.
TEST(BadCompactTrace, ForgedChecksum) {
  MemoryOutput output;
  write_reference(ReferenceKernel::Diverge, 2, output);
  const std::string good = output.take();
  Random random(5);
  int errors = 0;
  for (int i = 0; i < 3000; ++i) {
    std::string changed = good;
    // Half of the changes in the last quarter, where the index and the tables are.
    const auto size = static_cast<std::uint32_t>(good.size() - kHeaderBytes);
    const std::uint32_t span = i % 2 == 0 ? size : std::min(size, 300U);
    const std::size_t at = good.size() - 1 - random.below(span);
    changed[at] = static_cast<char>(changed[at] ^ (1 + random.below(255)));
    Checksum sum;
    sum.add(std::string_view(changed).substr(kHeaderBytes));
    for (unsigned k = 0; k < 8; ++k) changed[16 + k] = static_cast<char>(sum.value() >> (8 * k));
    errors += use(changed).empty() ? 0 : 1;
  }
  EXPECT_GT(errors, 300);
}

}  // namespace
}  // namespace gpumux::trace::test
