// gpumux import-config gpgpusim.config [trace.config] [-o FILE.toml]
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "arch/gpgpusim_config.hpp"
#include "base/error.hpp"
#include "base/files.hpp"
#include "commands.hpp"
#include "terminal.hpp"

namespace gpumux::cli {

int import_config_command(const Arguments& args) {
  CLI::App app(
      "Makes a machine file of a GPGPU-Sim configuration. With Accel-Sim's trace.config beside it, units "
      "have the "
      "latencies of traces, otherwise those of PTX instructions. What cannot be expressed is told, and "
      "stands in the "
      "file as a comment.",
      "gpumux import-config");
  std::vector<std::string> configs;
  std::string file = kStandardOutput;
  bool quiet = false;
  app.add_option("CONFIG", configs,
                 "gpgpusim.config, and trace.config; of an option that comes twice the last counts")
      ->required()
      ->expected(1, -1);
  app.add_option("-o,--output", file, "the machine file; its name ends in .toml [standard output]")
      ->type_name("FILE");
  app.add_flag("--quiet", quiet, "print nothing but errors, and the machine file where it has no name");
  if (!parse(app, args)) return 0;
  if (file != kStandardOutput && !file.ends_with(".toml"))
    throw UserError({file}, "must end in .toml, by which --machine knows a machine file");
  ResultFiles::check(file);
  check_apart({file}, configs);
  std::vector<arch::GpgpusimFile> files;
  files.reserve(configs.size());
  for (const std::string& config : configs) files.push_back({config, read_file(config)});
  const arch::ImportedMachine imported = arch::import_gpgpusim(files);
  ResultFiles results;
  results.add(file, imported.toml);
  results.write();
  if (quiet) return 0;
  for (const arch::ImportedMachine::Warning& warning : imported.warnings) say(warning.line() + "\n");
  if (file != kStandardOutput) {
    fmt::print("{}: {} options read; {} warnings of what is not expressed, or not as there\n", file,
               imported.options, imported.warnings.size());
  }
  return 0;
}

}  // namespace gpumux::cli
