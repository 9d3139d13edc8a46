#include "trace/folder.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <optional>
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

/// The kernel's file: as named, or compressed, or uncompressed.
std::string kernel_file(const LineReader& list, const fs::path& folder, const std::string& name) {
  std::string path = (folder / name).string();
  std::error_code ignored;
  if (fs::is_regular_file(path, ignored)) return path;
  std::string other = path.ends_with(".xz") ? path.substr(0, path.size() - 3) : path + ".xz";
  if (fs::is_regular_file(other, ignored)) return other;
  list.fail(fmt::format("there is no file {} in {}", name, folder.string()));
}

constexpr const char* kList = "kernelslist.g";

/// The list that `path` means: itself, or that of the folder.
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
  if (!is_list(list.string())) return others;  // a compact file
  const fs::path folder = list.has_parent_path() ? list.parent_path() : fs::path(".");
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, ignored)) {
    const std::string name = entry.path().filename().string();
    if (is_list(name) && name != list.filename().string())
      others.push_back((list.parent_path() / name).string());
  }
  std::sort(others.begin(), others.end());
  return others;
}

ConvertSummary convert_folder(const std::string& path, Output& output) {
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
  const fs::path folder = fs::path(list_path).parent_path();
  LineReader list(list_path);
  TraceBuilder builder(output);
  TraceVersions versions;
  ConvertSummary summary;
  std::string_view line;
  while (list.next(line)) {
    const std::string_view text = trim(line);
    if (text.empty()) continue;
    if (text.starts_with("Memcpy")) {
      const std::vector<std::string> parts = split(text, ',');
      const bool in = parts[0] == "MemcpyHtoD";
      if (!in && parts[0] != "MemcpyDtoH") {
        list.fail(
            fmt::format("'{}' is no command; known: MemcpyHtoD, MemcpyDtoH, or a kernel's file", parts[0]));
      }
      const std::string where = parts.size() > 1 ? std::string(trim(parts[1])) : "";
      const std::optional<std::uint64_t> address =
          parse_uint(where.starts_with("0x") || where.empty() ? where : "0x" + where);
      const std::optional<std::uint64_t> bytes = parts.size() > 2 ? parse_uint(trim(parts[2])) : std::nullopt;
      if (parts.size() != 3 || !address || !bytes) {
        list.fail(
            fmt::format("'{}' is no copy; {},0xADDRESS,BYTES was expected", text.substr(0, 80), parts[0]));
      }
      try {
        builder.copy(in, *address, *bytes);
      } catch (const BuildError& error) {
        list.fail(error.what);
      }
    } else if (text.ends_with(".traceg") || text.ends_with(".traceg.xz")) {
      const std::string file = kernel_file(list, folder, std::string(text));
      summary.text_bytes += fs::file_size(file, ignored);
      read_kernel(file, versions, builder);
    } else if (text.ends_with(".trace") || text.ends_with(".trace.xz")) {
      list.fail(
          fmt::format("'{}' is a raw trace; Accel-Sim's traces-processing makes .traceg files and "
                      "kernelslist.g of it",
                      text));
    } else {
      list.fail(
          fmt::format("'{}' is no command; known: MemcpyHtoD, MemcpyDtoH, or a kernel's file (.traceg, "
                      ".traceg.xz)",
                      text.substr(0, 80)));
    }
  }
  if (builder.launches() == 0) throw UserError({list_path}, "names no kernel");
  builder.finish(versions.sm);
  summary.launches = builder.launches();
  summary.warp_instructions = builder.warp_instructions();
  return summary;
}

}  // namespace gpumux::trace
