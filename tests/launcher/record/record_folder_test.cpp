#include "launcher/record/record_folder.hpp"

#include <fstream>

#include "tests/support/catch.hpp"
#include "tests/support/scratch_folder.hpp"

namespace ddprun {
namespace {

namespace fs = std::filesystem;

RunRecord record_of(const std::string& name) {
  return {.script = {name, "/home/me/" + name, "ab12"}, .torch = "2.11.0"};
}

std::size_t files_in(const fs::path& folder) {
  return static_cast<std::size_t>(
      std::distance(fs::directory_iterator{folder}, fs::directory_iterator{}));
}

TEST_CASE("each script of a folder has a record of its own") {
  const ScratchFolder folder;
  REQUIRE(write_good_run(folder.path(), record_of("a.py")).has_value());
  REQUIRE(write_good_run(folder.path(), record_of("b.py")).has_value());
  REQUIRE(write_good_run(folder.path(), record_of("b.py")).has_value());
  CHECK(files_in(folder.path()) == 2);
  CHECK(read_good_run(folder.path(), record_of("a.py").script).value() == record_of("a.py"));
  CHECK(read_good_run(folder.path(), record_of("c.py").script).value() == std::nullopt);
}

TEST_CASE("scripts of one name in two folders do not mix, and no name leads out of the folder") {
  CHECK(record_file_name({"train.py", "/a/train.py"}) !=
        record_file_name({"train.py", "/b/train.py"}));
  CHECK(record_file_name({"train.py", "/a/train.py"}).starts_with(".last-good-run.train.py."));
  const std::string odd = record_file_name({"../\n" + std::string(500, 'x'), "/a"});
  CHECK(odd.find_first_of("/\n") == std::string::npos);
  CHECK(odd.size() < 120);
}

TEST_CASE("what is no record is an error that names the file") {
  const ScratchFolder folder;
  const RecordedScript script = record_of("a.py").script;
  const fs::path file = folder.path() / record_file_name(script);
  std::ofstream{file} << "{";
  CHECK_THAT(read_good_run(folder.path(), script).error().message,
             contains(file.string() + "' is no record of a good run (it is no JSON)"));
  std::ofstream{file} << std::string(kRunRecordBytesMax + 1, ' ');
  CHECK_THAT(read_good_run(folder.path(), script).error().message, contains("more than"));
  fs::remove(file);
  fs::create_directory(file);
  CHECK_THAT(read_good_run(folder.path(), script).error().message, contains("no regular file"));
}

TEST_CASE("what cannot be written is an error, and nothing is left of it") {
  const ScratchFolder folder;
  fs::create_directory(folder.path() / record_file_name(record_of("a.py").script));
  CHECK_THAT(write_good_run(folder.path(), record_of("a.py")).error().message,
             contains("cannot write "));
  CHECK(files_in(folder.path()) == 1);
}

TEST_CASE("half a record of a killed process goes after a day") {
  const ScratchFolder folder;
  const auto file_of_age = [&](const char* name, std::chrono::hours age) {
    const fs::path file = folder.path() / name;
    std::ofstream{file} << "{";
    fs::last_write_time(file, fs::file_time_type::clock::now() - age);
    return file;
  };
  const fs::path old =
      file_of_age(".last-good-run.a.py.12345678.json.x.tmp", std::chrono::hours{25});
  const fs::path fresh =
      file_of_age(".last-good-run.a.py.12345678.json.y.tmp", std::chrono::hours{23});
  const fs::path mine = file_of_age("mine.tmp", std::chrono::hours{25});
  REQUIRE(write_good_run(folder.path(), record_of("b.py")).has_value());
  CHECK_FALSE(fs::exists(old));
  CHECK(fs::exists(fresh));
  CHECK(fs::exists(mine));
}

TEST_CASE("of too many records the oldest go, and no other file does") {
  const ScratchFolder folder;
  std::ofstream{folder.path() / "mine.json"} << "x";
  const fs::path oldest = folder.path() / record_file_name(record_of("0.py").script);
  for (std::size_t i = 0; i < kRecordsMax; ++i)
    REQUIRE(write_good_run(folder.path(), record_of(std::to_string(i) + ".py")).has_value());
  fs::last_write_time(oldest, fs::last_write_time(oldest) - std::chrono::hours{1});
  CHECK(files_in(folder.path()) == kRecordsMax + 1);
  REQUIRE(write_good_run(folder.path(), record_of("new.py")).has_value());
  CHECK(files_in(folder.path()) == kRecordsMax + 1);
  CHECK_FALSE(fs::exists(oldest));
  CHECK(fs::exists(folder.path() / "mine.json"));
}

}  // namespace
}  // namespace ddprun
