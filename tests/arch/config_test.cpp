// Machine files: the values that they set, errors with their places, and the number of blocks of a kernel
// that fit.
#include <gtest/gtest.h>

#include <set>

#include "arch/config_file.hpp"
#include "arch/config_file_fields.hpp"
#include "base/error.hpp"
#include "base/files.hpp"
#include "temporary_folder.hpp"

namespace gpumux::arch {
namespace {

/// The message of the UserError that a machine file causes; empty when it is accepted.
std::string message_of(std::string_view text, const std::vector<std::string>& overrides = {}) {
  try {
    (void)parse_machine(text, "gpu.toml", overrides);
  } catch (const UserError& error) {
    return error.what();
  }
  return "";
}

std::string override_message(const std::string& machine, const std::string& text) {
  try {
    (void)load_machine(machine, {text});
  } catch (const UserError& error) {
    return error.what();
  }
  return "";
}

class Preset : public testing::TestWithParam<std::string> {};

TEST_P(Preset, LoadsUnderItsFilesNameAndSaysWhereItComesFrom) {
  const MachineConfig config = load_machine(GetParam());
  EXPECT_EQ(config.name, GetParam());
  EXPECT_FALSE(config.description.empty());
  EXPECT_FALSE(config.source.empty());
}

TEST_P(Preset, SurvivesWritingAndReadingExactly) {
  const std::string text = to_toml(load_machine(GetParam()));
  EXPECT_EQ(text, to_toml(parse_machine(text, "other-name.toml")));
}

INSTANTIATE_TEST_SUITE_P(Machines, Preset, testing::ValuesIn(machine_names()), [](const auto& machine) {
  std::string name = machine.param;
  for (char& c : name) c = c == '-' ? '_' : c;
  return name;
});

TEST(Presets, AreThoseOfTheTree) {
  EXPECT_EQ(machine_names(), (std::vector<std::string>{
                                 "a100-measured", "awatramani17-k20x", "awatramani17-m2090",
                                 "awatramani17-onac32", "chimera15-fermi30", "dai18-maxwell", "h100-measured",
                                 "kayiran14-hetero", "kayiran14-small3x3", "rtx2060", "titan-x-pascal",
                                 "v100", "v100-measured", "wang17-16sm", "wang17-56sm"}));
}

TEST(Presets, SomeUnitExecutesEveryInstruction) {
  EXPECT_NO_THROW((void)load_machine("titan-x-pascal", {"unit.sfu.count=0"}));  // then DP and SFU go to SP
  try {
    (void)load_machine("titan-x-pascal", {"unit.sfu.on=dp", "unit.sfu.count=0"});
    FAIL();
  } catch (const UserError& error) {
    EXPECT_NE(std::string(error.what()).find("no unit executes instructions of unit.dp"), std::string::npos)
        << error.what();
  }
}

TEST(Presets, ValuesThatCannotAllHoldAreTold) {
  EXPECT_TRUE(machine_warnings(load_machine("v100")).empty());
  EXPECT_TRUE(machine_warnings(load_machine("dai18-maxwell", {"dram.RP=12"})).empty());
  const std::vector<std::string> warnings = machine_warnings(load_machine("dai18-maxwell", {"dram.RP=13"}));
  ASSERT_EQ(warnings.size(), 1U);
  EXPECT_EQ(warnings[0],
            "dram.RAS + dram.RP = 41 exceeds dram.RC = 40: rows of a bank open 41 DRAM cycles apart");
}

TEST(Presets, HavePublishedBandwidth) {
  const auto gigabytes = [](const char* name) {
    return load_machine(name).dram_peak_bytes_per_second() / 1e9;
  };
  EXPECT_NEAR(gigabytes("dai18-maxwell"), 177.4, 0.1);
  EXPECT_NEAR(gigabytes("awatramani17-m2090"), 177.0, 1.0);
  EXPECT_NEAR(gigabytes("awatramani17-k20x"), 250.0, 1.0);
  EXPECT_NEAR(gigabytes("awatramani17-onac32"), 177.4, 0.1);
  EXPECT_NEAR(gigabytes("chimera15-fermi30"), 177.4, 0.1);
  EXPECT_NEAR(gigabytes("titan-x-pascal"), 480.0, 0.1);
  EXPECT_NEAR(gigabytes("rtx2060"), 336.0, 0.1);
  EXPECT_NEAR(gigabytes("wang17-16sm"), 224.0, 0.1);
  EXPECT_NEAR(gigabytes("wang17-56sm"), 224.0, 0.1);
  EXPECT_NEAR(gigabytes("v100"), 870.4, 0.1);
  EXPECT_NEAR(gigabytes("h100-measured"), 3352.3, 0.1);
}

TEST(Presets, HavePublishedPeakArithmetic) {
  // Fused multiply-adds per second that issue and units allow, in GFLOPs.
  const auto peak = [](const char* name) {
    const MachineConfig c = load_machine(name);
    const UnitConfig& sp = c.units[static_cast<std::size_t>(isa::Unit::Sp)];
    return 2.0 * sp.count * sp.lanes * c.sms * c.clocks.core * 1e-3;
  };
  EXPECT_NEAR(peak("awatramani17-m2090"), 1330, 2);       // Table 3.1
  EXPECT_NEAR(peak("awatramani17-k20x"), 3935, 1);        // Table 4.1
  EXPECT_NEAR(peak("awatramani17-onac32"), 2662.4, 0.1);  // Table 4.3
  EXPECT_NEAR(peak("chimera15-fermi30"), 672, 0.1);       // 30 x 8 lanes at 1.4 GHz
  EXPECT_NEAR(peak("h100-measured"), 66908, 1);           // NVIDIA's white paper: 66.9 TFLOPs
}

TEST(Presets, LargerWangMachineDiffersInSmsAndSchedulersAlone) {
  MachineConfig small = load_machine("wang17-16sm");
  const MachineConfig large = load_machine("wang17-56sm");
  EXPECT_EQ(large.variant_of, "wang17-16sm");
  EXPECT_EQ(large.sms, 56U);
  EXPECT_EQ(large.sm.schedulers, 2U);
  EXPECT_EQ(large.sm.register_banks / large.sm.schedulers, small.sm.register_banks / small.sm.schedulers);
  EXPECT_EQ(large.l2.partitions, small.l2.partitions);
  EXPECT_EQ(large.sm.max_threads, small.sm.max_threads);
}

TEST(MachineFile, ChangesSingleKeysOfItsBase) {
  const MachineConfig config =
      parse_machine("base = \"dai18-maxwell\"\nsms = 4\n[l1]\nsize = \"48K\"\n", "folder/small.toml");
  EXPECT_EQ(config.name, "small");
  EXPECT_EQ(config.variant_of, "dai18-maxwell");
  EXPECT_EQ(config.sms, 4U);
  EXPECT_EQ(config.l1.bytes, 49152U);
  EXPECT_EQ(config.l1.ways, 6U);
  EXPECT_EQ(config.sm.max_warps, 96U);
}

TEST(MachineFile, TakesPartsOfAnSmUnderItsTableToo) {
  EXPECT_EQ(parse_machine("base = \"dai18-maxwell\"\n[sm.l1]\nsize = \"96K\"\n", "x.toml").l1.bytes, 98304U);
  EXPECT_EQ(load_machine("dai18-maxwell", {"sm.l1.size=48K"}).l1.bytes, 49152U);
  EXPECT_EQ(load_machine("dai18-maxwell", {"l1.size=48K"}).l1.bytes, 49152U);
}

TEST(MachineFile, ReadsItsBaseRelativeToItself) {
  const test::TemporaryFolder temporary;
  const std::string& folder = temporary.path();
  write_file_atomically(folder + "/parent.toml", "base = \"v100\"\nsms = 8\n");
  write_file_atomically(folder + "/child.toml", "base = \"parent.toml\"\n[clocks]\ncore_mhz = 1000.5\n");
  const MachineConfig config = load_machine(folder + "/child.toml");
  EXPECT_EQ(config.sms, 8U);
  EXPECT_EQ(config.clocks.core, 1000.5);
  EXPECT_EQ(config.variant_of, "parent");
}

TEST(MachineFile, PointsAtWhatIsWrong) {
  const auto starts = [](const std::string& message, const std::string& begin) {
    EXPECT_EQ(message.substr(0, begin.size()), begin) << message;
  };
  starts(message_of("[sm]\nschedulers = 4\nwarp_schedulr = \"gto\"\n"),
         "gpu.toml:3:1: error: unknown key in [sm] 'warp_schedulr'; did you mean 'warp_scheduler'?; known: ");
  starts(message_of("[sms]\nx = 1\n"), "gpu.toml:1:1: error: 'sms' must be ");
  starts(message_of("# nothing\n"),
         "gpu.toml:1:1: error: this machine file has no keys; begin with `base = ");
  starts(message_of("[l3]\nsize = 1\n"), "gpu.toml:1:2: error: unknown key 'l3'; ");
  starts(message_of("sms = \"four\"\n"), "gpu.toml:1:7: error: 'sms' must be a whole number; this is a text");
  starts(message_of("sms = 1.5\n"), "gpu.toml:1:7: error: 'sms' must be a whole number; this is a number");
  starts(message_of("sms = -1\n"), "gpu.toml:1:7: error: 'sms' is -1; it must be 1 to 1024 SMs");
  starts(message_of("sms = 99999999999999\n"), "gpu.toml:1:7: error: 'sms' is ");
  starts(message_of("[l1]\nsize = \"24Q\"\n"), "gpu.toml:2:8: error: 'l1.size' is not a size: \"24Q\"");
  starts(message_of("[l1]\nsectored = 1\n"), "gpu.toml:2:12: error: 'l1.sectored' must be true or false");
  starts(message_of("[l1]\nindex = \"xorr\"\n"),
         "gpu.toml:2:9: error: unknown value of 'l1.index' 'xorr'; did you mean 'xor'?; known: linear, xor, "
         "fermi");
  starts(message_of("[latency]\nint_add = 4\n"),
         "gpu.toml:2:11: error: 'latency.int_add' must be a list of two");
  starts(message_of("[latency]\nint_add = [4, 0]\n"), "gpu.toml:2:15: error: 'latency.int_add' is 0; ");
  starts(message_of("[clocks]\ncore_mhz = 0\n"), "gpu.toml:2:12: error: 'clocks.core_mhz' is 0; ");
  starts(message_of("[clocks]\ncore_mhz = nan\n"), "gpu.toml:2:12: error: 'clocks.core_mhz' is nan; ");
  starts(message_of("[sm\n"), "gpu.toml:1:");
  starts(message_of("sms = 1\nsms = 2\n"), "gpu.toml:2:");
  starts(message_of("base = \"dai19\"\n"), "gpu.toml:1:8: error: unknown machine 'dai19'; ");
  starts(message_of("base = 5\n"), "gpu.toml:1:8: error: 'base' must be a text");
  starts(message_of("name = \"\"\n"), "gpu.toml:1:8: error: 'name' is empty");
}

TEST(MachineFile, SaysTheEnergyOfEveryEventOrOfNone) {
  EXPECT_FALSE(parse_machine("sms = 2", "gpu.toml").energy.known());
  EXPECT_EQ(message_of("[energy]\nsp = 1\nl1 = 2\n"),
            "gpu.toml:3:6: error: energy.l1 is given and energy.instruction is not: [energy] has all of its "
            "keys, or none");
  EXPECT_EQ(message_of("sms = 2", {"energy.sp=5"}),
            "--set energy.sp=5: error: energy.sp is given and energy.instruction is not: [energy] has all of "
            "its keys, or none");
  EXPECT_EQ(
      message_of("sms = 2", {"energy.gated_sm_watts=5"}),
      "--set energy.gated_sm_watts=5: error: energy.gated_sm_watts is given and energy.instruction is not: "
      "[energy] has all of its keys, or none");
  EXPECT_EQ(parse_machine("base = \"v100\"\n[energy]\nsp = 5\n", "gpu.toml").energy.sp, 5);
}

TEST(Presets, SayWhatEventsTake) {
  for (const std::string& name : machine_names()) {
    const MachineConfig machine = load_machine(name);
    if (machine.cpus > 0) {  // nothing is published of a chip with both
      EXPECT_FALSE(machine.energy.known()) << name;
      continue;
    }
    EXPECT_TRUE(machine.energy.known()) << name;
    EXPECT_GT(machine.energy.sm_watts, 0) << name;
    EXPECT_EQ(machine.energy.tensor > 0, machine.units[static_cast<std::size_t>(isa::Unit::Tensor)].count > 0)
        << name;
  }
}

TEST(MachineFile, ACircleOfBasesEnds) {
  const test::TemporaryFolder folder;
  const std::string path = folder.path() + "/circle.toml";
  write_file_atomically(path, "base = \"circle.toml\"\n");
  EXPECT_THROW((void)load_machine(path), UserError);
}

TEST(MachineFile, CachesTogetherAreBounded) {
  try {
    (void)load_machine("dai18-maxwell", {"sms=1024", "l1.size=2M", "l1.ways=16"});
    FAIL() << "took 2 GB of lines";
  } catch (const UserError& error) {
    EXPECT_STREQ(
        error.what(),
        "--set l1.size=2M: error: the L1 caches of 1024 SMs are 2147483648 bytes; at most 1073741824");
  }
}

struct Contradiction {
  const char* machine;
  const char* override_text;
  const char* part;  // of the message
};

class Contradictory : public testing::TestWithParam<Contradiction> {};

TEST_P(Contradictory, IsAnErrorAtTheOverride) {
  const std::string message = override_message(GetParam().machine, GetParam().override_text);
  const std::string mark = "error: ";
  EXPECT_EQ(message.find("--set " + std::string(GetParam().override_text) + ": " + mark), 0U) << message;
  EXPECT_EQ(message.find(mark), message.rfind(mark)) << "marked twice: " << message;
  EXPECT_NE(message.find(GetParam().part), std::string::npos) << message;
}

INSTANTIATE_TEST_SUITE_P(
    Settings, Contradictory,
    testing::Values(
        Contradiction{"dai18-maxwell", "sm.max_warps=95", "holds 3040 threads, fewer than"},
        Contradiction{"dai18-maxwell", "sm.schedulers=1", "96 warps per scheduler; at most 64"},
        Contradiction{"dai18-maxwell", "sm.schedulers=3", "split evenly"},
        Contradiction{"dai18-maxwell", "sm.schedulers=0", "it must be 1 to 4"},
        Contradiction{"dai18-maxwell", "unit.sp.count=6", "cannot be private"},
        Contradiction{"dai18-maxwell", "unit.sp.count=0", "it must be 1 to"},
        Contradiction{"dai18-maxwell", "constant.size=1G", "it must be 0 to 1048576 bytes"},
        Contradiction{"dai18-maxwell", "l2.slice_size=1G", "it must be 128 to 268435456 bytes"},
        Contradiction{"dai18-maxwell", "l2.slice_size=256M", "16 slices of l2.slice_size = 268435456 are "},
        Contradiction{"dai18-maxwell", "l1.size=12M", "98304 lines; at most 65534"},
        Contradiction{"dai18-maxwell", "l1=48K", "'l1' is a table of keys; set one of l1.size, l1.ways, "},
        Contradiction{"dai18-maxwell", "sm.l1=48K", "'sm.l1' is a table of keys; set one of sm.l1.size, "},
        Contradiction{"dai18-maxwell", "l1.size=25k", "no whole number of sets"},
        Contradiction{"dai18-maxwell", "l1.size=36K", "48 sets; index \"xor\" needs a power of two"},
        Contradiction{"dai18-maxwell", "l1.latency=0", "it must be 1 to"},
        Contradiction{"dai18-maxwell", "l1.shared_carveouts=0,8K", "needs l1.unified_size"},
        Contradiction{"v100", "l1.unified_size=0", "needs l1.unified_size"},
        Contradiction{"v100", "unit.int.on=memory", "known: sp, int, dp, sfu, tensor"},
        Contradiction{"v100", "dram.address_map=RBX", "'X' is no letter of a bit"},
        Contradiction{"rtx2060", "dram.banks=8", "its letters B name 16 banks, dram.banks = 8"},
        Contradiction{"rtx2060", "l2.slices_per_partition=3", "has to divide dram.banks"},
        Contradiction{"v100", "code=sass", "known: machine, ptx"},
        Contradiction{"v100", "sm.issue_width=5", "it must be 1 to 4"},
        Contradiction{"v100", "l1.size=256K", "exceeds l1.unified_size"},
        Contradiction{"v100", "l1.shared_carveouts=8K,0,96K", "ascending"},
        Contradiction{"v100", "l1.shared_carveouts=0,8K", "below sm.shared_size"},
        Contradiction{"v100", "l1.shared_carveouts=0,96K,128K", "leaves no L1"},
        Contradiction{"dai18-maxwell", "l2.partitions=0", "it must be 1 to"},
        Contradiction{"dai18-maxwell", "l2.ways=3", "no whole number of sets"},
        Contradiction{"dai18-maxwell", "l2.interleave_size=384", "no power of two"},
        Contradiction{"dai18-maxwell", "noc.input_buffer_flits=4", "holds no packet of one line, 5 flits"},
        Contradiction{"dai18-maxwell", "cpus=4", "needs noc.topology = \"mesh\""},
        Contradiction{"dai18-maxwell", "noc.nodes=GM", "noc.nodes is of a mesh"},
        Contradiction{"dai18-maxwell", "noc.topology=mesh", "needs noc.nodes"},
        Contradiction{"dai18-maxwell", "cpu.l1_ways=3", "times a power of two"},
        Contradiction{"dai18-maxwell", "cpu.l1_latency=60", "at most 63"},
        Contradiction{"dai18-maxwell", "noc.cpu_vcs=1", "is of a mesh with CPU cores"},
        Contradiction{"dai18-maxwell", "noc.cpu_vcs=4", "leaves none of noc.vcs"},
        Contradiction{"dai18-maxwell", "l2.cpu_partitions=1", "without CPU cores"},
        Contradiction{"dai18-maxwell", "dram.CCD=4", "exceeds dram.CCDL"},
        Contradiction{"dai18-maxwell", "dram.RCD=29", "exceeds dram.RAS"},
        Contradiction{"dai18-maxwell", "dram.bank_groups=3", "cannot be split"},
        Contradiction{"dai18-maxwell", "dram.burst_size=24", "no power of two"},
        Contradiction{"dai18-maxwell", "dram.REFI=1000", "both 0 or neither"},
        Contradiction{"dai18-maxwell", "dram.row_size=384", "multiple of 256"},
        Contradiction{"dai18-maxwell", "dram.write_high_watermark=17", "exceeds dram.queue"},
        Contradiction{"dai18-maxwell", "dram.write_low_watermark=5", "not below dram.write_high_watermark"},
        Contradiction{"dai18-maxwell", "dram.banks=65", "it must be 1 to 64 banks"},
        Contradiction{"dai18-maxwell", "dram.return_queue=0", "it must be 1 to 4096 requests"},
        Contradiction{"dai18-maxwell", "l2.mshr_merges=0", "it must be 1 to 1024 requests"},
        Contradiction{"dai18-maxwell", "icache.size=1000", "no whole number of sets"},
        Contradiction{"dai18-maxwell", "icache.line_size=1024", "it must be 32 to 128 bytes"},
        Contradiction{"dai18-maxwell", "texture.size=12000",
                      "texture.size = 12000 is no whole number of sets"},
        Contradiction{"dai18-maxwell", "constant.line_size=96", "does not divide the 128 bytes of a line"},
        Contradiction{"dai18-maxwell", "l1.mshr_merges=256", "it must be 1 to 255 requests"},
        Contradiction{"v100", "l2.mshr_entries=65535", "it must be 1 to 65534 entries"},
        Contradiction{"dai18-maxwell", "energy.sp=-1", "it must be 0 to 1000000 pJ"},
        Contradiction{"dai18-maxwell", "energy.sm_watts=101", "it must be 0 to 100 W"},
        Contradiction{"dai18-maxwell", "energy.l3=1", "unknown key in [energy] 'l3'"},
        Contradiction{"dai18-maxwell", "sm.nothing=1", "unknown key in [sm] 'nothing'; known: "},
        Contradiction{"dai18-maxwell", "l1.siz=1", "did you mean 'size'?"},
        Contradiction{"dai18-maxwell", "sms", "write KEY=VALUE"},
        Contradiction{"dai18-maxwell", "sms=1x", "must be a whole number"},
        Contradiction{"dai18-maxwell", "clocks.core_mhz=fast", "must be a number"},
        Contradiction{"dai18-maxwell", "l1.sectored=yes", "must be true or false"},
        Contradiction{"dai18-maxwell", "latency.int_add=4", "two numbers"}),
    [](const auto& at) { return std::to_string(at.index); });

TEST(Overrides, LeaveTimeBetweenRefreshes) {
  EXPECT_NO_THROW((void)load_machine("dai18-maxwell", {"dram.RFC=60", "dram.REFI=117"}));
  try {
    (void)load_machine("dai18-maxwell", {"dram.RFC=60", "dram.REFI=116"});
    FAIL() << "has no time but for refreshes";
  } catch (const UserError& error) {
    EXPECT_NE(std::string_view(error.what()).find("REFI = 116 leaves no time"), std::string::npos)
        << error.what();
  }
}

TEST(Overrides, TakeEveryKindOfValue) {
  const MachineConfig config =
      load_machine("v100", {"sm.warp_scheduler=gto", "l1.sectored=false", "clocks.core_mhz=1200.5",
                            "latency.fp_mad=[6, 3]", "latency.fp_add=5,1", "l1.shared_carveouts=[0, 96K]",
                            "watchdog_cycles=5000000000"});
  EXPECT_EQ(config.sm.warp_scheduler, WarpScheduler::gto);
  EXPECT_FALSE(config.l1.sectored);
  EXPECT_EQ(config.clocks.core, 1200.5);
  EXPECT_EQ(config.latency[static_cast<std::size_t>(isa::LatencyClass::FpMad)].latency, 6U);
  EXPECT_EQ(config.latency[static_cast<std::size_t>(isa::LatencyClass::FpMad)].initiation, 3U);
  EXPECT_EQ(config.latency[static_cast<std::size_t>(isa::LatencyClass::FpAdd)].latency, 5U);
  EXPECT_EQ(config.l1.shared_carveouts, (std::vector<std::uint32_t>{0, 98304}));
  EXPECT_EQ(config.watchdog_cycles, 5'000'000'000U);
}

// Each accessor reaches a member of its own: a copied line that still names its neighbour's member would let
// two keys write one value.
TEST(Fields, EachSetsItsOwnMemberAlone) {
  std::set<std::string> keys;
  for (const Field& field : fields()) {
    EXPECT_TRUE(keys.insert(field.key).second) << field.key << " is there twice";
    MachineConfig changed = default_machine();
    std::visit(
        [&](const auto& member) {
          auto& value = member(changed);
          using T = std::decay_t<decltype(value)>;
          if constexpr (std::is_same_v<T, std::string>) {
            value = "changed";
          } else if constexpr (std::is_same_v<T, bool>) {
            value = !value;
          } else if constexpr (std::is_same_v<T, std::uint8_t>) {
            value = static_cast<std::uint8_t>((value + 1U) % field.choices.size());
          } else if constexpr (std::is_same_v<T, LatencyConfig>) {
            value = {777, 778};
          } else if constexpr (std::is_same_v<T, std::vector<std::uint32_t>>) {
            value = {777};
          } else {
            value += 777;
          }
        },
        field.access);
    for (const Field& other : fields()) {
      EXPECT_EQ(field_text(other, changed) == field_text(other, default_machine()), other.key != field.key)
          << field.key << " against " << other.key;
    }
  }
}

TEST(Fields, DefaultsAreValid) {
  MachineConfig config = default_machine();
  config.name = "x";
  EXPECT_EQ(message_of(to_toml(config)), "");
}

TEST(Documentation, ListsEveryKeyWithUnitAndRange) {
  const std::string page = read_file(std::string(GPUMUX_SOURCE_DIR) + "/docs/machines-reference.md");
  EXPECT_NE(page.find(fields_markdown()), std::string::npos)
      << "docs/machines-reference.md must contain this table:\n"
      << fields_markdown();
}

// --- occupancy ---------------------------------------------------------------------------------------------

struct Fit {
  const char* what;
  const char* machine;
  std::uint32_t threads, registers, shared;
  std::uint32_t blocks;
  const char* limited_by;
};

class OccupancyOf : public testing::TestWithParam<Fit> {};

TEST_P(OccupancyOf, EqualsTheHandCalculation) {
  const Fit& fit = GetParam();
  const Occupancy found = occupancy(load_machine(fit.machine).sm, fit.threads, fit.registers, fit.shared);
  EXPECT_EQ(found.blocks, fit.blocks) << fit.what;
  EXPECT_EQ(found.limited_by, fit.limited_by) << fit.what;
}

// dai18, Table 2: block counts follow from its occupancies (TB_occ of 16), resources from the same table.
INSTANTIATE_TEST_SUITE_P(Dai18, OccupancyOf,
                         testing::Values(Fit{"cp", "dai18-maxwell", 128, 28, 4116, 16, "blocks"},
                                         Fit{"hs", "dai18-maxwell", 256, 36, 3076, 7, "registers"},
                                         Fit{"dc", "dai18-maxwell", 64, 36, 2046, 16, "blocks"},
                                         Fit{"pf", "dai18-maxwell", 256, 16, 2048, 12, "threads"},
                                         Fit{"bp", "dai18-maxwell", 256, 12, 1090, 12, "threads"},
                                         Fit{"bs", "dai18-maxwell", 512, 16, 0, 6, "threads"},
                                         Fit{"st", "dai18-maxwell", 512, 16, 0, 6, "threads"},
                                         Fit{"3m", "dai18-maxwell", 256, 12, 0, 12, "threads"},
                                         Fit{"sv", "dai18-maxwell", 192, 16, 0, 16, "blocks"},
                                         Fit{"cd", "dai18-maxwell", 64, 64, 0, 16, "blocks"},
                                         Fit{"s2", "dai18-maxwell", 128, 16, 0, 16, "blocks"},
                                         Fit{"ks", "dai18-maxwell", 256, 12, 0, 12, "threads"},
                                         Fit{"ax", "dai18-maxwell", 256, 12, 0, 12, "threads"}),
                         [](const auto& fit) { return std::string("_") + fit.param.what; });

// Others: awatramani17's Table 4.2 (hotspot keeps 6 blocks on the K20X: 36 registers x 32 lanes are rounded
// up to 1280 per warp), chimera15's BP.0 (6 blocks of 256 threads), and each limit in turn.
INSTANTIATE_TEST_SUITE_P(
    Others, OccupancyOf,
    testing::Values(Fit{"k20x_hotspot", "awatramani17-k20x", 256, 36, 3072, 6, "registers"},
                    Fit{"m2090_hotspot", "awatramani17-m2090", 256, 36, 3072, 3, "registers"},
                    Fit{"chimera_bp0", "chimera15-fermi30", 256, 16, 1088, 6, "threads"},
                    Fit{"v100_full", "v100", 256, 32, 0, 8, "threads"},
                    Fit{"v100_small_blocks", "v100", 32, 32, 0, 32, "blocks"},
                    Fit{"v100_shared", "v100", 128, 32, 49152, 2, "shared memory"},
                    Fit{"v100_too_much_shared", "v100", 128, 32, 98305, 0, "shared memory"},
                    Fit{"v100_odd_block", "v100", 33, 16, 0, 32, "blocks"},
                    Fit{"warps_of_odd_blocks", "chimera15-fermi30", 193, 8, 0, 6, "warps"},
                    Fit{"too_many_registers", "chimera15-fermi30", 1024, 64, 0, 0, "registers"},
                    Fit{"too_many_threads", "chimera15-fermi30", 2048, 1, 0, 0, "threads"}),
    [](const auto& fit) { return std::string(fit.param.what); });

TEST(OccupancyLimits, AreAllReported) {
  const Occupancy o = occupancy(load_machine("dai18-maxwell").sm, 256, 36, 3076);
  EXPECT_EQ(o.by_threads, 12U);   // 3072 / 256
  EXPECT_EQ(o.by_warps, 12U);     // 96 / 8
  EXPECT_EQ(o.by_registers, 7U);  // 65536 / (8 warps x 1152)
  EXPECT_EQ(o.by_shared, 30U);    // 98304 / 3200: 3076 rounded up to 128
  EXPECT_EQ(o.by_blocks, 16U);
}

}  // namespace
}  // namespace gpumux::arch
