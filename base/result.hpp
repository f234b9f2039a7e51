// Result<T>: a value, or an Error that tells the user in a sentence what failed.
#pragma once

#include <boost/system/result.hpp>
#include <stdexcept>
#include <string>
#include <utility>

namespace ddprun {

/// An Error says what failed. Functions outside the SDK return errors as values, and throw none.
struct Error {
  enum class Kind {
    kInvalid,      // our input makes no sense: a command line, a frame, a file
    kTimeout,      // a deadline has passed
    kUnavailable,  // the system or a peer refused: a port is taken, a connection is gone
    kNotFound,     // a program or a file is not there
    kDenied,       // it is there, and we may not use it
  };
  Kind kind = Kind::kInvalid;
  std::string message;  // a sentence: what failed, where, and what was expected
};

/// Returns an error of kind kInvalid, the kind that a user can mend on the command line.
inline Error invalid(std::string message) { return {Error::Kind::kInvalid, std::move(message)}; }

/// A T or an Error. Result<void> is an Error or nothing.
template <typename T>
using Result = boost::system::result<T, Error>;

/// Boost calls this when value() is asked of a Result that is an error: it throws the sentence, and
/// the catch-all in main() prints it.
[[noreturn]] inline void throw_exception_from_error(const Error& error,
                                                    const boost::source_location&) {
  throw std::runtime_error{error.message};
}

}  // namespace ddprun
