#include "trace/reference.hpp"

#include <fmt/core.h>

#include <iterator>
#include <vector>

#include "base/error.hpp"
#include "trace/reference_kernels.hpp"

namespace gpumux::trace {
namespace {

constexpr std::uint32_t kTracerVersion = 4;
constexpr std::uint32_t kSm = 70;

KernelHeader header_of(const ReferenceProgram& program, std::uint32_t blocks) {
  KernelHeader header;
  header.name = program.name;
  header.id = 1;
  header.grid = {blocks, 1, 1};
  header.block = {program.threads, 1, 1};
  header.shared_bytes = program.shared_bytes;
  header.registers = program.registers;
  header.windows = {0x7f00'0000'0000ULL, 0x7f10'0000'0000ULL};
  return header;
}

void append_line(std::string& text, const Executed& e) {
  const auto to = std::back_inserter(text);
  fmt::format_to(to, "{:04x} ffffffff {}", e.pc, e.inst.num_dst);
  for (unsigned i = 0; i < e.inst.num_dst; ++i) fmt::format_to(to, " R{}", e.inst.dst[i]);
  fmt::format_to(to, " {} {}", e.inst.opcode, e.inst.num_src);
  for (unsigned i = 0; i < e.inst.num_src; ++i) fmt::format_to(to, " R{}", e.inst.src[i]);
  fmt::format_to(to, " {}", e.inst.access_bytes);
  if (e.pattern == Pattern::Stride)
    fmt::format_to(to, " 1 0x{:x} {}", e.addresses[0], e.addresses[1] - e.addresses[0]);
  if (e.pattern == Pattern::Delta) {
    fmt::format_to(to, " 2 0x{:x}", e.addresses[0]);
    for (std::uint32_t lane = 1; lane < kWarpSize; ++lane) {
      fmt::format_to(to, " {}", static_cast<std::int64_t>(e.addresses[lane] - e.addresses[lane - 1]));
    }
  }
  text += " 0\n";
}

}  // namespace

const char* name(ReferenceKernel kernel) { return program_of(kernel).name; }

std::optional<ReferenceKernel> reference_kernel(std::string_view wanted) {
  for (std::size_t i = 0; i < kReferenceKernelCount; ++i)
    if (wanted == name(static_cast<ReferenceKernel>(i))) return static_cast<ReferenceKernel>(i);
  return std::nullopt;
}

std::uint32_t usual_blocks(ReferenceKernel kernel) { return program_of(kernel).blocks; }

void write_reference(ReferenceKernel kernel, std::uint32_t blocks, Output& output) {
  const ReferenceProgram& program = program_of(kernel);
  TraceBuilder builder(output);
  try {
    if (program.copied_bytes != 0) builder.copy(true, program.copied_to, program.copied_bytes);
    write_kernel(builder, header_of(program, blocks),
                 [&](WarpProgram& warp_program, std::uint32_t block, std::uint32_t warp) {
                   program.run(warp_program, block, warp, blocks);
                 });
    builder.finish(kSm);
  } catch (const BuildError& error) {
    throw InternalError("reference kernel: " + error.what);
  }
}

std::string reference_text(ReferenceKernel kernel, std::uint32_t blocks) {
  const ReferenceProgram& program = program_of(kernel);
  const KernelHeader header = header_of(program, blocks);
  std::string text = fmt::format(
      "-kernel name = {}\n-kernel id = {}\n-grid dim = ({},1,1)\n-block dim = ({},1,1)\n-shmem = {}\n"
      "-nregs = {}\n-binary version = {}\n-cuda stream id = 0\n-shmem base_addr = 0x{:016x}\n"
      "-local mem base_addr = 0x{:016x}\n-nvbit version = 1.5.5\n-accelsim tracer version = {}\n"
      "-enable lineinfo = 0\n\n#traces format = PC mask ...\n\n",
      header.name, header.id, blocks, program.threads, header.shared_bytes, header.registers, kSm,
      header.windows.shared_base, header.windows.local_base, kTracerVersion);
  std::vector<Executed> executed;
  for (std::uint32_t block = 0; block < blocks; ++block) {
    text += fmt::format("#BEGIN_TB\n\nthread block = {},0,0\n\n", block);
    for (std::uint32_t warp = 0; warp < header.warps(); ++warp) {
      WarpProgram run(executed);
      program.run(run, block, warp, blocks);
      text += fmt::format("warp = {}\ninsts = {}\n", warp, executed.size());
      for (const Executed& e : executed) append_line(text, e);
      text += '\n';
    }
    text += "#END_TB\n\n";
  }
  return text;
}

std::string reference_commands(ReferenceKernel kernel) {
  const ReferenceProgram& program = program_of(kernel);
  std::string text;
  if (program.copied_bytes != 0)
    text = fmt::format("MemcpyHtoD,0x{:016x},{}\n", program.copied_to, program.copied_bytes);
  return text + "kernel-1.traceg\n";
}

}  // namespace gpumux::trace
