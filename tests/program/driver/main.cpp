// A program that loads PTX itself. `driver_calls CASE` runs the case CASE with CUDA's driver alone, checks
// it, and ends with 0. tests/program runs this program under gpumux. The kernels are those of calls/.
#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "tests/program/calls/units.hpp"
#include "tests/program/checks.hpp"
#include "tests/program/driver/cuda.hpp"
#include "tests/program/make_fat_binary.hpp"

#define CHECK(call)                                             \
  do {                                                          \
    const int error_ = (call);                                  \
    const char* name_ = "?";                                    \
    if (error_ != 0) cuGetErrorName(error_, &name_);            \
    if (error_ != 0) {                                          \
      std::printf("line %d: %s: %s\n", __LINE__, #call, name_); \
      std::exit(1);                                             \
    }                                                           \
  } while (false)

namespace {

// As a program carries it in its text.
constexpr const char* kScale = R"(
.version 7.0
.target sm_70
.address_size 64
.global .align 4 .u32 calls;
.visible .entry scale(.param .u64 values, .param .u32 factor, .param .u32 count)
{
  .reg .pred %p<2>;
  .reg .b32 %r<8>;
  .reg .b64 %rd<5>;
  ld.param.u64 %rd1, [values];
  ld.param.u32 %r1, [factor];
  ld.param.u32 %r2, [count];
  mov.u32 %r3, %ctaid.x;
  mov.u32 %r4, %ntid.x;
  mov.u32 %r5, %tid.x;
  mad.lo.s32 %r3, %r3, %r4, %r5;
  setp.ge.s32 %p1, %r3, %r2;
  @%p1 bra done;
  cvta.to.global.u64 %rd2, %rd1;
  mul.wide.s32 %rd3, %r3, 4;
  add.s64 %rd2, %rd2, %rd3;
  ld.global.u32 %r6, [%rd2];
  mul.lo.s32 %r6, %r6, %r1;
  st.global.u32 [%rd2], %r6;
  atom.global.add.u32 %r7, [calls], 1;
done:
  ret;
}
)";

Context context;
Module kernels;

void begin() {
  int device = -1;
  CHECK(cuInit(0));
  CHECK(cuDeviceGet(&device, 0));
  CHECK(cuCtxCreate_v2(&context, 0, device));
}
void load_kernels() {
  const std::string ptx = file_text(GPUMUX_SOURCE_DIR "/tests/program/calls/kernels.ptx");
  CHECK(cuModuleLoadData(&kernels, ptx.c_str()));
}
Function kernel(const char* name) {
  Function function = nullptr;
  CHECK(cuModuleGetFunction(&function, kernels, name));
  return function;
}
Address device(std::size_t bytes) {
  Address address = 0;
  CHECK(cuMemAlloc_v2(&address, bytes));
  return address;
}
template <class... Arguments>
int launch(Function function, unsigned grid, unsigned block, unsigned shared, void* stream,
           Arguments... arguments) {
  void* pointers[] = {&arguments...};
  return cuLaunchKernel(function, grid, 1, 1, block, 1, 1, shared, stream, pointers, nullptr);
}

void add() {
  begin();
  load_kernels();
  const int n = 10000;
  const std::size_t bytes = n * sizeof(float);
  std::vector<float> a(n), b(n), c(n, -1);
  for (int i = 0; i < n; ++i) a[i] = static_cast<float>(i), b[i] = static_cast<float>(2 * i);
  const Address da = device(bytes), db = device(bytes), dc = device(bytes);
  CHECK(cuMemcpyHtoD_v2(da, a.data(), bytes));
  CHECK(cuMemcpyHtoD_v2(db, b.data(), bytes));
  CHECK(launch(kernel("add"), (n + 255) / 256, 256, 0, nullptr, da, db, dc, n));
  CHECK(cuMemcpyDtoH_v2(c.data(), dc, bytes));
  for (int i = 0; i < n; ++i) EXPECT_SAME(c[i], 3.0F * static_cast<float>(i));

  // All parameters at once, as the kernel has them: a, c, a, n.
  struct {
    Address a, b, c;
    int n;
  } packed{da, dc, da, n};
  std::size_t size = sizeof(packed) - 4;
  void* extra[] = {reinterpret_cast<void*>(2), &size, reinterpret_cast<void*>(1), &packed, nullptr};
  CHECK(cuLaunchKernel(kernel("add"), (n + 255) / 256, 1, 1, 256, 1, 1, 0, nullptr, nullptr, extra));
  CHECK(cuMemcpyDtoH_v2(c.data(), da, bytes));
  for (int i = 0; i < n; ++i) EXPECT_SAME(c[i], 4.0F * static_cast<float>(i));
  void* pointers[] = {&packed.a, &packed.b, &packed.c, &packed.n};
  EXPECT_SAME(cuLaunchKernel(kernel("add"), 1, 1, 1, 1, 1, 1, 0, nullptr, pointers, extra), 1);
  size = 100;
  EXPECT_SAME(cuLaunchKernel(kernel("add"), 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, extra), 1);
  EXPECT_SAME(cuLaunchKernel(kernel("add"), 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr), 1);

  // da + db, by the launch that takes a structure.
  packed = {da, db, dc, n};
  const Config config{{(n + 255) / 256, 1, 1}, {256, 1, 1}, 0, nullptr, nullptr, 0};
  CHECK(cuLaunchKernelEx(&config, kernel("add"), pointers, nullptr));
  CHECK(cuMemcpyDtoH_v2(c.data(), dc, bytes));
  for (int i = 0; i < n; ++i) EXPECT_SAME(c[i], 6.0F * static_cast<float>(i));
  for (const Address address : {da, db, dc}) CHECK(cuMemFree_v2(address));
  CHECK(cuCtxDestroy_v2(context));
  std::printf("sums are right\n");
}

/// PTX in the program's own text.
void own_text() {
  begin();
  Module module = nullptr;
  Function scale = nullptr;
  CHECK(cuModuleLoadData(&module, kScale));
  CHECK(cuModuleGetFunction(&scale, module, "scale"));
  const int n = 1000;
  std::vector<int> values(n);
  for (int i = 0; i < n; ++i) values[i] = i;
  const Address there = device(n * 4);
  CHECK(cuMemcpyHtoD_v2(there, values.data(), n * 4));
  CHECK(launch(scale, 4, 256, 0, nullptr, there, 7, n));
  CHECK(cuMemcpyDtoH_v2(values.data(), there, n * 4));
  for (int i = 0; i < n; ++i) EXPECT_SAME(values[i], 7 * i);
  Address calls = 0;
  std::size_t bytes = 0;
  int count = 0;
  CHECK(cuModuleGetGlobal_v2(&calls, &bytes, module, "calls"));
  EXPECT_SAME(bytes, 4U);
  CHECK(cuMemcpyDtoH_v2(&count, calls, 4));
  EXPECT_SAME(count, n);
  // Another module of the same text has variables of its own.
  Module other = nullptr;
  CHECK(cuModuleLoadData(&other, kScale));
  CHECK(cuModuleGetGlobal_v2(&calls, nullptr, other, "calls"));
  CHECK(cuMemcpyDtoH_v2(&count, calls, 4));
  EXPECT_SAME(count, 0);
  CHECK(cuModuleUnload(module));
  EXPECT_SAME(cuModuleUnload(module), 400);
  EXPECT_SAME(launch(scale, 1, 1, 0, nullptr, there, 7, n), 400);
}

void variables() {
  begin();
  load_kernels();
  Address table = 0, counter = 0, word = 0;
  std::size_t bytes = 0;
  CHECK(cuModuleGetGlobal_v2(&table, &bytes, kernels, "table"));
  EXPECT_SAME(bytes, 16U);
  CHECK(cuModuleGetGlobal_v2(&counter, nullptr, kernels, "counter"));
  CHECK(cuModuleGetGlobal_v2(&word, nullptr, kernels, "shared_word"));
  EXPECT_SAME(cuModuleGetGlobal_v2(&word, nullptr, kernels, "none"), 500);
  // Constants, which are no part of device memory: the last two, from the host and from the device.
  const int values[2] = {30, 50};
  int seen[4] = {};
  CHECK(cuMemcpyHtoD_v2(table + 8, values, 4));
  const Address out = device(16);
  CHECK(cuMemcpyHtoD_v2(out, values, 8));
  CHECK(cuMemcpyDtoD_v2(table + 12, out + 4, 4));
  CHECK(cuMemcpyDtoH_v2(seen, table, 16));
  EXPECT(seen[0] == 1 && seen[1] == 2 && seen[2] == 30 && seen[3] == 50);
  EXPECT_SAME(cuMemcpyHtoD_v2(table + 12, values, 8), 1);
  CHECK(cuMemsetD32_v2(table, 70, 1));
  CHECK(cuMemsetD32_v2(counter, 6, 1));
  CHECK(launch(kernel("look"), 1, 4, 0, nullptr, out));
  CHECK(cuMemcpyDtoH_v2(seen, out, 16));
  const int constants[] = {70, 2, 30, 50};
  for (int i = 0; i < 4; ++i) EXPECT_SAME(seen[i], constants[i] + 10 * 6 + 100 * 7);
}

void images() {
  const char* const file = GPUMUX_SOURCE_DIR "/tests/program/calls/kernels.ptx";
  begin();
  Module module = nullptr;
  Function function = nullptr;
  const std::string ptx = file_text(GPUMUX_SOURCE_DIR "/tests/program/calls/kernels.ptx");
  CHECK(cuModuleLoad(&module, file));
  CHECK(cuModuleGetFunction(&function, module, "add"));
  EXPECT_SAME(cuModuleLoad(&module, "none.ptx"), 301);
  EXPECT_SAME(cuModuleGetFunction(&function, module, "subtract"), 500);
  const std::string binary = fat_binary(fat_entry(1, 120, "no PTX at all", Packing::Lz4) +
                                        fat_entry(1, 75, ptx + '\0', Packing::Zstd));
  CHECK(cuModuleLoadFatBinary(&module, binary.data()));
  CHECK(cuModuleGetFunction(&function, module, "sum_shared"));
  const Address out = device(4);
  int sum = 0;
  CHECK(launch(function, 1, 32, 32 * 4, nullptr, out));
  CHECK(cuMemcpyDtoH_v2(&sum, out, 4));
  EXPECT_SAME(sum, 31 * 32 / 2);
  const std::string damaged = fat_binary(fat_entry(1, 75, "no PTX at all", Packing::Raw));
  EXPECT_SAME(cuModuleLoadFatBinary(&module, damaged.data()), 218);

  // Libraries.
  void* library = nullptr;
  void* kernel_of = nullptr;
  Address calls = 0;
  std::size_t bytes = 0;
  CHECK(cuLibraryLoadData(&library, kScale, nullptr, nullptr, 0, nullptr, nullptr, 0));
  CHECK(cuLibraryGetKernel(&kernel_of, library, "scale"));
  CHECK(cuKernelGetFunction(&function, kernel_of));
  CHECK(cuLibraryGetGlobal(&calls, &bytes, library, "calls"));
  CHECK(launch(function, 1, 1, 0, nullptr, out, 2, 1));
  CHECK(cuMemcpyDtoH_v2(&sum, out, 4));
  EXPECT_SAME(sum, 31 * 32);
  CHECK(cuLibraryUnload(library));

  // Two texts in one module.
  void* link = nullptr;
  void* image = nullptr;
  CHECK(cuLinkCreate_v2(0, nullptr, nullptr, &link));
  CHECK(cuLinkAddData_v2(link, 1, const_cast<char*>(kScale), std::strlen(kScale) + 1, "a", 0, nullptr,
                         nullptr));
  EXPECT_SAME(cuLinkAddFile_v2(link, 1, "none.ptx", 0, nullptr, nullptr), 301);
  CHECK(cuLinkAddFile_v2(link, 1, file, 0, nullptr, nullptr));
  CHECK(cuLinkComplete(link, &image, &bytes));
  const std::string kept(static_cast<const char*>(image), bytes);
  CHECK(cuLinkDestroy(link));
  EXPECT_SAME(cuLinkDestroy(link), 400);
  CHECK(cuModuleLoadData(&module, kept.data()));
  CHECK(cuModuleGetFunction(&function, module, "sum_shared"));
  CHECK(cuModuleGetFunction(&function, module, "scale"));
  CHECK(launch(function, 1, 1, 0, nullptr, out, 3, 1));
  CHECK(cuMemcpyDtoH_v2(&sum, out, 4));
  EXPECT_SAME(sum, 3 * 31 * 32);

  // The first calls a function of the second, which has a variable of its own by the name of one of the
  // first's.
  CHECK(cuLinkCreate_v2(0, nullptr, nullptr, &link));
  for (const char* unit : {kTotalUnit, kTwiceUnit})
    CHECK(cuLinkAddData_v2(link, 1, const_cast<char*>(unit), std::strlen(unit) + 1, "unit", 0, nullptr,
                           nullptr));
  CHECK(cuLinkComplete(link, &image, &bytes));
  CHECK(cuModuleLoadData(&module, image));
  CHECK(cuLinkDestroy(link));
  CHECK(cuModuleGetFunction(&function, module, "total"));
  CHECK(launch(function, 1, 1, 0, nullptr, out));
  CHECK(cuMemcpyDtoH_v2(&sum, out, 4));
  EXPECT_SAME(sum, 76 + 7 + 1);
}

/// Physical memory at addresses of the program's choice.
void virtual_memory() {
  begin();
  load_kernels();
  int supported = 0;
  CHECK(cuDeviceGetAttribute(&supported, 102, 0));
  EXPECT_SAME(supported, 1);
  const MemoryProperties properties;
  std::size_t unit = 0, before = 0, now = 0, total = 0;
  CHECK(cuMemGetAllocationGranularity(&unit, &properties, 0));
  EXPECT_SAME(unit, 2U << 20U);
  CHECK(cuMemGetInfo_v2(&before, &total));

  std::uint64_t first = 0, second = 0, third = 0;
  EXPECT_SAME(cuMemCreate(&first, 1000, &properties, 0), 1);
  CHECK(cuMemCreate(&first, unit, &properties, 0));
  CHECK(cuMemCreate(&second, 2 * unit, &properties, 0));
  MemoryProperties on_host;
  on_host.location.type = 2;
  EXPECT_SAME(cuMemCreate(&third, unit, &on_host, 0), 801);
  EXPECT_SAME(cuMemCreate(&third, total, &properties, 0), 2);
  // More than there is memory.
  Address at = 0, other = 0;
  const std::size_t reserved = total / unit * unit * 2;
  CHECK(cuMemAddressReserve(&at, reserved, 0, 0, 0));
  CHECK(cuMemAddressReserve(&other, unit, 8 * unit, 0, 0));
  EXPECT(at % unit == 0 && other % (8 * unit) == 0 && (other >= at + reserved || other + unit <= at));
  EXPECT_SAME(cuMemMap(at + 1000, unit, 0, first, 0), 1);
  EXPECT_SAME(cuMemMap(at, 2 * unit, 0, first, 0), 1);
  EXPECT_SAME(cuMemMap(at, unit, 0, third, 0), 1);
  CHECK(cuMemMap(at, unit, 0, second, 0));
  CHECK(cuMemUnmap(at, unit));
  CHECK(cuMemMap(at, unit, 0, first, 0));
  CHECK(cuMemMap(at + unit, 2 * unit, 0, second, 0));
  EXPECT_SAME(cuMemMap(at + 2 * unit, unit, 0, first, 0), 1);  // something is there

  // Nobody may access it yet.
  int words[4] = {1, 2, 3, 4};
  EXPECT_SAME(cuMemcpyHtoD_v2(at, words, 16), 1);
  EXPECT_SAME(cuMemcpy(at, reinterpret_cast<Address>(words), 16), 1);
  EXPECT_SAME(cuMemsetD32_v2(at, 1, 4), 1);
  const MemoryAccess access;
  EXPECT_SAME(cuMemSetAccess(at, 2 * unit, &access, 1), 1);  // half of a mapping
  CHECK(cuMemSetAccess(at, 3 * unit, &access, 1));
  unsigned long long flags = 0;
  CHECK(cuMemGetAccess(&flags, &access.location, at + unit + 5));
  EXPECT_SAME(flags, 3U);
  EXPECT_SAME(cuMemcpyHtoD_v2(at + 3 * unit - 8, words, 16), 1);  // over the end

  // Fills, copies and kernels from the one into the other.
  const int n = 1000;
  const Address a = at + unit - 4 * 500, b = at + 4096, c = at + 3 * unit - 4 * n;
  CHECK(cuMemsetD32_v2(at, 0x3f800000, 3 * unit / 4));  // 1.0
  std::vector<float> values(n), back(n);
  for (int i = 0; i < n; ++i) values[i] = static_cast<float>(i);
  CHECK(cuMemcpyHtoD_v2(a, values.data(), 4 * n));
  CHECK(launch(kernel("add"), (n + 255) / 256, 256, 0, nullptr, a, b, c, n));
  CHECK(cuMemcpyDtoH_v2(back.data(), c, 4 * n));
  for (int i = 0; i < n; ++i) EXPECT_SAME(back[i], static_cast<float>(i + 1));
  CHECK(cuMemcpyDtoD_v2(b, a, 4 * n));
  CHECK(cuMemcpyDtoH_v2(back.data(), b, 4 * n));
  for (int i = 0; i < n; ++i) EXPECT_SAME(back[i], static_cast<float>(i));
  int type = 0;
  Address start = 0;
  std::size_t bytes = 0;
  CHECK(cuPointerGetAttribute(&type, 2, a));
  EXPECT_SAME(type, 2);
  CHECK(cuMemGetAddressRange_v2(&start, &bytes, at + unit + 100));
  EXPECT(start == at + unit && bytes == 2 * unit);

  // The same memory at two places, and what it holds at a third.
  CHECK(cuMemMap(other, unit, 0, first, 0));
  CHECK(cuMemSetAccess(other, unit, &access, 1));
  CHECK(cuMemcpyHtoD_v2(other, words, 16));
  int seen[4] = {};
  CHECK(cuMemcpyDtoH_v2(seen, at, 16));
  for (int i = 0; i < 4; ++i) EXPECT_SAME(seen[i], words[i]);
  EXPECT_SAME(cuMemAddressFree(other, unit), 1);  // something is there
  EXPECT_SAME(cuMemUnmap(at + unit, unit), 1);    // half of a mapping
  CHECK(cuMemUnmap(at, 3 * unit));
  CHECK(cuMemUnmap(other, unit));
  EXPECT_SAME(cuMemcpyDtoH_v2(seen, at, 16), 1);
  CHECK(cuMemMap(at + 10 * unit, unit, 0, first, 0));
  CHECK(cuMemSetAccess(at + 10 * unit, unit, &access, 1));
  std::memset(seen, 0, sizeof(seen));
  CHECK(cuMemcpyDtoH_v2(seen, at + 10 * unit, 16));
  for (int i = 0; i < 4; ++i) EXPECT_SAME(seen[i], words[i]);

  // It goes with its last handle and its last mapping.
  std::uint64_t again = 0;
  CHECK(cuMemRetainAllocationHandle(&again, reinterpret_cast<void*>(at + 10 * unit)));
  EXPECT(again == first);
  for (const std::uint64_t handle : {first, first, second}) CHECK(cuMemRelease(handle));
  EXPECT_SAME(cuMemRelease(first), 1);
  CHECK(cuMemcpyDtoH_v2(seen, at + 10 * unit, 16));
  CHECK(cuMemGetInfo_v2(&now, &total));
  EXPECT(now < before);
  CHECK(cuMemUnmap(at + 10 * unit, unit));
  CHECK(cuMemGetInfo_v2(&now, &total));
  EXPECT_SAME(now, before);
  CHECK(cuMemAddressFree(at, reserved));
  CHECK(cuMemAddressFree(other, unit));
}

/// 4 rows of 10 words.
void memory() {
  begin();
  std::size_t pitch = 0, bytes = 0, before = 0, after = 0, total = 0;
  Address rows = 0, first = 0;
  CHECK(cuMemGetInfo_v2(&before, &total));
  CHECK(cuMemAllocPitch_v2(&rows, &pitch, 40, 4, 4));
  EXPECT(pitch >= 40);
  CHECK(cuMemsetD2D32_v2(rows, pitch, 0x12345678, 10, 4));
  std::vector<int> words(40);
  for (int i = 0; i < 40; ++i) words[i] = i;
  Copy2D of{};
  of.from_type = 1, of.from_host = words.data(), of.from_pitch = 40, of.from_x = 8, of.from_y = 1;
  of.to_type = 2, of.to_device = rows, of.to_pitch = pitch, of.to_x = 4, of.to_y = 2;
  of.width = 12, of.height = 2;
  CHECK(cuMemcpy2D_v2(&of));
  std::vector<int> back(40, 0);
  Copy2D all{};
  all.from_type = 2, all.from_device = rows, all.from_pitch = pitch;
  all.to_type = 1, all.to_host = back.data(), all.to_pitch = 40;
  all.width = 40, all.height = 4;
  CHECK(cuMemcpy2D_v2(&all));
  for (int row = 0; row < 4; ++row) {
    for (int column = 0; column < 10; ++column) {
      const bool copied = row >= 2 && column >= 1 && column < 4;
      const int expected = copied ? (row - 1) * 10 + column + 1 : 0x12345678;
      EXPECT_SAME(back[row * 10 + column], expected);
    }
  }
  all.to_pitch = 8;
  EXPECT_SAME(cuMemcpy2D_v2(&all), 1);
  all.to_pitch = 40, all.to_x = 4;  // the last word of a row would be the next one's first
  EXPECT_SAME(cuMemcpy2D_v2(&all), 1);
  CHECK(cuMemGetAddressRange_v2(&first, &bytes, rows + pitch));
  EXPECT(first == rows && bytes == 4 * pitch);

  // Fills of two and four bytes that differ, of lengths that are no power of two.
  const Address there = device(28);
  CHECK(cuMemsetD16_v2(there, 0x1234, 14));
  CHECK(cuMemsetD8_v2(there + 26, 9, 1));
  std::vector<unsigned char> seen(28);
  CHECK(cuMemcpyDtoH_v2(seen.data(), there, 28));
  for (int i = 0; i < 26; ++i) EXPECT_SAME(seen[i], i % 2 == 0 ? 0x34 : 0x12);
  EXPECT(seen[26] == 9 && seen[27] == 0x12);
  EXPECT_SAME(cuMemsetD32_v2(there + 2, 1, 1), 1);
  EXPECT_SAME(cuMemsetD32_v2(there, 1, 1000), 1);

  void* pinned = nullptr;
  Address managed = 0, same = 0;
  int type = 0;
  CHECK(cuMemHostAlloc(&pinned, 400, 0));
  CHECK(cuMemHostGetDevicePointer_v2(&same, pinned, 0));
  CHECK(cuPointerGetAttribute(&type, 2, same));
  EXPECT_SAME(type, 1);
  CHECK(cuMemAllocManaged(&managed, 400, 1));
  *reinterpret_cast<int*>(managed) = 77;
  CHECK(cuMemcpyDtoH_v2(pinned, managed, 4));
  EXPECT_SAME(*static_cast<int*>(pinned), 77);
  bool is_managed = false;
  Context owner = nullptr;
  int attributes[] = {2, 8, 1};
  void* data[] = {&type, &is_managed, &owner};
  CHECK(cuPointerGetAttributes(3, attributes, data, managed + 8));
  EXPECT(type == 2 && is_managed && owner == context);
  CHECK(cuPointerGetAttributes(3, attributes, data, reinterpret_cast<Address>(&type)));
  EXPECT(type == 0 && owner == nullptr);
  EXPECT_SAME(cuPointerGetAttribute(&type, 2, reinterpret_cast<Address>(&type)), 1);
  CHECK(cuMemcpy(there, reinterpret_cast<Address>(words.data()), 28));
  CHECK(cuMemcpyDtoH_v2(back.data(), there, 28));
  EXPECT_SAME(back[6], 6);

  // Rows of an array.
  void* array = nullptr;
  const ArrayShape shape{8, 4, 0x20, 1};
  ArrayShape described{};
  CHECK(cuArrayCreate_v2(&array, &shape));
  CHECK(cuArrayGetDescriptor_v2(&described, array));
  EXPECT(described.width == 8 && described.format == 0x20 && described.channels == 1);
  Copy2D in{};
  in.from_type = 1, in.from_host = words.data(), in.from_pitch = 40, in.from_y = 1;
  in.to_type = 3, in.to_array = array, in.to_x = 8, in.to_y = 2;
  in.width = 16, in.height = 2;
  CHECK(cuMemcpy2D_v2(&in));
  Copy2D out{};
  out.from_type = 3, out.from_array = array, out.from_x = 12, out.from_y = 3;
  out.to_type = 1, out.to_host = back.data(), out.to_pitch = 8;
  out.width = 8, out.height = 1;
  CHECK(cuMemcpy2D_v2(&out));
  EXPECT(back[0] == 21 && back[1] == 22);
  CHECK(cuArrayDestroy(array));

  EXPECT_SAME(cuMemFree_v2(same), 1);
  CHECK(cuMemFreeHost(pinned));
  EXPECT_SAME(cuMemAlloc_v2(&same, 0), 1);
  EXPECT_SAME(cuMemAlloc_v2(&same, std::size_t{1} << 40U), 2);
  // What was not freed goes with its context.
  CHECK(cuMemGetInfo_v2(&after, &total));
  EXPECT(after < before);
  CHECK(cuCtxDestroy_v2(context));
  void* parameters[3] = {};  // none of what they could say
  CHECK(cuCtxCreate_v4(&context, parameters, 0, 0));
  CHECK(cuMemGetInfo_v2(&after, &total));
  EXPECT_SAME(after, before);
}

float milliseconds(void* begin, void* end) {
  float time = -1;
  CHECK(cuEventElapsedTime(&time, begin, end));
  return time;
}

void streams() {
  begin();
  load_kernels();
  void* stream[2];
  void* event[3];
  for (void*& each : stream) CHECK(cuStreamCreate(&each, 1));
  for (void*& each : event) CHECK(cuEventCreate(&each, 0));
  const Address words = device(256);
  const Function spin = kernel("spin");
  const int rounds = 20000;
  CHECK(cuEventRecord(event[0], stream[0]));
  CHECK(launch(spin, 1, 1, 0, stream[0], words, rounds));
  CHECK(cuEventRecord(event[1], stream[0]));
  EXPECT_SAME(cuEventQuery(event[1]), 600);
  CHECK(cuEventSynchronize(event[1]));
  const float one = milliseconds(event[0], event[1]);
  EXPECT(one > 0);
  CHECK(cuEventRecord(event[0], stream[0]));
  CHECK(launch(spin, 1, 1, 0, stream[0], words, rounds));
  CHECK(cuEventRecord(event[1], stream[0]));
  CHECK(cuStreamWaitEvent(stream[1], event[1], 0));
  CHECK(launch(spin, 1, 1, 0, stream[1], words, rounds));
  CHECK(cuEventRecord(event[2], stream[1]));
  CHECK(cuCtxSynchronize());
  EXPECT(milliseconds(event[0], event[2]) > 1.8F * one);

  int value = 5;
  CHECK(cuMemsetD32Async(words, 0x01020304, 3, stream[0]));
  CHECK(cuMemcpyDtoHAsync_v2(&value, words + 8, 4, stream[0]));
  CHECK(cuStreamSynchronize(stream[0]));
  EXPECT_SAME(value, 0x01020304);
  int called = 0;
  CHECK(cuLaunchHostFunc(
      stream[0], [](void* data) { *static_cast<int*>(data) = 1; }, &called));
  EXPECT_SAME(called, 1);

  // A graph of what the stream would have done.
  void* graph = nullptr;
  void* plan = nullptr;
  CHECK(cuMemsetD32_v2(words, 1, 32));
  CHECK(cuStreamBeginCapture_v2(stream[0], 0));
  CHECK(launch(spin, 1, 1, 0, stream[0], words, 2));
  CHECK(cuMemsetD32Async(words + 64, 0x0a0b0c0d, 5, stream[0]));
  CHECK(cuStreamEndCapture(stream[0], &graph));
  CHECK(cuGraphInstantiateWithFlags(&plan, graph, 0));
  for (int i = 0; i < 2; ++i) CHECK(cuGraphLaunch(plan, stream[0]));
  CHECK(cuStreamSynchronize(stream[0]));
  CHECK(cuMemcpyDtoH_v2(&value, words, 4));
  EXPECT_SAME(value, ((1 * 3 + 1) * 3 + 1) * 9 + 4);
  CHECK(cuMemcpyDtoH_v2(&value, words + 80, 4));
  EXPECT_SAME(value, 0x0a0b0c0d);
  for (void* each : stream) CHECK(cuStreamDestroy_v2(each));
  for (void* each : event) CHECK(cuEventDestroy_v2(each));
  EXPECT_SAME(cuStreamSynchronize(stream[0]), 400);
  std::printf("one %.6f\n", one);
}

void graphs() {
  begin();
  load_kernels();
  const Address number = device(4);
  int priority = 1;
  void* stream = nullptr;
  CHECK(cuStreamCreateWithPriority(&stream, 1, -9));
  CHECK(cuStreamGetPriority(stream, &priority));
  EXPECT_SAME(priority, -5);

  void* graph = nullptr;
  CHECK(cuGraphCreate(&graph, 0));
  const Function append = kernel("append");
  const auto digit = [&](void* to, int value) {
    void* arguments[] = {const_cast<Address*>(&number), &value};
    KernelNode params;
    params.kernel = append;  // in place of the function
    params.parameters = arguments;
    void* node = nullptr;
    CHECK(cuGraphAddKernelNode_v2(&node, to, nullptr, 0, &params));
    return node;
  };
  void* const one = digit(graph, 1);
  KernelNode is;
  CHECK(cuGraphKernelNodeGetParams_v2(one, &is));
  EXPECT(is.function == append && is.context == context);
  EXPECT_SAME(*static_cast<int*>(is.parameters[1]), 1);
  ConditionNode condition;
  CHECK(cuGraphConditionalHandleCreate(&condition.handle, graph, context, 1, 1));
  void* decided = nullptr;
  CHECK(cuGraphAddNode_v2(&decided, graph, &one, nullptr, 1, &condition));
  digit(condition.graphs[0], 2);
  void* const three = digit(graph, 3);
  CHECK(cuGraphAddDependencies_v2(graph, &decided, &three, nullptr, 1));
  void* plan = nullptr;
  CHECK(cuGraphInstantiateWithFlags(&plan, graph, 0));
  int result = 0;
  const auto launched = [&] {
    CHECK(cuMemsetD32_v2(number, 0, 1));
    CHECK(cuGraphLaunch(plan, stream));
    CHECK(cuStreamSynchronize(stream));
    CHECK(cuMemcpyDtoH_v2(&result, number, 4));
    return result;
  };
  EXPECT_SAME(launched(), 123);
  int four = 4;
  void* arguments[] = {const_cast<Address*>(&number), &four};
  is.parameters = arguments;
  CHECK(cuGraphExecKernelNodeSetParams_v2(plan, one, &is));
  EXPECT_SAME(launched(), 423);
  CHECK(cuGraphExecDestroy(plan));
  CHECK(cuGraphDestroy(graph));
}

void contexts() {
  int device = -1, active = -1;
  unsigned flags = 0;
  Context current = &current, second = nullptr, primary = nullptr;
  EXPECT_SAME(cuDeviceGet(&device, 0), 3);
  EXPECT_SAME(cuMemFree_v2(0), 3);
  CHECK(cuInit(0));
  CHECK(cuCtxGetCurrent(&current));
  EXPECT(current == nullptr);
  EXPECT_SAME(cuCtxGetDevice(&device), 201);
  Address address = 0;
  EXPECT_SAME(cuMemAlloc_v2(&address, 4), 201);
  CHECK(cuDevicePrimaryCtxGetState(0, &flags, &active));
  EXPECT_SAME(active, 0);
  EXPECT_SAME(cuDevicePrimaryCtxRelease_v2(0), 201);
  CHECK(cuDevicePrimaryCtxRetain(&primary, 0));
  CHECK(cuDevicePrimaryCtxGetState(0, &flags, &active));
  EXPECT_SAME(active, 1);
  CHECK(cuCtxGetCurrent(&current));
  EXPECT(current == nullptr);
  CHECK(cuCtxSetCurrent(primary));
  CHECK(cuMemAlloc_v2(&address, 4));
  CHECK(cuCtxCreate_v2(&context, 0, 0));
  CHECK(cuCtxCreate_v2(&second, 0, 0));
  CHECK(cuCtxGetCurrent(&current));
  EXPECT(current == second && second != context);
  CHECK(cuCtxPopCurrent_v2(&current));
  EXPECT(current == second);
  CHECK(cuCtxDestroy_v2(context));
  CHECK(cuCtxGetCurrent(&current));
  EXPECT(current == primary);
  CHECK(cuCtxPushCurrent_v2(second));
  CHECK(cuCtxDestroy_v2(second));
  EXPECT_SAME(cuCtxPushCurrent_v2(second), 709);
  EXPECT_SAME(cuCtxDestroy_v2(primary), 201);
  EXPECT_SAME(cuCtxSetCurrent(&current), 201);
  EXPECT_SAME(cuCtxCreate_v2(&second, 0, 1), 101);
  std::size_t bytes = 0;
  CHECK(cuCtxGetLimit(&bytes, 2));
  CHECK(cuCtxSetLimit(2, bytes * 2));
  CHECK(cuCtxGetLimit(&bytes, 2));
  EXPECT(bytes > 0);
  EXPECT_SAME(cuCtxGetLimit(&bytes, 5), 215);
  CHECK(cuCtxPopCurrent_v2(nullptr));
  EXPECT_SAME(cuCtxPopCurrent_v2(nullptr), 201);
  CHECK(cuDevicePrimaryCtxRelease_v2(0));
  std::size_t free_bytes = 0, total = 0;
  CHECK(cuCtxCreate_v2(&context, 0, 0));
  CHECK(cuMemGetInfo_v2(&free_bytes, &total));
  EXPECT_SAME(free_bytes, total);  // what the primary context had is gone
}

void properties() {
  begin();
  load_kernels();
  char name[64], cut[4];
  int count = 0, major = 0, minor = 0, sms = 0, version = 0;
  int all[14];
  std::size_t bytes = 0;
  CHECK(cuDeviceGetCount(&count));
  EXPECT_SAME(count, 1);
  CHECK(cuDeviceGetName(name, sizeof(name), 0));
  CHECK(cuDeviceGetName(cut, sizeof(cut), 0));
  EXPECT(std::string(cut) == std::string(name).substr(0, 3));
  CHECK(cuDeviceComputeCapability(&major, &minor, 0));
  CHECK(cuDeviceGetAttribute(&sms, 16, 0));
  CHECK(cuDeviceTotalMem_v2(&bytes, 0));
  CHECK(cuDeviceGetProperties(all, 0));
  CHECK(cuDriverGetVersion(&version));
  EXPECT(bytes > 0 && version >= 13000);
  int layers = 0;
  CHECK(cuDeviceGetAttribute(&layers, 29, 0));  // of a 2D texture
  EXPECT_SAME(layers, 2048);
  EXPECT_SAME(cuDeviceGetAttribute(&sms, 16, 1), 101);
  std::printf("%s: %d SMs, %d.%d, %d threads, block %d shared\n", name, sms, major, minor, all[0], all[7]);

  int value = 0, blocks = 0, grid = 0, block = 0;
  std::size_t offset = 0;
  const char* of_kernel = nullptr;
  const Function mix = kernel("mix"), sum = kernel("sum_shared");
  CHECK(cuFuncGetName(&of_kernel, mix));
  EXPECT(std::string(of_kernel) == "mix");
  CHECK(cuFuncGetParamInfo(mix, 1, &offset, &bytes));
  EXPECT(offset == 8 && bytes == 16);
  EXPECT_SAME(cuFuncGetParamInfo(mix, 3, &offset, &bytes), 1);
  CHECK(cuFuncGetAttribute(&value, 4, mix));
  EXPECT(value > 0 && value < 64);
  CHECK(cuFuncGetAttribute(&value, 5, mix));
  EXPECT_SAME(value, 75);
  const Address out = device(4);
  EXPECT_SAME(launch(sum, 1, 32, 60000, nullptr, out), 1);
  CHECK(cuFuncSetAttribute(sum, 8, 60000));
  CHECK(cuFuncGetAttribute(&value, 8, sum));
  EXPECT_SAME(value, 60000);
  CHECK(launch(sum, 1, 32, 60000, nullptr, out));
  CHECK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, sum, 256, 30000));
  EXPECT_SAME(blocks, 2);
  CHECK(cuOccupancyMaxPotentialBlockSize(&grid, &block, sum, nullptr, 0, 0));
  EXPECT(block == 1024 && grid == sms);
  CHECK(cuOccupancyMaxPotentialBlockSize(
      &grid, &block, sum, [](int threads) { return static_cast<std::size_t>(threads) * 256; }, 0, 0));
  EXPECT_SAME(block, 256);  // with 64 KB, which one block may have
}

