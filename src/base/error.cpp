#include "base/error.hpp"

namespace gpumux {

std::string SourceLocation::text() const {
  if (line == 0) return file;
  if (column == 0) return fmt::format("{}:{}", file, line);
  return fmt::format("{}:{}:{}", file, line, column);
}

void fail_check(const char* condition, const char* file, int line) {
  throw InternalError(fmt::format("{}:{}: internal check failed: {}", file, line, condition));
}

}  // namespace gpumux
