#include "launcher/record/run_record.hpp"

#include "tests/support/catch.hpp"

namespace ddprun {
namespace {

RunRecord full_record() {
  return {.script = {"train.py", "/home/me/train.py", "ab12"},
          .arguments = {"--lr", "0.1"},
          .options = {{"nproc-per-node", "4"}},
          .environment = {{"NCCL_DEBUG", "INFO"}},
          .ddprun = "0.1.0",
          .python_path = "/venv/bin/python3",
          .python = "3.11.2",
          .torch = "2.11.0",
          .driver = "560.35.03",
          .kernel = "6.1.0",
          .hosts = {"h1", "h2"},
          .workers = 4,
          .world_size = 8,
          .started_unix_ms = 1'000,
          .ended_unix_ms = 2'000};
}

std::string complaint_on(std::string_view text) { return parse_run_record(text).error().message; }

TEST_CASE("a record that is read says what was written") {
  CHECK(parse_run_record(to_json(full_record())).value() == full_record());
  CHECK(as_read(full_record()) == full_record());
  CHECK(as_read({}) == RunRecord{});
}

TEST_CASE("a record of any size is cut to its limit, and the same each time") {
  RunRecord record = full_record();
  record.arguments.assign(10'000, std::string(10'000, '\x01'));
  record.hosts.assign(10'000, std::string(10'000, '\x01'));
  record.script.path.assign(10'000, '\x01');
  for (int i = 0; i < 1000; ++i) record.environment[std::to_string(i)].assign(10'000, '\x01');
  CHECK(to_json(record).size() <= kRunRecordBytesMax);
  CHECK(as_read(as_read(record)) == as_read(record));
}

TEST_CASE("what is no record is refused with a sentence") {
  CHECK(complaint_on("{") == "it is no JSON");
  CHECK_THAT(complaint_on("[]"), contains("an object was expected"));
  CHECK(complaint_on("{}") == "its schema is '', and 'ddprun.run-record/1' was expected");
  CHECK_THAT(complaint_on(R"({"schema": 1})"), contains("a text was expected"));
  CHECK_THAT(complaint_on(R"({"schema": "ddprun.run-record/1"})"), contains("is missing"));
}

TEST_CASE("the record of a later version is refused, and fields that it may add are not") {
  std::string later = to_json(full_record());
  const std::size_t number = later.find("record/1") + 7;
  later[number] = '2';
  CHECK_THAT(complaint_on(later), contains("its schema is 'ddprun.run-record/2'"));
  later[number] = '1';
  later.insert(later.find('{') + 1, R"("color": "red",)");
  CHECK(parse_run_record(later).value() == full_record());
}

}  // namespace
}  // namespace ddprun
