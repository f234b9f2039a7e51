#include <nlohmann/json.hpp>

#include "launcher/doctor/read/reading.hpp"
#include "tests/launcher/doctor/readings_fixture.hpp"

namespace ddprun {
namespace {

TEST_CASE("a reading is the same after it was written and read") {
  for (const char* name : {"healthy_dgx", "sick_disks", "dead_name_server", "gpu_taken",
                           "wrong_environment", "no_subnet_manager"}) {
    INFO(name);
    const auto file = nlohmann::json::parse(recorded_text(name));
    CHECK(nlohmann::json::parse(to_line(recorded(name))) == file);
  }
}

TEST_CASE("what is missing in a reading stays missing, and what is false stays false") {
  const auto reading = parse_reading(R"({"node": "h1", "gpus": {"gpus": [{"ecc": false}]}})");
  REQUIRE(reading.has_value());
  CHECK(reading->gpus->gpus[0].ecc == false);
  CHECK_FALSE(reading->gpus->gpus[0].persistent.has_value());
  CHECK_FALSE(reading->python.has_value());
  CHECK_FALSE(reading->memory.shm_bytes.has_value());
}

TEST_CASE("what the system has said about a folder arrives") {
  const NodeReading sent{.folders = {{.role = "logs", .error_number = 28, .tried = "/data"}}};
  const auto reading = parse_reading(to_line(sent));
  REQUIRE(reading.has_value());
  CHECK(reading->folders.at(0).error_number == 28);
  CHECK(reading->folders.at(0).tried == "/data");
}

TEST_CASE("a reading of a later version may have more fields") {
  CHECK(parse_reading(R"({"node": "h1", "phase_of_the_moon": 3})")->node == "h1");
}

TEST_CASE("what is no reading is refused in a sentence") {
  for (const char* text :
       {"", "hello", "[]", "3", R"({"node": 3})", R"({"limits": []})", R"({"folders": [1]})",
        R"({"memory": {"shm_bytes": "much"}})", R"({"cpus": {"usable": 4294967298}})",
        R"({"memory": {"shm_bytes": 2.5}})", R"({"memory": {"shm_bytes": -2}})"}) {
    INFO(text);
    const auto reading = parse_reading(text);
    REQUIRE_FALSE(reading.has_value());
    CHECK(reading.error().kind == Error::Kind::kInvalid);
    CHECK_THAT(reading.error().message, contains("no reading of a node"));
  }
}

TEST_CASE("bytes that are no UTF-8 do not break a reading") {
  NodeReading reading{.node = "h\xff"};
  CHECK(parse_reading(to_line(reading))->node == "h\xEF\xBF\xBD");
}

}  // namespace
}  // namespace ddprun
