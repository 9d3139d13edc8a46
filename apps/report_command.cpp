// gpumux report DB -o FILE
#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "commands.hpp"
#include "database/damage.hpp"
#include "report/page.hpp"

namespace gpumux::cli {

int report_command(const Arguments& args) {
  CLI::App app("Writes a database of results as one page of HTML that opens in any browser.",
               "gpumux report");
  std::string db;
  std::string file;
  std::vector<std::string> reproductions;
  app.add_option("DB", db, "database of `gpumux sweep`")->required();
  app.add_option("-o,--output", file, "the page")->type_name("FILE")->required();
  app.add_option("--reproduction", reproductions, "a file of `gpumux reproduce --json`, for a page per paper")
      ->type_name("FILE")
      ->allow_extra_args(false);
  if (!parse(app, args)) return 0;
  ResultFiles::check(file);
  std::vector<std::string> read = reproductions;
  read.push_back(db);
  check_apart({file}, read);
  ResultFiles files;
  {  // closed before writing, because a reader of standard output may end the program
    database::Connection connection(db, database::Access::Read);
    database::reading(db, [&] { files.add(file, report::report(connection, reproductions)); });
  }
  files.write();
  return 0;
}

}  // namespace gpumux::cli
