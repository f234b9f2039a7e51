// What releases have said on the wire: docs/protocol.md, "Between releases".
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "rendezvous/wire/messages.hpp"
#include "tests/support/catch.hpp"

namespace ddprun {
namespace {

using nlohmann::json;

/// Reads a line as an agent ('>') or the coordinator ('<') has said it, and returns what this build
/// says in the same place.
json said_again(char speaker, const std::string& line) {
  if (speaker == '>') {
    const auto message = decode_agent_message(line);
    REQUIRE(message.has_value());
    return json::parse(encode(*message));
  }
  const auto message = decode_coordinator_message(line);
  REQUIRE(message.has_value());
  return json::parse(encode(*message));
}

TEST_CASE("what releases of this protocol have said is read, and nothing of it is left unsaid") {
  std::size_t files = 0;
  for (const auto& file : std::filesystem::directory_iterator{DDPRUN_RECORDED_MESSAGES}) {
    ++files;
    std::set<std::string> types;
    std::ifstream lines{file.path()};
    for (std::string line; std::getline(lines, line);) {
      INFO(line);
      REQUIRE(line.size() > 2);
      const json recorded = json::parse(line.substr(2)).flatten();
      types.insert(line[0] + recorded.at("/type").get<std::string>());
      const json said = said_again(line[0], line.substr(2)).flatten();
      for (const auto& [field, value] : recorded.items()) {
        INFO(field);
        REQUIRE(said.contains(field));
        CHECK(said.at(field) == value);
      }
    }
    CHECK(types.size() >= 17);  // so many has 0.1: eight of agents, nine of the coordinator
  }
  CHECK(files >= 1);
}

}  // namespace
}  // namespace ddprun
