#include "base/exit_code.hpp"

#include <array>
#include <cerrno>
#include <new>
#include <system_error>

#include "base/error.hpp"

namespace gpumux {
namespace {

/// True for an error of the environment: a resource of the system or a limit of the user is exhausted, or I/O
/// failed.
bool is_for_want(const std::error_code& code) {
  constexpr std::array<int, 10> kWants = {EAGAIN, ENOMEM, EMFILE, ENFILE, ENOSPC,
                                          EDQUOT, EFBIG,  EIO,    EBADF,  EPIPE};
  if (code.category() != std::generic_category() && code.category() != std::system_category()) return false;
  for (const int want : kWants) {
    if (code.value() == want) return true;
  }
  return false;
}

}  // namespace

Failure current_failure() {
  try {
    throw;
  } catch (const UserError& error) {
    return {kUserFault, error.what()};
  } catch (const SimulationFault& error) {
    return {kProgramFault, error.what()};
  } catch (const std::bad_alloc&) {
    return {kUserFault, "error: out of memory: the system, or a limit such as `ulimit -v`, gives no more"};
  } catch (const std::system_error& error) {
    if (is_for_want(error.code())) return {kUserFault, fmt::format("error: {}", error.what())};
    return {kOurFault, fmt::format("internal error: {}", error.what())};
  } catch (const std::exception& error) {
    return {kOurFault, fmt::format("internal error: {}", error.what())};
  } catch (...) {
    return {kOurFault, "internal error: an exception of an unknown kind"};
  }
}

}  // namespace gpumux
