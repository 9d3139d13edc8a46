// A user's own kernels as an application: one, `file.ptx:kernel` with --grid, --block, --shared and --arg, or
// several that share buffers, in order and in streams (a workload file's `launches`).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/types.hpp"
#include "experiment/run.hpp"
#include "experiment/workload_file.hpp"

namespace gpumux::experiment {

/// What the command line or a workload file says about one launch of a kernel of a file; grid and block are
/// required.
struct FileKernelSpec : KernelOptions {
  std::string path;      // of the PTX
  std::string kernel;    // its name in the PTX or in C++, see symbol_name.hpp
  std::string text;      // "k.ptx:scale"
  std::string folder;    // relative paths of the arguments are relative to it; empty: the current one
  SourceLocation where;  // of launches of a program: what is wrong without a place of its own is there

  // Of launches of a program:
  std::uint64_t stream = 0;
  std::vector<std::uint64_t> after;  // launches that end before it begins; 1 is the first
};

// Arguments. TYPE is one of i8 u8 i16 u16 i32 u32 i64 u64 f32 f64.
//   TYPE:VALUE               a scalar
//   bytes:FILE               a structure by value: the file's bytes
//   in:FILE                  a buffer with the file's bytes
//   in:TYPE=FILE             the same; a file that ends in .txt holds one number per line instead
//   in:TYPE[N]=FILE          the same, of exactly N elements
//   out:TYPE[N]=FILE         a zeroed buffer, written to the file after the run
//   inout:TYPE[N]=IN,OUT     a buffer from IN, written to OUT (TYPE alone, or nothing, as for `in`)
//   zero:TYPE[N]             a zeroed buffer
//   same:K, same:K+BYTES     the buffer of argument K again (1: the first), or from BYTES into it
//   buffer:NAME[+BYTES]      a buffer of the program, or from BYTES into it
// Of a variable (symbols) they give the content before the first launch; `out` and `inout` also write its
// content after the run, and `out` leaves what the module itself gives it. A content that is shorter than the
// variable fills its beginning. Launches of one file share its variables.

/// Several kernels that share buffers. The launches of a stream run in order, those of different streams side
/// by side; each of `repeat` rounds begins when the one before has ended.
struct FileProgramSpec {
  std::string text;  // its name in results
  std::string folder;
  std::vector<std::pair<std::string, std::string>> buffers;  // name, and in, out, inout or zero as above
  std::vector<FileKernelSpec> launches;
  std::uint64_t repeat = 1;
  const FilesInMemory* files =
      nullptr;  // that arguments may name; nullptr: none. Read by file_program() alone
};

/// The output buffers of a program's first completed run. Runs beside the run that was asked for (baselines,
/// profiles) leave them alone: AppSpec::create_aside.
struct KernelOutputs {
  struct File {
    std::string path;
    std::string content;
  };
  std::vector<std::string> paths;  // known from the start
  std::vector<File> files;         // filled by the run
  bool complete = false;           // false: the program has not completed once
};

struct FileProgram {
  AppSpec app;
  std::shared_ptr<KernelOutputs> outputs;
};

/// Reads and checks everything: the PTX, that it has the kernels, dimensions, number and types of the
/// arguments, input files. Throws UserError.
[[nodiscard]] FileProgram file_program(const FileProgramSpec& spec);
/// A program of one launch.
[[nodiscard]] FileProgram file_kernel(const FileKernelSpec& spec);

/// "file.ptx:kernel" split at the last ':' after ".ptx"; false when the text is no such thing.
[[nodiscard]] bool split_kernel(std::string_view text, std::string& path, std::string& kernel);

/// Throws UserError for what people have instead of PTX (CUDA source, compiled code; a ":KERNEL" after it is
/// ignored), saying how they come to it.
void refuse_other_files(std::string_view path);

/// "16", "16,8" or "16,8,2" (each at least 1). `what` is the option's name, for messages.
[[nodiscard]] Dim3 parse_dim3(std::string_view what, std::string_view text);

}  // namespace gpumux::experiment
