#include "launcher/settings/this_machine.hpp"

#include <filesystem>
#include <fstream>
#include <sstream>

#include "agent/placement/usable_cpus.hpp"
#include "base/system/own_process.hpp"
#include "launcher/settings/find_program.hpp"
#include "launcher/settings/gpus.hpp"
#include "launcher/settings/program_output.hpp"
#include "launcher/settings/secret_file.hpp"

namespace ddprun {

namespace {

std::optional<std::string> read_text(const std::string& path) {
  std::ifstream file{path};
  std::ostringstream text;
  if (!file || std::filesystem::is_directory(path) || !(text << file.rdbuf())) return std::nullopt;
  return text.str();
}

}  // namespace

Surroundings this_machine(const EnvironmentLookup& environment) {
  return {environment,
          usable_cpus,
          [environment] { return visible_gpus(environment); },
          [](const std::string& path) {
            std::error_code unreadable;  // whoever opens the file will say so
            return std::filesystem::exists(path, unreadable);
          },
          [environment](const std::string& name) { return find_program(name, environment); },
          read_secret_file,
          host_name,
          read_text,
          output_of};
}

}  // namespace ddprun
