#include "database/sqlite.hpp"

#include <fmt/core.h>
#include <sqlite3.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <new>
#include <thread>

#include "base/error.hpp"
#include "database/at_rest.hpp"

namespace gpumux::database {
namespace {

namespace fs = std::filesystem;

/// URI to open a database as immutable. Even readers of a database in write-ahead mode create its -shm file,
/// which fails in a read-only folder. If no process has the file open for writing, it cannot change.
std::string immutable_uri(const std::string& path) {
  std::string uri = "file:";
  for (const char c : path) {
    if (c == '?' || c == '#' || c == '%') {
      uri += fmt::format("%{:02x}", static_cast<unsigned char>(c));
    } else {
      uri += c;
    }
  }
  return uri + "?immutable=1";
}

/// Reports a truncated file, by the page size and page count in its header: "it ends after 1000 of 8192
/// bytes"; else nothing.
std::optional<std::string> truncation(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::array<unsigned char, 32> header{};
  if (!in.read(reinterpret_cast<char*>(header.data()), header.size())) return std::nullopt;
  const std::uint64_t page = header[16] == 0 && header[17] == 1 ? 65536U : header[16] * 256U + header[17];
  std::uint64_t pages = 0;
  for (std::size_t i = 28; i < 32; ++i) pages = pages * 256 + header[i];
  std::error_code error;
  const std::uint64_t bytes = fs::file_size(path, error);
  if (error || bytes >= page * pages) return std::nullopt;
  return fmt::format("it ends after {} of {} bytes", bytes, page * pages);
}

/// The first finding of SQLite's own integrity check.
std::string corruption(sqlite3* handle, const std::string& path) {
  const std::string said = sqlite3_errmsg(handle);
  if (const auto cut = truncation(path)) return *cut;
  std::string found;
  const auto keep = [](void* to, int, char** values, char**) {
    std::string line = values[0] == nullptr ? "" : values[0];
    if (line.starts_with("***") && line.find('\n') != std::string::npos) line.erase(0, line.find('\n') + 1);
    *static_cast<std::string*>(to) = line.substr(0, line.find('\n'));
    return 0;
  };
  sqlite3_exec(handle, "PRAGMA quick_check(1)", keep, &found, nullptr);
  return found.empty() || found == "ok" ? said : found;
}

/// Throws UserError if the file, or its folder (where the write-ahead log is), cannot be written.
void check_writable(const std::string& path, const fs::path& folder) {
  const std::string place = folder.empty() ? "." : folder.string();
  for (const std::string& what : {path, place}) {
    if (::access(what.c_str(), W_OK) == 0) continue;
    if (errno == EROFS) throw UserError({path}, "cannot be written: it is on a read-only file system");
    throw UserError({path}, what == path ? "cannot be written: no permission"
                                         : fmt::format("cannot be written: no permission in {}", place));
  }
}

}  // namespace

void check_place(const std::string& path, Access access) {
  if (path.empty()) throw UserError("the name of the database is empty");
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) throw UserError({path}, "is a folder; a database was expected");
  if (access != Access::Create && !fs::exists(path, ignored)) throw UserError({path}, "does not exist");
  const fs::path folder = fs::path(path).parent_path();
  if (access == Access::Create && !folder.empty() && !fs::is_directory(folder, ignored)) {
    throw UserError({path}, fmt::format("cannot be made: there is no folder {}", folder.string()));
  }
  if (access == Access::Create && !fs::exists(path, ignored) &&
      ::access(folder.empty() ? "." : folder.c_str(), W_OK) != 0) {
    if (errno == EROFS) throw UserError({path}, "cannot be made: it would be on a read-only file system");
    throw UserError(
        {path}, fmt::format("cannot be made: no permission in {}", folder.empty() ? "." : folder.string()));
  }
  if (access != Access::Read && fs::exists(path, ignored)) check_writable(path, folder);
}

void Statement::Finalize::operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }

Statement::Statement(Connection& connection, std::string_view sql) : connection_(&connection) {
  sqlite3_stmt* statement = nullptr;
  const int code =
      sqlite3_prepare_v2(connection.handle_, sql.data(), static_cast<int>(sql.size()), &statement, nullptr);
  statement_.reset(statement);
  if (code != SQLITE_OK) connection.fail();
}

void Statement::bound(int code) {
  if (code != SQLITE_OK) connection_->fail();
  ++next_parameter_;
}

Statement& Statement::bind(std::int64_t value) {
  bound(sqlite3_bind_int64(statement_.get(), next_parameter_, value));
  return *this;
}

Statement& Statement::bind(double value) {
  bound(sqlite3_bind_double(statement_.get(), next_parameter_, value));
  return *this;
}

Statement& Statement::bind(std::string_view value) {
  // An empty view may have no data pointer, which SQLite would treat as NULL.
  const char* data = value.empty() ? "" : value.data();
  bound(sqlite3_bind_text64(statement_.get(), next_parameter_, data, value.size(), SQLITE_TRANSIENT,
                            SQLITE_UTF8));
  return *this;
}

