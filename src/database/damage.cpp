#include "database/damage.hpp"

#include <fmt/core.h>

#include <new>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "database/schema.hpp"

namespace gpumux::database {
namespace {

constexpr const char* kAdvice = "`sqlite3 FILE .recover` saves what can be read";

/// First line of the output of an integrity check, unless it is "ok".
std::optional<std::string> first_finding(Connection& connection, const char* check) {
  Statement query = connection.prepare(check);
  if (!query.step()) return std::nullopt;
  std::string text = query.text(0);
  if (text == "ok") return std::nullopt;
  // "*** in database main ***\nTree 5 page 7: ..."
  if (text.starts_with("***") && text.find('\n') != std::string::npos) text.erase(0, text.find('\n') + 1);
  return text.substr(0, text.find('\n'));
}

/// Finds rows that gpumux never writes. `query` gives a text per such row.
std::optional<std::string> row_finding(Connection& connection, const char* query) {
  Statement rows = connection.prepare(query);
  if (!rows.step()) return std::nullopt;
  return rows.text(0);
}

std::optional<std::string> find_in(Connection& connection) {
  if (auto finding = first_finding(connection, "PRAGMA integrity_check(1)")) return finding;
  if (auto finding = missing_in_schema(connection)) return finding;
  for (const char* query :
       {"SELECT 'a row of ' || \"table\" || ' refers to a row of ' || parent || ' that is not there' FROM "
        "pragma_foreign_key_check LIMIT 1",
        "SELECT 'the result of run ' || id || ' is no JSON' FROM runs WHERE state = 'done' AND (result IS "
        "NULL OR "
        "NOT json_valid(result)) LIMIT 1",
        // Since version kCpuVersion, a run may have CPU programs only.
        connection.value("PRAGMA user_version") < kCpuVersion
            ? "SELECT 'run ' || r.id || ' has no applications' FROM runs r WHERE NOT EXISTS (SELECT 1 FROM "
              "apps "
              "a WHERE a.run_id = r.id) LIMIT 1"
            : "SELECT 'run ' || r.id || ' has no applications' FROM runs r WHERE NOT EXISTS (SELECT 1 FROM "
              "apps "
              "a WHERE a.run_id = r.id) AND NOT EXISTS (SELECT 1 FROM cpus c WHERE c.run_id = r.id) LIMIT "
              "1"}) {
    if (auto finding = row_finding(connection, query)) return finding;
  }
  return std::nullopt;
}

[[noreturn]] void fail(const std::string& path, const std::string& what) {
  throw UserError({path}, fmt::format("is damaged: {}; {}", what, kAdvice));
}

/// Called in an exception handler. Throws UserError if the database is damaged.
void fail_if_damaged(const std::string& path) {
  if (const auto damage = find_damage(path)) fail(path, *damage);
}

}  // namespace

std::optional<std::string> find_damage(const std::string& path) {
  try {
    Connection connection(path, Access::Read, 1);
    return find_in(connection);
  } catch (const std::bad_alloc&) {
    return std::nullopt;  // unknown
  } catch (const std::exception& error) {
    const std::string text = error.what();
    const std::string start = path + ": error: ";
    if (!text.starts_with(start)) return text;
    const std::string said = text.substr(start.size(), text.find("; `sqlite3") - start.size());
    constexpr std::string_view kDamaged = "is damaged: ";
    return said.starts_with(kDamaged) ? said.substr(kDamaged.size()) : said;
  }
}

void guarded(const std::string& path, const std::function<void()>& work) {
  try {
    work();
  } catch (const UserError&) {
    throw;
  } catch (const SimulationFault&) {
    throw;
  } catch (const ContentError& error) {
    fail(path, error.what());
  } catch (const std::bad_alloc&) {  // a damaged number may ask for any amount
    fail_if_damaged(path);
    throw;
  } catch (const std::exception&) {
    fail_if_damaged(path);
    throw;
  }
}

void reading(const std::string& path, const std::function<void()>& work) {
  guarded(path, [&] {
    try {
      work();
    } catch (const nlohmann::json::exception& error) {
      fail_if_damaged(path);
      throw ContentError(fmt::format("a result is not as gpumux writes it ({})", error.what()));
    } catch (const std::out_of_range&) {
      fail_if_damaged(path);
      throw ContentError("rows that belong together are not there");
    } catch (const std::length_error&) {
      fail_if_damaged(path);
      throw ContentError("a number is beyond all that gpumux writes");
    }
  });
}

}  // namespace gpumux::database
