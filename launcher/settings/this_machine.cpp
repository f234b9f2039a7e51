#include "launcher/settings/this_machine.hpp"

#include <filesystem>

#include "agent/usable_cpus.hpp"
#include "launcher/settings/find_program.hpp"
#include "launcher/settings/gpus.hpp"
#include "launcher/settings/secret_file.hpp"

namespace ddprun {

Surroundings this_machine(const EnvironmentLookup& environment) {
  return {environment,
          usable_cpus,
          [environment] { return visible_gpus(environment); },
          [](const std::string& path) {
            std::error_code unreadable;  // whoever opens the file will say so
            return std::filesystem::exists(path, unreadable);
          },
          [environment](const std::string& name) { return find_program(name, environment); },
          read_secret_file};
}

}  // namespace ddprun
