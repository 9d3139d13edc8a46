// Databases that a disk or a person has damaged. The program ends with exit code 2 and names the damage, or
// gives a right result. It never ends with exit code 1, and never leaves a part of a file.
#include <cstdint>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include "sweep_fixture.hpp"

namespace gpumux::test {
namespace {

using Words = std::vector<std::string>;

constexpr const char* kSweep = R"(policies = ["leftover", "even"]
apps = ["add", "stream"]
combine = "pairs"
cycles = 2000
series = 500
timeline = true
set.sms = 2
)";

class DamagedDatabase : public SweepTest {
 protected:
  void SetUp() override {
    SweepTest::SetUp();
    write_file_atomically(path("s.toml"), kSweep);
    ASSERT_EQ(gpumux({"sweep", "s.toml", "--db", "a.sqlite"}).code, 0);
    good_ = read_file(path("a.sqlite"));
  }
  void lay(const std::string& bytes) const {
    for (const char* name : {"b.sqlite-wal", "b.sqlite-shm", "o.csv", "o.json", "o.html"})
      std::filesystem::remove(path(name));
    write_file_atomically(path("b.sqlite"), bytes);
  }
  /// A copy of which a statement has changed something.
  void lay_after(const char* sql) const {
    lay(good_);
    database::Connection connection(path("b.sqlite"), database::Access::Write);
    connection.execute("PRAGMA foreign_keys = OFF");
    connection.execute(sql);
  }
  void expect_all_or_nothing(const Words& words, const char* result, const std::string& what) const {
    const Outcome o = gpumux(words);
    EXPECT_TRUE(o.code == 0 || o.code == 2) << what << ": " << words[0] << ": " << o.code << ": " << o.err;
    if (result != nullptr) {
      EXPECT_EQ(exists(result), o.code == 0) << what;
    }
    if (o.code == 0) return;
    EXPECT_EQ(lines(o.err), 1U) << what << ": " << o.err;
    EXPECT_LT(o.err.size(), 500U) << what << ": " << o.err;
    for (const auto& entry : std::filesystem::directory_iterator(folder_))
      EXPECT_EQ(entry.path().string().find(".part."), std::string::npos) << what;
  }
  void expect_everywhere(const std::string& part) const {
    for (const Words& words :
         {Words{"export", "b.sqlite", "o.csv"}, Words{"export", "b.sqlite", "o.json"},
          Words{"report", "b.sqlite", "-o", "o.html"}, Words{"sweep", "s.toml", "--db", "b.sqlite"}}) {
      const Outcome o = gpumux(words);
      EXPECT_EQ(o.code, 2) << words[0] << o.err;
      EXPECT_NE(o.err.find(part), std::string::npos) << words[0] << ": " << o.err;
    }
  }
  std::string good_;
};

TEST_F(DamagedDatabase, ByteByByte) {
  const Words run = {"run",   "add",   "stream",   "--policy", "even", "--cycles", "2000",
                     "--set", "sms=2", "--series", "500",      "--db", "b.sqlite"};
  for (std::uint32_t seed = 0; seed < 60; ++seed) {
    std::mt19937 random(seed);
    std::string bytes = good_;
    const std::size_t at = random() % bytes.size();
    std::string what = "byte " + std::to_string(at);
    if (seed % 4 == 0) {
      bytes.resize(at);
      what = "the first " + std::to_string(at) + " bytes";
    } else {
      bytes[at] = static_cast<char>(static_cast<unsigned char>(bytes[at]) ^ (1U << random() % 8));
    }
    const std::vector<std::pair<Words, const char*>> commands = {
        {{"export", "b.sqlite", "o.csv"}, "o.csv"},
        {{"export", "b.sqlite", "o.json"}, "o.json"},
        {{"report", "b.sqlite", "-o", "o.html"}, "o.html"},
        {{"sweep", "s.toml", "--db", "b.sqlite"}, nullptr},
        {run, nullptr}};
    for (const auto& [words, result] : commands) {
      lay(bytes);
      expect_all_or_nothing(words, result, what);
    }
  }
}

TEST_F(DamagedDatabase, SaysWhatIsDamaged) {
  lay(good_.substr(0, good_.size() / 2));
  expect_everywhere("is damaged: it ends after " + std::to_string(good_.size() / 2) + " of " +
                    std::to_string(good_.size()) + " bytes");
  lay_after("DROP TABLE metrics");
  expect_everywhere("b.sqlite: error: is damaged: there is no table metrics");
  lay_after("ALTER TABLE apps RENAME COLUMN identity TO name");
  expect_everywhere("table apps has the columns");
  lay_after("PRAGMA user_version = -3");
  expect_everywhere("is damaged: it has schema version -3");
}

TEST_F(DamagedDatabase, SaysWhichRowIsDamaged) {
  const auto refused = [&](const Words& words, const std::string& part) {
    const Outcome o = gpumux(words);
    EXPECT_EQ(o.code, 2) << o.err;
    EXPECT_NE(o.err.find(part), std::string::npos) << o.err;
  };
  lay_after("UPDATE runs SET result = '{\"schema\": ' WHERE id = 3");
  refused({"export", "b.sqlite", "--json"}, "is damaged: the result of run 3 is no JSON");
  lay_after("DELETE FROM counters WHERE id = 5");
  refused({"export", "b.sqlite", "--csv"}, "is damaged: ");
  refused({"report", "b.sqlite", "-o", "o.html"}, "is damaged: ");
  lay_after("UPDATE counters SET name = 'complftions' WHERE name = 'completions'");
  refused(
      {"run", "add", "stream", "--policy", "even", "--cycles", "2000", "--set", "sms=2", "--db", "b.sqlite"},
      "is damaged: a result has no counter completions of app 0");
}

TEST_F(DamagedDatabase, FewerCountersThanTodayAreAbsent) {
  lay_after(
      "DELETE FROM series WHERE counter_id IN (SELECT id FROM counters WHERE name IN ('l1_misses', "
      "'cycles')); "
      "DELETE FROM metrics WHERE counter_id IN (SELECT id FROM counters WHERE name IN ('l1_misses')); "
      "DELETE FROM counters WHERE name = 'l1_misses'");
  ASSERT_EQ(gpumux({"export", "b.sqlite", "o.csv"}).code, 0);
  const std::string csv = read_file(path("o.csv"));
  const std::string header = csv.substr(0, csv.find('\n'));
  EXPECT_EQ(header.find("l1_misses"), std::string::npos);
  EXPECT_NE(header.find("l1_accesses"), std::string::npos);
  ASSERT_EQ(gpumux({"export", "b.sqlite", "o.json"}).code, 0);
  const auto runs = nlohmann::json::parse(read_file(path("o.json")))["runs"];
  EXPECT_FALSE(runs[0]["counters"]["apps"][0].contains("l1_misses"));
  EXPECT_TRUE(runs[0]["counters"]["apps"][0].contains("l1_accesses"));
  EXPECT_EQ(gpumux({"report", "b.sqlite", "-o", "o.html"}).code, 0);
}

TEST_F(DamagedDatabase, ADatabaseOfTheFirstVersionIsRead) {
  lay_after(
      "DROP TABLE series; DROP TABLE timelines; DROP TABLE cpus; ALTER TABLE runs DROP COLUMN su_gpu; "
      "ALTER TABLE runs DROP COLUMN ws_cpu; ALTER TABLE runs DROP COLUMN oss; PRAGMA user_version = 1");
  EXPECT_EQ(gpumux({"export", "b.sqlite", "o.csv"}).code, 0);
  ASSERT_EQ(gpumux({"export", "b.sqlite", "o.json"}).code, 0);
  EXPECT_FALSE(nlohmann::json::parse(read_file(path("o.json")))["runs"][0]["result"].contains("series"));
  EXPECT_EQ(gpumux({"report", "b.sqlite", "-o", "o.html"}).code, 0);
}

}  // namespace
}  // namespace gpumux::test
