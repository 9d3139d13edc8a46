// Checks for the programs that tests run. If a check fails, the program prints it and ends with exit code 1.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

#define EXPECT(condition)                                               \
  do {                                                                  \
    if (!(condition)) {                                                 \
      std::printf("line %d: %s does not hold\n", __LINE__, #condition); \
      std::exit(1);                                                     \
    }                                                                   \
  } while (false)
#define EXPECT_SAME(value, expected)                                                            \
  do {                                                                                          \
    const auto value_ = (value);                                                                \
    if (value_ != (expected)) {                                                                 \
      std::printf("line %d: %s is %g, not %g\n", __LINE__, #value, static_cast<double>(value_), \
                  static_cast<double>(expected));                                               \
      std::exit(1);                                                                             \
    }                                                                                           \
  } while (false)

inline std::string file_text(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}
