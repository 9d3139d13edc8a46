// SQLite behind small owners: a connection, a statement, a transaction. Errors become UserErrors that name
// the file: what goes wrong is its disk, its permissions or its content.
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

/// What a cell holds.
enum class Kind { Null, Integer, Real, Text };

/// A prepared statement; parameters are bound in order from the first. Belongs to its connection.
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
  /// True when there is a row. After the last, the statement can be bound and stepped anew.
  bool step();
  /// Steps to the end.
  void run();
  /// Makes it ready to be bound and stepped anew although rows are left.
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

/// A database that another program holds locked is given up after so long.
inline constexpr int kBusySeconds = 60;

enum class Access { Read, Write, Create };

/// Throws UserError where a connection cannot be: nothing or a folder has the name, or what has it, or the
/// folder that it would be in, cannot be written.
void check_place(const std::string& path, Access access);

/// A connection to one file. Not to be used by two threads, nor after a fork by the child.
class Connection {
 public:
  /// Throws UserError when the file cannot be opened, or, but for Create, does not exist. Waits up to
  /// `busy_seconds` for other processes' transactions. To read what nobody writes (at_rest.hpp), no file is
  /// made beside it and none stays open.
  Connection(std::string path, Access access, int busy_seconds = kBusySeconds);
  /// An empty database that is nowhere else.
  [[nodiscard]] static Connection in_memory() { return Connection(); }
  ~Connection();
  /// From now on, waits so long for other processes' transactions.
  void wait_for_others(int seconds);
  /// Throws UserError when the file was deleted or moved since it was opened: what is written goes nowhere.
  void check_in_place() const;
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  [[nodiscard]] Statement prepare(std::string_view sql) { return {*this, sql}; }
  /// One or more statements without parameters.
  void execute(const char* sql);
  /// Turns write-ahead logging on, in the file, for everyone.
  void use_write_ahead_log();
  /// The one value of a query such as a PRAGMA.
  [[nodiscard]] std::int64_t value(std::string_view sql);
  [[nodiscard]] std::int64_t last_row_id() const;
  [[nodiscard]] int changes() const;  // rows that the last statement changed
  [[nodiscard]] const std::string& path() const { return path_; }
  /// The bytes that a file of this database has.
  [[nodiscard]] std::string serialized() const;
  [[noreturn]] void fail() const;

 private:
  friend class Statement;
  friend class Transaction;
  Connection();
  std::string path_;
  sqlite3* handle_ = nullptr;
  int busy_seconds_ = 0;
  bool opening_ = true;  // the constructor runs
};

/// Takes the write lock at once, so that what is read is what is changed; rolls back unless committed. One
/// that only reads takes no lock, and sees one moment.
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

/// All reads while it lives see one moment of the database.
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
