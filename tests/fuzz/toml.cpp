// TOML text, which is read as a machine, a workload, a sweep, a paper's claims and an experiment.
#include "arch/config_file.hpp"
#include "experiment/workload_file.hpp"
#include "reproduce/claims.hpp"
#include "reproduce/experiment.hpp"
#include "sweep/sweep_file.hpp"

#include "fuzz.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace gpumux;
  const std::string_view text = fuzz::text_of(data, size);
  static const std::string machine_file = fuzz::folder() + "/m.toml";
  fuzz::write(machine_file, text);
  fuzz::expect_value_or_error([&] { (void)arch::to_toml(arch::load_machine(machine_file, {})); });
  fuzz::expect_value_or_error([&] { (void)experiment::parse_workload(text, "w.toml"); });
  for (const char* scale : {"", "quick"})
    fuzz::expect_value_or_error([&] { (void)sweep::parse_sweep(text, "s.toml", scale); });
  fuzz::expect_value_or_error([&] { (void)reproduce::parse_claims(text, "c.toml"); });
  fuzz::expect_value_or_error([&] {
    reproduce::Sources sources;
    sources.file = [](const std::string& name) -> std::string {
      throw UserError({name}, "is not read here");
    };
    sources.claims = [](const std::string& name) -> reproduce::PaperClaims {
      throw UserError({name}, "is not read here");
    };
    (void)reproduce::parse_experiment(text, "e.toml", "e", sources);
  });
  return 0;
}