void errors() {
  begin();
  const char* text = nullptr;
  CHECK(cuGetErrorName(218, &text));
  EXPECT(std::string(text) == "CUDA_ERROR_INVALID_PTX");
  CHECK(cuGetErrorString(2, &text));
  EXPECT(std::string(text) == "out of memory");
  EXPECT_SAME(cuGetErrorName(12345, &text), 1);
  EXPECT(text == nullptr);
  // The compiler's logs.
  std::string wrong(kScale);
  wrong.replace(wrong.find("mul.lo.s32"), 10, "mul.lo.f99");
  char log[300] = "?", info[100] = "?", little[8];
  int options[] = {5, 6, 3, 4, 2};
  float time = 0;
  void* values[] = {log, reinterpret_cast<void*>(sizeof(log)), info, reinterpret_cast<void*>(sizeof(info)),
                    nullptr};
  Module module = nullptr;
  EXPECT_SAME(cuModuleLoadDataEx(&module, wrong.c_str(), 5, options, values), 218);
  std::printf("%s\n", log);
  EXPECT(module == nullptr && info[0] == '\0');
  EXPECT_SAME(reinterpret_cast<std::size_t>(values[1]), std::strlen(log));
  EXPECT_SAME(reinterpret_cast<std::size_t>(values[3]), 0U);
  std::memcpy(&time, &values[4], sizeof(time));
  void* few[] = {little, reinterpret_cast<void*>(sizeof(little))};
  EXPECT_SAME(cuModuleLoadDataEx(&module, wrong.c_str(), 2, options, few), 218);
  EXPECT(std::string(little) == std::string(log).substr(0, 7));
  values[1] = reinterpret_cast<void*>(sizeof(log));
  CHECK(cuModuleLoadDataEx(&module, kScale, 2, options, values));
  EXPECT(log[0] == '\0');
  void* link = nullptr;
  values[1] = reinterpret_cast<void*>(sizeof(log));
  CHECK(cuLinkCreate_v2(2, options, values, &link));
  EXPECT_SAME(cuLinkAddData_v2(link, 1, wrong.data(), wrong.size(), "wrong", 0, nullptr, nullptr), 218);
  EXPECT(std::string(log).find("mul.lo.f99") != std::string::npos);
  void* image = nullptr;
  std::size_t bytes = 0;
  EXPECT_SAME(cuLinkComplete(link, &image, &bytes), 1);

  Function function = nullptr;
  CHECK(cuModuleGetFunction(&function, module, "scale"));
  EXPECT_SAME(launch(function, 1, 2048, 0, nullptr, Address{0}, 1, 0), 1);
  EXPECT_SAME(launch(&module, 1, 1, 0, nullptr), 400);
  EXPECT_SAME(cuModuleGetFunction(&function, &module, "scale"), 400);
  void* pointers[] = {nullptr, nullptr, nullptr};
  Address zero = 0;
  int one = 1;
  pointers[0] = &zero, pointers[1] = &one, pointers[2] = &zero;
  EXPECT_SAME(cuLaunchCooperativeKernel(function, 1000000, 1, 1, 1024, 1, 1, 0, nullptr, pointers), 720);
  EXPECT_SAME(cuMemFree_v2(12345), 1);
  Address address = 0;
  EXPECT_SAME(cuMemAlloc(&address, 4), 801);  // of 32 bits
  for (int i = 0; i < 2; ++i) EXPECT_SAME(cuIpcGetMemHandle(nullptr, 0), 801);
}

