// Decides which secret a job has, if any. Pure.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "base/environment.hpp"
#include "base/result.hpp"
#include "launcher/settings/arguments.hpp"
#include "rendezvous/transport/secret.hpp"

namespace ddprun {

/// Reads a secret from a file. Errors: kInvalid, with a sentence that names the file.
using ReadSecret = std::function<Result<Secret>(const std::string& path)>;

/// Returns the secret of --secret-file, else that of DDPRUN_SECRET; nullopt: neither is given.
/// Errors: kInvalid. No error shows what was read.
Result<std::optional<Secret>> job_secret(const Settings& settings,
                                         const EnvironmentLookup& environment,
                                         const ReadSecret& read);

/// Why --store leader has no effect beside a secret.
inline constexpr char kStoreInside[] =
    "with a secret, workers reach the store through their own ddprun";

/// Whether the user wants the store at the coordinator (--store leader), where TLS does not reach.
/// Then ddprun makes no secret by itself.
bool wants_open_store(const Settings& settings);

}  // namespace ddprun
