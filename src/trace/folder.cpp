#include "trace/folder.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/text.hpp"
#include "trace/builder.hpp"
#include "trace/cursor.hpp"
#include "trace/kernel_text.hpp"
#include "trace/lines.hpp"

namespace gpumux::trace {
namespace {

namespace fs = std::filesystem;

constexpr const char* kCompressed[] = {".xz", ".gz", ".zst"};

/// True for the file name of a kernel's trace: KERNEL.traceg or KERNEL.trace, optionally compressed, or
/// KERNEL.tracez.
bool names_kernel(std::string_view name, std::string_view end) {
  for (const char* compressed : kCompressed) {
    if (!name.ends_with(compressed)) continue;
    name.remove_suffix(std::strlen(compressed));
    break;
  }
  return name.ends_with(end);
}

/// The path of a kernel's file: as the list names it, or with or without a suffix of compression.
std::string kernel_file(const LineReader& list, const fs::path& folder, const std::string& name) {
  std::string path = (folder / name).string();
  std::error_code ignored;
  if (fs::is_regular_file(path, ignored)) return path;
  for (const char* end : kCompressed) {
    std::string other = path.ends_with(end) ? path.substr(0, path.size() - std::strlen(end)) : path + end;
    if (fs::is_regular_file(other, ignored)) return other;
  }
  list.fail(fmt::format("there is no file {} in {}", name, folder.string()));
}

constexpr const char* kList = "kernelslist.g";

/// The path of the kernel list: `path` itself, or kernelslist.g in the folder `path`.
fs::path list_of(const std::string& path) {
  std::error_code ignored;
  return fs::is_directory(path, ignored) ? fs::path(path) / kList : fs::path(path);
}

}  // namespace

bool is_list(const std::string& path) {
  const std::string name = fs::path(path).filename().string();
  return name.starts_with("kernelslist") && name.ends_with(".g");
}

std::vector<std::string> other_lists(const std::string& path) {
  std::vector<std::string> others;
  std::error_code ignored;
  const fs::path list = list_of(path);
  if (!is_list(list.string())) return others;  // `path` is a compact file
  const fs::path folder = list.has_parent_path() ? list.parent_path() : fs::path(".");
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, ignored)) {
    const std::string name = entry.path().filename().string();
    if (is_list(name) && name != list.filename().string())
      others.push_back((list.parent_path() / name).string());
  }
  std::sort(others.begin(), others.end());
  return others;
}

namespace {

class FolderReader {
 public:
  FolderReader(const std::string& list, Output& output, Damaged damaged)
      : list_(list), folder_(fs::path(list).parent_path()), builder_(output), damaged_(damaged) {}

  ConvertSummary read() {
    std::string_view line;
    while (list_.next(line)) {
      const std::string_view text = trim(line);
      if (!text.empty()) read_command(text);
    }
    if (builder_.launches() == 0) {
      throw UserError({list_.path()},
                      summary_.left_out == 0
                          ? std::string("names no kernel")
                          : fmt::format("has no kernel that is whole ({} are left out)", summary_.left_out));
    }
    builder_.finish(versions_.sm);
    summary_.launches = builder_.launches();
    summary_.warp_instructions = builder_.warp_instructions();
    return std::move(summary_);
  }

 private:
  void read_command(std::string_view text) {
    if (text.starts_with("MemcpyHtoD") || text.starts_with("MemcpyDtoH")) {
      read_copy(text);
    } else if (names_kernel(text, ".traceg") || text.ends_with(".tracez")) {
      add_kernel(text);
    } else if (names_kernel(text, ".trace")) {
      list_.fail(
          fmt::format("'{}' is a raw trace; Accel-Sim's traces-processing makes .traceg files and "
                      "kernelslist.g of it",
                      text));
    } else {
      summary_.warnings.push_back(fmt::format(
          "{}:{}: '{}' is left out: no command that is known (MemcpyHtoD, MemcpyDtoH, or a kernel's file: "
          ".traceg, .traceg.xz, .traceg.gz, .traceg.zst, .tracez)",
          list_.path(), list_.number(), text.substr(0, 80)));
    }
  }

  void read_copy(std::string_view text) {
    const std::vector<std::string> parts = split(text, ',');
    const bool in = text.starts_with("MemcpyHtoD");
    const std::string where = parts.size() > 1 ? std::string(trim(parts[1])) : "";
    const std::optional<std::uint64_t> address =
        parse_uint(where.starts_with("0x") || where.empty() ? where : "0x" + where);
    const std::optional<std::uint64_t> bytes = parts.size() > 2 ? parse_uint(trim(parts[2])) : std::nullopt;
    if (parts.size() != 3 || !address || !bytes) {
      list_.fail(
          fmt::format("'{}' is no copy; {},0xADDRESS,BYTES was expected", text.substr(0, 80), parts[0]));
    }
    try {
      builder_.copy(in, *address, *bytes);
    } catch (const BuildError& error) {
      list_.fail(error.what);
    }
  }

  void add_kernel(std::string_view text) {
    try {
      const std::string file = kernel_file(list_, folder_, std::string(text));
      read_kernel(file, versions_, builder_);
      std::error_code ignored;
      summary_.text_bytes += fs::file_size(file, ignored);
    } catch (const UserError& error) {
      if (damaged_ == Damaged::Refuse) {
        throw UserError::from_line(std::string(error.what()) +
                                   "; gpumux convert --skip-damaged leaves out kernels that are not whole");
      }
      ++summary_.left_out;
      summary_.warnings.push_back(fmt::format("kernel {} is left out: {}", text, error.what()));
    }
  }

  LineReader list_;
  fs::path folder_;
  TraceBuilder builder_;
  TraceVersions versions_;
  Damaged damaged_;
  ConvertSummary summary_;
};

}  // namespace

ConvertSummary convert_folder(const std::string& path, Output& output, Damaged damaged) {
  std::error_code ignored;
  if (!fs::exists(path, ignored)) throw UserError({path}, "there is no such trace folder");
  const std::string list_path = list_of(path).string();
  if (!is_list(list_path)) throw UserError({path}, "is neither a trace folder nor a kernelslist*.g of one");
  if (!fs::exists(list_path, ignored)) {
    const std::vector<std::string> others = other_lists(path);
    if (others.empty()) throw UserError({path}, "is no trace folder: it has no kernelslist.g");
    throw UserError({path},
                    fmt::format("has no kernelslist.g; name one of its lists: {}", fmt::join(others, ", ")));
  }
  return FolderReader(list_path, output, damaged).read();
}

}  // namespace gpumux::trace
