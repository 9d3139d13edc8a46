// A kernel's file in a trace folder as Accel-Sim's tracer writes it.
#include "trace/application.hpp"
#include "walk_trace.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace gpumux;
  static const std::string folder = [] {
    fuzz::write(fuzz::folder() + "/kernelslist.g", "MemcpyHtoD,0x00007f2000000000,4096\nkernel-1.traceg\n");
    return fuzz::folder();
  }();
  fuzz::write(folder + "/kernel-1.traceg", fuzz::text_of(data, size));
  fuzz::expect_value_or_error([&] { fuzz::walk(trace::load_trace(folder)); });
  return 0;
}
