// Damaged and malicious bundles. They are refused with one line that names the byte, or read within bounds,
// and never cause a crash.
#include <zstd.h>

#include <fmt/core.h>

#include <functional>

#include "base/error.hpp"
#include "base/hash.hpp"
#include "forged.hpp"
#include "small_program.hpp"
#include "tests/sanitized.hpp"
#include "tests/small_apps.hpp"
#include "tests/temporary_folder.hpp"

namespace gpumux::bundle::test {
namespace {

constexpr Address kHostileBase = Address{1} << kAppShift;

/// Opens it and takes everything out of it. Empty when that works.
std::string use(std::string bytes) {
  try {
    const auto bundle = Bundle::from_bytes(std::move(bytes), "x.gmx");
    Reader reader(bundle);
    for (Record record; reader.next(record);) {
      std::visit(
          [&](const auto& r) {
            if constexpr (requires { r.from.pieces; }) (void)bundle->content(r.from);
            if constexpr (requires { r.ptx.pieces; }) (void)bundle->content(r.ptx);
          },
          record);
    }
  } catch (const UserError& error) {
    return error.what();
  }
  return "";
}

/// Runs it for a while, if it opens. InternalErrors are failures, and so are crashes.
void run(std::string bytes) {
  try {
    const auto bundle = Bundle::from_bytes(std::move(bytes), "x.gmx");
    experiment::RunSpec spec = run_of({experiment::bundle_app("x.gmx", bundle)});
    spec.verify = true;
    spec.device_output = false;
    spec.cycles = 20'000;
    (void)experiment::simulate(spec);
  } catch (const UserError&) {
  } catch (const SimulationFault&) {
  }
}

class Hostile : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    gpumux::test::TemporaryFolder folder;
    good_ = new std::string(small_bundle(folder.path() + "/a.gmx"));
  }
  static void TearDownTestSuite() {
    delete good_;
    good_ = nullptr;
  }
  static const std::string& good() { return *good_; }
  static std::string* good_;
};
std::string* Hostile::good_ = nullptr;

TEST_F(Hostile, TheGoodCaseIsGood) {
  EXPECT_EQ(use(good()), "");
  EXPECT_EQ(use(repaired(good())), "");
  EXPECT_EQ(repaired(good()), good());
}

TEST_F(Hostile, CutAtEveryByte) {
  for (std::size_t size = 0; size < good().size(); ++size) {
    const std::string plain = use(good().substr(0, size));
    EXPECT_EQ(plain.find("x.gmx: error: "), 0U) << size << plain;
    const std::string forged = use(repaired(good().substr(0, size)));
    EXPECT_EQ(forged.find("x.gmx: error: "), 0U) << size << forged;
  }
  EXPECT_NE(use(good() + "x").find("byte 8: its header says that it has"), std::string::npos);
  EXPECT_NE(use(repaired(good() + "x")).find("bytes follow the last chunk's entry"), std::string::npos);
}

TEST_F(Hostile, EveryByteChanged) {
  for (std::size_t at = 0; at < good().size(); ++at) {
    for (const int change : {1, 0x80, 0xff}) {
      std::string changed = good();
      changed[at] = static_cast<char>(changed[at] ^ change);
      EXPECT_EQ(use(changed).find("x.gmx: error: "), 0U) << at;
    }
  }
}

TEST_F(Hostile, EveryByteChangedWithRightDigests) {
  std::size_t refused = 0;
  std::size_t tried = 0;
  for (std::size_t at = kHeaderBytes - 16; at < good().size(); ++at) {
    for (const int change : {1, 0x80}) {
      std::string changed = good();
      changed[at] = static_cast<char>(changed[at] ^ change);
      refused += use(repaired(changed)).empty() ? 0 : 1;
      ++tried;
    }
  }
  // Most of the file is packed PTX, where many changes give other PTX.
  EXPECT_GT(refused, tried / 10);
  EXPECT_LT(refused, tried);
}

