// A CUDA program as a process: its start, the exchange of messages with its run-time library, and its end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "program/protocol.hpp"

namespace gpumux::program {

/// An unnamed file that belongs to this process: device memory and the staging buffer, initially zero. Throws
/// UserError when the system provides none.
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

/// A program that a keeper controls (keeper.hpp). A program may consist of several processes. Its caller is
/// the process whose CUDA calls are served, see serve_sender(). Processes that merely inherited the socket do
/// not count.
class Process {
 public:
  /// Starts a program. `libraries`: first folder in which the program searches shared libraries. `silent`:
  /// the program has no input, and its output is dropped. Throws UserError when the program does not exist or
  /// cannot be started.
  Process(const std::vector<std::string>& command, const std::string& libraries, const MemoryFile& memory,
          bool silent);
  /// Exchanges messages over `socket`, whose other end already exists. The destructor closes the socket.
  /// There is no program for wait().
  explicit Process(int socket) : socket_(socket) {}
  /// Ends the program and all processes that it has started.
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  enum class Event : std::uint8_t {
    Request,
    CallerEnded,  // reported once, also after a signal
    Ended         // program and caller have ended, or no process can make calls any more
  };
  /// Waits for the next event. Throws UserError for bytes that are no request.
  Event receive(Request& request);
  /// Makes the process that sent the last request the program's caller.
  void serve_sender();
  /// True if the system reports that the caller has ended. Does not wait.
  [[nodiscard]] bool caller_has_ended() const;
  /// Sends an answer. Does nothing if the receiving process has ended.
  void answer(Error error, std::span<const std::byte> result, const std::string& printed,
              std::span<const std::byte> tail);
  /// True if the caller has only one thread and has started no other process.
  [[nodiscard]] bool is_one_thread() const;
  /// Waits for the program's end and returns its status as waitpid() does.
  int wait();

 private:
  bool read_head(RequestHead& head);
  bool read_all(void* to, std::size_t bytes);
  bool read_text(std::string& to, std::uint64_t bytes);
  bool write_all(std::span<const std::byte> bytes);
  /// Waits until the socket is ready for `events`. Returns false if the other end has closed.
  bool wait_for_sender(short events);
  void read_status();
  void end();

  int socket_ = -1;
  int control_ = -1;           // socket of the keeper
  int keeper_ = -1;            // the keeper's process; -1: already waited for
  std::optional<int> status_;  // of the program, when it has ended
  std::int64_t sender_ = 0;    // process of the last request; 0: unknown
  int sender_process_ = -1;    // its descriptor; -1: none, or the caller's is used
  std::int64_t caller_ = 0;
  int caller_process_ = -1;
  bool caller_ended_ = false;
  bool no_more_comes_ = false;  // the other end has closed for writing
};

/// The path of the program, which is searched in PATH if `name` has no slash. Throws UserError when there is
/// none.
[[nodiscard]] std::string find_program(const std::string& name);

}  // namespace gpumux::program
