#include "worker_sdk/group/exception_text.hpp"

#include <c10/util/Exception.h>
#include <cxxabi.h>

#include <cstdlib>
#include <exception>
#include <memory>
#include <nlohmann/json.hpp>
#include <typeinfo>

namespace ddprun::sdk {

namespace {

constexpr std::size_t kTextBytesMax = 64 * 1024;
constexpr int kNestedMax = 16;

std::string readable(const std::type_info& type) {
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> name{
      abi::__cxa_demangle(type.name(), nullptr, nullptr, &status), &std::free};
  return status == 0 ? name.get() : type.name();
}

std::string words_of(const std::exception& e) {
  const auto* const torch_error = dynamic_cast<const c10::Error*>(&e);
  std::string words = torch_error != nullptr ? torch_error->what_without_backtrace() : e.what();
  while (words.ends_with('\n')) words.pop_back();
  return readable(typeid(e)) + ": " + words;
}

void add_nested(const std::exception& e, std::string& text, int depth) {
  if (depth == kNestedMax) return;
  try {
    std::rethrow_if_nested(e);
  } catch (const std::exception& nested) {
    text += "\n  because of " + words_of(nested);
    add_nested(nested, text, depth + 1);
  } catch (...) {
    text += "\n  because of an exception that is no std::exception";
  }
}

ExceptionText shortened(ExceptionText text) {
  for (std::string* part : {&text.message, &text.whole})
    if (part->size() > kTextBytesMax) part->resize(kTextBytesMax);
  return text;
}

}  // namespace

ExceptionText exception_text() {
  try {
    throw;
  } catch (const std::exception& e) {
    ExceptionText text{words_of(e), ""};
    text.whole = text.message;
    add_nested(e, text.whole, 0);
    return shortened(std::move(text));
  } catch (...) {
    const std::type_info* const type = abi::__cxa_current_exception_type();
    const std::string words = (type != nullptr ? readable(*type) : "an unknown type") +
                              ": an exception that is no std::exception";
    return {words, words};
  }
}

std::string error_record(const ExceptionText& text, std::int64_t unix_s) {
  const nlohmann::json record{
      {"message",
       {{"message", text.message},
        {"extraInfo", {{"py_callstack", text.whole}, {"timestamp", std::to_string(unix_s)}}}}}};
  return record.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace ddprun::sdk
