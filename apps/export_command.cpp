// gpumux export DB [FILE] --csv [--cpus]|--json
#include <fmt/core.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <optional>

#include "base/error.hpp"
#include "base/files.hpp"
#include "base/temporary_file.hpp"
#include "commands.hpp"
#include "database/damage.hpp"
#include "database/export.hpp"

namespace gpumux::cli {
namespace {

/// An output file that appears when it is complete, or not at all.
class Output {
 public:
  explicit Output(std::string path) : path_(std::move(path)), target_(replaceable(path_)) {
    ResultFiles::check(path_);
    if (target_) temporary_.emplace(fmt::format("{}.part.{}", *target_, ::getpid()));
    written_ = temporary_ ? temporary_->path() : path_;
    file_ = std::fopen(written_.c_str(), target_ ? "wb" : "ab");
    if (file_ == nullptr) fail();
  }
  ~Output() {
    if (file_ != nullptr) std::fclose(file_);
    std::error_code ignored;
    if (!done_ && target_) std::filesystem::remove(written_, ignored);
  }
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;

  void write(std::string_view text) {
    if (std::fwrite(text.data(), 1, text.size(), file_) != text.size()) fail();
  }
  void finish() {
    std::FILE* file = std::exchange(file_, nullptr);
    if (std::fclose(file) != 0 || (target_ && std::rename(written_.c_str(), target_->c_str()) != 0)) fail();
    done_ = true;
  }

 private:
  [[noreturn]] void fail() const {
    throw UserError({path_}, fmt::format("cannot be written ({})", std::strerror(errno)));
  }
  std::string path_;
  std::optional<std::string> target_;  // target of the rename
  std::optional<TemporaryName> temporary_;
  std::string written_;
  std::FILE* file_ = nullptr;
  bool done_ = false;
};

}  // namespace

int export_command(const Arguments& args) {
  CLI::App app("Writes a database of results as text, to a file or to standard output.", "gpumux export");
  std::string db;
  std::string file;
  bool csv = false;
  bool json = false;
  bool cpus = false;
  app.add_option("DB", db, "database of `gpumux sweep`")->required();
  app.add_option("FILE", file, "written at once when it is complete [standard output]");
  app.add_flag("--csv", csv, "one line per application of each run [when FILE ends in .csv]");
  app.add_flag("--json", json, "one object per run, with its whole result [when FILE ends in .json]");
  app.add_flag("--cpus", cpus, "with CSV: one line per CPU core of each run that has a program instead");
  if (!parse(app, args)) return 0;
  if (!csv && !json) {  // by the ending of the file's name
    csv = file.ends_with(".csv");
    json = file.ends_with(".json");
  }
  if (csv == json)
    throw UserError("export needs one of --csv and --json, or a FILE that ends in .csv or .json");
  if (cpus && !csv) throw UserError("--cpus chooses the lines of CSV; --json has CPU cores in each run");
  if (file != kStandardOutput) check_apart({file}, {db});
  database::Connection connection(db, database::Access::Read);
  const auto write = cpus ? database::export_cpus_csv : csv ? database::export_csv : database::export_json;
  if (file.empty() || file == kStandardOutput) {
    database::reading(db, [&] {
      write(connection, [](std::string_view text) {
        if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size()) {
          throw UserError(fmt::format("standard output cannot be written ({})", std::strerror(errno)));
        }
      });
    });
    return 0;
  }
  Output output(file);
  database::reading(db, [&] { write(connection, [&](std::string_view text) { output.write(text); }); });
  output.finish();
  return 0;
}

}  // namespace gpumux::cli
