// A CUDA program as a process: its start, the conversation with the run-time library in it, and its end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
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

/// A program in the care of a keeper (keeper.hpp). Its caller is the process, of those that it consists of,
/// whose CUDA calls are served: see serve_sender(). Who has merely inherited the socket counts for nothing.
class Process {
 public:
  /// Starts it, with `libraries` as the first folder in which it finds shared libraries. `silent`: it reads
  /// nothing, and what it prints is dropped. Throws UserError when there is no such program or it cannot be
  /// started.
  Process(const std::vector<std::string>& command, const std::string& libraries, const MemoryFile& memory,
          bool silent);
  /// A conversation with who has the other end of `socket` already, which is closed at the end. There is no
  /// program whose end wait() could wait for.
  explicit Process(int socket) : socket_(socket) {}
  /// Ends it, and all that it has started.
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  enum class Event : std::uint8_t {
    Request,
    CallerEnded,  // once: by itself, or by a signal
    Ended         // the program and its caller, or nobody can make calls any more
  };
  /// Waits for the next of them. Throws UserError for what no request is.
  Event receive(Request& request);
  /// The process that has sent the last request is the program's caller.
  void serve_sender();
  /// The caller has ended, as far as the system says so: without waiting.
  [[nodiscard]] bool caller_has_ended() const;
  /// A process that has gone takes no answer: then nothing happens.
  void answer(Error error, std::span<const std::byte> result, const std::string& printed,
              std::span<const std::byte> tail);
  /// It has no other thread than the one that calls, and no process that it has started.
  [[nodiscard]] bool is_one_thread() const;
  /// Waits for the program's end. As waitpid() gives it.
  int wait();

 private:
  bool read_head(RequestHead& head);
  bool read_all(void* to, std::size_t bytes);
  bool read_text(std::string& to, std::uint64_t bytes);
  bool write_all(std::span<const std::byte> bytes);
  /// Waits until the socket is ready for `events`. False: the other end has gone.
  bool wait_for_sender(short events);
  void read_status();
  void end();

  int socket_ = -1;
  int control_ = -1;           // to the keeper
  int keeper_ = -1;            // its process; -1: has been waited for
  std::optional<int> status_;  // of the program, once it has ended
  std::int64_t sender_ = 0;    // process of the last request; 0: it cannot be told
  int sender_process_ = -1;    // a descriptor of it; -1: of the caller, or none
  std::int64_t caller_ = 0;
  int caller_process_ = -1;
  bool caller_ended_ = false;
  bool no_more_comes_ = false;  // the other end writes nothing from now on
};

/// Of the program in PATH, or by its path. Throws UserError when there is none.
[[nodiscard]] std::string find_program(const std::string& name);

}  // namespace gpumux::program
