// A CUDA program as a process: its start, the conversation with the run-time library in it, and its end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "program/protocol.hpp"

namespace gpumux::program {

/// A file of the process alone, without a name: device memory and the staging buffer, zero where nothing was
/// written. Throws UserError when the system gives none.
class MemoryFile {
 public:
  MemoryFile();
  ~MemoryFile();
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  [[nodiscard]] int descriptor() const { return descriptor_; }
  [[nodiscard]] std::byte* staging() const { return staging_; }

 private:
  int descriptor_;
  std::byte* staging_;
};

struct Request {
  Call call = Call::Hello;
  std::string arguments;
  std::string tail;
};

class Process {
 public:
  /// Starts it, with `libraries` as the first folder in which it finds shared libraries. `silent`: it reads
  /// nothing, and what it prints is dropped. Throws UserError when there is no such program or it cannot be
  /// started.
  Process(const std::vector<std::string>& command, const std::string& libraries, const MemoryFile& memory,
          bool silent);
  /// Kills it if it still runs.
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  /// Waits for the next request. False when the program has ended, or closed the socket. Throws UserError for
  /// what no request is.
  bool receive(Request& request);
  /// A program that has gone takes no answer: then nothing happens.
  void answer(Error error, std::span<const std::byte> result, const std::string& printed,
              std::span<const std::byte> tail);
  /// Waits for its end. As waitpid() gives it.
  int wait();

 private:
  bool read_all(void* to, std::size_t bytes);
  bool write_all(std::span<const std::byte> bytes);

  int socket_ = -1;
  int process_ = -1;  // -1: has been waited for
};

/// Of the program in PATH, or by its path. Throws UserError when there is none.
[[nodiscard]] std::string find_program(const std::string& name);

}  // namespace gpumux::program