// Records that are not packed: changes go to single fields, and many of what comes out can be run.
TEST_F(Hostile, FieldsChangedAndRun) {
  const auto bundle = Bundle::from_bytes(good(), "good.gmx");
  Reader reader(bundle);
  CodingState state{kHostileBase, 0};
  std::string records;
  std::vector<RawChunk> chunks;
  std::uint64_t count = 0;
  for (Record record; reader.next(record); ++count) {
    std::visit(
        [&](const auto& r) {
          const auto keep = [&](const Content& content) {  // in the order in which they are named
            if (content.pieces.front() == chunks.size())
              chunks.push_back(as_it_is(bundle->content(content), 0));
          };
          if constexpr (requires { r.from.pieces; }) keep(r.from);
          if constexpr (requires { r.ptx.pieces; }) keep(r.ptx);
        },
        record);
    encode(state, record, records);
  }
  chunks.push_back(as_it_is(records, kRecords));
  const std::string plain = raw_bundle(chunks, count);
  EXPECT_EQ(use(plain), "");
  Random random(11);
  std::size_t opened = 0;
  const std::size_t first = plain.size() - records.size() - 64;
  const int rounds = gpumux::test::kSanitized ? 1500 : 6000;
  for (int i = 0; i < rounds; ++i) {
    std::string changed = plain;
    for (std::uint32_t k = 0; k <= random.below(2); ++k) {
      // Mostly records, sometimes PTX and other contents.
      const std::size_t at = i % 8 == 0
                                 ? kHeaderBytes + random.below(static_cast<std::uint32_t>(first))
                                 : first + random.below(static_cast<std::uint32_t>(plain.size() - first));
      if (at < plain.size()) changed[at] = static_cast<char>(changed[at] ^ (1U << random.below(8)));
    }
    changed = repaired(changed);
    if (!use(changed).empty()) continue;
    if (++opened % 40 == 0) run(changed);
  }
  EXPECT_GT(opened, 200U);
}

TEST_F(Hostile, Headers) {
  EXPECT_NE(use("").find("is no bundle"), std::string::npos);
  EXPECT_NE(use("hello, this is no bundle at all, but some text").find("is no bundle"), std::string::npos);
  std::string version = good();
  version[7] = 9;
  EXPECT_NE(use(version).find("byte 7: it is a bundle of version 9, and this gpumux reads version 1"),
            std::string::npos);
  std::string index = good();
  index[kHeaderBytes - 16 + 5] = 1;
  EXPECT_NE(use(repaired(index)).find("byte 32: its index lies at"), std::string::npos)
      << use(repaired(index));
}

TEST_F(Hostile, Indexes) {
  const auto expect = [](const std::string& bytes, const std::string& part) {
    const std::string error = use(bytes);
    EXPECT_EQ(error.find("x.gmx: error: byte "), 0U) << error;
    EXPECT_NE(error.find(part), std::string::npos) << error;
  };
  EXPECT_EQ(use(raw_bundle({}, 0)), "");
  expect(raw_bundle({}, 0, 0), "the first address is 0");
  expect(raw_bundle({}, 0, 65), "the first address / 2^40 is 65; at most 64");
  expect(raw_bundle({}, 3), "it has 0 records, and its index says 3");
  expect(raw_bundle({{"abc", 3, 0}, {"", 0, 0}}, 0), "chunk 1 has 0 bytes; 1 to 262144 are possible");
  expect(raw_bundle({{"abc", kPieceBytes + 1, kPacked}}, 0), "1 to 262144 are possible");
  expect(raw_bundle({{"abc", kMostChunk + 1, kPacked | kRecords}}, 0), "the entry of a chunk is");
  expect(raw_bundle({{"abc", 4, 0}}, 0), "ends behind the index's first byte");
  expect(raw_bundle({{"abc", 2, 0}}, 0), "its chunks end at 50, and its index begins at 51");
  expect(raw_bundle({{"abc", 2, kPacked}}, 0), "the packed size of a chunk is 3; at most 2");
  // More records than memory is to be filled with: each chunk takes few bytes of the file.
  std::string zeroes(kMostChunk, '\x0d');  // records of streams that are made
  std::string packed(ZSTD_compressBound(zeroes.size()), '\0');
  packed.resize(ZSTD_compress(packed.data(), packed.size(), zeroes.data(), zeroes.size(), 1));
  expect(raw_bundle(std::vector<RawChunk>(65, {packed, kMostChunk, kPacked | kRecords}), 0),
         "there are more than 1073741824 bytes of records");
  expect(raw_bundle({{packed, kMostChunk, kPacked | kRecords}}, 0), "there are more than 65536 streams");
  // A frame with more in it than the entry says, and one with less.
  expect(raw_bundle({{packed, kMostChunk - 1, kPacked | kRecords}}, 0), "cannot be unpacked to 16777215");
  std::string little(64, '\0');
  little.resize(ZSTD_compress(little.data(), little.size(), "\x0d\x0d", 2, 1));
  expect(raw_bundle({{little, 40, kPacked | kRecords}}, 2),
         "a packed chunk has 2 bytes, and its entry says 40");
}

