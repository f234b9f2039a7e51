#include "launcher/run/report_writer.hpp"

#include "launcher/run/run_report.hpp"
#include "tests/support/captured_log.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/file_text.hpp"
#include "tests/support/scratch_folder.hpp"

namespace ddprun {
namespace {

class ReportFixture {
 protected:
  std::string first() const { return content(folder_.path() / "first.json"); }
  std::string second() const { return content(folder_.path() / "second.json"); }
  JobReport hang() const { return job_report(HangReport{}, "job"); }
  JobReport no_hang() const { return job_report(std::nullopt, "job"); }
  JobReport last() const {
    return job_report(Error{Error::Kind::kInvalid, "it could not begin"}, "job");
  }

  ScratchFolder folder_;
  ReportWriter writer_;
};

TEST_CASE_METHOD(ReportFixture, "the last report stays in all files, after those of hangs") {
  writer_.add_file(folder_.path() / "first.json");
  writer_.add_file(folder_.path() / "second.json");
  writer_.write(hang());
  writer_.write(no_hang());
  writer_.write_last(last());
  CHECK(first() == to_json(last()));
  CHECK(second() == to_json(last()));
}

TEST_CASE_METHOD(ReportFixture, "a hang that comes after the last report is not written") {
  writer_.add_file(folder_.path() / "first.json");
  writer_.write(hang());
  writer_.write_last(last());
  writer_.write(no_hang());
  CHECK(first() == to_json(last()));
}

TEST_CASE_METHOD(ReportFixture, "a warning names a report that cannot be written") {
  const CapturedLog log;
  writer_.add_file(folder_.path() / "nowhere" / "first.json");
  writer_.write_last(last());
  CHECK_THAT(log.text(), contains("cannot write") && contains("nowhere/first.json"));
  CHECK_THAT(log.text(), contains("there is no folder '" + (folder_.path() / "nowhere").string()));
}

}  // namespace
}  // namespace ddprun
