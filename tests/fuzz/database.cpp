// A results database, which is exported as CSV and JSON and made a report.
#include "database/damage.hpp"
#include "database/export.hpp"
#include "report/page.hpp"

#include "fuzz.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace gpumux;
  static const std::string path = fuzz::folder() + "/f.sqlite";
  fuzz::write(path, fuzz::text_of(data, size));
  const auto read = [&](const auto& work) {
    fuzz::expect_value_or_error([&] {
      database::Connection connection(path, database::Access::Read, 1);
      database::reading(path, [&] { work(connection); });
    });
  };
  std::size_t bytes = 0;
  const database::Sink sink = [&](std::string_view text) { bytes += text.size(); };
  read([&](database::Connection& c) { database::export_csv(c, sink); });
  read([&](database::Connection& c) { database::export_json(c, sink); });
  read([&](database::Connection& c) { bytes += report::report(c, {}).size(); });
  return 0;
}
