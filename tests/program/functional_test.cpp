// A program's calls, served in this process without a timing model: their results, not their times.
#include "program/functional.hpp"

#include <gtest/gtest.h>

#include <string>

#include "arch/config_file.hpp"
#include "base/error.hpp"
#include "program/application.hpp"

namespace gpumux::program {
namespace {

struct Served {
  Outcome outcome;
  std::uint64_t instructions = 0;
};

Served run(const std::string& name, const std::string& machine = "rtx2060") {
  Program of;
  of.command = {GPUMUX_CALLS, name};
  of.name = "calls";
  of.libraries = GPUMUX_CUDART_FOLDER;
  const auto shared = std::make_shared<const Program>(std::move(of));
  Served result;
  result.instructions =
      run_functionally(make_application(shared, true), shared->name, arch::load_machine(machine));
  result.outcome = *shared->outcome;
  return result;
}

void expect_fine(const std::string& name, std::uint64_t launches, const std::string& machine = "rtx2060") {
  SCOPED_TRACE(name);
  const Served of = run(name, machine);
  EXPECT_TRUE(of.outcome.ended);
  EXPECT_TRUE(of.outcome.connected);
  EXPECT_EQ(of.outcome.exit_code, 0);
  EXPECT_EQ(of.outcome.launches, launches);
}

TEST(Functional, ServesEveryKindOfCall) {
  expect_fine("copies", 0);
  expect_fine("symbols", 1);
  expect_fine("parameters", 2);
  expect_fine("shared", 5);
  expect_fine("print", 1);
  expect_fine("occupancy", 0);
  expect_fine("properties", 0);
  expect_fine("errors", 2);
  expect_fine("fork", 1);
}

TEST(Functional, PtxOfEachPackingOnAnyMachine) {
  for (const char* packing : {"add", "lz4", "raw"}) expect_fine(packing, 1);
  expect_fine("add", 1, "v100");  // older than the PTX
  expect_fine("add", 1, "h100-measured");
}

TEST(Functional, Repeats) {
  const Served first = run("add");
  // 10,000 threads: 312 whole warps and a half one that add; the last 7 find that there is nothing to do.
  EXPECT_GT(first.instructions, 313 * 8U);
  EXPECT_EQ(run("add").instructions, first.instructions);
}

TEST(Functional, EndsWithTheProgram) {
  EXPECT_EQ(run("code").outcome.exit_code, 7);
  EXPECT_FALSE(run("code").outcome.connected);
  EXPECT_THROW(run("signal"), SimulationFault);
  EXPECT_EQ(run("wild").outcome.exit_code, 0);  // its calls return the error, as it expects
  EXPECT_THROW(run("machine-code"), UserError);
}

}  // namespace
}  // namespace gpumux::program
