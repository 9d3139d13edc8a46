// A program of a user's kernels, read and checked: what its instances share.
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
  /// A variable of a module and what it holds at the start.
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
    std::uint64_t offset = 0;           // in the kernel's parameters
    std::string scalar;                 // its bytes, unless it is a buffer
    std::optional<std::size_t> buffer;  // of `buffers`
    std::uint64_t buffer_offset = 0;    // bytes
  };
  struct Launch {
    std::size_t module = 0;
    std::string kernel;
    runtime::LaunchSpec spec;  // its stream is an index: 0 is the host's default stream
    std::vector<Argument> arguments;
    std::uint32_t param_bytes = 0;
    std::vector<std::size_t> after;  // earlier launches
  };

  std::string text;
  std::vector<Module> modules;
  std::vector<Symbol> symbols;
  std::vector<Buffer> buffers;
  std::vector<Launch> launches;
  std::uint64_t repeat = 1;
  std::uint32_t streams = 1;  // as many as the launches use, and stream 0
  std::shared_ptr<KernelOutputs> outputs;
};

/// `keep_outputs`: its first run that ends fills PreparedProgram::outputs, if none has.
[[nodiscard]] std::unique_ptr<runtime::Application> make_application(
    std::shared_ptr<const PreparedProgram> program, bool keep_outputs);

}  // namespace gpumux::experiment
