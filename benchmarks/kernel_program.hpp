// The frame of applications that launch one kernel, once or repeatedly, and wait once. The frame handles
// allocation, copies, launch, check and release in their order, and registration. An application's own file
// has its sizes, inputs, arguments and check.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "benchmarks/common.hpp"
#include "runtime/application.hpp"
#include "workload/stream.hpp"

namespace gpumux::benchmarks {

/// An array on the device, which exists until the run ends.
template <typename T>
struct DeviceArray {
  runtime::DevicePtr<T> first;
  std::size_t elements;
};

/// One run of a kernel on the device. All calls only enqueue, in order.
class KernelRun {
 public:
  KernelRun(runtime::Host& host, std::uint32_t module, const runtime::AppInfo::KernelShape& shape,
            bool verify)
      : host_(host), module_(module), shape_(shape), verify_(verify) {}

  /// True if check() will be called. Data that only check() needs is copied back only then.
  [[nodiscard]] bool verify() const { return verify_; }
  template <typename T>
  [[nodiscard]] DeviceArray<T> allocate(std::size_t elements) {
    const DeviceArray<T> array{host_.malloc<T>(elements), elements};
    allocated_.push_back(array.first.address);
    return array;
  }
  template <typename T>
  [[nodiscard]] DeviceArray<T> zeros(std::size_t elements) {
    const DeviceArray<T> array = allocate<T>(elements);
    host_.fill(array.first.address, 0, elements * sizeof(T), 0);
    return array;
  }
  template <typename T>
  [[nodiscard]] DeviceArray<T> upload(const std::vector<T>& values) {
    const DeviceArray<T> array = allocate<T>(values.size());
    host_.to_device(array.first, values);
    return array;
  }
  /// An array for textures, without contents.
  [[nodiscard]] workload::TextureArray array(const workload::TexelFormat& format, std::uint32_t width,
                                             std::uint32_t height) {
    const workload::TextureArray array = host_.create_array({format, width, height, 0, 0});
    allocated_.push_back(array.address);
    return array;
  }
  /// An array for textures with one 32-bit float per texel.
  [[nodiscard]] workload::TextureArray float_array(std::uint32_t width, std::uint32_t height) {
    return array({}, width, height);
  }
  void copy(const workload::TextureArray& to, const DeviceArray<float>& from) {
    GPUMUX_CHECK(from.elements * sizeof(float) >= to.texel_bytes());
    host_.copy_on_device_to_array(to, from.first.address, 0);
  }
  template <typename T>
  void fill(const workload::TextureArray& to, const std::vector<T>& texels) {
    host_.to_array(to, texels);
  }
  [[nodiscard]] runtime::TextureObject texture(const workload::TextureResource& resource,
                                               const workload::TextureSettings& settings) {
    textures_.push_back(host_.create_texture(resource, settings));
    return textures_.back();
  }
  /// Copies `values` (contiguous) to the first elements of the module's variable `symbol`.
  template <typename Values>
  void set_symbol(const char* symbol, const Values& values) {
    host_.copy_to_symbol(module_, symbol, 0, std::as_bytes(std::span(values)), 0);
  }
  /// Fills `to` with the first elements of `from`.
  template <typename T>
  void copy(const DeviceArray<T>& to, const DeviceArray<T>& from) {
    GPUMUX_CHECK(from.elements >= to.elements);
    host_.copy_on_device(to.first.address, from.first.address, to.elements * sizeof(T), 0);
  }
  /// Launches the kernel with its shape. Arguments are arrays, and numbers of the kernel's types or unsigned
  /// numbers of the same size.
  template <typename... Args>
  void launch(const Args&... args) {
    launch_as(shape_, args...);
  }
  /// Launches another kernel of the module. Arguments are as for launch().
  template <typename... Args>
  void launch_as(const runtime::AppInfo::KernelShape& shape, const Args&... args) {
    const runtime::LaunchSpec spec{
        .grid = shape.grid, .block = shape.block, .shared_bytes = shape.dynamic_shared_bytes};
    host_.launch(module_, shape.kernel, spec, argument(args)...);
  }
  /// Copies all of `from` to `to`, which must live until the run ends.
  template <typename T>
  void download(std::vector<T>& to, const DeviceArray<T>& from) {
    to.assign(from.elements, T{});
    host_.from_device(to, from.first);
  }
  /// Frees arrays and textures. To be called after all enqueued operations have ended.
  void release() {
    for (const runtime::TextureObject object : textures_) host_.destroy_texture(object);
    textures_.clear();
    for (const Address address : allocated_) host_.free(address);
    allocated_.clear();
  }

 private:
  template <typename T>
  static const T& argument(const T& number) {
    return number;
  }
  template <typename T>
  static runtime::DevicePtr<T> argument(const DeviceArray<T>& array) {
    return array.first;
  }

