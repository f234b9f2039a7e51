#include "ddprun/epoch_loader.hpp"

#include <nlohmann/json.hpp>

namespace ddprun::sdk {

std::string to_text(const SamplerState& state) {
  return nlohmann::json{{"epoch", state.epoch}, {"consumed", state.consumed}}.dump();
}

SamplerState parse_sampler_state(const std::string& text) try {
  const auto saved = nlohmann::json::parse(text);
  return {saved.at("epoch").get<std::int64_t>(), saved.at("consumed").get<std::int64_t>()};
} catch (const nlohmann::json::exception& e) {
  throw std::invalid_argument{std::string{"EpochLoader: no place in a data set: "} + e.what()};
}

void require_a_batch(std::int64_t batches, std::int64_t samples, const LoaderOptions& options) {
  if (batches > 0) return;
  throw std::invalid_argument{"EpochLoader: an epoch has " + std::to_string(samples) +
                              " samples for each rank, and a batch takes " +
                              std::to_string(options.batch_size)};
}

}  // namespace ddprun::sdk
