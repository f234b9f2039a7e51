#include "ddprun/shard_loader.hpp"

#include <nlohmann/json.hpp>
#include <stdexcept>

namespace ddprun::sdk {

namespace {

using nlohmann::json;

json to_json(const ShardState& state) {
  json buffer = json::array();
  for (const auto& place : state.buffer) buffer.push_back({place.shard, place.sample});
  return {{"epoch", state.epoch},
          {"draws", state.draws},
          {"next", {state.next.shard, state.next.sample}},
          {"buffer", buffer}};
}

ShardState::Place place_of(const json& pair) {
  return {pair.at(0).get<std::int64_t>(), pair.at(1).get<std::int64_t>()};
}

ShardState stream_of(const json& object) {
  ShardState state{object.at("epoch").get<std::int64_t>(),
                   object.at("draws").get<std::uint64_t>(),
                   place_of(object.at("next")),
                   {}};
  for (const json& pair : object.at("buffer")) state.buffer.push_back(place_of(pair));
  return state;
}

ShardLoaderState parse(const std::string& text) try {
  const json object = json::parse(text);
  ShardLoaderState state{object.at("identity").get<std::string>(),
                         object.at("turn").get<std::size_t>(),
                         {},
                         object.at("finished").get<std::vector<std::uint8_t>>()};
  for (const json& stream : object.at("streams")) state.streams.push_back(stream_of(stream));
  return state;
} catch (const json::exception& e) {
  throw std::invalid_argument{std::string{"ShardLoader: this is no state of one: "} + e.what()};
}

}  // namespace

std::string to_text(const ShardLoaderState& state) {
  json streams = json::array();
  for (const ShardState& stream : state.streams) streams.push_back(to_json(stream));
  return json{{"identity", state.identity},
              {"turn", state.turn},
              {"finished", state.finished},
              {"streams", streams}}
      .dump();
}

ShardLoaderState parse_shard_loader_state(const std::string& text,
                                          const ShardLoaderState& expected) {
  ShardLoaderState state = parse(text);
  if (state.identity != expected.identity)
    throw std::invalid_argument{"ShardLoader: the state is one of " + state.identity +
                                ", and this loader has " + expected.identity};
  const std::size_t workers = expected.streams.size();
  if (state.streams.size() != workers || state.finished.size() != workers || state.turn >= workers)
    throw std::invalid_argument{"ShardLoader: the state is one of " +
                                std::to_string(state.streams.size()) +
                                " streams, and this loader has " + std::to_string(workers)};
  return state;
}

void check_options(const ShardLoaderOptions& options) {
  if (options.batch_size < 1 || options.workers < 1 || options.prefetch < 1)
    throw std::invalid_argument{"ShardLoader: batch size " + std::to_string(options.batch_size) +
                                ", " + std::to_string(options.workers) + " workers, " +
                                std::to_string(options.prefetch) +
                                " batches ahead; expected at least 1 of each"};
}

}  // namespace ddprun::sdk