TEST_F(Hostile, Numbers) {
  const auto expect = [](const std::string& records, const std::string& part) {
    const std::string error = use(raw_bundle({as_it_is(records, kRecords)}, 1));
    EXPECT_EQ(error.find("x.gmx: error: byte "), 0U) << error;
    EXPECT_NE(error.find(part), std::string::npos) << error;
  };
  expect("\x22", "byte 48: 34 is no kind of record; the last is 33");
  expect("\x02", "byte 49: it ends in the middle of a number");
  expect("\x02\xff", "it ends in the middle of a number");
  expect("\x02" + std::string(9, '\xff') + "\x02", "byte 49: a number has more than 64 bits");
  expect("\x02" + std::string(10, '\xff'), "a number has more than 64 bits");
  expect(std::string("\x02\x80\0", 3), "a number has more bytes than it needs");
  expect("\x02\x80\x80\x80\x80\x80\x80\x80\x01", "an address is 562949953421312; at most 68719476735");
  expect(std::string("\x20\0\x01k\x80\x02", 6), "the registers of a thread is 256; at most 255");
  expect("\x1f" + std::string(9, '\xff') + "\x01",
         "an address of the host is 18446744073709551615; at most 144115188075855872");
  // A copy whose pieces are not there, and one that asks for more memory than the file can fill.
  expect(std::string("\x03\0\x04\x02\0", 5), "piece 1 does not exist; the file has 0");
  expect(std::string("\x03\0\x80\x80\x80\x80\x80\x02\0", 9), "has 262144 pieces, and 1 bytes are left");
  expect(std::string("\0\x7f", 2) + "abc", "the name of a module has 127 bytes, and 3 are left");
}

