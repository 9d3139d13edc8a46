// Runs a prepared program on a host: buffers, launches in streams, results.
#include <fmt/core.h>

#include <algorithm>
#include <deque>
#include <span>
#include <utility>

#include "base/error.hpp"
#include "experiment/prepared_program.hpp"

namespace gpumux::experiment {
namespace {

class FileApplication final : public runtime::Application {
 public:
  FileApplication(std::shared_ptr<const PreparedProgram> program, bool keep_outputs)
      : program_(std::move(program)), keep_outputs_(keep_outputs) {}

  runtime::Task run(runtime::Host& host, bool verify) override {
    const PreparedProgram& p = *program_;
    if (verify) {
      throw UserError(fmt::format("{}: --verify needs a reference, which only built-in apps have", p.text));
    }
    std::vector<std::uint32_t> modules;
    for (const PreparedProgram::Module& module : p.modules)
      modules.push_back(host.load_module(module.ptx, module.path));
    for (const PreparedProgram::Symbol& symbol : p.symbols) {
      const std::string& bytes = symbol.value.is_buffer ? symbol.value.content : symbol.value.scalar;
      if (bytes.empty()) continue;
      host.copy_to_symbol(modules[symbol.module], symbol.name, 0, std::as_bytes(std::span(bytes)), 0);
    }
    const std::vector<Address> buffers = allocate(host);
    launch(host, modules, buffers);

    Results results;
    const auto keep_later = [&](const KernelArgument& argument, Address from) {
      if (argument.output_path.empty()) return;
      results.emplace_back(&argument, std::string(argument.bytes, '\0'));
      host.copy_from_device(std::as_writable_bytes(std::span(results.back().second)), from, 0);
    };
    for (std::size_t i = 0; i < buffers.size(); ++i) keep_later(p.buffers[i].value, buffers[i]);
    for (const PreparedProgram::Symbol& symbol : p.symbols)
      keep_later(symbol.value, host.symbol_address(modules[symbol.module], symbol.name));
    co_await host.synchronize();
    keep(results);
    for (const Address buffer : buffers) host.free(buffer);
  }

 private:
  using Results = std::deque<std::pair<const KernelArgument*, std::string>>;  // elements must not move

  [[nodiscard]] std::vector<Address> allocate(runtime::Host& host) const {
    std::vector<Address> buffers;
    for (const PreparedProgram::Buffer& buffer : program_->buffers) {
      buffers.push_back(host.malloc_bytes(buffer.value.bytes));
      host.name_buffer(buffers.back(), buffer.title);
      // New memory of a device is zeroed.
      if (buffer.value.content.empty()) continue;
      host.copy_to_device(buffers.back(), std::as_bytes(std::span(buffer.value.content)), 0);
    }
    return buffers;
  }

  /// Enqueues all rounds. Operations enqueued on stream 0 afterwards wait for all rounds.
  void launch(runtime::Host& host, const std::vector<std::uint32_t>& modules,
              const std::vector<Address>& buffers) const {
    const PreparedProgram& p = *program_;
    std::vector<runtime::StreamId> streams = {0};
    while (streams.size() < p.streams) streams.push_back(host.create_stream());
    std::vector<bool> awaited(p.launches.size(), false);
    for (const PreparedProgram::Launch& launch : p.launches)
      for (const std::size_t earlier : launch.after) awaited[earlier] = true;
    std::vector<runtime::EventId> ends(p.launches.size());
    for (std::uint64_t round = 0; round < p.repeat; ++round) {
      fork(host, streams);  // after the initial copies, or the previous round
      for (std::size_t i = 0; i < p.launches.size(); ++i) {
        const PreparedProgram::Launch& launch = p.launches[i];
        runtime::LaunchSpec spec = launch.spec;
        spec.stream = streams[launch.spec.stream];
        for (const std::size_t earlier : launch.after) host.stream_wait_event(spec.stream, ends[earlier]);
        host.launch_raw(modules[launch.module], launch.kernel, spec, parameters(launch, buffers));
        if (!awaited[i]) continue;
        ends[i] = host.create_event();
        host.record_event(ends[i], spec.stream);
      }
      join(host, streams);
    }
  }

  /// Makes the other streams wait until stream 0 has reached this point.
  static void fork(runtime::Host& host, const std::vector<runtime::StreamId>& streams) {
    if (streams.size() == 1) return;
    const runtime::EventId begin = host.create_event();
    host.record_event(begin, 0);
    for (const runtime::StreamId stream : streams)
      if (stream != 0) host.stream_wait_event(stream, begin);
  }

  /// Makes stream 0 wait until the other streams have reached this point.
  static void join(runtime::Host& host, const std::vector<runtime::StreamId>& streams) {
    for (const runtime::StreamId stream : streams) {
      if (stream == 0) continue;
      const runtime::EventId end = host.create_event();
      host.record_event(end, stream);
      host.stream_wait_event(0, end);
    }
  }

  [[nodiscard]] static std::string parameters(const PreparedProgram::Launch& launch,
                                              const std::vector<Address>& buffers) {
    std::string all(launch.param_bytes, '\0');
    for (const PreparedProgram::Argument& argument : launch.arguments) {
      std::string bytes = argument.scalar;
      if (argument.buffer) {
        const Address address = buffers[*argument.buffer] + argument.buffer_offset;
        bytes.assign(reinterpret_cast<const char*>(&address), sizeof(address));
      }
      std::copy(bytes.begin(), bytes.end(), all.begin() + static_cast<std::ptrdiff_t>(argument.offset));
    }
    return all;
  }

  /// Keeps the outputs of the first run that completes; later runs repeat it.
  void keep(const Results& results) const {
    KernelOutputs& outputs = *program_->outputs;
    if (!keep_outputs_ || outputs.complete) return;
    outputs.complete = true;
    for (const auto& [argument, bytes] : results)
      outputs.files.push_back({argument->output_path, output_content(*argument, bytes)});
  }

  std::shared_ptr<const PreparedProgram> program_;
  bool keep_outputs_;
};

}  // namespace

std::unique_ptr<runtime::Application> make_application(std::shared_ptr<const PreparedProgram> program,
                                                       bool keep_outputs) {
  return std::make_unique<FileApplication>(std::move(program), keep_outputs);
}

}  // namespace gpumux::experiment
