#include "trace/application.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "trace/folder.hpp"
#include "trace/kernel.hpp"

namespace gpumux::trace {

runtime::Task TraceApplication::run(runtime::Host& host, bool verify) {
  if (verify) {
    throw UserError(fmt::format("{}: --verify has nothing to check: a trace holds no data", trace_->name()));
  }
  // The trace's first stream is the default stream. The other streams are created here.
  std::vector<runtime::StreamId> streams = {0};
  while (streams.size() < trace_->streams()) streams.push_back(host.create_stream());
  for (const Command& command : trace_->commands()) {
    if (command.kind == CommandKind::Launch) {
      host.launch_source(
          [this, &command](workload::DeviceMemory& memory, std::uint32_t shared_banks) {
            return make_kernel(trace_, command.launch, memory, shared_banks);
          },
          streams[command.stream]);
    } else {
      co_await host.synchronize();
      host.copy_unseen(command.kind == CommandKind::CopyToDevice, command.address, command.bytes, 0);
      co_await host.synchronize();
    }
  }
  co_await host.synchronize();
}

bool is_trace(const std::string& path) {
  std::error_code ignored;
  return path.ends_with(".gmt") || is_list(path) || std::filesystem::is_directory(path, ignored);
}

std::shared_ptr<const Trace> load_trace(const std::string& path, std::vector<std::string>* warnings) {
  if (path.ends_with(".gmt")) return Trace::open(path);
  MemoryOutput output;
  ConvertSummary summary = convert_folder(path, output);
  if (warnings != nullptr)
    std::move(summary.warnings.begin(), summary.warnings.end(), std::back_inserter(*warnings));
  return Trace::from_bytes(output.take(), path);
}

}  // namespace gpumux::trace
