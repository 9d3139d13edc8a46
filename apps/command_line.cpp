// Parts that all commands share: CLI11 with gpumux's messages, and result files.
#include <fmt/core.h>
#include <unistd.h>
#include <cerrno>
#include <cstring>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <deque>
#include <filesystem>
#include <memory>
#include <optional>
#include <set>

#include "base/error.hpp"
#include "base/files.hpp"
#include "base/temporary_file.hpp"
#include "base/text.hpp"
#include "commands.hpp"

namespace gpumux::cli {
namespace {

namespace fs = std::filesystem;

/// Reports unknown options with the nearest known one. CLI11 would only report that an argument was not
/// expected.
void check_option_names(const CLI::App& app, const Arguments& args) {
  std::vector<std::string> known;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) known.push_back("--" + name);
    for (const std::string& name : option->get_snames()) known.push_back("-" + name);
  }
  for (const std::string& arg : args) {
    if (arg.size() < 2 || arg[0] != '-' || parse_double(arg)) continue;
    const std::string name = arg.substr(0, arg.find('='));
    bool found = false;
    for (const std::string& choice : known) found = found || choice == name;
    if (!found) throw UserError(unknown_choice("option", name, known));
  }
}

/// Formats help with the kind of each value: `--threads 1..256`, `--baseline auto|off`, `--json FILE`.
class HelpFormatter : public CLI::Formatter {
 public:
  [[nodiscard]] std::string make_option_name(const CLI::Option* option, bool positional) const override {
    std::string name = CLI::Formatter::make_option_name(option, positional);
    if (const std::size_t value = name.find('{'); value != std::string::npos) {  // value is optional
      name = fmt::format("{}[={}]", name.substr(0, value), value_of(*option));
    }
    return name;
  }
  [[nodiscard]] std::string make_option_opts(const CLI::Option* option) const override {
    std::string text;
    const bool has_value = option->get_expected_max() > 0 && option->get_expected_min() > 0;
    if (!option->get_positional() && has_value) text = " " + value_of(*option);
    if (option->get_expected_max() == CLI::detail::expected_max_vector_size) text += " ...";
    if (!option->get_default_str().empty()) text += fmt::format(" [{}]", option->get_default_str());
    if (option->get_required()) text += option->get_positional() ? "" : " (required)";
    for (const CLI::Option* other : option->get_excludes())
      text += fmt::format(" (not with {})", other->get_name());
    return text;
  }

 private:
  /// The values of an option, from CLI11's type name with its checks: "UINT:INT in [1 - 256]",
  /// "TEXT:{auto,off}".
  static std::string value_of(const CLI::Option& option) {
    const std::string type = option.get_type_name();
    const std::string check = type.substr(std::min(type.size(), type.find(':') + 1));
    if (type.find(':') == std::string::npos) return type == "UINT" || type == "INT" ? "N" : type;
    if (check.starts_with('{')) return replace_all(check.substr(1, check.size() - 2), ",", "|");
    const std::size_t range = check.find('[');
    return range == std::string::npos
               ? type.substr(0, type.find(':'))
               : replace_all(check.substr(range + 1, check.size() - range - 2), " - ", "..");
  }
};

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

}  // namespace

bool parse(CLI::App& app, const Arguments& args) {
  check_option_names(app, args);
  const auto formatter = std::make_shared<HelpFormatter>();
  formatter->column_width(36);
  app.formatter(formatter);
  try {
    app.parse(std::vector<std::string>(args.rbegin(), args.rend()));
  } catch (const CLI::CallForHelp&) {
    std::fputs(app.help().c_str(), stdout);
    return false;
  } catch (const CLI::ParseError& error) {
    throw UserError(first_line(error.what()));
  }
  return true;
}

void check_apart(const std::vector<std::string>& results, const std::vector<std::string>& read) {
  // The canonical path of a file. For a file that does not exist yet, this is the path in its canonical
  // folder.
  const auto name = [](const std::string& path) {
    std::error_code error;
    const fs::path whole = fs::weakly_canonical(fs::absolute(path), error);
    if (error) throw UserError({path}, fmt::format("cannot be used ({})", error.message()));
    return whole.string();
  };
  std::set<std::string> taken;
  for (const std::string& path : results) {
    if (!path.empty() && (path == kStandardOutput || replaceable(path)) && !taken.insert(name(path)).second)
      throw UserError({path}, "would be written twice; give each result its own file");
  }
  for (const std::string& path : read) {
    for (const char* companion : {"", "-wal", "-shm", "-journal"}) {
      if (path.empty() || !replaceable(path + companion) || !taken.contains(name(path + companion))) continue;
      throw UserError({path + companion}, "would be overwritten by a result; give the result its own file");
    }
  }
}

void ResultFiles::check(const std::string& path) {
  if (path.empty()) throw UserError("the name of a result file is empty");
  if (path == kStandardOutput) return;
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) throw UserError({path}, "is a folder; a file name was expected");
  if (!replaceable(path)) {
    if (::access(path.c_str(), W_OK) == 0) return;
    throw UserError({path}, errno == EROFS ? "cannot be written: it is on a read-only file system"
                                           : "cannot be written: no permission");
  }
  fs::path folder = fs::path(path).parent_path();
  if (folder.empty()) folder = ".";
  if (!fs::is_directory(folder, ignored)) {
    throw UserError({path}, fmt::format("cannot be written: there is no folder {}", folder.string()));
  }
  if (::access(folder.c_str(), W_OK) != 0) {
    if (errno == EROFS) throw UserError({path}, "cannot be written: it is on a read-only file system");
    throw UserError({path}, fmt::format("cannot be written: no permission in {}", folder.string()));
  }
}

void ResultFiles::add(std::string path, std::string content) {
  files_.push_back({std::move(path), std::move(content)});
}

void ResultFiles::write() const {
  // All contents are on disk before the first file appears under its name.
  const std::string suffix = fmt::format(".part.{}", ::getpid());
  std::vector<std::pair<const File*, std::string>> targets;
  for (const File& file : files_) {
    if (file.path == kStandardOutput) continue;
    if (const auto target = replaceable(file.path)) targets.emplace_back(&file, *target);
  }
  std::deque<TemporaryName> temporaries;  // its elements must not move
  for (const auto& [file, target] : targets) temporaries.emplace_back(target + suffix);
  std::error_code error;
  try {
    for (const auto& [file, target] : targets) {
      try {
        write_file_atomically(target + suffix, file->content);
      } catch (const UserError&) {  // it names the temporary file
        throw UserError({file->path}, fmt::format("cannot be written ({})", std::strerror(errno)));
      }
    }
    for (const auto& [file, target] : targets) {
      fs::rename(target + suffix, target, error);
      if (error) throw UserError({file->path}, fmt::format("cannot be written ({})", error.message()));
    }
  } catch (...) {
    std::error_code ignored;
    for (const auto& [file, target] : targets) fs::remove(target + suffix, ignored);
    throw;
  }
  for (const File& file : files_) {
    if (file.path == kStandardOutput) {
      std::fwrite(file.content.data(), 1, file.content.size(), stdout);  // checked when the command ends
    } else if (!replaceable(file.path)) {
      write_file_atomically(file.path, file.content);
    }
  }
}

}  // namespace gpumux::cli
