// Result<T>: a value, or an Error that says what failed in a sentence for the user.
#pragma once

#include <boost/system/result.hpp>
#include <exception>
#include <stdexcept>
#include <string>
#include <utility>

namespace ddprun {

struct Error {
  enum class Kind {
    kInvalid,      // what we were given makes no sense: a command line, a frame, a file
    kTimeout,      // a deadline passed
    kUnavailable,  // the system or a peer refused: a port is taken, a connection is gone
    kNotFound,     // a program or a file is not there
    kDenied,       // it is there, and we may not use it
  };
  Kind kind = Kind::kInvalid;
  std::string message;  // what, where, what was expected
};

/// Errors of kind kInvalid, the ones that a user can mend on the command line.
inline Error invalid(std::string message) { return {Error::Kind::kInvalid, std::move(message)}; }

template <typename T>
using Result = boost::system::result<T, Error>;

/// Result::value() on an error throws what this makes of it; the catch-all in main() prints it.
[[noreturn]] inline void throw_exception_from_error(const Error& error,
                                                    const boost::source_location&) {
  throw std::runtime_error{error.message};
}

}  // namespace ddprun
