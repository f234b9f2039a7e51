// What an exception says, for people and for the file in which a worker records it.
#pragma once

#include <cstdint>
#include <string>

namespace ddprun::sdk {

/// An exception in words.
struct ExceptionText {
  std::string message;  // "std::runtime_error: no such batch"
  std::string whole;    // its text, and a line for each exception that is nested in it
};

/// Describes the exception that is being handled: it is called in a catch block. LibTorch's errors
/// come without their ten lines of stack. Each text is cut at 64 KiB.
ExceptionText exception_text();

/// Returns the record of an exception at `unix_s` (seconds since 1970) as
/// torch.distributed.elastic.multiprocessing.errors writes it
/// (https://docs.pytorch.org/docs/stable/elastic/errors.html). Bytes that are no UTF-8 are
/// replaced.
std::string error_record(const ExceptionText& text, std::int64_t unix_s);

}  // namespace ddprun::sdk
