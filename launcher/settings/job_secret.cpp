#include "launcher/settings/job_secret.hpp"

namespace ddprun {

Result<std::optional<Secret>> job_secret(const Settings& settings,
                                         const EnvironmentLookup& environment,
                                         const ReadSecret& read) {
  const Setting& file = settings["secret-file"];
  const auto variable = environment(kSecretVariable);
  std::string source = kSecretVariable;
  std::optional<Result<Secret>> found;
  if (file.given) {
    source = file.source;
    found = read(file.text);
  } else if (variable && !variable->empty()) {
    found = parse_secret(*variable);
  }
  if (!found) return std::optional<Secret>{};
  if (!*found) return invalid(source + ": " + found->error().message);
  return std::optional{**found};
}

bool wants_open_store(const Settings& settings) {
  return settings["store"].given && settings["store"].text == "leader";
}

}  // namespace ddprun
