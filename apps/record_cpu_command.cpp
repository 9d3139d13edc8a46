// gpumux record-cpu -o FILE [--skip N] [--limit N] -- PROGRAM [ARGUMENT...]
#include <fmt/core.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string>

#include "base/error.hpp"
#include "commands.hpp"

namespace gpumux::cli {
namespace {

/// Path of the recorder: beside this program (as built), or where it is installed.
std::string find_recorder() {
  std::error_code error;
  const std::filesystem::path folder = std::filesystem::read_symlink("/proc/self/exe", error).parent_path();
  for (const char* place : {"gpumux_recorder.so", "../lib/gpumux/gpumux_recorder.so"}) {
    const std::filesystem::path path = (folder / place).lexically_normal();
    if (std::filesystem::exists(path, error)) return path;
  }
  throw UserError(
      fmt::format("there is no {}: it is built where Capstone is (Debian's package libcapstone-dev)",
                  (folder / "gpumux_recorder.so").string()));
}

/// True if QEMU can load plugins. A statically linked QEMU cannot.
bool qemu_takes_plugins() {
  const std::unique_ptr<FILE, int (*)(FILE*)> help(::popen("qemu-x86_64 -help 2>/dev/null", "r"), ::pclose);
  if (!help) return true;  // starting QEMU will report the error
  std::string text;
  std::array<char, 4096> piece{};
  while (const std::size_t size = std::fread(piece.data(), 1, piece.size(), help.get()))
    text.append(piece.data(), size);
  return text.empty() || text.find("-plugin") != std::string::npos;
}

/// Escapes a value in a QEMU option, whose settings are separated by commas.
std::string escaped(const std::string& value) {
  std::string text;
  for (const char c : value) text += c == ',' ? std::string(",,") : std::string(1, c);
  return text;
}

}  // namespace

int record_cpu_command(Arguments args) {
  const auto dashes = std::find(args.begin(), args.end(), "--");
  Arguments program(dashes == args.end() ? dashes : dashes + 1, args.end());
  args.erase(dashes, args.end());
  CLI::App app(
      "Runs a program of x86-64 under qemu-x86_64 and writes what its first thread executes as a ChampSim "
      "trace. "
      "Ends with the program's exit code.",
      "gpumux record-cpu");
  std::string file;
  std::uint64_t skip = 0;
  std::uint64_t limit = 0;
  app.add_option("-o,--output", file, "the trace; compressed if its name ends in .zst")
      ->type_name("FILE")
      ->required();
  app.add_option("--skip", skip, "instructions before the first that is written")->type_name("N");
  const CLI::Option* limited =
      app.add_option("--limit", limit,
                     "instructions that are written; the program ends with the last (default: all)")
          ->type_name("N");
  app.footer("The program and its arguments come after --: gpumux record-cpu -o t.zst -- ./program 1 2");
  if (!parse(app, args)) return 0;
  if (limited->count() > 0 && limit == 0)
    throw UserError("--limit: 0 instructions are no trace; at least 1 is needed");
  if (program.empty()) throw UserError("record-cpu: a program is needed, after --");
  if (file.ends_with(".xz") || file.ends_with(".gz")) {
    throw UserError({file}, "CPU traces are written plain or as .zst");
  }
  ResultFiles::check(file);

  if (!qemu_takes_plugins())
    throw UserError(
        "record-cpu: this qemu-x86_64 takes no plugins, as that of Debian 13, which is linked statically; "
        "that of Debian 12's package qemu-user does");

  std::string plugin = fmt::format("{},out={},skip={}", escaped(find_recorder()), escaped(file), skip);
  if (limit > 0) plugin += fmt::format(",limit={}", limit);
  std::vector<std::string> words = {"qemu-x86_64", "-plugin", plugin};
  words.insert(words.end(), program.begin(), program.end());
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  ::execvp(pointers[0], pointers.data());
  throw UserError(
      fmt::format("qemu-x86_64 cannot be run ({}): Debian's package qemu-user has it", std::strerror(errno)));
}

}  // namespace gpumux::cli
