#include "bundle/checker.hpp"

#include <algorithm>
#include <iterator>

#include "base/text.hpp"
#include "bundle/coding.hpp"
#include "workload/device_memory.hpp"

namespace gpumux::bundle {
namespace {

[[noreturn]] void fail(std::string what) { throw Corrupt{std::move(what), 0}; }

void check_name(const std::string& name, const char* what) {
  if (name.empty() || !is_one_line(name))
    fail(fmt::format("the name of a {} is empty, or not on one line", what));
}

void check_exists(std::uint64_t id, std::uint64_t count, const char* what) {
  if (id < count) return;
  fail(count == 0 ? fmt::format("{} {} does not exist; there is none", what, id)
                  : fmt::format("{} {} does not exist; the last is {}", what, id, count - 1));
}

void check_room(std::uint64_t count, std::uint64_t most, const char* what) {
  if (count >= most) fail(fmt::format("there are more than {} {}", most, what));
}

}  // namespace

template <class R>
constexpr bool kPossibleInBody =
    kIs<R, Launch> || kIs<R, LaunchWithPriority> || kIs<R, Fill> || kIs<R, CopyOnDevice> ||
    kIs<R, CopyToArray> || kIs<R, CopyPinned> || kIs<R, CopyBox> || kIs<R, RecordEvent> ||
    kIs<R, StreamWaitEvent> || kIs<R, EnqueueCondition> || kIs<R, EndBody>;

void Checker::check(const Record& record) {
  std::visit(
      [&]<class R>(const R& r) {
        if (in_body_ && !kPossibleInBody<R>) fail("a body has what cannot be in one");
        check_one(r);
      },
      record);
}

void Checker::place(Address address, Allocation allocation) {
  check_room(allocations_.size(), kMostAllocations, "allocations at a time");
  if (allocation.bytes == 0) fail(fmt::format("an allocation at 0x{:x} has no bytes", address));
  if (address - base_ > kMostAddresses || allocation.bytes > kMostAddresses - (address - base_))
    fail(fmt::format("an allocation of {} bytes at 0x{:x} ends behind 0x{:x}", allocation.bytes, address,
                     base_ + kMostAddresses));
  const auto after = allocations_.lower_bound(address + allocation.bytes);
  if (after != allocations_.begin()) {
    const auto& [start, other] = *std::prev(after);
    if (start + other.bytes > address)
      fail(fmt::format("an allocation of {} bytes at 0x{:x} lies where one of {} bytes at 0x{:x} does",
                       allocation.bytes, address, other.bytes, start));
  }
  allocations_.emplace(address, allocation);
  placed_end_ = std::max(placed_end_, address + allocation.bytes);
}

void Checker::check_range(Address address, std::uint64_t bytes) const {
  if (bytes == 0) fail("a copy has no bytes");
  const auto after = allocations_.upper_bound(address);
  if (after != allocations_.begin()) {
    const auto& [start, allocation] = *std::prev(after);
    if (address - start < allocation.bytes && bytes <= allocation.bytes - (address - start)) return;
  }
  fail(fmt::format("{} bytes at 0x{:x} do not lie in one allocation", bytes, address));
}

void Checker::claim(std::vector<std::uint32_t>& owners, std::uint64_t id, const char* what) const {
  check_exists(id, owners.size(), what);
  const std::uint32_t acts = in_body_ ? bodies_ : kHost;
  std::uint32_t& owner = owners[id];
  if (owner == kNobody) owner = acts;
  if (owner != acts) fail(fmt::format("{} {} is used inside and outside of a body", what, id));
}

void Checker::check_stream(std::uint64_t stream) { claim(streams_, stream, "stream"); }
void Checker::check_event(std::uint64_t event) { claim(events_, event, "event"); }
void Checker::check_module(std::uint64_t module) const { check_exists(module, modules_, "module"); }

void Checker::check_one(const LoadModule& r) {
  check_room(modules_, kMostModules, "modules");
  check_name(r.name, "module");
  if (r.ptx.bytes == 0) fail(fmt::format("module {} has no PTX", r.name));
  ptx_bytes_ += r.ptx.bytes;
  if (ptx_bytes_ > kMostPtx) fail(fmt::format("its modules have more than {} bytes of PTX", kMostPtx));
  for (const workload::PlacedVariable& variable : r.variables) {
    check_name(variable.name, "variable");
    place(variable.address, {variable.bytes, true});
  }
  ++modules_;
}

void Checker::check_one(const Allocate& r) {
  if (r.address % workload::DeviceMemory::kAllocationAlign != 0)
    fail(fmt::format("an allocation lies at 0x{:x}, which is no multiple of {}", r.address,
                     workload::DeviceMemory::kAllocationAlign));
  place(r.address, {r.bytes, false});
}

void Checker::check_one(const Free& r) {
  const auto found = allocations_.find(r.address);
  if (found == allocations_.end() || found->second.variable)
    fail(fmt::format("0x{:x} is freed, where no allocation begins", r.address));
  allocations_.erase(found);
}

void Checker::check_one(const MapHost& r) {
  check_room(host_pieces_.size(), kMostHostPieces, "pieces of host memory at a time");
  check_range(r.device, r.bytes);
  const auto after = host_pieces_.lower_bound(r.host + r.bytes);
  if (after != host_pieces_.begin() && std::prev(after)->first + std::prev(after)->second > r.host)
    fail(fmt::format("{} bytes of the host at 0x{:x} lie where others do", r.bytes, r.host));
  host_pieces_.emplace(r.host, r.bytes);
}

void Checker::check_one(const UnmapHost& r) {
  if (host_pieces_.erase(r.host) == 0)
    fail(fmt::format("no memory of the host begins at 0x{:x}, which is unmapped", r.host));
}

void Checker::check_one(const SetRegisters& r) {
  check_module(r.module);
  check_name(r.kernel, "kernel");
  if (r.registers == 0) fail(fmt::format("threads of {} have no registers", r.kernel));
}

void Checker::check_one(const CopyToDevice& r) {
  check_range(r.to, r.from.bytes);
  check_stream(r.stream);
}

void Checker::check_one(const CopyFromDevice& r) {
  check_range(r.from, r.bytes);
  check_stream(r.stream);
  under_way_.emplace(copies_++, r.stream);
}

void Checker::check_one(const CopyOnDevice& r) {
  check_range(r.to, r.bytes);
  check_range(r.from, r.bytes);
  check_stream(r.stream);
}

void Checker::check_one(const CopyToArray& r) {
  if (const std::string error = workload::shape_error(r.to.shape); !error.empty()) fail("a copy to " + error);
  check_range(r.to.address, r.to.bytes());
  check_range(r.from, r.to.texel_bytes());
  check_stream(r.stream);
}

void Checker::check_one(const Fill& r) {
  check_range(r.to, r.bytes);
  check_stream(r.stream);
}

void Checker::check_one(const CopyToSymbol& r) {
  check_module(r.module);
  check_name(r.symbol, "variable");
  if (r.from.bytes == 0) fail("a copy has no bytes");
  check_stream(r.stream);
}

void Checker::check_one(const HostWrite& r) { check_range(r.to, r.from.bytes); }

void Checker::check_one(const CopyPinned& r) {
  check_range(r.to, r.bytes);
  check_range(r.from, r.bytes);
  check_stream(r.stream);
}

void Checker::check_one(const CreateTexture& r) {
  check_range(r.resource.array.address, 1);
  check_new_object(r.handle);
  check_resource("texture", r.resource, r.settings);
}

void Checker::check_new_object(std::uint64_t handle) {
  if (!textures_.insert(handle).second) fail(fmt::format("texture 0x{:x} is made twice", handle));
}

void Checker::check_one(const CreateSurface& r) {
  check_range(r.array.address, 1);
  check_new_object(r.handle);
  check_resource("surface", workload::TextureResource::of(r.array), {});
}

void Checker::check_resource(const char* what, const workload::TextureResource& resource,
                             const workload::TextureSettings& settings) const {
  if (const std::string error = workload::texture_error(resource, settings); !error.empty())
    fail(what + error);
  check_range(resource.array.address, workload::texture_bytes(resource));
}

void Checker::check_box(const workload::BoxEnd& end, const workload::BoxSize& size) const {
  // Sizes are bounded first, so that their product cannot overflow.
  if (size.bytes == 0 || size.rows == 0 || size.slices == 0) fail("a copy has no bytes");
  if (size.bytes > kMostAddresses / size.rows / size.slices)
    fail(fmt::format("a copy has {} slices of {} rows of {} bytes", size.slices, size.rows, size.bytes));
  check_range(end.array.address, 1);
  if (const std::string error = workload::box_error(end, size); !error.empty())
    fail("a copy of a box: " + error);
  check_range(end.array.address, workload::box_span(end, size));
}

void Checker::check_one(const CopyToBox& r) {
  if (!r.to.in_array) fail("a copy to a box of an array goes to no array");
  check_box(r.to, r.size);
  if (r.from.bytes != r.size.total())
    fail(fmt::format("a box of {} bytes is copied from {}", r.size.total(), r.from.bytes));
  check_stream(r.stream);
}

void Checker::check_one(const CopyFromBox& r) {
  if (!r.from.in_array) fail("a copy from a box of an array comes from no array");
  check_box(r.from, r.size);
  check_stream(r.stream);
  under_way_.emplace(copies_++, r.stream);
}

void Checker::check_one(const CopyBox& r) {
  if (!r.to.in_array && !r.from.in_array) fail("a copy of a box has no array");
  check_box(r.to, r.size);
  check_box(r.from, r.size);
  check_stream(r.stream);
}

void Checker::check_one(const DestroyTexture& r) {
  if (textures_.erase(r.handle) == 0) fail(fmt::format("texture 0x{:x} does not exist", r.handle));
}

void Checker::check_one(const Launch& r) {
  check_module(r.module);
  check_name(r.kernel, "kernel");
  if (r.grid.count() == 0 || r.block.count() == 0)
    fail(fmt::format("a launch of {} has an empty grid or block", r.kernel));
  if (r.block.count() > 1024)
    fail(fmt::format("a launch of {} has blocks of {} threads; at most 1024 are possible", r.kernel,
                     r.block.count()));
  check_stream(r.stream);
}

void Checker::check_one(const LaunchWithPriority& r) {
  if (r.launch.priority == 0) fail(fmt::format("a launch of {} with a priority has none", r.launch.kernel));
  check_one(r.launch);
}

void Checker::check_one(const BeginBody&) {
  check_room(bodies_, kMostBodies, "bodies");
  in_body_ = true;
}

void Checker::check_one(const EndBody&) {
  if (!in_body_) fail("a body ends that did not begin");
  in_body_ = false;
  ++bodies_;
}

void Checker::check_one(const EnqueueCondition& r) {
  using Kind = runtime::Condition::Kind;
  const auto& [kind, word, bodies] = r.condition;
  check_range(word, sizeof(std::uint32_t));
  if (word % sizeof(std::uint32_t) != 0) fail(fmt::format("a condition lies at 0x{:x}, not aligned", word));
  const std::size_t most = kind == Kind::If ? 2 : kind == Kind::While ? 1 : kMostBranches;
  if (bodies.empty() || bodies.size() > most) fail(fmt::format("a condition has {} bodies", bodies.size()));
  for (const runtime::BodyId body : bodies) check_exists(body, bodies_, "body");
  check_stream(r.stream);
}

void Checker::check_one(const CreateStream&) {
  check_room(streams_.size(), kMostStreams, "streams");
  streams_.push_back(kNobody);
}

void Checker::check_one(const CreateEvent&) {
  check_room(events_.size(), kMostEvents, "events");
  events_.push_back(kNobody);
}

void Checker::check_one(const RecordEvent& r) {
  check_event(r.event);
  check_stream(r.stream);
}

void Checker::check_one(const StreamWaitEvent& r) {
  check_event(r.event);
  check_stream(r.stream);
}

void Checker::check_one(const Synchronize& r) {
  if (r.what == Synchronize::What::Event) return check_event(r.id);
  const bool all = r.what == Synchronize::What::Device;
  if (all && r.id != 0) fail(fmt::format("device {} is waited for; there is only 0", r.id));
  if (!all) check_stream(r.id);
  std::erase_if(under_way_, [&](const auto& copy) {
    if (!all && copy.second != r.id) return false;
    arrived_.insert(copy.first);
    return true;
  });
}

void Checker::check_one(const Result& r) {
  check_exists(r.copy, copies_, "copy from the device");
  if (arrived_.erase(r.copy) == 0)
    fail(fmt::format("copy {} from the device has a result, and {}", r.copy,
                     under_way_.contains(r.copy) ? "was not waited for" : "has one already"));
}

}  // namespace gpumux::bundle
