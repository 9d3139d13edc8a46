// dram.address_map: the places of lines under a map, worked out by hand, and that no two lines share a place.
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <tuple>

#include "arch/address_bits.hpp"
#include "arch/config_file.hpp"
#include "base/error.hpp"
#include "dram/address_map.hpp"
#include "noc/partition_map.hpp"
#include "tests/sanitized.hpp"

namespace gpumux {
namespace {

constexpr std::uint64_t kApp = std::uint64_t{1} << kAppLineShift;

arch::MachineConfig mapped(const std::string& map, std::uint32_t channels, std::uint32_t slices,
                           arch::IndexFunction hash) {
  arch::MachineConfig config = arch::load_machine("v100");
  config.l2.partitions = channels;
  config.l2.slices_per_partition = slices;
  config.l2.partition_hash = hash;
  config.dram.address_map = map;
  return config;
}

constexpr const char* kTwelve =
    "dramid@8;00000000.00000000.00000000.00000000.0000RRRR.RRRRRRRR.RBBBCCCC.BCCSSSSS";
constexpr const char* kThirtyTwo =
    "dramid@8;00000000.00000000.00000000.00000000.0000RRRR.RRRRRRRR.RBBBCCCB.CCCSSSSS";

TEST(AddressBits, AreReadFromTheHighestOn) {
  const arch::AddressBits bits = arch::parse_address_map(kTwelve);
  EXPECT_TRUE(bits.counts_channels);
  EXPECT_EQ(bits.channel_bit, 8U);
  EXPECT_EQ(bits.column, 0xf7fU);  // CCCC at 8, CC at 5, SSSSS
  EXPECT_EQ(bits.bank, 0x7080U);   // BBB at 12, B at 7
  EXPECT_EQ(bits.row, ~std::uint64_t{0x7fff});
  // Letters D are taken out, and what is above them moves down.
  const arch::AddressBits letters = arch::parse_address_map("RRRR.BBBD.DCCC.CCCC");
  EXPECT_FALSE(letters.counts_channels);
  EXPECT_EQ(letters.channel, 0x180U);
  EXPECT_EQ(letters.bank, 0x380U);
  EXPECT_EQ(letters.column, 0x7fU);
  EXPECT_EQ(letters.row & 0xffffU, 0xfc00U);  // what lies above the letters too
}

TEST(AddressBits, RefusesWhatIsNoMap) {
  for (const char* text : {"", "dramid@8", "dramid@x;RB", "dramid@48;RB", "RBX", "R0C", "dramid@8;RDB"})
    EXPECT_THROW((void)arch::parse_address_map(text), UserError) << text;
  const arch::MachineConfig good = mapped(kThirtyTwo, 32, 2, arch::IndexFunction::Linear);
  EXPECT_NO_THROW((void)arch::address_bits(good.l2, good.dram));
  auto bad = good;
  bad.dram.banks = 8;
  EXPECT_THROW((void)arch::address_bits(bad.l2, bad.dram), UserError);
  bad = good;
  bad.dram.row_bytes = 1024;
  EXPECT_THROW((void)arch::address_bits(bad.l2, bad.dram), UserError);
  bad = good;
  bad.l2.slices_per_partition = 3;
  EXPECT_THROW((void)arch::address_bits(bad.l2, bad.dram), UserError);
  bad = good;
  bad.dram.address_map = "RRRR.RRRR.RBBB.DDDD.CCCC.BCCC.CCCC";  // a bank within a line is one
  EXPECT_NO_THROW((void)arch::parse_address_map(bad.dram.address_map));
  EXPECT_THROW((void)arch::address_bits(bad.l2, bad.dram), UserError);
}

// 12 channels by 256 bytes; in a channel lines alternate between its slices, and bit 7 is the bank's lowest.
TEST(MappedPartitions, LinesOfTwelveChannelsByHand) {
  const arch::MachineConfig config = mapped(kTwelve, 12, 2, arch::IndexFunction::Linear);
  const noc::PartitionMap map(config);
  const dram::AddressMap channel(config.dram);
  struct Expected {
    std::uint64_t address;
    std::uint32_t partition, slice;
    std::uint64_t slice_line;
    std::uint32_t group, in_group;  // bank = BBB B: its lowest two bits are the group
    std::uint64_t row;
  };
  const std::uint64_t round = 12 * 256;  // bit 8 of what is left of the address
  for (const Expected& e :
       {Expected{0, 0, 0, 0, 0, 0, 0}, Expected{128, 0, 1, 0, 1, 0, 0}, Expected{256, 1, 0, 0, 0, 0, 0},
        Expected{11 * 256 + 128, 11, 1, 0, 1, 0, 0}, Expected{round, 0, 0, 1, 0, 0, 0},
        Expected{15 * round + 128, 0, 1, 15, 1, 0, 0},  // the row's last column
        Expected{16 * round, 0, 0, 16, 2, 0, 0},        // bit 12: bank 2
        Expected{32 * round + 512, 2, 0, 32, 0, 1, 0},  // bit 13: bank 4
        Expected{128 * round, 0, 0, 128, 0, 0, 1}}) {   // bit 15: the next row
    SCOPED_TRACE(e.address);
    const auto place = map.locate(kApp + e.address / kLineBytes);
    // Applications are renamed: 1's rotation is that of index 1.
    const auto first = map.locate(kApp);
    EXPECT_EQ((place.partition + 12U - first.partition) % 12, e.partition);
    EXPECT_EQ(place.slice ^ first.slice, e.slice ^ (place.partition < first.partition ? 1U : 0U));
    EXPECT_EQ(place.slice_line, e.slice_line);
    // The bank of application 0 in lines without an application.
    const auto bank = channel.locate((e.address / round * 256 + e.address % 256) / kLineBytes);
    EXPECT_EQ(bank.group, e.group);
    EXPECT_EQ(bank.bank % 4, e.in_group);
    EXPECT_EQ(bank.row, e.row);
  }
}

TEST(MappedPartitions, NoTwoLinesMeet) {
  for (const auto hash :
       {arch::IndexFunction::Linear, arch::IndexFunction::Xor, arch::IndexFunction::Ipoly}) {
    for (const arch::MachineConfig& config :
         {mapped(kTwelve, 12, 2, hash), mapped(kTwelve, 5, 4, hash), mapped(kThirtyTwo, 32, 2, hash),
          mapped("RRRRRRRRRRRRRBBBDDCCCB.CCCSSSSS", 4, 2, hash),
          mapped("RRRRRRRRRRRRRBBBBCCCCCCSSSSS", 1, 1, hash)}) {
      SCOPED_TRACE(config.dram.address_map + " " + arch::word(hash));
      const noc::PartitionMap map(config);
      const dram::AddressMap channel(config.dram);
      for (const AppId app : {AppId{0}, AppId{3}}) {
        std::set<std::tuple<std::uint32_t, std::uint32_t, std::uint64_t>> slices;
        std::set<std::tuple<std::uint32_t, std::uint32_t, std::uint64_t, std::uint64_t>> rows;
        std::map<std::pair<std::uint32_t, std::uint32_t>, unsigned> load;
        constexpr std::uint64_t kLines = test::rounds(60000);
        for (std::uint64_t n = 0; n < kLines; ++n) {
          const auto place = map.locate(first_line_of(app) + n);
          ASSERT_LT(place.partition, config.l2.partitions);
          ASSERT_LT(place.slice, config.l2.slices_per_partition);
          ASSERT_EQ(map.local_line(place.slice_line, place.slice, app), place.local_line);
          ASSERT_TRUE(slices.insert({place.partition, place.slice, place.slice_line}).second) << n;
          ASSERT_TRUE(rows.insert({place.partition, place.slice, place.local_line, 0}).second) << n;
          const auto bank = channel.locate(place.local_line);
          ASSERT_LT(bank.bank, config.dram.banks);
          ASSERT_EQ(bank.group, bank.bank / (config.dram.banks / config.dram.bank_groups));
          ++load[{place.partition, place.slice}];
        }
        const double share =
            static_cast<double>(kLines) / (config.l2.partitions * config.l2.slices_per_partition);
        for (const auto& [slice, lines] : load) EXPECT_NEAR(lines, share, 0.2 * share + 128);
      }
    }
  }
}

TEST(MappedPartitions, ARowHasItsSizeInLines) {
  const arch::MachineConfig config = mapped(kThirtyTwo, 32, 2, arch::IndexFunction::Linear);
  const dram::AddressMap channel(config.dram);
  std::map<std::pair<std::uint32_t, std::uint64_t>, unsigned> lines;
  for (std::uint64_t n = 0; n < 4096; ++n) {
    const auto place = channel.locate(n);
    ++lines[{place.bank, place.row}];
  }
  for (const auto& [row, count] : lines) EXPECT_EQ(count, config.dram.row_bytes / kLineBytes);
}

TEST(MappedPartitions, TheHighestBitsOfTheBankMayBeItsGroup) {
  arch::MachineConfig config = mapped(kTwelve, 12, 2, arch::IndexFunction::Linear);
  config.dram.bank_group_low = false;
  const dram::AddressMap channel(config.dram);
  EXPECT_EQ(channel.locate(1).bank, 1U);              // bit 7: bank 1 of group 0
  EXPECT_EQ(channel.locate(0x2000 / 128).group, 1U);  // bit 13: bank 4
}

}  // namespace
}  // namespace gpumux
