// A user's own kernels as an application: one kernel, `file.ptx:kernel` with --grid, --block, --shared and
// --arg, or several kernels that share buffers, in order and in streams (a workload file's `launches`).
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

/// One launch of a kernel from a file, as the command line or a workload file describes it. Grid and block
/// are required.
struct FileKernelSpec : KernelOptions {
  std::string path;      // of the PTX file
  std::string kernel;    // its name in the PTX or in C++, see symbol_name.hpp
  std::string text;      // "k.ptx:scale"
  std::string folder;    // for relative paths of the arguments; empty: the current folder
  SourceLocation where;  // for errors without a place of their own

  // For launches of a program.
  std::uint64_t stream = 0;
  std::vector<std::uint64_t> after;  // launches that end before this one starts; 1 is the first
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
// For a variable (symbols), an argument gives the content before the first launch. `out` and `inout` also
// write the content after the run; `out` keeps the initial value that the module gives. A content that is
// shorter than the variable fills its first bytes. Launches of one file share its variables.

/// A program of several kernels that share buffers. The launches of a stream run in order, and launches of
/// different streams run side by side. Each of `repeat` rounds starts when the previous round has ended.
struct FileProgramSpec {
  std::string text;  // the program's name in results
  std::string folder;
  std::vector<std::pair<std::string, std::string>> buffers;  // name; in, out, inout or zero as above
  std::vector<FileKernelSpec> launches;
  std::uint64_t repeat = 1;
  const FilesInMemory* files =
      nullptr;  // that arguments may name; nullptr: none. Only file_program() reads them
};

/// The output buffers of a program's first completed run. Runs beside the requested run (baselines, profiles)
/// do not change them: AppSpec::create_aside.
struct KernelOutputs {
  struct File {
    std::string path;
    std::string content;
  };
  std::vector<std::string> paths;  // known from the start
  std::vector<File> files;         // filled by the run
  bool complete = false;           // false: no run of the program has completed yet
};

struct FileProgram {
  AppSpec app;
  std::shared_ptr<KernelOutputs> outputs;
};

/// The program of a specification. Reads and checks everything: the PTX and its kernels, dimensions, number
/// and types of arguments, input files. Throws UserError.
[[nodiscard]] FileProgram file_program(const FileProgramSpec& spec);
/// A program with one launch.
[[nodiscard]] FileProgram file_kernel(const FileKernelSpec& spec);

/// Splits "file.ptx:kernel" at the last ':' after ".ptx"; false if `text` has another form.
[[nodiscard]] bool split_kernel(std::string_view text, std::string& path, std::string& kernel);

/// Throws UserError for files that users may have instead of PTX (CUDA source, compiled code), and says how
/// to get PTX. A ":KERNEL" after the path is ignored.
void refuse_other_files(std::string_view path);

/// Parses dimensions "16", "16,8" or "16,8,2" (each at least 1). `what`: the option's name, for errors.
[[nodiscard]] Dim3 parse_dim3(std::string_view what, std::string_view text);

}  // namespace gpumux::experiment
