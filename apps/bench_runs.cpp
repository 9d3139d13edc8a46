#include "bench_runs.hpp"

#include <fmt/core.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <filesystem>

#include "base/error.hpp"
#include "base/exit_code.hpp"
#include "experiment/make_app.hpp"
#include "terminal.hpp"
#include "trace/application.hpp"

namespace gpumux::cli {

Measured in_child(const std::string& what, const std::function<Measured()>& work) {
  std::array<int, 2> pipe{};
  if (::pipe(pipe.data()) != 0) throw UserError(fmt::format("bench: no pipe ({})", std::strerror(errno)));
  std::fflush(nullptr);
  const pid_t child = ::fork();
  if (child < 0) throw UserError(fmt::format("bench: no child process ({})", std::strerror(errno)));
  if (child == 0) {
    ::close(pipe[0]);
    int code = 1;
    try {
      const Measured measured = work();
      code = ::write(pipe[1], &measured, sizeof measured) == sizeof measured ? 0 : 1;
    } catch (...) {
      const Failure failure = current_failure();
      say(fmt::format("bench {}: {}\n", what, failure.text));
      code = failure.exit_code;
    }
    ::_exit(code);
  }
  ::close(pipe[1]);
  Measured measured;
  ssize_t got = 0;
  do {
    got = ::read(pipe[0], &measured, sizeof measured);
  } while (got < 0 && errno == EINTR);
  ::close(pipe[0]);
  int status = 0;
  struct rusage usage {};
  while (::wait4(child, &status, 0, &usage) < 0 && errno == EINTR) {
  }
  if (got != sizeof measured || !WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    const bool for_want = WIFEXITED(status) ? WEXITSTATUS(status) != kOurFault : WTERMSIG(status) == SIGKILL;
    if (for_want) throw UserError(fmt::format("bench: {} did not finish", what));
    throw InternalError(fmt::format("bench: {} did not finish", what));
  }
  measured.peak_memory_bytes = static_cast<std::uint64_t>(usage.ru_maxrss) * 1024;
  return measured;
}

std::vector<Repeated> in_turns(const std::string& what, const std::vector<std::function<Measured()>>& works,
                               unsigned repeats) {
  std::vector<Repeated> all(works.size());
  for (unsigned i = 0; i < repeats; ++i) {
    for (std::size_t w = 0; w < works.size(); ++w) {
      const Measured now = in_child(what, works[w]);
      if (i == 0 || now.wall_seconds < all[w].fastest.wall_seconds) all[w].fastest = now;
      all[w].seconds.push_back(now.wall_seconds);
    }
  }
  return all;
}

TraceFiles::TraceFiles(std::uint32_t blocks) : blocks_(blocks) {
  std::string pattern = (std::filesystem::temp_directory_path() / "gpumux-bench-XXXXXX").string();
  if (::mkdtemp(pattern.data()) == nullptr)
    throw UserError({pattern}, "cannot be made; set TMPDIR to a folder with room for 20 MB");
  folder_ = pattern;
}

TraceFiles::~TraceFiles() {
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

const std::string& TraceFiles::path(trace::ReferenceKernel kernel, std::uint32_t blocks) {
  std::string& path = paths_[{kernel, blocks}];
  if (path.empty()) {
    path = fmt::format("{}/{}-{}.gmt", folder_, trace::name(kernel), blocks);
    trace::FileOutput output(path);
    trace::write_reference(kernel, blocks, output);
  }
  return path;
}

Measured run_trace(const std::string& path, std::uint32_t copies, const arch::MachineConfig& machine,
                   const std::string& policy, unsigned threads) {
  const auto begin = std::chrono::steady_clock::now();
  experiment::RunSpec spec;
  spec.machine = machine;
  spec.policy = policy::parse_choice(policy);
  spec.threads = threads;
  const auto opened = trace::load_trace(path);
  for (std::uint32_t i = 0; i < copies; ++i) spec.apps.push_back(experiment::trace_app(path, opened));
  const experiment::RunResult result = experiment::simulate(spec);
  const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - begin;
  return {wall.count(), result.cycles, result.gpu.warp_instructions, result.gpu.l1_accesses, 0};
}

}  // namespace gpumux::cli
