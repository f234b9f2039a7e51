// Readings as JSON, in both directions. Pure.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "launcher/doctor/reading.hpp"

namespace ddprun {

/// Returns the reading as JSON. What is missing in the reading is left out. Bytes that are no UTF-8
/// do not break it if it is printed with error_handler_t::replace.
nlohmann::json to_json(const NodeReading& reading);

/// Returns the reading in one line, without a newline.
std::string to_line(const NodeReading& reading);

/// Reads what to_line() has written. Fields that are not known are skipped. Errors: kInvalid.
Result<NodeReading> parse_reading(std::string_view text);
Result<NodeReading> reading_in(const nlohmann::json& value);

// Parts of a reading, which other processes of this node gather.
std::string to_line(const FolderReading& reading);
std::string to_line(const LookupReading& reading);
std::string to_line(const GpusReading& reading);
std::string to_line(const NamesReading& reading);
std::string to_line(const ScriptReading& reading);
Result<FolderReading> parse_folder(std::string_view text);
Result<LookupReading> parse_lookup(std::string_view text);
Result<GpusReading> parse_gpus(std::string_view text);
Result<NamesReading> parse_names(std::string_view text);
Result<ScriptReading> parse_script(std::string_view text);

/// Reads what the questions to Python have printed: the fields of PythonReading and, under
/// "missing_modules", those of the script. Errors: kInvalid.
struct PythonAnswer {
  PythonReading python;
  std::vector<std::string> missing_modules;
};
Result<PythonAnswer> parse_python(std::string_view text);

}  // namespace ddprun
