#include "app_options.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "base/error.hpp"

namespace gpumux::cli {
namespace {

void set_once(std::string& target, const std::string& option, const std::string& app,
              const std::string& value) {
  if (!target.empty()) throw UserError(fmt::format("{} is given twice for {}", option, app));
  if (value.empty()) throw UserError(fmt::format("{} needs a value", option));
  target = value;
}

void bind_to_app(experiment::AppArguments& app, const std::string& option, const std::string& value) {
  if (option == "--grid") set_once(app.grid, option, app.app, value);
  if (option == "--block") set_once(app.block, option, app.app, value);
  if (option == "--shared") set_once(app.shared, option, app.app, value);
  if (option == "--arg") app.args.push_back(value);
  if (option == "--symbol") app.symbols.push_back(value);
}

bool contains(const std::vector<std::string>& list, const std::string& text) {
  return std::find(list.begin(), list.end(), text) != list.end();
}

}  // namespace

std::vector<experiment::AppArguments> take_apps(Arguments& args,
                                                const std::vector<std::string>& value_options) {
  static const std::vector<std::string> kAppOptions = {"--grid", "--block", "--shared", "--arg", "--symbol"};
  std::vector<experiment::AppArguments> apps;
  Arguments rest;
  for (std::size_t i = 0; i < args.size(); ++i) {
    const std::string& token = args[i];
    const std::size_t equals = token.find('=');
    const std::string option = token.substr(0, equals);
    if (contains(kAppOptions, option)) {
      if (apps.empty()) {
        throw UserError(
            fmt::format("{} must follow the APP that it belongs to: file.ptx:kernel {} ...", option, option));
      }
      if (equals == std::string::npos && i + 1 == args.size()) {
        throw UserError(fmt::format("{} needs a value", option));
      }
      bind_to_app(apps.back(), option, equals == std::string::npos ? args[++i] : token.substr(equals + 1));
    } else if (token.size() > 1 && token[0] == '-') {
      rest.push_back(token);
      if (contains(value_options, token) && i + 1 < args.size()) rest.push_back(args[++i]);
    } else {
      apps.emplace_back();
      apps.back().app = token;
    }
  }
  args = std::move(rest);
  return apps;
}

}  // namespace gpumux::cli
