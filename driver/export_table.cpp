// cuGetExportTable: functions without names, which a CUDA run time inside a library asks for first. NVIDIA's
// libraries (cuBLAS, cuDNN, ...) have such a run time and machine code without PTX, neither of which can be
// simulated.
#include <dlfcn.h>

#include <string>
#include <string_view>

#include "driver/call.hpp"

// Arguments are ignored, which x86-64's calling convention permits.
GPUMUX_DRIVER_API gpumux::driver::Result cuGetExportTable() {
  Dl_info caller{};
  std::string_view library = "a library";
  if (dladdr(__builtin_return_address(0), &caller) != 0 && caller.dli_fname != nullptr) {
    library = caller.dli_fname;
    library.remove_prefix(library.rfind('/') + 1);
  }
  return gpumux::driver::result_of(gpumux::cudart::refuse_library(std::string(library)));
}
