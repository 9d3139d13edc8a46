// A client of the protocol by which CUDA programs speak to gpumux (src/program/protocol.hpp). It begins as
// the run-time library does, with modules, memory, streams and events. Then it makes calls of its own, in
// which each word depends on one byte of the input: a small number, a large number, or a valid address. The
// calls are served without a timing model.
#include <sys/socket.h>

#include <array>
#include <cstring>
#include <optional>
#include <thread>

#include "arch/config_file.hpp"
#include "base/types.hpp"
#include "fuzz.hpp"
#include "program/functional.hpp"
#include "program/server.hpp"
#include "workload/device_memory.hpp"

namespace gpumux {
namespace {

using namespace program;

constexpr std::string_view kPtx = R"(
.version 7.8
.target sm_75
.address_size 64
.const .align 4 .b8 table[64];
.global .align 4 .b8 counts[256];
.visible .entry add(.param .u64 p, .param .u32 n) {
  .reg .b32 %r<8>; .reg .b64 %rd<4>; .reg .pred %p;
  ld.param.u64 %rd1, [p]; ld.param.u32 %r1, [n];
  mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x; mov.u32 %r4, %tid.x;
  mad.lo.s32 %r5, %r2, %r3, %r4;
  setp.ge.u32 %p, %r5, %r1; @%p bra DONE;
  mul.wide.u32 %rd2, %r5, 4; add.s64 %rd3, %rd1, %rd2;
  ld.global.u32 %r6, [%rd3]; ld.const.u32 %r7, [table]; add.s32 %r6, %r6, %r7; st.global.u32 [%rd3], %r6;
DONE: ret;
}
.visible .entry spin(.param .u64 p) {
  .reg .b32 %r<2>; .reg .b64 %rd<2>; .reg .pred %p;
  ld.param.u64 %rd1, [p];
AGAIN: ld.volatile.global.u32 %r1, [%rd1]; setp.eq.u32 %p, %r1, 0; @%p bra AGAIN; ret;
}
)";

constexpr std::uint64_t kBase = std::uint64_t{1} << kAppShift;  // of application 0

std::size_t argument_bytes(Call call) {
  switch (call) {
    case Call::Hello: return sizeof(HelloArguments);
    case Call::LoadModule: return sizeof(LoadModuleArguments);
    case Call::FindKernel: return sizeof(FindKernelArguments);
    case Call::FindVariable: return sizeof(FindVariableArguments);
    case Call::Allocate: return sizeof(AllocateArguments);
    case Call::Free:
    case Call::FreeInStream: return sizeof(FreeArguments);
    case Call::Transfer: return sizeof(TransferArguments);
    case Call::Fill: return sizeof(FillArguments);
    case Call::WriteConstant: return sizeof(WriteConstantArguments);
    case Call::ReadConstant: return sizeof(ReadConstantArguments);
    case Call::Launch: return sizeof(LaunchArguments);
    case Call::ActiveBlocks: return sizeof(ActiveBlocksArguments);
    case Call::CreateStream: return sizeof(CreateStreamArguments);
    case Call::SetStreamPriority: return sizeof(SetStreamPriorityArguments);
    case Call::DestroyStream:
    case Call::QueryStream:
    case Call::WaitForStream: return sizeof(StreamNumber);
    case Call::StreamWaitsForEvent:
    case Call::RecordEvent: return sizeof(EventInStream);
    case Call::CreateEvent: return sizeof(CreateEventArguments);
    case Call::DestroyEvent:
    case Call::QueryEvent:
    case Call::IsEventOver:
    case Call::WaitForEvent: return sizeof(EventNumber);
    case Call::ElapsedTime: return sizeof(ElapsedTimeArguments);
    case Call::CreateArray: return sizeof(CreateArrayArguments);
    case Call::CopyBox: return sizeof(CopyBoxArguments);
    case Call::CreateTexture: return sizeof(TextureArguments);
    case Call::DestroyTexture:
    case Call::DestroySurface: return sizeof(TextureHandle);
    case Call::CreateSurface: return sizeof(SurfaceArguments);
    case Call::EndBody: return sizeof(BodyNumber);
    case Call::EnqueueCondition: return sizeof(EnqueueConditionArguments);
    case Call::MapHost: return sizeof(MapHostArguments);
    case Call::UnmapHost: return sizeof(UnmapHostArguments);
    case Call::TakeRegisters: return sizeof(TakeRegistersArguments);
    case Call::KernelNames: return sizeof(KernelNamesArguments);
    case Call::LimitPendingLaunches: return sizeof(LimitPendingLaunchesArguments);
    case Call::WaitForDevice:
    case Call::MemoryInfo:
    case Call::BeginBody:
    case Call::RefusedLibrary:
    case Call::RefusedLaunch:
    case Call::HostOrderVaries:
    case Call::Finish: return sizeof(Nothing);
  }
  return 0;
}

/// The client's side: requests, one after the other.
class Script {
 public:
  template <class Arguments>
  void call(Call call, const Arguments& arguments, std::string_view tail = {}) {
    request(call, {reinterpret_cast<const char*>(&arguments), sizeof(arguments)}, tail);
  }
  void request(Call call, std::string_view arguments, std::string_view tail) {
    const RequestHead head{call, static_cast<std::uint32_t>(arguments.size()), tail.size()};
    bytes_.append(reinterpret_cast<const char*>(&head), sizeof(head)).append(arguments).append(tail);
  }
  void raw(std::string_view bytes) { bytes_ += bytes; }
  [[nodiscard]] const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

class Input {
 public:
  explicit Input(std::string_view bytes) : bytes_(bytes) {}
  [[nodiscard]] bool empty() const { return bytes_.empty(); }
  std::uint8_t byte() {
    if (bytes_.empty()) return 0;
    const auto first = static_cast<std::uint8_t>(bytes_.front());
    bytes_.remove_prefix(1);
    return first;
  }
  /// An address or a number of 8 bytes counts as two words.
  std::uint32_t word() {
    constexpr std::array<std::uint32_t, 8> kGreat = {0xffff'ffff, 0x7fff'ffff, 0x8000'0000, 0x1'0000,
                                                     4096,        1024,        256,         513};
    constexpr std::uint8_t kSmall = 0xd0;
    const std::uint8_t of = byte();
    if (of < kSmall) return of;
    if (of < kSmall + kGreat.size()) return kGreat[of - kSmall];
    if (of < 0xe0) return of;
    if (of < 0xf0)  // the lower half of an address of the first allocations,
      return static_cast<std::uint32_t>(workload::DeviceMemory::kPageBytes) + (of & 15U) * 1024U;
    if (of < 0xf8) return static_cast<std::uint32_t>(kBase >> 32U) + (of & 1U);  // and its upper half
    return byte() | static_cast<std::uint32_t>(byte()) << 8U | static_cast<std::uint32_t>(byte()) << 24U;
  }
  std::string words(std::size_t bytes) {
    std::string text;
    while (text.size() < bytes) {
      const std::uint32_t next = word();
      text.append(reinterpret_cast<const char*>(&next), sizeof(next));
    }
    return text.substr(0, bytes);
  }

