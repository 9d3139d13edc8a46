#include "trace/folder.hpp"

#include <fmt/core.h>

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

}  // namespace

ConvertSummary convert_folder(const std::string& path, Output& output) {
  fs::path folder = path;
  std::error_code ignored;
  if (!fs::is_directory(folder, ignored)) {
    if (!fs::exists(folder, ignored)) throw UserError({path}, "there is no such trace folder");
    if (folder.filename() != "kernelslist.g")
      throw UserError({path}, "is neither a trace folder nor its kernelslist.g");
    folder = folder.parent_path();
  }
  const std::string list_path = (folder / "kernelslist.g").string();
  if (!fs::exists(list_path, ignored)) throw UserError({path}, "is no trace folder: it has no kernelslist.g");
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
