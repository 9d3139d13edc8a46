// The inputs of awatramani17's experiments at scale standard give the grids and blocks of the thesis' tables.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>

#include "reproduce/library.hpp"
#include "runtime/application.hpp"

namespace gpumux::reproduce {
namespace {

struct Grid {
  const char* experiment;
  const char* app;
  std::uint64_t blocks;
  std::uint64_t threads;        // of a block; 0: not in the table
  std::uint64_t tolerance = 0;  // blocks
};

// Tables 3.2 and 3.3 (warps), and 4.4 (cores, cores_b).
constexpr Grid kGrids[] = {
    {"warps", "BP-K1", 65535, 256}, {"warps", "BP-K2", 65535, 256},  {"warps", "BT-K1", 65535, 256},
    {"warps", "BT-K2", 65535, 256},  // printed as 65355, and as 65535 in Table 4.4
    {"warps", "HEART", 56, 256},    {"warps", "KM", 841, 256},       {"warps", "LUD", 16129, 256},
    {"warps", "SRAD", 16384, 256},  {"warps", "CFD", 1817, 192, 3},  {"warps", "DWT", 4096, 512},
    {"warps", "DXTC", 4096, 256},   {"warps", "FWT", 4096, 512},     {"warps", "HIST", 256, 192},
    {"warps", "MCO", 2048, 256},    {"cores", "LUD", 65025, 0},      {"cores", "NN", 50115, 0},
    {"cores", "KM", 25600, 0},      {"cores", "BT-K2", 65535, 0},    {"cores", "BP-K2", 65535, 0},
    {"cores", "SRAD", 32768, 0},    {"cores", "DCT-K1", 32768, 0},   {"cores", "DCT-K2", 32768, 0},
    {"cores", "TP-K1", 65536, 0},   {"cores", "TP-K2", 65536, 0},    {"cores", "FWT", 32768, 0},
    {"cores", "CVSEP", 16384, 0},   {"cores", "MS", 24567, 0, 9},  // 16 blocks for each pair of tiles
    {"cores_b", "PATH", 46297, 0},  {"cores_b", "BT-K1", 65535, 0},  {"cores_b", "HS", 29241, 0},
    {"cores_b", "BP-K1", 65535, 0}, {"cores_b", "CVT-K1", 98304, 0}, {"cores_b", "CVT-K2", 98304, 0},
    {"cores_b", "DXTC", 16384, 0},
};

std::uint64_t product(const Dim3& size) { return std::uint64_t{size.x} * size.y * size.z; }

TEST(ThesisGrids, AreThoseOfTheTables) {
  for (const Grid& grid : kGrids) {
    SCOPED_TRACE(std::string(grid.experiment) + " " + grid.app);
    const Experiment experiment = builtin_experiment("awatramani17/" + std::string(grid.experiment));
    std::size_t found = 0;
    for (const auto& [scale, sweep] : experiment.scales) {
      if (scale == "quick") continue;  // smaller inputs
      for (const sweep::SweepApp& app : sweep.apps) {
        if (app.name != grid.app) continue;
        ++found;
        const std::string& text = app.arguments.app;
        const std::size_t colon = std::min(text.find(':'), text.size());
        const runtime::AppInfo* info = runtime::find_app(text.substr(0, colon));
        ASSERT_NE(info, nullptr) << text;
        const std::string settings = colon < text.size() ? text.substr(colon + 1) : "";
        const runtime::AppInfo::KernelShape shape =
            info->shapes(runtime::parse_params(*info, settings)).front();
        EXPECT_NEAR(static_cast<double>(product(shape.grid)), static_cast<double>(grid.blocks),
                    static_cast<double>(grid.tolerance))
            << text;
        if (grid.threads != 0) {
          EXPECT_EQ(product(shape.block), grid.threads) << text;
        }
      }
    }
    EXPECT_EQ(found, 2U);  // standard and paper
  }
}

}  // namespace
}  // namespace gpumux::reproduce
