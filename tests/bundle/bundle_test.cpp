// Writing and reading bundles: the reader returns what was written, contents are stored once, and files
// appear when they are complete.
#include <fmt/core.h>
#include <sys/resource.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <set>

#include "base/error.hpp"
#include "base/files.hpp"
#include "base/hash.hpp"
#include "bundle/coding.hpp"
#include "small_program.hpp"
#include "tests/temporary_folder.hpp"

namespace gpumux::bundle::test {
namespace {

constexpr Address kBase = Address{3} << kAppShift;

std::string random_bytes(std::size_t size, std::uint64_t seed) {
  Random random(seed);
  std::string bytes(size, '\0');
  for (char& byte : bytes) byte = static_cast<char>(random.next());
  return bytes;
}
std::span<const std::byte> span_of(const std::string& bytes) { return std::as_bytes(std::span(bytes)); }

class Bundles : public testing::Test {
 protected:
  [[nodiscard]] std::string path(const std::string& name) const { return folder_.path() + "/" + name; }
  gpumux::test::TemporaryFolder folder_;
};

/// All records as bytes, each with its contents.
std::string everything(const std::shared_ptr<const Bundle>& bundle) {
  std::string all;
  Reader reader(bundle);
  CodingState state{bundle->addresses().base, 0};
  for (Record record; reader.next(record);) {
    encode(state, record, all);
    std::visit(
        [&](const auto& r) {
          if constexpr (requires { r.from.pieces; }) all += bundle->content(r.from);
          if constexpr (requires { r.ptx.pieces; }) all += bundle->content(r.ptx);
        },
        record);
  }
  return all;
}

TEST_F(Bundles, EveryKindOfRecordComesBack) {
  Writer writer(path("a.gmx"), kBase);
  const std::string large = random_bytes(3 * kPieceBytes + 17, 1);
  workload::TextureResource resource =
      workload::TextureResource::pitch2d(kBase + 8192, {workload::ChannelKind::Unsigned, 8, 4}, 30, 20, 128);
  workload::TextureSettings settings;
  settings.address = {workload::AddressMode::Mirror, workload::AddressMode::Border,
                      workload::AddressMode::Clamp};
  settings.filter = workload::FilterMode::Linear;
  settings.read = workload::ReadMode::NormalizedFloat;
  settings.normalized = true;
  settings.border = {1.5F, -2, 0, 1e30F};
  const workload::TextureArray array{kBase + 8192, {{workload::ChannelKind::Signed, 16, 2}, 9, 8, 7, 0}};
  const workload::TextureArray faces{kBase + 8192, {{workload::ChannelKind::Signed, 16, 2}, 8, 8, 0, 12}};
  CreateTexture mipmap{workload::TextureResource::cube(faces, true, 3), settings, 4};
  mipmap.settings.level_filter = workload::FilterMode::Linear;
  mipmap.settings.level_bias = -0.5F;
  mipmap.settings.least_level = 0.25F;
  mipmap.settings.most_level = 7;
  const std::vector<Record> records = {
      LoadModule{
          "m.ptx", writer.keep(span_of("some PTX")), {{"x", kBase + 4096, 12}, {"y", kBase + 4352, 1}}},
      Allocate{kBase + 8192, 40 * kPieceBytes},
      CopyToDevice{kBase + 8200, writer.keep(span_of(large)), 0},
      CreateStream{},
      CopyFromDevice{kBase + 8192, 77, 1},
      CopyOnDevice{kBase + 9000, kBase + 8192, 500, 1},
      CopyToArray{array, kBase + 9000, 1},
      Fill{kBase + 8192, 0xfe, 4096, 0},
      CopyToSymbol{0, "x", 4, writer.keep(span_of("abcd")), 1},
      HostWrite{kBase + 8193, writer.keep(span_of("host"))},
      CopyPinned{runtime::HostCopy::FromDevice, kBase + 8192, kBase + 9000, 100, 1},
      CreateTexture{resource, settings, 0x1234'5678'9abc'def0U},
      CreateMipmapTexture{mipmap},
      CreateSurface{array, 5},
      LimitLaunches{4096},
      CopyToBox{
          workload::BoxEnd::of(array, 4, 1, 2), {8, 2, 3}, writer.keep(span_of(random_bytes(48, 3))), 1},
      CopyFromBox{workload::BoxEnd::of(array, 12, 3, 4), {4, 5, 1}, 1},
      CopyBox{workload::BoxEnd::linear(kBase + 9000, 64, 512),
              workload::BoxEnd::of(array),
              {36, 8, 7},
              runtime::HostCopy::FromDevice,
              1},
      CopyBox{workload::BoxEnd::of(array), workload::BoxEnd::of(array, 0, 1), {36, 7, 7}, {}, 0},
      Launch{0,
             "kernel",
             {0x7fff'ffff, 65535, 65535},
             {16, 1, 64},
             1U << 20U,
             true,
             random_bytes(32764, 2),
             1,
             1U << 23U},
      LaunchWithPriority{{0, "kernel", {1}, {1}, 0, false, "", 1, 0, runtime::kMostPriority}},
      CreateStream{},
      BeginBody{},
      Fill{kBase + 8192, 1, 4096, 2},
      EndBody{},
      EnqueueCondition{{runtime::Condition::Kind::Switch, kBase + 8196, {0, 0}}, 1},
      CreateEvent{},
      RecordEvent{0, 1},
      StreamWaitEvent{0, 0},
      Synchronize{Synchronize::What::Event, 0},
      Synchronize{Synchronize::What::Stream, 1},
      HostTime{kMostHostTime},
      Result{0, {~std::uint64_t{0}, 1}},
      DestroyTexture{0x1234'5678'9abc'def0U},
      MapHost{0x7f12'3456'7890U, 5000, kBase + 8200},
      UnmapHost{0x7f12'3456'7890U},
      SetRegisters{0, "kernel", 255},
      Synchronize{},
      Free{kBase + 8192},
  };
  for (const Record& record : records) writer.add(record);
  writer.finish();
  std::set<std::size_t> kinds;
  for (const Record& record : records) kinds.insert(record.index());
  EXPECT_EQ(kinds.size(), std::variant_size_v<Record>);

  const auto bundle = Bundle::open(path("a.gmx"));
  EXPECT_EQ(bundle->addresses().base, kBase);
  EXPECT_EQ(bundle->addresses().placed_end, kBase + 8192 + 40 * kPieceBytes);
  EXPECT_EQ(bundle->records(), records.size());
  EXPECT_EQ(bundle->launches(), 2U);
  EXPECT_EQ(bundle->results(), 1U);
  EXPECT_EQ(bundle->file_bytes(), std::filesystem::file_size(path("a.gmx")));
  Reader reader(bundle);
  Record record;
  CodingState as_written{kBase, 0};
  CodingState as_read{kBase, 0};
  for (const Record& written : records) {
    ASSERT_TRUE(reader.next(record));
    std::string a;
    std::string b;
    encode(as_written, written, a);
    encode(as_read, record, b);
    EXPECT_EQ(a, b) << written.index();
  }
  EXPECT_FALSE(reader.next(record));
  Reader again(bundle);
  (void)again.next(record);
  EXPECT_EQ(std::get<LoadModule>(record).name, "m.ptx");
  EXPECT_EQ(std::get<LoadModule>(record).variables, std::get<LoadModule>(records[0]).variables);
  EXPECT_EQ(bundle->content(std::get<LoadModule>(record).ptx), "some PTX");
  (void)again.next(record);
  (void)again.next(record);
  EXPECT_EQ(bundle->content(std::get<CopyToDevice>(record).from), large);
  EXPECT_EQ(std::get<CopyToDevice>(record).to, kBase + 8200);
  while (!std::holds_alternative<CreateTexture>(record)) ASSERT_TRUE(again.next(record));
  EXPECT_EQ(std::get<CreateTexture>(record).settings.border, settings.border);
  EXPECT_EQ(std::get<CreateTexture>(record).settings.address, settings.address);
  EXPECT_EQ(std::get<CreateTexture>(record).resource.pitch_bytes, 128U);
  ASSERT_TRUE(again.next(record));
  const CreateTexture& levels = std::get<CreateMipmapTexture>(record).texture;
  EXPECT_EQ(levels.resource.kind, workload::TextureResource::Kind::LayeredCube);
  EXPECT_EQ(levels.resource.levels, 3U);
  EXPECT_EQ(levels.settings.level_filter, workload::FilterMode::Linear);
  EXPECT_EQ(levels.settings.level_bias, -0.5F);
  EXPECT_EQ(levels.settings.least_level, 0.25F);
  EXPECT_EQ(levels.settings.most_level, 7);
  while (!std::holds_alternative<CopyToBox>(record)) ASSERT_TRUE(again.next(record));
  EXPECT_EQ(std::get<CopyToBox>(record).to.x, 4U);
  EXPECT_EQ(std::get<CopyToBox>(record).to.row, 1U);
  EXPECT_EQ(std::get<CopyToBox>(record).to.slice, 2U);
  EXPECT_EQ(std::get<CopyToBox>(record).size.slices, 3U);
  while (!std::holds_alternative<CopyBox>(record)) ASSERT_TRUE(again.next(record));
  EXPECT_EQ(std::get<CopyBox>(record).link, runtime::HostCopy::FromDevice);
  EXPECT_EQ(std::get<CopyBox>(record).to.slice_pitch, 512U);
  ASSERT_TRUE(again.next(record));
  EXPECT_EQ(std::get<CopyBox>(record).link, std::nullopt);
  ASSERT_TRUE(again.next(record));
  EXPECT_EQ(std::get<Launch>(record).parameters, random_bytes(32764, 2));
}

TEST_F(Bundles, EqualContentsAreThereOnce) {
  const std::string large = random_bytes(65 * kPieceBytes + 1000, 3);  // more than a batch
  const auto size = [&](const std::vector<std::string>& contents) {
    Writer writer(path("s.gmx"), kBase);
    for (const std::string& content : contents) (void)writer.keep(span_of(content));
    writer.finish();
    return std::filesystem::file_size(path("s.gmx"));
  };
  const std::uint64_t once = size({large});
  EXPECT_GT(once, large.size());  // random bytes cannot be packed
  EXPECT_LT(once, large.size() + 2000);
  EXPECT_EQ(size({large, large}), once);
  EXPECT_EQ(size({large, large.substr(5 * kPieceBytes)}), once);
  EXPECT_GT(size({large, large.substr(1)}), 2 * once - 4000);
  EXPECT_LT(size({std::string(100 * kPieceBytes, '\0')}), 200U);
  EXPECT_LT(size({std::string(kPieceBytes - 1, 'a')}), 300U);
  // Small contents in between keep their place.
  Writer writer(path("s.gmx"), kBase);
  EXPECT_EQ(writer.keep(span_of("one")).pieces, std::vector<std::uint32_t>{0});
  EXPECT_EQ(writer.keep(span_of("two")).pieces, std::vector<std::uint32_t>{1});
  EXPECT_EQ(writer.keep(span_of("one")).pieces, std::vector<std::uint32_t>{0});
  EXPECT_EQ(writer.keep({}).pieces, std::vector<std::uint32_t>{});
}

TEST_F(Bundles, ContentsOfManyBatchesAreWhole) {
  // Of 64 pieces each, alternately with pieces that can be packed and such that cannot; the last is short.
  std::string large;
  for (std::uint64_t batch = 0; batch < 5; ++batch) {
    large += random_bytes(40 * kPieceBytes, batch + 10);
    for (int piece = 0; piece < 24; ++piece) large += std::string(kPieceBytes, static_cast<char>(piece));
  }
  large += "and more";
  const auto write = [&](const std::string& name) {
    Writer writer(path(name), kBase);
    writer.add(Allocate{kBase + 4096, large.size()});
    writer.add(CopyToDevice{kBase + 4096, writer.keep(span_of(large)), 0});
    writer.finish();
  };
  write("a.gmx");
  write("b.gmx");
  EXPECT_TRUE(read_file(path("a.gmx"), large.size()) == read_file(path("b.gmx"), large.size()));
  Reader reader(Bundle::open(path("a.gmx")));
  Record record;
  (void)reader.next(record);
  ASSERT_TRUE(reader.next(record));
  EXPECT_TRUE(Bundle::open(path("a.gmx"))->content(std::get<CopyToDevice>(record).from) == large);
}

TEST_F(Bundles, AFullDiskIsAnErrorAmidALargeContent) {
  const std::string large = random_bytes(130 * kPieceBytes, 4);
  Writer writer(path("f.gmx"), kBase);
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  (void)std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{20 * kPieceBytes, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  EXPECT_THROW((void)writer.keep(span_of(large)), UserError);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  (void)std::signal(SIGXFSZ, SIG_DFL);
}

TEST_F(Bundles, ManyRecordsGoToManyChunks) {
  Writer writer(path("m.gmx"), kBase);
  constexpr std::uint64_t kMany = 100'000;
  writer.add(Allocate{kBase + 4096, 2 * kMany});
  for (std::uint64_t i = 0; i < kMany; ++i) writer.add(Fill{kBase + 4096 + i, 7, i + 1, 0});
  writer.finish();
  const auto bundle = Bundle::open(path("m.gmx"));
  EXPECT_EQ(bundle->records(), kMany + 1);
  Reader reader(bundle);
  Record record;
  (void)reader.next(record);
  for (std::uint64_t i = 0; i < kMany; ++i) {
    ASSERT_TRUE(reader.next(record));
    ASSERT_EQ(std::get<Fill>(record).to, kBase + 4096 + i);
    ASSERT_EQ(std::get<Fill>(record).bytes, i + 1);
  }
  EXPECT_FALSE(reader.next(record));
}

TEST_F(Bundles, AppearsWhenComplete) {
  write_file_atomically(path("w.gmx"), "before");
  {
    Writer writer(path("w.gmx"), kBase);
    writer.add(CreateStream{});
    EXPECT_EQ(read_file(path("w.gmx")), "before");
  }
  EXPECT_EQ(read_file(path("w.gmx")), "before");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_.path()), {}), 1);
  {
    Writer writer(path("w.gmx"), kBase);
    writer.add(CreateStream{});
    writer.finish();
  }
  EXPECT_EQ(Bundle::open(path("w.gmx"))->records(), 1U);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_.path()), {}), 1);
  EXPECT_THROW(Writer(path("none/w.gmx"), kBase), UserError);
  EXPECT_THROW(Writer("/dev/null", kBase), UserError);
}

