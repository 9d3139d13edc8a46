// Trace folders for tests.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "base/error.hpp"
#include "base/files.hpp"
#include "temporary_folder.hpp"
#include "trace/application.hpp"
#include "trace/folder.hpp"

namespace gpumux::trace::test {

/// The header of a kernel's trace file.
struct Header {
  std::string grid = "(1,1,1)";
  std::string block = "(32,1,1)";
  std::string shared = "0";
  std::string registers = "16";
  std::string sm = "70";
  std::string stream = "0";
  std::string tracer = "4";
  std::string line_info = "0";
  [[nodiscard]] std::string text(const std::string& name = "k") const {
    return "-kernel name = " + name + "\n-kernel id = 1\n-grid dim = " + grid + "\n-block dim = " + block +
           "\n-shmem = " + shared + "\n-nregs = " + registers + "\n-binary version = " + sm +
           "\n-cuda stream id = " + stream +
           "\n-shmem base_addr = 0x00007f0000000000\n-local mem base_addr = 0x00007f1000000000\n"
           "-nvbit version = 1.5.5\n-accelsim tracer version = " +
           tracer + "\n-enable lineinfo = " + line_info + "\n\n#traces format = PC mask ...\n";
  }
};

/// A block with one warp.
inline std::string block(const std::string& instructions, std::size_t count,
                         const std::string& at = "0,0,0") {
  return "#BEGIN_TB\n\nthread block = " + at + "\n\nwarp = 0\ninsts = " + std::to_string(count) + "\n" +
         instructions + "\n#END_TB\n";
}
inline const std::string kExit = "0100 ffffffff 0 EXIT 0 0 0\n";

class TraceFolder : public testing::Test {
 protected:
  void write(const std::string& name, const std::string& text) const {
    write_file_atomically(folder_ + "/" + name, text);
  }
  /// Writes a trace of one kernel with this text.
  void write_kernel(const std::string& text) const {
    write("kernelslist.g", "kernel-1.traceg\n");
    write("kernel-1.traceg", text);
  }
  [[nodiscard]] std::shared_ptr<const Trace> load() const { return load_trace(folder_); }
  /// The message of the UserError that load() throws, without the folder's path.
  [[nodiscard]] std::string error() const {
    try {
      (void)load();
    } catch (const UserError& e) {
      std::string text = e.what();
      for (std::size_t at = text.find(folder_ + "/"); at != std::string::npos; at = text.find(folder_ + "/"))
        text.erase(at, folder_.size() + 1);
      EXPECT_EQ(text.find('\n'), std::string::npos) << text;
      EXPECT_LT(text.size(), 400U) << text;
      return text;
    }
    return "";
  }
  gpumux::test::TemporaryFolder temporary_;
  const std::string folder_ = temporary_.path();
};

}  // namespace gpumux::trace::test
