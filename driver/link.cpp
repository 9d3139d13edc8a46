// The PTX linker. Its inputs become one image of several translation units, for cuModuleLoadData. A unit
// cannot refer to functions or variables of another unit (docs/cuda-programs.md).
#include <algorithm>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "cudart/modules.hpp"
#include "driver/call.hpp"
#include "driver/jit.hpp"

namespace gpumux::driver {
namespace {

constexpr int kPtx = 1;  // CUjitInputType

struct Link {
  JitOptions options;  // its logs cover all calls
  std::vector<std::string> texts;
  std::string image;
};
std::set<Link*>& links() {
  static auto* const all = new std::set<Link*>;
  return *all;
}

/// Runs `call`, which returns an Error, if the linker exists.
template <class Function>
Result with_link(Link* link, const Function& call) {
  return in_context([&] {
    const std::scoped_lock lock(Session::get().lock());
    return links().contains(link) ? call() : Error::InvalidResourceHandle;
  });
}

Result create(unsigned count, const int* options, void** values, Link** link) {
  return in_context([=] {
    if (link == nullptr) return Error::InvalidValue;
    const std::scoped_lock lock(Session::get().lock());
    *link = new Link{{count, options, values}, {}, {}};
    links().insert(*link);
    return Error::Success;
  });
}

Error add(Link& link, int type, std::string text) {
  if (type != kPtx) return cudart::not_supported("linking what is no PTX");
  text.resize(std::min(text.find('\0'), text.size()));
  std::string message;
  const Error error = cudart::check_ptx(text, message);
  link.options.finish(error == Error::InvalidPtx ? message : std::string());
  if (error == Error::Success) link.texts.push_back(std::move(text));
  return error;
}

Result add_data(Link* link, int type, const void* data, std::size_t bytes) {
  return with_link(link, [=] {
    if (data == nullptr) return Error::InvalidValue;
    return add(*link, type, std::string(static_cast<const char*>(data), bytes));
  });
}
Result add_file(Link* link, int type, const char* name) {
  std::ifstream file(name == nullptr ? "" : name, std::ios::binary);
  if (!file) return Result::FileNotFound;
  std::stringstream content;
  content << file.rdbuf();
  return with_link(link, [&] { return add(*link, type, content.str()); });
}

}  // namespace

GPUMUX_DRIVER_API Result cuLinkCreate(unsigned count, const int* options, void** values, Link** link) {
  return create(count, options, values, link);
}
GPUMUX_DRIVER_API Result cuLinkCreate_v2(unsigned count, const int* options, void** values, Link** link) {
  return create(count, options, values, link);
}
GPUMUX_DRIVER_API Result cuLinkAddData(Link* link, int type, const void* data, std::size_t bytes, const char*,
                                       unsigned, const int*, void**) {
  return add_data(link, type, data, bytes);
}
GPUMUX_DRIVER_API Result cuLinkAddData_v2(Link* link, int type, const void* data, std::size_t bytes,
                                          const char*, unsigned, const int*, void**) {
  return add_data(link, type, data, bytes);
}
GPUMUX_DRIVER_API Result cuLinkAddFile(Link* link, int type, const char* file, unsigned, const int*, void**) {
  return add_file(link, type, file);
}
GPUMUX_DRIVER_API Result cuLinkAddFile_v2(Link* link, int type, const char* file, unsigned, const int*,
                                          void**) {
  return add_file(link, type, file);
}
GPUMUX_DRIVER_API Result cuLinkComplete(Link* link, void** image, std::size_t* bytes) {
  return with_link(link, [=] {
    if (image == nullptr || link->texts.empty()) return Error::InvalidValue;
    link->image = cudart::link_images(link->texts);
    *image = link->image.data();
    if (bytes != nullptr) *bytes = link->image.size();
    return Error::Success;
  });
}
GPUMUX_DRIVER_API Result cuLinkDestroy(Link* link) {
  return with_link(link, [=] {
    links().erase(link);
    delete link;
    return Error::Success;
  });
}

}  // namespace gpumux::driver