 private:
  std::string_view bytes_;
};

void begin(Script& to) {
  to.call(Call::Hello, HelloArguments{kProtocolVersion, 13000, 1});
  to.call(Call::LoadModule, LoadModuleArguments{0, 1, 0, ModuleImage::Ptx, 1, 0}, kPtx);
  to.call(Call::FindKernel, FindKernelArguments{0}, "add");
  to.call(Call::FindKernel, FindKernelArguments{0}, "spin");
  to.call(Call::FindVariable, FindVariableArguments{0, 0}, "table");
  to.call(Call::FindVariable, FindVariableArguments{0, 0}, "counts");
  for (const MemoryKind kind : {MemoryKind::Device, MemoryKind::Pinned, MemoryKind::Managed})
    to.call(Call::Allocate, AllocateArguments{4096, kind});
  for (std::uint32_t i = 0; i < 2; ++i) {
    to.call(Call::CreateStream, CreateStreamArguments{i, i, 0});
    to.call(Call::CreateEvent, CreateEventArguments{0});
  }
}

/// What takes only time or memory, and leads nowhere else.
template <class Arguments, class Change>
void change(std::string& bytes, const Change& change) {
  if (bytes.size() != sizeof(Arguments)) return;
  Arguments of;
  std::memcpy(&of, bytes.data(), sizeof(of));
  change(of);
  std::memcpy(bytes.data(), &of, sizeof(of));
}
void keep_short(Call call, std::string& bytes) {
  constexpr std::uint32_t kMostBlocks = 64;
  constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 20U;
  if (call == Call::Launch) {
    change<LaunchArguments>(bytes, [](LaunchArguments& of) {
      if (of.grid.x <= 0x7fff'ffff && of.grid.x > kMostBlocks) of.grid.x = kMostBlocks;
      if (of.grid.y <= 0xffff && of.grid.y > 2) of.grid.y = 2;
      if (of.grid.z <= 0xffff && of.grid.z > 2) of.grid.z = 2;
    });
  }
  if (call == Call::Allocate) {
    change<AllocateArguments>(bytes, [](AllocateArguments& of) {
      if (of.bytes > kMostBytes && of.bytes <= kDeviceBytes) of.bytes = kMostBytes;
    });
  }
  if (call == Call::CreateArray) {
    change<CreateArrayArguments>(bytes, [](CreateArrayArguments& of) {
      for (std::uint32_t* size : {&of.shape.width, &of.shape.height, &of.shape.depth, &of.shape.layers})
        if (*size > 512 && *size < 0x7fff'ffff) *size = 512;
      if (std::uint64_t{of.shape.width} * of.shape.height > kMostBytes / 16)
        of.shape.depth = of.shape.layers = 1;
    });
  }
}

Script script(std::string_view text) {
  Script to;
  begin(to);
  constexpr std::uint32_t kCalls = static_cast<std::uint32_t>(Call::Finish) + 2;  // one that there is not
  for (Input from(text); !from.empty();) {
    const auto call = static_cast<Call>(from.byte() % kCalls);
    const std::uint8_t how = from.byte();
    std::string arguments = from.words(argument_bytes(call));
    keep_short(call, arguments);
    if (how == 0xff) arguments.resize(from.byte());
    std::string tail;
    if ((how & 0xc0U) == 0x40U) tail = from.words(how & 0x3fU);
    if ((how & 0xc0U) == 0x80U) tail = std::array{"add", "spin", "table", "counts"}[how & 3U];
    if (how == 0xc0) tail = kPtx;
    if (how == 0xfe) {  // cut short, or of no call
      to.raw(arguments);
      continue;
    }
    to.request(call, arguments, tail);
  }
  return to;
}

class Client final : public runtime::Application {
 public:
  explicit Client(Script script) : script_(std::move(script)) {}
  [[nodiscard]] int memory_file() override { return memory_.descriptor(); }
  [[nodiscard]] emulator::PrintSink* print_sink() override { return &printed_; }
  [[nodiscard]] emulator::KernelErrors* kernel_errors() override { return &errors_; }
  runtime::Task run(runtime::Host& host, bool /*verify*/) override {
    std::array<int, 2> ends{};
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) ::abort();
    Process process(ends[0]);
    // It writes without waiting for answers, and reads none of what they say.
    const std::jthread writes([this, client = ends[1]] {
      std::string_view left = script_.bytes();
      std::array<char, 4096> dropped{};
      while (!left.empty()) {
        const ssize_t sent = ::send(client, left.data(), left.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent < 0 && errno != EAGAIN) break;
        if (sent > 0) left.remove_prefix(static_cast<std::size_t>(sent));
        while (::recv(client, dropped.data(), dropped.size(), MSG_DONTWAIT) > 0) continue;
      }
      ::shutdown(client, SHUT_WR);
      while (::recv(client, dropped.data(), dropped.size(), 0) > 0) continue;
      ::close(client);
    });
    const Ends end(ends[0]);
    Server server("client", host, process, memory_, printed_, &errors_);
    while (true) {
      const Process::Event event = server.receive();
      if (event == Process::Event::Request) {
        server.perform();
        if (server.wait()) co_await *server.wait();
        server.answer();
        continue;
      }
      server.ended();
      host.end_work();
      co_await host.synchronize();
      if (event == Process::Event::Ended) break;
    }
  }

 private:
  /// So that the thread ends before it is waited for.
  class Ends {
   public:
    explicit Ends(int socket) : socket_(socket) {}
    ~Ends() { ::shutdown(socket_, SHUT_RDWR); }
    Ends(const Ends&) = delete;
    Ends& operator=(const Ends&) = delete;

   private:
    int socket_;
  };
  Script script_;
  MemoryFile memory_;
  PrintedText printed_;
  ProgramErrors errors_{false};
};

const arch::MachineConfig& machine() {
  static const arch::MachineConfig config = [] {
    arch::MachineConfig small = arch::load_machine("rtx2060");
    small.runtime.max_warp_instructions = 2000;
    return small;
  }();
  return config;
}

}  // namespace
}  // namespace gpumux

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace gpumux;
  fuzz::expect_value_or_error([&] {
    (void)program::run_functionally(std::make_unique<Client>(script(fuzz::text_of(data, size))), "client",
                                    machine());
  });
  return 0;
}
