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

using Changes = std::vector<Change>;

RunRecord good_run() {
  return {.script = {"train.py", "/home/me/train.py", "ab12"},
          .arguments = {"--lr", "0.1", "--epochs", "3"},
          .options = {{"nproc-per-node", "4"}},
          .environment = {{"NCCL_DEBUG", "INFO"}},
          .ddprun = "0.1.0",
          .python_path = "/venv/bin/python3",
          .python = "3.11.2",
          .torch = "2.10.0",
          .driver = "560.35.03",
          .kernel = "6.1.0",
          .hosts = {"h1", "h2"},
          .workers = 4,
          .world_size = 8,
          .ended_unix_ms = 1'795'760'015'000};
}

Changes changes_to(const RunRecord& now) { return changes_between(good_run(), now); }

TEST_CASE("a run with the same facts has no change") { CHECK(changes_to(good_run()).empty()); }

TEST_CASE("what a user has changed comes before what the machine has") {
  RunRecord now = good_run();
  now.kernel = "6.2.0";
  now.driver = "570.1";
  now.torch = "2.11.0";
  now.script.sha256 = "cd34";
  CHECK(changes_to(now) == Changes{{ChangeKind::kFile, "train.py", "sha256:ab12", "sha256:cd34"},
                                   {ChangeKind::kVersion, "torch", "2.10.0", "2.11.0"},
                                   {ChangeKind::kVersion, "NVIDIA driver", "560.35.03", "570.1"},
                                   {ChangeKind::kVersion, "kernel", "6.1.0", "6.2.0"}});
}

TEST_CASE("what one of the two does not know is not compared") {
  RunRecord now = good_run();
  now.script.sha256 = now.torch = now.driver = now.python = now.kernel = "";
  now.hosts.clear();
  now.workers = now.world_size = 0;
  CHECK(changes_to(now).empty());
}

TEST_CASE("options and variables are new, gone, or have another value") {
  RunRecord now = good_run();
  now.options = {{"fold", "on"}, {"nproc-per-node", "8"}};
  now.environment = {{"OMP_NUM_THREADS", ""}};
  now.workers = 8;
  CHECK(changes_to(now) == Changes{{ChangeKind::kOption, "--fold", "", "on"},
                                   {ChangeKind::kOption, "--nproc-per-node", "4", "8"},
                                   {ChangeKind::kVariable, "NCCL_DEBUG", "INFO", ""},
                                   {ChangeKind::kVariable, "OMP_NUM_THREADS", "", "''"}});
}

TEST_CASE("of the arguments only differences are shown, with the option they belong to") {
  RunRecord now = good_run();
  now.arguments = {"--lr", "0.2", "--epochs", "3"};
  CHECK(changes_to(now) ==
        Changes{{ChangeKind::kArguments, "arguments", "'--lr 0.1'", "'--lr 0.2'"}});
  now.arguments = {"--lr", "0.1", "--epochs", "3", "--debug"};
  CHECK(changes_to(now) == Changes{{ChangeKind::kArguments, "arguments", "", "'--debug'"}});
  now.arguments = {"--lr", "0.1"};
  CHECK(changes_to(now) == Changes{{ChangeKind::kArguments, "arguments", "'--epochs 3'", ""}});
  now.arguments.clear();
  CHECK(changes_to(now) ==
        Changes{{ChangeKind::kArguments, "arguments", "'--lr 0.1 --epochs 3'", ""}});
}

TEST_CASE("nodes that came and went are changes, whatever their order") {
  RunRecord now = good_run();
  now.hosts = {"h2", "h1"};
  CHECK(changes_to(now).empty());
  now.hosts = {"h3", "h2"};
  CHECK(changes_to(now) ==
        Changes{{ChangeKind::kNode, "node", "", "h3"}, {ChangeKind::kNode, "node", "h1", ""}});
}

TEST_CASE("numbers of workers are shown if nothing else explains them") {
  RunRecord now = good_run();
  now.workers = 2;
  now.world_size = 4;
  CHECK(changes_to(now) == Changes{{ChangeKind::kNumber, "workers of a node", "4", "2"}});
  now.workers = 4;
  CHECK(changes_to(now) == Changes{{ChangeKind::kNumber, "world size", "8", "4"}});
  now.hosts = {"h1"};
  CHECK(changes_to(now) == Changes{{ChangeKind::kNode, "node", "h2", ""}});
}

TEST_CASE("a program or a variable may be called as anything else that is compared") {
  RunRecord before = good_run();
  before.script.name = "--nnodes";
  RunRecord now = before;
  now.script.sha256 = "cd34";
  now.workers = 2;
  now.environment = {{"NCCL_DEBUG", "INFO"}, {"--nproc-per-node", "3"}};
  CHECK(changes_between(before, now) ==
        Changes{{ChangeKind::kFile, "--nnodes", "sha256:ab12", "sha256:cd34"},
                {ChangeKind::kVariable, "--nproc-per-node", "", "3"},
                {ChangeKind::kNumber, "workers of a node", "4", "2"}});
}

TEST_CASE("another Python is shown by its version, or else by its path") {
  RunRecord now = good_run();
  now.python_path = "/other/bin/python3";
  CHECK(changes_to(now) ==
        Changes{{ChangeKind::kProgram, "Python", "/venv/bin/python3", "/other/bin/python3"}});
  now.python = "3.12.1";
  CHECK(changes_to(now) == Changes{{ChangeKind::kVersion, "Python", "3.11.2", "3.12.1"}});
}

TEST_CASE("a report tells when it worked, and has no endless list") {
  RunRecord now = good_run();
  now.ended_unix_ms = good_run().ended_unix_ms + 7'200'000;
  CHECK(since_good_run(good_run(), now) == SinceGoodRun{"2026-11-27T06:13:35Z", 7'200, {}});
  now.ended_unix_ms = 0;  // the clock was set back
  CHECK(since_good_run(good_run(), now).age_s == 0);
  for (int i = 0; i < 200; ++i) now.hosts.push_back("n" + std::to_string(i));
  CHECK(since_good_run(good_run(), now).changes.size() == kChangesMax);
}

TEST_CASE("texts that are cut in a file are no change") {
  RunRecord now = good_run();
  now.arguments.assign(3, std::string(100'000, 'x'));
  CHECK(since_good_run(as_read(now), now).changes.empty());
}

}  // namespace
}  // namespace ddprun
