// `gpumux run --races`, run as a command.
#include <nlohmann/json.hpp>

#include "program.hpp"

namespace gpumux::test {
namespace {

using nlohmann::json;

class RacesOption : public CliTest {
 protected:
  RacesOption() {
    write_file_atomically(path("k.ptx"), R"(.version 8.0
.target sm_75
.address_size 64
.visible .entry count(.param .u64 p)
{
  .reg .b32 %r<4>;
  .reg .b64 %rd<2>;
  ld.param.u64 %rd1, [p];
  ld.global.u32 %r1, [%rd1];
  add.u32 %r1, %r1, 1;
  st.global.u32 [%rd1], %r1;
  ret;
}
.visible .entry add(.param .u64 p)
{
  .reg .b64 %rd<2>;
  ld.param.u64 %rd1, [p];
  red.global.add.u32 [%rd1], 1;
  ret;
}
)");
  }
  [[nodiscard]] Outcome run(const std::string& kernel, const std::vector<std::string>& options) const {
    std::vector<std::string> args = {"run",     "k.ptx:" + kernel,
                                     "--grid",  "40",
                                     "--block", "1",
                                     "--arg",   "inout:u32[1]=in.bin,out.bin",
                                     "--set",   "sms=2"};
    write_file_atomically(path("in.bin"), std::string(4, '\0'));
    args.insert(args.end(), options.begin(), options.end());
    return gpumux(args);
  }
  [[nodiscard]] json result(const std::string& name) const { return json::parse(read_file(path(name))); }
};

TEST_F(RacesOption, ReportsRacesAndChangesNothingElse) {
  const Outcome plain = run("count", {"--json", "plain.json"});
  ASSERT_EQ(plain.code, 0) << plain.err;
  EXPECT_EQ(plain.err, "");
  const std::string out = read_file(path("out.bin"));
  json expected = result("plain.json");
  EXPECT_FALSE(expected.contains("races"));
  json races;
  for (const char* threads : {"1", "2"}) {
    const Outcome watched = run("count", {"--json", "races.json", "--races", "--threads", threads});
    ASSERT_EQ(watched.code, 0) << watched.err;
    EXPECT_EQ(watched.err.find("note: race: app k.ptx:count: kernel count, global memory, "), 0U)
        << watched.err;
    EXPECT_NE(watched.err.find("k.ptx:9 by thread (0,0,0) of block ("), std::string::npos) << watched.err;
    EXPECT_NE(watched.err.find("note: races: 2 pairs of instructions, "), std::string::npos) << watched.err;
    json with = result("races.json");
    EXPECT_TRUE(threads[0] == '1' || with["races"] == races);
    races = with["races"];
    with.erase("races");
    EXPECT_EQ(with.dump(), expected.dump());
    EXPECT_EQ(read_file(path("out.bin")), out);
  }
  ASSERT_EQ(races.size(), 2U);
  EXPECT_EQ(races[0]["app"], "k.ptx:count");
  EXPECT_EQ(races[0]["space"], "global");
  EXPECT_EQ(races[0]["bytes"], 4);
  EXPECT_EQ(races[0]["count"],
            races[0]["read_after_write"].get<int>() + races[0]["write_after_read"].get<int>());
  EXPECT_EQ(races[1]["write_after_write"], 39);
  EXPECT_EQ(races[1]["first"]["place"], "k.ptx:11");
  EXPECT_EQ(races[1]["second"]["access"], "write");
}

TEST_F(RacesOption, SaysThatThereAreNone) {
  const Outcome o = run("add", {"--json", "a.json", "--races=warp"});
  EXPECT_EQ(o.code, 0);
  EXPECT_EQ(o.err, "note: races: none in 1 launch\n");
  EXPECT_EQ(result("a.json")["races"], json::array());
  EXPECT_EQ(run("add", {"--races", "--quiet"}).err, "");
}

TEST_F(RacesOption, HasANoteForEachPolicy) {
  const Outcome o = run("count", {"--races", "--policy", "even,sequential"});
  EXPECT_EQ(o.code, 0);
  EXPECT_EQ(o.err.find("note: races under policy even:\nnote: race: "), 0U) << o.err;
  EXPECT_NE(o.err.find("note: races under policy sequential:\nnote: race: "), std::string::npos) << o.err;
}

TEST_F(RacesOption, RefusesWhatCannotBe) {
  const Outcome mode = run("add", {"--races=block"});
  EXPECT_EQ(mode.code, 2);
  EXPECT_NE(mode.err.find("--races"), std::string::npos) << mode.err;
  EXPECT_NE(mode.err.find("warp"), std::string::npos) << mode.err;
  const Outcome kept = gpumux({"run", "add", "--races", "--db", "a.sqlite"});
  EXPECT_EQ(kept.code, 2);
  EXPECT_NE(kept.err.find("--races needs a simulation, and --db may have the run already"), std::string::npos)
      << kept.err;
}

}  // namespace
}  // namespace gpumux::test
