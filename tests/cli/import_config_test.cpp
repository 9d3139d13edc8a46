// `gpumux import-config`: the contents and the place of its output, and the cases without output.
#include <filesystem>
#include <string>

#include "base/files.hpp"
#include "program.hpp"

namespace gpumux::test {
namespace {

class ImportConfig : public CliTest {
 protected:
  void SetUp() override {
    write("gpgpusim.config",
          "-gpgpu_n_clusters 4 -gpgpu_n_cores_per_cluster 1 # SMs\n"
          "-gpgpu_clock_domains 1000:1000:1000:1000\n"
          "-gpgpu_cache:dl1 S:4:128:64,L:T:m:L:L,A:512:8,16:0,32\n"
          "-gpgpu_n_mem 2 -gpgpu_n_cluster_ejection_buffer_size 32\n"
          "-network_mode 2 -icnt_flit_size 40 -gpgpu_shmem_size 49152\n"
          "-gpgpu_mem_addr_mapping dramid@8;0000RRRR.RRRRRRRR.RBBBCCCB.CCCSSSSS\n"
          "-gpgpu_dram_timing_opt \"nbk=16:CCD=1:RRD=3:RCD=12:RAS=28:RP=12:RC=40:\n"
          "                        CL=12:WL=2:CDLR=3:WR=10\"\n"
          "-gpgpu_dram_burst_length 8 -gpgpu_shader_registers 65536 -gpgpu_shader_core_pipeline 2048:32\n");
    write("trace.config",
          "-trace_opcode_latency_initiation_int 2,2\n-trace_opcode_latency_initiation_sp 2,2\n"
          "-trace_opcode_latency_initiation_dp 8,4\n-trace_opcode_latency_initiation_sfu 20,8\n");
  }
  void write(const std::string& name, const std::string& text) const {
    write_file_atomically(path(name), text);
  }
};

TEST_F(ImportConfig, WritesAMachineThatRuns) {
  const Outcome o = gpumux({"import-config", "gpgpusim.config", "trace.config", "-o", "m.toml"});
  EXPECT_EQ(o.code, 0) << o.err;
  EXPECT_EQ(o.out, "m.toml: 18 options read; 4 warnings of what is not expressed, or not as there\n");
  EXPECT_EQ(lines(o.err), 4U) << o.err;
  EXPECT_NE(
      o.err.find("gpgpusim.config:4:54: warning: -gpgpu_n_cluster_ejection_buffer_size: replies wait in"),
      std::string::npos)
      << o.err;
  const Outcome run = gpumux({"run", "add", "--machine", "./m.toml", "--verify"});
  EXPECT_EQ(run.code, 0) << run.err;
}

TEST_F(ImportConfig, WritesToStandardOutputWithoutAName) {
  const Outcome o = gpumux({"import-config", "gpgpusim.config", "--quiet"});
  EXPECT_EQ(o.code, 0) << o.err;
  EXPECT_EQ(o.err, "");
  EXPECT_NE(o.out.find("\ncode = \"ptx\""), std::string::npos) << o.out;
  ASSERT_EQ(gpumux({"import-config", "gpgpusim.config", "-o", "m.toml", "--quiet"}).out, "");
  EXPECT_EQ(read_file(path("m.toml")), o.out);
}

TEST_F(ImportConfig, LeavesNothingWhereTheMachineIsImpossible) {
  write("wrong.config", "-gpgpu_n_clusters 4\n-gpgpu_num_sched_per_core 9\n");
  write("m.toml", "base = \"v100\"\n");
  const Outcome o = gpumux({"import-config", "wrong.config", "-o", "m.toml"});
  EXPECT_EQ(o.code, 2);
  EXPECT_EQ(o.err, "wrong.config:2:27: error: 'sm.schedulers' is 9; it must be 1 to 4 schedulers\n");
  EXPECT_EQ(o.out, "");
  EXPECT_EQ(read_file(path("m.toml")), "base = \"v100\"\n");
}

TEST_F(ImportConfig, RefusesNamesThatCannotBeRight) {
  const auto message = [this](const std::vector<std::string>& args) {
    const Outcome o = gpumux(args);
    EXPECT_EQ(o.code, 2);
    return o.err;
  };
  EXPECT_EQ(message({"import-config", "gpgpusim.config", "-o", "m.txt"}),
            "m.txt: error: must end in .toml, by which --machine knows a machine file\n");
  EXPECT_NE(message({"import-config", "none.config"}).find("none.config: error: "), std::string::npos);
  EXPECT_NE(message({"import-config"}).find("CONFIG is required"), std::string::npos);
  write("c.toml", "-gpgpu_n_clusters 4");
  EXPECT_NE(message({"import-config", "c.toml", "-o", "c.toml"}).find("would be overwritten by a result"),
            std::string::npos);
}

}  // namespace
}  // namespace gpumux::test