Statement& Statement::bind_null() {
  bound(sqlite3_bind_null(statement_.get(), next_parameter_));
  return *this;
}

bool Statement::step() {
  const int code = sqlite3_step(statement_.get());
  if (code == SQLITE_ROW) return true;
  next_parameter_ = 1;
  if (code != SQLITE_DONE) connection_->fail();
  sqlite3_reset(statement_.get());
  return false;
}

void Statement::run() {
  while (step()) {
  }
}

void Statement::reset() {
  next_parameter_ = 1;
  sqlite3_reset(statement_.get());
}

Kind Statement::kind(int column) const {
  switch (sqlite3_column_type(statement_.get(), column)) {
    case SQLITE_NULL: return Kind::Null;
    case SQLITE_INTEGER: return Kind::Integer;
    case SQLITE_FLOAT: return Kind::Real;
    default: return Kind::Text;
  }
}

std::int64_t Statement::integer(int column) const { return sqlite3_column_int64(statement_.get(), column); }

double Statement::real(int column) const { return sqlite3_column_double(statement_.get(), column); }

std::string Statement::text(int column) const {
  const auto* bytes = reinterpret_cast<const char*>(sqlite3_column_text(statement_.get(), column));
  const int size = sqlite3_column_bytes(statement_.get(), column);
  return bytes == nullptr ? std::string() : std::string(bytes, static_cast<std::size_t>(size));
}

std::optional<double> Statement::optional_real(int column) const {
  return is_null(column) ? std::nullopt : std::optional<double>(real(column));
}

std::optional<std::int64_t> Statement::optional_integer(int column) const {
  return is_null(column) ? std::nullopt : std::optional<std::int64_t>(integer(column));
}

Connection::Connection() : path_(":memory:") {
  if (sqlite3_open_v2(path_.c_str(), &handle_, SQLITE_OPEN_READWRITE | SQLITE_OPEN_MEMORY, nullptr) !=
      SQLITE_OK)
    fail();
  opening_ = false;
}

void Connection::wait_for_others(int seconds) {
  busy_seconds_ = seconds;
  sqlite3_busy_timeout(handle_, seconds * 1000);
}

void Connection::check_in_place() const {
  int moved = 0;
  if (sqlite3_file_control(handle_, "main", SQLITE_FCNTL_HAS_MOVED, &moved) == SQLITE_OK && moved != 0) {
    // The log must go, or SQLite would use it for a later database with this name, such as a backup.
    std::error_code ignored;
    for (const char* companion : {"-wal", "-shm"})
      if (!fs::exists(path_, ignored)) fs::remove(path_ + companion, ignored);
    throw UserError({path_}, "was deleted or moved while it was in use: nothing more can be kept in it");
  }
}

Connection::Connection(std::string path, Access access, int busy_seconds) : path_(std::move(path)) {
  check_place(path_, access);
  std::error_code ignored;
  // A user without write permission could not remove the -wal and -shm files that a reader creates. Without a
  // log, no process has the file open.
  const bool only_read =
      access == Access::Read && ::access(path_.c_str(), W_OK) != 0 && !fs::exists(path_ + "-wal", ignored);
  // "./" prevents special meanings of names such as :memory: and file:x.
  const std::string name = path_.starts_with('/') ? path_ : "./" + path_;
  const auto open = [&](const std::string& what, int flags) {
    sqlite3_close(handle_);
    handle_ = nullptr;
    return sqlite3_open_v2(what.c_str(), &handle_, flags | SQLITE_OPEN_EXRESCODE, nullptr) == SQLITE_OK;
  };
  const auto open_at_rest = [&] {
    const Bytes bytes = read_at_rest(path_);
    if (bytes.data == nullptr) return false;
    if (!open(":memory:", SQLITE_OPEN_READWRITE | SQLITE_OPEN_MEMORY)) fail();
    if (sqlite3_deserialize(handle_, "main", bytes.data, bytes.size, bytes.size,
                            SQLITE_DESERIALIZE_FREEONCLOSE | SQLITE_DESERIALIZE_READONLY) != SQLITE_OK)
      fail();
    return true;
  };
  try {
    if (access == Access::Read && open_at_rest()) {
      if (sqlite3_exec(handle_, "SELECT 1 FROM sqlite_schema", nullptr, nullptr, nullptr) != SQLITE_OK)
        fail();
      opening_ = false;
      return;
    }
    // A reader with write permission opens the file for writing, so that the last one to close removes the
    // -wal and -shm files.
    const int create = access == Access::Create ? SQLITE_OPEN_CREATE : 0;
    if (only_read ? !open(immutable_uri(name), SQLITE_OPEN_READONLY | SQLITE_OPEN_URI)
                  : !open(name, SQLITE_OPEN_READWRITE | create))
      fail();
    wait_for_others(busy_seconds);
    if (access == Access::Read && !only_read) {
      execute("PRAGMA query_only = ON");
      if (sqlite3_exec(handle_, "SELECT 1 FROM sqlite_schema", nullptr, nullptr, nullptr) != SQLITE_OK) {
        const int code = sqlite3_errcode(handle_) & 0xff;
        if (code != SQLITE_CANTOPEN && code != SQLITE_READONLY) fail();
        std::error_code none;
        if (const auto bytes = fs::file_size(path_ + "-wal", none); !none && bytes > 0) {
          throw UserError(
              {path_},
              "cannot be read here: its newest rows are in the -wal file beside it, which takes a "
              "folder that can be written; copy both files to one");
        }
        if (!open(immutable_uri(name), SQLITE_OPEN_READONLY | SQLITE_OPEN_URI)) fail();
      }
    }
    opening_ = false;
  } catch (...) {
    sqlite3_close(handle_);
    throw;
  }
}