// Each call is checked against what is there.
TEST_F(Hostile, Calls) {
  const Content piece{100, {0}};
  const auto expect = [&](const std::vector<Record>& records, const std::string& part) {
    const std::string error = use(unchecked_bundle(records, std::string(100, 'x')));
    if (part.empty()) {
      EXPECT_EQ(error, "");
      return;
    }
    EXPECT_EQ(error.find("x.gmx: error: byte "), 0U) << part << error;
    EXPECT_NE(error.find(part), std::string::npos) << error;
    // And nobody can write it.
    gpumux::test::TemporaryFolder folder;
    Writer writer(folder.path() + "/w.gmx", kHostileBase);
    (void)writer.keep(std::as_bytes(std::span("content")));
    std::string refused;
    try {
      for (const Record& record : records) writer.add(record);
    } catch (const UserError& e) {
      refused = e.what();
    }
    if (part.find("piece") == std::string::npos) {
      EXPECT_NE(refused.find(part), std::string::npos) << refused;
    }
  };
  const Allocate a{kHostileBase + 4096, 1000};
  using What = Synchronize::What;
  expect({a, CopyToDevice{kHostileBase + 4096, piece, 0}}, "");
  expect({a, CopyToDevice{kHostileBase + 4096, {50, {0}}, 0}},
         "piece 0 has 100 bytes, and 50 are needed here");
  expect({a, CopyToDevice{kHostileBase + 4096 + 901, piece, 0}},
         "100 bytes at 0x10000001385 do not lie in one allocation");
  expect({a, CopyToDevice{kHostileBase + 4095, piece, 0}}, "do not lie in one allocation");
  expect({a, CopyToDevice{kHostileBase + 4096, piece, 1}}, "stream 1 does not exist; the last is 0");
  expect({a, CopyToDevice{kHostileBase + 4096, {0, {}}, 0}}, "a copy has no bytes");
  expect({a, HostWrite{kHostileBase + 5000, piece}}, "do not lie in one allocation");
  expect({a, MapHost{100, 1000, kHostileBase + 4096}, UnmapHost{100}, MapHost{1000, 9, kHostileBase + 4096}},
         "");
  expect({a, MapHost{100, 1000, kHostileBase + 4097}}, "do not lie in one allocation");
  expect({a, MapHost{100, 10, kHostileBase + 4096}, MapHost{109, 10, kHostileBase + 4096}},
         "host at 0x6d lie where others do");
  expect({a, MapHost{100, 10, kHostileBase + 4096}, UnmapHost{101}}, "no memory of the host begins at 0x65");
  const LoadModule some{"m", piece, {}};
  expect({some, SetRegisters{0, "k", 255}}, "");
  expect({SetRegisters{0, "k", 1}}, "module 0 does not exist; there is none");
  expect({some, SetRegisters{0, "k", 0}}, "threads of k have no registers");
  expect({some, SetRegisters{0, "", 1}}, "the name of a kernel is empty");
  using runtime::HostCopy;
  expect({a, CopyPinned{HostCopy::ToDevice, kHostileBase + 4096, kHostileBase + 4096, 1000, 0}}, "");
  expect({a, CopyPinned{HostCopy::ToDevice, kHostileBase + 4096, kHostileBase + 4097, 1000, 0}},
         "do not lie in one");
  expect({a, CopyPinned{HostCopy::FromDevice, kHostileBase + 4097, kHostileBase + 4096, 1000, 0}},
         "do not lie in one");
  expect({a, CopyPinned{HostCopy::FromDevice, kHostileBase + 4096, kHostileBase + 4096, 1, 3}},
         "stream 3 does not exist");
  expect({a, Fill{kHostileBase + 4096, 1, 1001, 0}}, "1001 bytes at 0x10000001000 do not lie");
  expect({a, CopyOnDevice{kHostileBase + 4096, kHostileBase + 4096, 1000, 0}}, "");
  expect({a, CopyOnDevice{kHostileBase + 4096, kHostileBase + 4097, 1000, 0}},
         "1000 bytes at 0x10000001001 do not lie");
  expect({a, CopyOnDevice{kHostileBase + 4097, kHostileBase + 4096, 1000, 0}},
         "1000 bytes at 0x10000001001 do not lie");
  expect({a, CopyFromDevice{kHostileBase + 4096, 1001, 0}}, "do not lie in one allocation");
  expect({a, Free{kHostileBase + 4096}, Fill{kHostileBase + 4096, 1, 1, 0}}, "do not lie in one allocation");
  expect({a, Free{kHostileBase + 4352}}, "0x10000001100 is freed, where no allocation begins");
  expect({Allocate{kHostileBase + 4100, 4}}, "which is no multiple of 256");
  expect({Allocate{kHostileBase + 4096, 0}}, "has no bytes");
  expect({a, Allocate{kHostileBase + 4096 + 768, 1}}, "lies where one of 1000 bytes at 0x10000001000 does");
  expect({a, Allocate{kHostileBase + 4096 + 1024, 1}}, "");
  expect({Allocate{kHostileBase + 4096, kMostAddresses}}, "ends behind 0x11000000000");
  expect({LoadModule{"", piece, {}}}, "the name of a module is empty, or not on one line");
  expect({LoadModule{"a\nb", piece, {}}}, "not on one line");
  expect({LoadModule{"m", {0, {}}, {}}}, "module m has no PTX");
  expect({LoadModule{"m", piece, {{"v", kHostileBase + 4096, 4}}}, Free{kHostileBase + 4096}}, "is freed");
  expect({LoadModule{"m", piece, {{"v", kHostileBase + 4096, 4}, {"w", kHostileBase + 4098, 4}}}},
         "lies where");
  expect({CopyToSymbol{0, "v", 0, piece, 0}}, "module 0 does not exist; there is none");
  const LoadModule m{"m", piece, {}};
  expect({m, Launch{1, "k", {1}, {1}, 0, false, "", 0, 0}}, "module 1 does not exist; the last is 0");
  expect({m, Launch{0, "k", {0}, {1}, 0, false, "", 0, 0}}, "a launch of k has an empty grid or block");
  expect({m, Launch{0, "k", {1}, {1024, 2}, 0, false, "", 0, 0}}, "a launch of k has blocks of 2048 threads");
  expect({m, Launch{0, "k", {1}, {1}, 0, false, "", 7, 0}}, "stream 7 does not exist");
  expect({m, Launch{0, "", {1}, {1}, 0, false, "", 0, 0}}, "the name of a kernel is empty");
  expect({RecordEvent{0, 0}}, "event 0 does not exist; there is none");
  expect({CreateEvent{}, RecordEvent{0, 1}}, "stream 1 does not exist");
  expect({CreateEvent{}, StreamWaitEvent{0, 1}}, "event 1 does not exist");
  expect({Synchronize{What::Stream, 1}}, "stream 1 does not exist");
  expect({CreateStream{}, Synchronize{What::Stream, 1}}, "");
  expect({Synchronize{What::Event, 0}}, "event 0 does not exist");
  expect({Synchronize{What::Device, 1}}, "device 1 is waited for; there is only 0");
  const Launch k{0, "k", {1}, {1}, 0, false, "", 0, 0};
  expect({m, LaunchWithPriority{k}}, "a launch of k with a priority has none");
  // Bodies, whose streams and events are theirs, so that they end.
  const BeginBody begin;
  const EndBody end;
  using Kind = runtime::Condition::Kind;
  const auto fill = [](runtime::StreamId stream) { return Fill{kHostileBase + 4096, 1, 4, stream}; };
  const auto condition = [](Kind kind, Address word, std::vector<runtime::BodyId> bodies,
                            runtime::StreamId stream = 0) {
    return EnqueueCondition{{kind, word, std::move(bodies)}, stream};
  };
  const CreateStream s;
  expect({a, s, begin, fill(1), end, condition(Kind::While, kHostileBase + 4096, {0})}, "");
  expect({a, s, begin, fill(1), end, condition(Kind::While, kHostileBase + 4096, {0}, 1)},
         "stream 1 is used inside and outside of a body");
  expect({a, begin, fill(0), end}, "stream 0 is used inside and outside of a body");
  expect({a, s, fill(1), begin, fill(1), end}, "stream 1 is used inside and outside of a body");
  expect({a, s, begin, fill(1), end, Synchronize{What::Stream, 1}}, "inside and outside of a body");
  expect({a, s, CreateEvent{}, RecordEvent{0, 0}, begin, StreamWaitEvent{1, 0}, end},
         "event 0 is used inside and outside of a body");
  expect({a, s, begin, condition(Kind::If, kHostileBase + 4096, {0}, 1), end},
         "body 0 does not exist; there is none");
  expect({a, begin, CopyToDevice{kHostileBase + 4096, piece, 0}}, "a body has what cannot be in one");
  expect({begin, begin}, "a body has what cannot be in one");
  expect({end}, "a body ends that did not begin");
  expect({a, begin, end, condition(Kind::If, kHostileBase + 4098, {0})}, "a condition lies at 0x10000001002");
  expect({a, begin, end, condition(Kind::If, kHostileBase, {0})}, "do not lie in one allocation");
  expect({a, begin, end, condition(Kind::While, kHostileBase + 4096, {0, 0})}, "a condition has 2 bodies");
  expect({a, begin, end, condition(Kind::If, kHostileBase + 4096, {})}, "a condition has 0 bodies");
  // A result frees what its copy went to: the copy must have been waited for.
  const CopyFromDevice c{kHostileBase + 4096, 10, 0};
  const Digest d;
  expect({a, c, Synchronize{}, Result{0, d}}, "");
  expect({a, c, Result{0, d}}, "copy 0 from the device has a result, and was not waited for");
  expect({a, c, CreateStream{}, Synchronize{What::Stream, 1}, Result{0, d}}, "was not waited for");
  expect({a, c, Synchronize{What::Stream, 0}, Result{0, d}}, "");
  expect({a, c, Synchronize{}, Result{0, d}, Result{0, d}}, "has one already");
  expect({a, c, Synchronize{}, Result{1, d}}, "copy from the device 1 does not exist; the last is 0");
  const CreateTexture t{workload::TextureResource::linear(kHostileBase + 4096, {}, 4), {}, 77};
  expect({a, t, t}, "texture 0x4d is made twice");
  expect({t}, "do not lie in one allocation");
  expect({a, t, DestroyTexture{78}}, "texture 0x4e does not exist");
  expect({a, t, CreateSurface{{kHostileBase + 4096, {}}, 77}}, "texture 0x4d is made twice");
  expect({CreateMipmapTexture{t}}, "do not lie in one allocation");
  // Boxes of arrays.
  const workload::TextureArray rows{kHostileBase + 4096, {{}, 10, 5, 0, 0}};
  const auto box = workload::BoxEnd::of(rows), linear = workload::BoxEnd::linear(kHostileBase + 4096, 20, 0);
  expect({a, CopyToBox{box, {20, 5, 1}, piece, 0}}, "");
  expect({a, CopyToBox{box, {20, 4, 1}, piece, 0}}, "a box of 80 bytes is copied from 100");
  expect({a, CopyToBox{box, {0, 4, 1}, piece, 0}}, "a copy has no bytes");
  expect({a, CopyToBox{linear, {20, 5, 1}, piece, 0}}, "goes to no array");
  expect({a, CopyToBox{box, {20, 5, 1}, piece, 1}}, "stream 1 does not exist");
  expect({CopyFromBox{box, {20, 5, 1}, 0}}, "do not lie in one allocation");
  expect({a, CopyFromBox{box, {20, 5, 0}, 0}}, "a copy has no bytes");
  expect({a, CopyFromBox{box, {kMostAddresses, 5, 1}, 0}},
         "a copy has 1 slices of 5 rows of 68719476736 bytes");
  expect({a, CopyFromBox{linear, {20, 5, 1}, 0}}, "comes from no array");
  expect({a, CopyFromBox{box, {20, 5, 1}, 0}, Synchronize{}, Result{0, d}}, "");
  expect({a, CopyBox{linear, linear, {20, 5, 1}, {}, 0}}, "a copy of a box has no array");
  expect({a, CopyBox{box, linear, {20, 5, 1}, {}, 4}}, "stream 4 does not exist");
}