  runtime::Host& host_;
  std::uint32_t module_;
  const runtime::AppInfo::KernelShape& shape_;
  bool verify_;
  std::vector<Address> allocated_;
  std::vector<runtime::TextureObject> textures_;
};

/// An application's sizes, inputs, arguments and check. The constructor takes the `const Params&` from which
/// it reads the sizes. It throws UserError if the sizes contradict each other, and it is cheap.
class KernelProgram {
 public:
  virtual ~KernelProgram() = default;
  [[nodiscard]] virtual runtime::AppInfo::KernelShape shape() const = 0;
  /// Shapes of all kernels, for a program with several kernels.
  [[nodiscard]] virtual std::vector<runtime::AppInfo::KernelShape> shapes() const { return {shape()}; }
  /// Makes the inputs. Called once, before the first run.
  virtual void make_inputs(std::uint64_t seed) = 0;
  /// Enqueues all operations of a run, from the allocation of arrays to the download of results.
  virtual void start(KernelRun& run) = 0;
  /// Compares the results with the reference. Called after a run with `verify`. Throws SimulationFault that
  /// names the first wrong element.
  virtual void check() = 0;
};

/// An application's listing, and the source of its kernels.
struct KernelApp {
  const char* name = nullptr;
  const char* description = nullptr;
  std::vector<runtime::AppParamInfo> params;
  const char* ptx_file = nullptr;
  std::string_view ptx_text;
  /// What a block counts for on an SM, if a paper's table says so.
  workload::BlockMetadata metadata = {};
  /// What a block counts for on an SM, by kernel, if the program has several kernels. Replaces `metadata`.
  std::map<std::string, workload::BlockMetadata> kernels = {};

  /// A copy with these values of `kernels`.
  [[nodiscard]] KernelApp of(std::map<std::string, workload::BlockMetadata> by_kernel) const {
    KernelApp other = *this;
    other.kernels = std::move(by_kernel);
    return other;
  }
  /// A copy under another name, with other defaults and its own metadata.
  [[nodiscard]] KernelApp with(const char* other_name, const char* other_description,
                               std::initializer_list<std::pair<std::string_view, std::int64_t>> defaults,
                               const workload::BlockMetadata& other_metadata = {}) const {
    KernelApp other{other_name, other_description, params, ptx_file, ptx_text, other_metadata, {}};
    for (const std::pair<std::string_view, std::int64_t>& wanted : defaults) {
      const auto at =
          std::find_if(other.params.begin(), other.params.end(),
                       [&](const runtime::AppParamInfo& param) { return param.name == wanted.first; });
      GPUMUX_CHECK(at != other.params.end() && wanted.second >= at->minimum && wanted.second <= at->maximum);
      at->default_value = wanted.second;
    }
    return other;
  }
};

class KernelApplication final : public runtime::Application {
 public:
  KernelApplication(const KernelApp& app, std::unique_ptr<KernelProgram> program, std::uint64_t seed)
      : app_(app), program_(std::move(program)), shape_(program_->shape()), seed_(seed) {}

  runtime::Task run(runtime::Host& host, bool verify) override {
    if (!std::exchange(has_inputs_, true)) program_->make_inputs(seed_);
    KernelRun run(host, host.load_module(app_.ptx_text, app_.ptx_file), shape_, verify);
    program_->start(run);
    co_await host.synchronize();
    if (verify) program_->check();
    run.release();
  }
  [[nodiscard]] std::map<std::string, workload::BlockMetadata> block_metadata() const override {
    if (!app_.kernels.empty()) return app_.kernels;
    if (app_.metadata.registers_per_thread == 0 && app_.metadata.shared_bytes == 0) return {};
    return {{shape_.kernel, app_.metadata}};
  }

 private:
  const KernelApp& app_;
  std::unique_ptr<KernelProgram> program_;
  runtime::AppInfo::KernelShape shape_;
  std::uint64_t seed_;
  bool has_inputs_ = false;
};

/// Types that distinguish the applications of the same Program (register_kernel_app()).
namespace variant {
struct Awatramani17 {};
struct Chimera15 {};
struct Dai18 {};
struct Kayiran14 {};
struct Wang17 {};
}  // namespace variant

/// Registers Program, a KernelProgram, as `app`. If one Program makes several applications, each of them
/// needs its own type `Variant`.
template <typename Program, typename Variant = Program>
bool register_kernel_app(KernelApp app) {
  static KernelApp kept;  // the functions below are plain pointers and refer to it
  GPUMUX_CHECK(kept.name == nullptr);
  kept = std::move(app);
  return runtime::register_app({
      .name = kept.name,
      .description = kept.description,
      .params = kept.params,
      .ptx_file = kept.ptx_file,
      .ptx_text = kept.ptx_text,
      .shapes = [](const runtime::AppParams& values) -> std::vector<runtime::AppInfo::KernelShape> {
        return Program(Params(kept.name, kept.params, values)).shapes();
      },
      .create = [](const runtime::AppParams& values,
                   std::uint64_t seed) -> std::unique_ptr<runtime::Application> {
        return std::make_unique<KernelApplication>(
            kept, std::make_unique<Program>(Params(kept.name, kept.params, values)), seed);
      },
  });
}

}  // namespace gpumux::benchmarks