Connection::~Connection() { sqlite3_close_v2(handle_); }

void Connection::execute(const char* sql) {
  if (sqlite3_exec(handle_, sql, nullptr, nullptr, nullptr) != SQLITE_OK) fail();
}

void Connection::use_write_ahead_log() {
  // While others do the same, SQLite reports at once that the file is busy, without waiting.
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(busy_seconds_);
  while (sqlite3_exec(handle_, "PRAGMA journal_mode = WAL", nullptr, nullptr, nullptr) != SQLITE_OK) {
    if ((sqlite3_errcode(handle_) & 0xff) != SQLITE_BUSY || std::chrono::steady_clock::now() >= until) fail();
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
}

std::int64_t Connection::value(std::string_view sql) {
  Statement query = prepare(sql);
  if (!query.step()) throw InternalError(fmt::format("no value of {}", sql));
  return query.integer(0);
}

std::int64_t Connection::last_row_id() const { return sqlite3_last_insert_rowid(handle_); }

std::string Connection::serialized() const {
  sqlite3_int64 size = 0;
  const std::unique_ptr<unsigned char, decltype(&sqlite3_free)> bytes(
      sqlite3_serialize(handle_, "main", &size, 0), sqlite3_free);
  if (!bytes) throw std::bad_alloc();
  return {reinterpret_cast<const char*>(bytes.get()), static_cast<std::size_t>(size)};
}

int Connection::changes() const { return sqlite3_changes(handle_); }

void Connection::fail() const {
  const SourceLocation where{path_};
  const int extended = handle_ == nullptr ? SQLITE_NOMEM : sqlite3_extended_errcode(handle_);
  const int code = extended & 0xff;
  const int reason = handle_ == nullptr ? 0 : sqlite3_system_errno(handle_);
  switch (code) {
    case SQLITE_FULL: throw UserError(where, "cannot be written: the disk is full");
    case SQLITE_IOERR:
      // A limit on file size does not give SQLITE_FULL, and the system's error is not always kept.
      if (extended == SQLITE_IOERR_WRITE || extended == SQLITE_IOERR_SHMSIZE) {
        throw UserError(where, "cannot be written: the disk is full, or a file too large");
      }
      throw UserError(where, fmt::format("cannot be read or written ({})",
                                         reason == 0 ? sqlite3_errmsg(handle_) : std::strerror(reason)));
    case SQLITE_READONLY: throw UserError(where, "cannot be written: it is read-only");
    case SQLITE_CANTOPEN:
    case SQLITE_PERM:
    case SQLITE_AUTH:
      throw UserError(where, fmt::format("cannot be opened ({})",
                                         reason == 0 ? sqlite3_errmsg(handle_) : std::strerror(reason)));
    case SQLITE_NOTADB: throw UserError(where, "is no SQLite database, or its first bytes are damaged");
    case SQLITE_CORRUPT:
      throw UserError(where, fmt::format("is damaged: {}; `sqlite3 FILE .recover` saves what can be read",
                                         corruption(handle_, path_)));
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      throw UserError(where, fmt::format("is locked by another program; given up after {} s", busy_seconds_));
    case SQLITE_NOMEM: throw std::bad_alloc();
    default:
      // For a bad header SQLite reports little else, for example that the format is of a later version.
      if (opening_) throw UserError(where, fmt::format("is damaged: {}", sqlite3_errmsg(handle_)));
      throw InternalError(fmt::format("{}: SQLite: {}", path_, sqlite3_errmsg(handle_)));
  }
}

Transaction::Transaction(Connection& connection, Intent intent) : connection_(connection) {
  connection_.execute(intent == Intent::Write ? "BEGIN IMMEDIATE" : "BEGIN");
}

Transaction::~Transaction() {
  // Errors such as a full disk may have rolled the transaction back already.
  if (open_ && sqlite3_get_autocommit(connection_.handle_) == 0) {
    sqlite3_exec(connection_.handle_, "ROLLBACK", nullptr, nullptr, nullptr);
  }
}

void Transaction::commit() {
  connection_.execute("COMMIT");
  open_ = false;
}

}  // namespace gpumux::database