TEST_F(Bundles, WhatIsRefusedIsNotWritten) {
  Writer writer(path("r.gmx"), kBase);
  writer.add(CreateStream{});
  EXPECT_THROW(writer.add(RecordEvent{0, 0}), UserError);
  EXPECT_THROW(writer.add(HostTime{kMostHostTime + 1}), UserError);
  EXPECT_THROW(writer.add(Allocate{kBase - 4096, 4}), UserError);
  writer.add(CreateEvent{});
  writer.finish();
  EXPECT_EQ(Bundle::open(path("r.gmx"))->records(), 2U);
}

// Files that are kept open as they are: what version 1 means must not change. GPUMUX_BUNDLES=write makes them
// anew.
class KeptBundles : public testing::TestWithParam<const char*> {};

experiment::AppSpec app_of(const std::string& name, SmallProgram::Got& got) {
  if (name == "small") return spec_of([&](std::uint64_t) { return std::make_unique<SmallProgram>(got); });
  return experiment::builtin_app("bfs:nodes=500");
}

TEST_P(KeptBundles, AreReadAndReplayed) {
  const std::string kept = fmt::format("{}/tests/bundle/data/{}.gmx", GPUMUX_SOURCE_DIR, GetParam());
  gpumux::test::TemporaryFolder folder;
  const std::string fresh = folder.path() + "/fresh.gmx";
  SmallProgram::Got got;
  (void)record_run(app_of(GetParam(), got), run_of({}), fresh);
  if (const char* write = std::getenv("GPUMUX_BUNDLES"); write != nullptr && std::string(write) == "write")
    write_file_atomically(kept, read_file(fresh));
  const auto bundle = Bundle::open(kept);
  // Not the same bytes: another zstd may pack them otherwise.
  EXPECT_EQ(everything(bundle), everything(Bundle::open(fresh)));
  experiment::RunSpec spec = run_of({experiment::bundle_app(kept, "", true)});
  spec.verify = true;
  EXPECT_EQ(experiment::simulate(spec).apps[0].completions, 1U);
}

INSTANTIATE_TEST_SUITE_P(All, KeptBundles, testing::Values("small", "bfs"));

}  // namespace
}  // namespace gpumux::bundle::test
