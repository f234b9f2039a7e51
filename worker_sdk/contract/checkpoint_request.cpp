#include "ddprun/checkpoint_request.hpp"

#include <charconv>

#include "ddprun/worker_env.hpp"

namespace ddprun::sdk {

int checkpoint_signal() {
  const auto text = environment_lookup(env::kCheckpointSignal);
  if (!text || text->empty()) return kCheckpointSignal;
  int signal = 0;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), signal);
  if (error == std::errc{} && end == text->data() + text->size() && signal > 0 &&
      signal <= SIGRTMAX)
    return signal;
  throw EnvironmentError{std::string{env::kCheckpointSignal} + " is '" + *text +
                         "', expected the number of a signal"};
}

}  // namespace ddprun::sdk
