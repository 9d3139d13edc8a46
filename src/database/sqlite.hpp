// RAII classes for SQLite: a connection, a statement, a transaction. Errors become UserErrors that name the
// file, because they come from its disk, its permissions or its content.
#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

struct sqlite3;
struct sqlite3_stmt;

namespace gpumux::database {

class Connection;

/// The type of a cell.
enum class Kind { Null, Integer, Real, Text };

/// A prepared statement. Parameters are bound in order from the first. Must not outlive its connection.
class Statement {
 public:
  Statement& bind(std::int64_t value);
  Statement& bind(double value);
  Statement& bind(std::string_view value);
  Statement& bind_null();
  template <typename T>
  Statement& bind(const std::optional<T>& value) {
    return value ? bind(*value) : bind_null();
  }
  /// True if there is a row. After the last row, the statement can be bound and stepped again.
  bool step();
  /// Steps until no row is left.
  void run();
  /// Resets the statement, so that it can be bound and stepped again even if rows are left.
  void reset();

  [[nodiscard]] Kind kind(int column) const;
  [[nodiscard]] bool is_null(int column) const { return kind(column) == Kind::Null; }
  [[nodiscard]] std::int64_t integer(int column) const;
  [[nodiscard]] double real(int column) const;
  [[nodiscard]] std::string text(int column) const;
  [[nodiscard]] std::optional<double> optional_real(int column) const;
  [[nodiscard]] std::optional<std::int64_t> optional_integer(int column) const;

 private:
  friend class Connection;
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const;
  };
  Statement(Connection& connection, std::string_view sql);
  void bound(int code);

  Connection* connection_;
  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
  int next_parameter_ = 1;
};

/// Seconds to wait for a database that another program holds locked.
inline constexpr int kBusySeconds = 60;

enum class Access { Read, Write, Create };

/// Throws UserError if no connection is possible: the name is empty or a folder's, or the file, or the folder
/// for a new file, is missing or cannot be written.
void check_place(const std::string& path, Access access);

/// A connection to one database file. Must not be used by two threads, nor by the child after a fork.
class Connection {
 public:
  /// Throws UserError if the file cannot be opened or, except for Create, does not exist. Waits up to
  /// `busy_seconds` for transactions of other processes. A file that no process writes (at_rest.hpp) is read
  /// without creating files beside it, and does not stay open.
  Connection(std::string path, Access access, int busy_seconds = kBusySeconds);
  /// An empty database in memory only.
  [[nodiscard]] static Connection in_memory() { return Connection(); }
  ~Connection();
  /// Sets how long calls wait for transactions of other processes, in seconds.
  void wait_for_others(int seconds);
  /// Throws UserError if the file was deleted or moved after it was opened, because writes would be lost.
  void check_in_place() const;
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  [[nodiscard]] Statement prepare(std::string_view sql) { return {*this, sql}; }
  /// Executes one or more statements without parameters.
  void execute(const char* sql);
  /// Turns on write-ahead logging in the file, for all processes.
  void use_write_ahead_log();
  /// The single value that a query returns, such as a PRAGMA.
  [[nodiscard]] std::int64_t value(std::string_view sql);
  [[nodiscard]] std::int64_t last_row_id() const;
  [[nodiscard]] int changes() const;  // rows that the last statement changed
  [[nodiscard]] const std::string& path() const { return path_; }
  /// The bytes of a file with this database.
  [[nodiscard]] std::string serialized() const;
  [[noreturn]] void fail() const;

 private:
  friend class Statement;
  friend class Transaction;
  Connection();
  std::string path_;
  sqlite3* handle_ = nullptr;
  int busy_seconds_ = 0;
  bool opening_ = true;  // in the constructor
};

/// A transaction, which rolls back unless committed. A write transaction takes the write lock at once, so
/// that no other process changes what it has read. A read transaction takes no lock, and sees the database at
/// one moment.
class Transaction {
 public:
  enum class Intent { Read, Write };
  explicit Transaction(Connection& connection, Intent intent = Intent::Write);
  ~Transaction();
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;
  void commit();

 private:
  Connection& connection_;
  bool open_ = true;
};

/// During its lifetime, all reads see the database at one moment.
class ReadTransaction {
 public:
  explicit ReadTransaction(Connection& connection) : connection_(connection) { connection.execute("BEGIN"); }
  ~ReadTransaction() {
    try {
      connection_.execute("COMMIT");
    } catch (const std::exception&) {  // nothing was written
    }
  }
  ReadTransaction(const ReadTransaction&) = delete;
  ReadTransaction& operator=(const ReadTransaction&) = delete;

 private:
  Connection& connection_;
};

}  // namespace gpumux::database
