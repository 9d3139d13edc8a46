#include "database/at_rest.hpp"

#include <fcntl.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <memory>
#include <string_view>
#include <thread>

#include "base/files.hpp"
#include "database/schema.hpp"
#include "database/sqlite.hpp"

namespace gpumux::database {
namespace {

using namespace std::chrono_literals;

// The header of a database file: https://sqlite.org/fileformat.html, section 1.3.
constexpr std::string_view kMagic{"SQLite format 3\0", 16};
constexpr std::int64_t kHeaderBytes = 100;
constexpr std::size_t kWriteVersion = 18, kReadVersion = 19;
constexpr unsigned char kRollback = 1, kWriteAhead = 2;

/// File times have the resolution of the system's tick, so two changes within this time may have the same
/// file time.
constexpr auto kTick = 50ms;

class Descriptor {
 public:
  explicit Descriptor(const std::string& path) : number_(::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {}
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  [[nodiscard]] int number() const { return number_; }

 private:
  int number_;
};

bool same_moment(const struct stat& a, const struct stat& b) {
  return a.st_dev == b.st_dev && a.st_ino == b.st_ino && a.st_size == b.st_size &&
         a.st_mtim.tv_sec == b.st_mtim.tv_sec && a.st_mtim.tv_nsec == b.st_mtim.tv_nsec;
}

std::chrono::nanoseconds age(const struct stat& file) {
  const auto changed =
      std::chrono::seconds(file.st_mtim.tv_sec) + std::chrono::nanoseconds(file.st_mtim.tv_nsec);
  return std::chrono::system_clock::now().time_since_epoch() - changed;
}

/// True if a log exists beside the file. It may have rows of this database, or of an earlier one with this
/// name.
bool has_log(const std::string& path) {
  std::error_code none;
  const auto bytes = std::filesystem::file_size(path + "-wal", none);
  return (!none && bytes > 0) || std::filesystem::exists(path + "-journal", none);
}

bool fill(int descriptor, unsigned char* data, std::int64_t size) {
  while (size > 0) {
    const ssize_t count = ::read(descriptor, data, static_cast<std::size_t>(size));
    if (count <= 0) return false;
    data += count;
    size -= count;
  }
  return true;
}

}  // namespace

Bytes read_at_rest(const std::string& path) {
  struct stat before {};
  struct stat after {};
  if (::stat(path.c_str(), &before) != 0 || !S_ISREG(before.st_mode) || has_log(path)) return {};
  if (before.st_size < kHeaderBytes || before.st_size > kMostAtRest) return {};
  if (const auto since = age(before); since >= 0ms && since < kTick) std::this_thread::sleep_for(kTick);
  const Descriptor file(path);
  if (file.number() < 0 || ::fstat(file.number(), &after) != 0 || !same_moment(before, after)) return {};
  std::unique_ptr<unsigned char, decltype(&sqlite3_free)> data(
      static_cast<unsigned char*>(sqlite3_malloc64(static_cast<sqlite3_uint64>(before.st_size))),
      sqlite3_free);
  if (!data || !fill(file.number(), data.get(), before.st_size)) return {};
  if (::stat(path.c_str(), &after) != 0 || !same_moment(before, after)) return {};
  if (std::string_view(reinterpret_cast<const char*>(data.get()), kMagic.size()) != kMagic) return {};
  for (const std::size_t version : {kWriteVersion, kReadVersion})
    if (data.get()[version] == kWriteAhead) data.get()[version] = kRollback;
  return {data.release(), before.st_size};
}

bool make_new(const std::string& path) {
  if (has_log(path)) return false;  // creating the file, SQLite would remove the log of a deleted database
  Connection tables = Connection::in_memory();
  migrate(tables);
  std::string bytes = tables.serialized();
  for (const std::size_t version : {kWriteVersion, kReadVersion})
    bytes.at(version) = static_cast<char>(kWriteAhead);
  return write_new_file(path, bytes);
}

}  // namespace gpumux::database