// Boxes beside their arrays, and shapes that no array has, are wrong input: such a bundle is not opened.
TEST_F(Hostile, BoxesThatAreNotInTheirArrays) {
  const workload::TextureArray rows{kHostileBase + 4096, {{}, 10, 5, 0, 0}};
  const Allocate a{kHostileBase + 4096, 1024}, other{kHostileBase + 8192, 256};
  const auto fails = [&](const Record& record) {
    const std::string bytes = unchecked_bundle({a, other, record, Synchronize{}}, std::string(100, 'x'));
    const std::string error = use(bytes);
    if (!error.empty()) {
      EXPECT_NE(error.find("x.gmx: error: byte "), std::string::npos) << error;
      return error;
    }
    experiment::RunSpec spec = run_of({experiment::bundle_app("x.gmx", Bundle::from_bytes(bytes, "x.gmx"))});
    for (const bool verify : {false, true}) {
      spec.verify = verify;
      (void)experiment::simulate(spec);
    }
    return std::string();
  };
  const Content piece{100, {0}};
  using workload::BoxEnd;
  const BoxEnd memory = BoxEnd::linear(kHostileBase + 8192, 20, 100);
  EXPECT_EQ(fails(CopyToBox{BoxEnd::of(rows), {20, 5, 1}, piece, 0}), "");
  EXPECT_NE(fails(CopyToBox{BoxEnd::of(rows, 21), {20, 5, 1}, piece, 0}).find("copy of a box"),
            std::string::npos);
  EXPECT_NE(fails(CopyToBox{BoxEnd::of(rows, 0, 1), {20, 5, 1}, piece, 0}), "");
  EXPECT_NE(fails(CopyToBox{BoxEnd::of(rows, 0, 0, 1), {20, 5, 1}, piece, 0}), "");
  EXPECT_NE(fails(CopyFromBox{BoxEnd::of(rows), {44, 5, 1}, 0}), "");
  EXPECT_NE(fails(CopyFromBox{BoxEnd::of({kHostileBase + 4096, {{}, 10, 500, 0, 0}}), {4, 1, 1}, 0}), "");
  EXPECT_NE(fails(CopyFromBox{BoxEnd::of({kHostileBase + 4096, {{}, 0, 5, 0, 0}}), {4, 1, 1}, 0}), "");
  EXPECT_EQ(fails(CopyBox{memory, BoxEnd::of(rows), {20, 5, 1}, {}, 0}), "");
  EXPECT_NE(fails(CopyBox{BoxEnd::linear(kHostileBase + 8192, 60, 0), BoxEnd::of(rows), {20, 5, 1}, {}, 0}),
            "");
  EXPECT_NE(fails(CopyBox{BoxEnd::linear(kHostileBase + 8192, kMostAddresses, kMostAddresses),
                          BoxEnd::of(rows),
                          {20, 5, 1},
                          {},
                          0}),
            "");
  EXPECT_NE(fails(CopyBox{BoxEnd::linear(kHostileBase + 8192, 10, 100), BoxEnd::of(rows), {20, 5, 1}, {}, 0})
                .find("rows of 20 bytes, 10 bytes apart"),
            std::string::npos);
  EXPECT_NE(fails(CopyToArray{{kHostileBase + 4096, {{}, 0, 5, 0, 0}}, kHostileBase + 8192, 0}), "");
  EXPECT_NE(fails(CopyToArray{{kHostileBase + 4096, {{}, 10, 500, 0, 0}}, kHostileBase + 8192, 0}), "");
  EXPECT_NE(fails(CreateSurface{{kHostileBase + 4096, {{}, 10, 500, 0, 0}}, 1}), "");
  EXPECT_NE(fails(CreateSurface{{kHostileBase + 4096, {{}, 0, 5, 0, 0}}, 1}), "");
  CreateTexture levels{workload::TextureResource::of(rows, 32), {}, 1};
  EXPECT_NE(fails(CreateMipmapTexture{levels}).find("of 32 levels; 1 to 4 are possible"), std::string::npos);
  levels.resource.levels = 0;
  EXPECT_NE(fails(CreateMipmapTexture{levels}), "");
}

}  // namespace
}  // namespace gpumux::bundle::test
