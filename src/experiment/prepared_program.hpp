// A program of a user's kernels after reading and checking, shared by all its instances.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "experiment/file_program.hpp"
#include "experiment/kernel_arguments.hpp"
#include "isa/instruction.hpp"
#include "runtime/application.hpp"
#include "runtime/host.hpp"

namespace gpumux::experiment {

struct PreparedProgram {
  struct Module {
    std::string path;
    std::string ptx;
  };
  /// A variable of a module and its initial content.
  struct Symbol {
    std::size_t module = 0;
    std::string name;  // in the PTX
    KernelArgument value;
  };
  struct Buffer {
    std::string title;  // for messages: "--arg 1 (x.bin)", "buffer x"
    KernelArgument value;
  };
  struct Argument {
    std::uint64_t offset = 0;           // in the kernel's parameters, bytes
    std::string scalar;                 // bytes of the value, unless it is a buffer
    std::optional<std::size_t> buffer;  // index in `buffers`
    std::uint64_t buffer_offset = 0;    // bytes
  };
  struct Launch {
    std::size_t module = 0;
    std::string kernel;
    runtime::LaunchSpec spec;  // `stream` is an index: 0 is the host's default stream
    std::vector<Argument> arguments;
    std::uint32_t param_bytes = 0;
    std::vector<std::size_t> after;  // earlier launches that it waits for
  };

  std::string text;
  std::vector<Module> modules;
  std::vector<Symbol> symbols;
  std::vector<Buffer> buffers;
  std::vector<Launch> launches;
  std::uint64_t repeat = 1;
  std::uint32_t streams = 1;  // number of streams that the launches use, with stream 0
  std::shared_ptr<KernelOutputs> outputs;
};

/// An application that runs the program. `keep_outputs`: its first run that completes fills
/// PreparedProgram::outputs, if still empty.
[[nodiscard]] std::unique_ptr<runtime::Application> make_application(
    std::shared_ptr<const PreparedProgram> program, bool keep_outputs);

}  // namespace gpumux::experiment
