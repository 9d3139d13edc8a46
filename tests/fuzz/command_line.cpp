// The command line. The first byte selects a command, and each line of the rest is an argument. The last
// argument of each command cannot be fulfilled, so that nothing is simulated or written.
#include <array>

#include "apps/commands.hpp"
#include "base/text.hpp"
#include "fuzz.hpp"

namespace {

using gpumux::cli::Arguments;

struct Command {
  int (*run)(const Arguments&);
  std::array<const char*, 2> impossible;
};
constexpr std::array<Command, 9> kCommands = {{
    {[](const Arguments& args) { return gpumux::cli::run_command(args); },
     {"--json", "/nowhere/at/all.json"}},
    {[](const Arguments& args) { return gpumux::cli::profile_command(args); },
     {"-o", "/nowhere/at/all.json"}},
    {&gpumux::cli::sweep_command, {"--db", "/nowhere/at/all.sqlite"}},
    {&gpumux::cli::export_command, {"/nowhere/at/all.sqlite", "/nowhere/at/all.csv"}},
    {&gpumux::cli::report_command, {"-o", "/nowhere/at/all.html"}},
    {&gpumux::cli::convert_command, {"-o", "/nowhere/at/all.gmt"}},
    {&gpumux::cli::reproduce_command, {"--db", "/nowhere/at/all.sqlite"}},
    {&gpumux::cli::list_command, {"machines", "--nothing"}},
    {&gpumux::cli::import_config_command, {"-o", "/nowhere/at/all.toml"}},
}};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace gpumux;
  if (size == 0) return 0;
  static const bool quiet = std::freopen("/dev/null", "w", stdout) != nullptr;
  if (!quiet) ::abort();
  const Command& command = kCommands[data[0] % kCommands.size()];
  Arguments args = split(fuzz::text_of(data + 1, size - 1), '\n');
  for (const std::string& arg : args) {
    if (arg.starts_with("/dev/") || arg.find("=/dev/") != std::string::npos)
      return 0;                                             // it would wait for input
    if (arg == "--" || arg.starts_with("--app")) return 0;  // a program would be executed
  }
  for (const char* word : command.impossible) args.emplace_back(word);
  fuzz::expect_value_or_error([&] { (void)command.run(args); });
  return 0;
}
