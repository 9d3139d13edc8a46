// A kernel's file in a trace folder, as Accel-Sim's tracer writes it. Input with a zero byte is read as a
// .tracez file instead.
#include "trace/application.hpp"
#include "walk_trace.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace gpumux;
  const std::string_view bytes = fuzz::text_of(data, size);
  const std::string name = bytes.find('\0') == std::string_view::npos ? "kernel-1.traceg" : "kernel-1.tracez";
  const std::string& folder = fuzz::folder();
  fuzz::write(folder + "/kernelslist.g", "MemcpyHtoD,0x00007f2000000000,4096\n" + name + "\n");
  fuzz::write(folder + "/" + name, bytes);
  fuzz::expect_value_or_error([&] { fuzz::walk(trace::load_trace(folder)); });
  return 0;
}
