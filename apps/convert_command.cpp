// gpumux convert TRACE_FOLDER -o FILE.gmt
#include <fmt/core.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>

#include "base/error.hpp"
#include "commands.hpp"
#include "terminal.hpp"
#include "trace/folder.hpp"
#include "trace/output.hpp"

namespace gpumux::cli {

int convert_command(const Arguments& args) {
  CLI::App app(
      "Converts an Accel-Sim trace (kernelslist.g with .traceg, .traceg.xz, .traceg.gz, .traceg.zst or "
      ".tracez files) "
      "to the compact form.",
      "gpumux convert");
  std::string folder;
  std::string file;
  bool skip_damaged = false;
  bool quiet = false;
  app.add_option("TRACE", folder, "folder of the trace, or a kernelslist*.g in it")->required();
  app.add_option("-o,--output", file, "the compact file; its name ends in .gmt")
      ->type_name("FILE")
      ->required();
  app.add_flag("--skip-damaged", skip_damaged,
               "leave out kernels whose files are missing, damaged or incomplete, with a warning for each");
  app.add_flag("--quiet", quiet, "print nothing but errors");
  if (!parse(app, args)) return 0;
  if (!file.ends_with(".gmt")) {
    throw UserError({file}, "must end in .gmt, by which run and inspect know a compact trace");
  }
  ResultFiles::check(file);
  trace::FileOutput output(file);
  const trace::ConvertSummary summary =
      trace::convert_folder(folder, output, skip_damaged ? trace::Damaged::LeaveOut : trace::Damaged::Refuse);
  for (const std::string& warning : summary.warnings) say(fmt::format("warning: {}\n", warning));
  if (summary.left_out > 0 && !quiet)
    say(fmt::format("{} of {} kernels are left out\n", summary.left_out,
                    summary.launches + summary.left_out));
  if (const std::vector<std::string> others = trace::other_lists(folder); !others.empty() && !quiet)
    say(fmt::format("note: {}: other lists of kernels beside it are not converted: {}\n", folder,
                    fmt::join(others, ", ")));
  if (!quiet) {
    fmt::print("{}: {} launches, {} warp instructions; {} bytes of {} ({:.1f} times smaller)\n", file,
               summary.launches, summary.warp_instructions, output.position(), summary.text_bytes,
               static_cast<double>(summary.text_bytes) / static_cast<double>(output.position()));
  }
  return 0;
}

}  // namespace gpumux::cli
