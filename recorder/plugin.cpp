// A plugin of QEMU's user mode that writes the instructions of a program's first thread as a ChampSim trace:
//   qemu-x86_64 -plugin gpumux_recorder.so,out=t.zst[,skip=N][,limit=N] ./program
// skip: number of instructions before the first record. limit: number of records (default: all). The program
// ends with the last record.
#include <fmt/core.h>
#include <unistd.h>

#include <charconv>
#include <cstdio>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/error.hpp"
#include "cpu/trace/trace_writer.hpp"
#include "recorder/qemu_plugin.hpp"
#include "recorder/x86.hpp"

namespace gpumux::recorder {
namespace {

class Recorder {
 public:
  Recorder(const std::string& path, std::uint64_t skip, std::uint64_t limit)
      : writer_(path), skip_(skip), limit_(limit), process_(::getpid()) {}

  /// The decoded instruction, which lives as long as the recorder. QEMU translates the same code repeatedly,
  /// on any thread, so the result is kept.
  Instruction* instruction(std::uint64_t ip, std::string_view bytes) {
    const std::lock_guard lock(mutex_);
    std::unique_ptr<Instruction>& known = known_[{ip, std::string(bytes)}];
    if (known == nullptr) {
      known = std::make_unique<Instruction>(
          decoder_.decode(ip, {reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()}));
    }
    return known.get();
  }

  void executes(const Instruction& instruction) {
    if (current_ != nullptr) finish(instruction.record.ip);
    current_ = &instruction;
    record_ = instruction.record;
    loads_ = 0;
    stores_ = 0;
  }

  void accesses(std::uint64_t address, bool store) {
    if (current_ == nullptr) return;
    if (!store || current_->exchanges) add(record_.source_memory, loads_, address);
    if (store) add(record_.destination_memory, stores_, address);
  }

  /// Finishes the trace when the program ends.
  void end() {
    if (current_ != nullptr) finish(current_->next_ip);
    current_ = nullptr;
    if (!closed_ && ::getpid() == process_) writer_.close();
    closed_ = true;
  }

 private:
  /// Adds an address to the record. QEMU splits an access of a vector operand into several, so accesses to
  /// one piece of 64 bytes count once.
  template <std::size_t kMost>
  static void add(std::array<std::uint64_t, kMost>& to, std::size_t& count, std::uint64_t address) {
    constexpr unsigned kPiece = 6;
    if (count > 0 && to[count - 1] >> kPiece == address >> kPiece) return;
    if (count < kMost) to[count++] = address;
  }

  void finish(std::uint64_t next_ip) {
    if (current_->conditional) record_.branch_taken = next_ip != current_->next_ip ? 1 : 0;
    if (skip_ > 0) {
      --skip_;
      return;
    }
    if (closed_) return;
    constexpr std::uint64_t kOften = 4096;  // a child of fork() has a copy of the recorder and must not write
    if (writer_.records() % kOften == kOften - 1 && ::getpid() != process_) {
      closed_ = true;
      return;
    }
    writer_.add(record_);
    if (writer_.records() != limit_) return;
    if (::getpid() == process_) writer_.close();
    ::_exit(0);
  }

  cpu::TraceWriter writer_;
  Decoder decoder_;
  std::mutex mutex_;
  std::map<std::pair<std::uint64_t, std::string>, std::unique_ptr<Instruction>> known_;
  const Instruction* current_ = nullptr;
  cpu::Record record_;
  std::size_t loads_ = 0;
  std::size_t stores_ = 0;
  std::uint64_t skip_;
  std::uint64_t limit_;
  pid_t process_;
  bool closed_ = false;
};

Recorder* recorder = nullptr;

/// Returns the result of action(). An exception ends the program, since without its trace the run is useless.
template <typename F>
auto or_exit(F action) {
  try {
    return action();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    ::_exit(2);
  }
}

void on_execution(unsigned vcpu, void* instruction) {
  if (vcpu != 0) return;
  or_exit([&] { recorder->executes(*static_cast<const Instruction*>(instruction)); });
}

void on_access(unsigned vcpu, qemu_plugin_meminfo_t info, std::uint64_t address, void* /*data*/) {
  if (vcpu == 0) recorder->accesses(address, qemu_plugin_mem_is_store(info));
}

void on_translation(qemu_plugin_id_t /*id*/, qemu_plugin_tb* block) {
  const std::size_t count = qemu_plugin_tb_n_insns(block);
  for (std::size_t i = 0; i < count; ++i) {
    qemu_plugin_insn* insn = qemu_plugin_tb_get_insn(block, i);
    const std::string_view bytes(static_cast<const char*>(qemu_plugin_insn_data(insn)),
                                 qemu_plugin_insn_size(insn));
    Instruction* instruction =
        or_exit([&] { return recorder->instruction(qemu_plugin_insn_vaddr(insn), bytes); });
    qemu_plugin_register_vcpu_insn_exec_cb(insn, &on_execution, QEMU_PLUGIN_CB_NO_REGS, instruction);
    qemu_plugin_register_vcpu_mem_cb(insn, &on_access, QEMU_PLUGIN_CB_NO_REGS, QEMU_PLUGIN_MEM_RW, nullptr);
  }
}

void on_exit(qemu_plugin_id_t /*id*/, void* /*data*/) {
  or_exit([] { recorder->end(); });
}

std::uint64_t number(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc() && end == text.data() + text.size()) return value;
  throw UserError(fmt::format("CPU recorder: '{}' is no number of instructions", text));
}

int install(qemu_plugin_id_t id, const qemu_info_t& info, std::span<char*> arguments) {
  if (std::string_view(info.target_name) != "x86_64" || info.system_emulation) {
    throw UserError("CPU recorder: it records programs of x86-64 alone, under qemu-x86_64");
  }
  std::string path;
  std::uint64_t skip = 0;
  std::uint64_t limit = ~std::uint64_t{0};
  for (const std::string_view argument : arguments) {
    if (argument.starts_with("out=")) {
      path = argument.substr(4);
    } else if (argument.starts_with("skip=")) {
      skip = number(argument.substr(5));
    } else if (argument.starts_with("limit=")) {
      limit = number(argument.substr(6));
    } else {
      throw UserError(
          fmt::format("CPU recorder: '{}' is no setting; known: out=FILE, skip=N, limit=N", argument));
    }
  }
  if (path.empty()) throw UserError("CPU recorder: out=FILE is missing");
  recorder = new Recorder(path, skip, limit);
  qemu_plugin_register_vcpu_tb_trans_cb(id, &on_translation);
  qemu_plugin_register_atexit_cb(id, &on_exit, nullptr);
  return 0;
}

}  // namespace
}  // namespace gpumux::recorder

GPUMUX_QEMU_EXPORT int qemu_plugin_version;
int qemu_plugin_version = 1;

GPUMUX_QEMU_EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t* info, int count,
                                           char** arguments);
int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t* info, int count, char** arguments) {
  return gpumux::recorder::or_exit([&] {
    return gpumux::recorder::install(id, *info, {arguments, static_cast<std::size_t>(count)});
  });
}