/// As the CUDA run time inside of a library asks first.
void export_table() {
  const void* table = nullptr;
  for (int i = 0; i < 2; ++i) EXPECT_SAME(cuGetExportTable(&table, nullptr), 801);
}

void entry_points() {
  void* function = nullptr;
  int found = -1;
  CHECK(cuGetProcAddress_v2("cuInit", &function, 12000, 0, &found));
  EXPECT_SAME(found, 0);
  CHECK(reinterpret_cast<int (*)(unsigned)>(function)(0));
  const auto same = [&](const char* name, int version, std::uint64_t flags, auto* expected) {
    CHECK(cuGetProcAddress_v2(name, &function, version, flags, &found));
    return function == reinterpret_cast<void*>(expected);
  };
  EXPECT(same("cuMemAlloc", 12000, 0, cuMemAlloc_v2));
  EXPECT(same("cuCtxCreate", 13000, 0, cuCtxCreate_v4));
  EXPECT(same("cuCtxDestroy", 11030, 0, cuCtxDestroy_v2));
  EXPECT(!same("cuCtxCreate", 12000, 0, cuCtxCreate_v4));
  EXPECT(same("cuLaunchKernel", 12000, 1, cuLaunchKernel));
  EXPECT(!same("cuLaunchKernel", 12000, 2, cuLaunchKernel));
  EXPECT_SAME(cuGetProcAddress_v2("cuNothing", &function, 12000, 0, &found), 500);
  EXPECT(function == nullptr && found == 1);
}

/// PTX that is wrong, in a program that has no log for it.
void wrong_text() {
  begin();
  Module module = nullptr;
  EXPECT_SAME(cuModuleLoadData(&module, ".version 7.0\n.target sm_70\n.nonsense\n"), 218);
}

void machine_code() {
  begin();
  Module module = nullptr;
  cuModuleLoadData(&module,
                   "\x7f"
                   "ELF and more");
}

}  // namespace

int main(int argc, char** argv) {
  const std::string name = argc > 1 ? argv[1] : "";
  const std::map<std::string, std::function<void()>> cases = {
      {"add", add},
      {"own-text", own_text},
      {"variables", variables},
      {"images", images},
      {"memory", memory},
      {"virtual-memory", virtual_memory},
      {"streams", streams},
      {"graphs", graphs},
      {"contexts", contexts},
      {"properties", properties},
      {"errors", errors},
      {"export-table", export_table},
      {"entry-points", entry_points},
      {"wrong-text", wrong_text},
      {"machine-code", machine_code},
  };
  const auto found = cases.find(name);
  if (found == cases.end()) return 99;
  found->second();
  return 0;
}
