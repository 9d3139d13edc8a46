// The search for changes that the host made to shared memory: its results and its cost.
#include "program/shared_memory.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "base/hash.hpp"

namespace gpumux::program {
namespace {

using Writes = std::vector<std::pair<Address, std::vector<std::byte>>>;

class SharedMemories : public testing::Test {
 protected:
  SharedMemories() { EXPECT_EQ(::ftruncate(file_, off_t{1} << 36), 0); }
  ~SharedMemories() override { ::close(file_); }
  [[nodiscard]] std::uint64_t resident() const {
    struct stat of {};
    ::fstat(file_, &of);
    return static_cast<std::uint64_t>(of.st_blocks) * 512;
  }
  /// As the program does, by another mapping.
  void write(Address to, const std::vector<std::byte>& bytes) const {
    EXPECT_EQ(::pwrite(file_, bytes.data(), bytes.size(), static_cast<off_t>(to - memory_.base())),
              static_cast<ssize_t>(bytes.size()));
  }
  [[nodiscard]] Writes told() {
    Writes all;
    shared_.tell_writes([&](Address to, std::span<const std::byte> what) {
      all.emplace_back(to, std::vector<std::byte>(what.begin(), what.end()));
    });
    return all;
  }

  const int file_ = ::memfd_create("device memory", MFD_CLOEXEC);
  workload::DeviceMemory memory_{AppId{0}, "", file_};
  SharedMemory shared_{memory_, file_};
};

std::vector<std::byte> bytes(std::size_t count, int value) {
  return std::vector<std::byte>(count, static_cast<std::byte>(value));
}

TEST_F(SharedMemories, TellWhatHasChanged) {
  const Address a = memory_.allocate(20000);
  const Address b = memory_.allocate(100);  // on the same page as the end of a
  const Address other = memory_.allocate(100);
  write(a + 8, bytes(4, 7));
  shared_.add(a, 20000);
  shared_.add(b, 100);
  EXPECT_EQ(told(), Writes());    // what was there is known
  write(a + 4090, bytes(10, 1));  // over the edge of a page
  write(a + 4090 + 10 + 63, bytes(1, 2));
  write(a + 12000, bytes(3, 3));
  write(b, bytes(100, 4));
  write(other, bytes(100, 5));  // nobody's
  std::vector<std::byte> run = bytes(74, 0);
  std::memset(run.data(), 1, 10);
  run.back() = std::byte{2};
  EXPECT_EQ(told(), Writes({{a + 4090, run}, {a + 12000, bytes(3, 3)}, {b, bytes(100, 4)}}));
  EXPECT_EQ(told(), Writes());
  // What the device writes is learnt; what the host writes elsewhere before a range is added is not lost.
  write(a + 100, bytes(4, 9));
  shared_.learn();
  write(a + 100, bytes(4, 8));
  const Address c = memory_.allocate(5000);
  write(c, bytes(5000, 6));
  shared_.add(c, 5000);
  EXPECT_EQ(told(), Writes({{a + 100, bytes(4, 8)}}));
  // Back to zero is a change, too.
  write(a + 100, bytes(4, 0));
  EXPECT_EQ(told(), Writes({{a + 100, bytes(4, 0)}}));
  shared_.remove(a);
  write(a, bytes(20000, 1));
  EXPECT_EQ(told(), Writes());
  memory_.free(a);
  // Where something else lies, its bytes are known.
  ASSERT_EQ(memory_.allocate(9000), a);
  shared_.add(a, 9000);
  EXPECT_EQ(told(), Writes());
  write(a + 8999, bytes(1, 1));
  EXPECT_EQ(told(), Writes({{a + 8999, bytes(1, 1)}}));
}

TEST_F(SharedMemories, FindAllThatALookAtEveryByteFinds) {
  Random random(3);
  std::map<Address, std::vector<std::byte>> known;
  for (int step = 0; step < 2000; ++step) {
    const std::uint64_t what = random.next() % 10;
    if (what == 0 || known.empty()) {
      const std::uint64_t size = 1 + random.next() % 30000;
      const Address at = memory_.allocate(size);
      shared_.add(at, size);
      known[at] = bytes(size, 0);
      std::memcpy(known[at].data(), memory_.host(at), size);
      continue;
    }
    const auto range = std::next(known.begin(), static_cast<std::ptrdiff_t>(random.next() % known.size()));
    const std::uint64_t at = random.next() % range->second.size();
    const std::uint64_t count = 1 + random.next() % std::min<std::uint64_t>(range->second.size() - at, 300);
    if (what == 1) {
      shared_.remove(range->first);
      memory_.free(range->first);
      known.erase(range);
    } else if (what < 7) {
      write(range->first + at, bytes(count, static_cast<int>(random.next() % 3)));
    } else if (what == 7) {
      shared_.learn();
      for (auto& [first, content] : known) std::memcpy(content.data(), memory_.host(first), content.size());
    } else {
      Writes expected;
      for (auto& [first, content] : known) {
        const std::byte* const now = memory_.host(first);
        std::size_t end = 0;
        for (std::size_t i = 0; i < content.size(); ++i) {
          if (now[i] == content[i]) continue;
          if (expected.empty() || expected.back().first < first || i - end >= SharedMemory::kGap)
            expected.push_back({first + i, {}});
          end = i + 1;
          const std::byte* const start = memory_.host(expected.back().first);
          expected.back().second.assign(start, now + end);
        }
        std::memcpy(content.data(), now, content.size());
      }
      ASSERT_EQ(told(), expected) << step;
    }
  }
}

TEST_F(SharedMemories, TakeNothingForWhatNobodyTouches) {
  constexpr std::uint64_t kBytes = std::uint64_t{32} << 30U;
  const auto begin = std::chrono::steady_clock::now();
  const Address large = memory_.allocate(kBytes);
  shared_.add(large, kBytes);
  for (int i = 0; i < 100; ++i) {
    const Address at = large + (kBytes / 128) * static_cast<Address>(i + 1);
    write(at, bytes(10, 1));
    EXPECT_EQ(told(), Writes({{at, bytes(10, 1)}}));
    shared_.learn();
  }
  shared_.remove(large);
  memory_.free(large);
  EXPECT_LT(resident(), std::uint64_t{100} << 21U);  // a huge page each at most
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(10));
}

}  // namespace
}  // namespace gpumux::program
