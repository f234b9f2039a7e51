// What words and names tell of a program: the script in a worker's command, and versions. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "agent/spec/launch_spec.hpp"

namespace ddprun {

/// A worker's command, taken apart.
struct ProgramWords {
  bool python = false;                 // the program is Python
  std::string module;                  // that Python runs (-m); "": none
  std::string file;                    // a script, or else the program; "" with a module
  std::vector<std::string> arguments;  // the script's
  bool operator==(const ProgramWords&) const = default;
};

/// Sees through Python and a shell, also where a user has named them as the program (--no-python).
ProgramWords program_words(const LaunchSpec& spec);

/// The value of a line "name = value" of pyvenv.cfg
/// (https://docs.python.org/3/library/venv.html#how-venvs-work); "": there is none.
std::string venv_value(std::string_view text, std::string_view name);

/// "3.11.2" in the text of pyvenv.cfg; "": it is not there.
std::string python_version_of_venv(std::string_view text);

/// "3.11" for "python3.11"; "" for a name without a number after the point.
std::string python_version_in_name(std::string_view name);

/// "3.11.4" in the name of an installation's folder, as "cpython-3.11.4-linux-x86_64-gnu", where
/// `version` is its beginning, "3.11"; `version` where the folder is called otherwise.
std::string python_version_of_folder(const std::string& version, std::string_view folder);

/// "2.11.0+cpu" in the text of torch/version.py; "": it is not there.
std::string torch_version_in(std::string_view text);

/// "560.35.03" in the text of /proc/driver/nvidia/version; "": it is not there.
std::string driver_version_in(std::string_view text);

}  // namespace ddprun
