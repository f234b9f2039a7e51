#include "launcher/doctor/doctor_report.hpp"

#include <nlohmann/json.hpp>

#include "launcher/doctor/check/checks.hpp"
#include "tests/launcher/doctor/readings_fixture.hpp"

namespace ddprun {
namespace {

std::string report_on(const std::string& name, const ReportStyle& style = {}) {
  const NodeReading reading = recorded(name);
  return report_text({reading.node}, check_node(reading, true), style);
}

TEST_CASE("a node on which all is well takes one line") {
  CHECK(report_on("healthy_pod") == "train-0: 19 checks, all ok\n");
}

TEST_CASE("what is about all nodes is a heading of its own, which stays the same for programs") {
  const Findings found{
      {Severity::kOk, "link", kAllNodes, "each node reaches each other one", "", ""}};
  CHECK(report_text({kAllNodes}, found, {}) == "between the nodes: 1 check, all ok\n");
  const auto report = nlohmann::json::parse(report_json({}, found));
  CHECK(report["findings"][0]["node"] == "all nodes");
}

TEST_CASE("what failed stands before the warnings, and what is well is counted") {
  CHECK(report_on("shm_left_full") ==
        R"(dgx1: 1 failed, 1 warning, 29 ok
  failed   shm     /dev/shm has 1007 GiB, 3 MiB of it free
           why     DataLoader workers and NCCL share memory there: they end with
                   "Bus error" or "No space left on device"
           do      see what is left there of jobs that have ended (ls -l
                   /dev/shm), and remove it
  warning  memory  1 GiB available of 2.0 TiB
           why     torch alone takes about 0.5 GiB in each worker: the kernel
                   kills a rank (signal 9) when memory is used up
           do      see who uses it (ps aux --sort -rss), or start fewer workers
)");
}

TEST_CASE("lines have no more columns than the terminal") {
  for (const char* name : {"small_limits", "sick_disks", "driver_too_old", "no_subnet_manager"}) {
    std::istringstream lines{report_on(name, {.verbose = true})};
    for (std::string line; std::getline(lines, line);) {
      INFO(line);
      CHECK(line.size() <= 84);  // a word that is longer than its column has a line of its own
    }
  }
}

TEST_CASE("all is shown on request") {
  const std::string text = report_on("healthy_pod", {.verbose = true});
  CHECK_THAT(text, contains("  ok  torch               torch 2.9.0+cpu\n"));
  CHECK_THAT(text, contains("  ok  checkpoints-folder"));
}

TEST_CASE("a report has no orders to a terminal that a node has sent") {
  NodeReading reading = recorded("healthy_pod");
  reading.node = "h1\x1b[2J";
  reading.python->torch = "2\x1b]0;title\x07";
  const std::string text =
      report_text({reading.node}, check_node(reading, true), {.verbose = true});
  CHECK(text.find('\x1b') == std::string::npos);
  CHECK(text.find('\x07') == std::string::npos);
}

TEST_CASE("programs get all findings and what was read") {
  const NodeReading reading = recorded("ecc_error");
  const auto report = nlohmann::json::parse(report_json({reading}, check_node(reading, true)));
  CHECK(report["failed"] == 1);
  CHECK(report["warnings"] == 0);
  CHECK(report["readings"][0]["gpus"]["gpus"][1]["uncorrected_errors"] == 3);
  int failed = 0;
  for (const auto& finding : report["findings"])
    if (finding["severity"] == "failed") {
      ++failed;
      CHECK(finding["subject"] == "gpu-memory");
      CHECK(finding["node"] == "dgx1");
      CHECK_THAT(finding["advice"].get<std::string>(), contains("nvidia-smi --gpu-reset -i 1"));
    }
  CHECK(failed == 1);
}

TEST_CASE("a text is cut between its words") {
  CHECK(wrapped("one two three", 7) == std::vector<std::string>{"one two", "three"});
  CHECK(wrapped("incomprehensible words", 5) ==
        std::vector<std::string>{"incomprehensible", "words"});
  CHECK(wrapped("", 5) == std::vector<std::string>{});
}

}  // namespace
}  // namespace ddprun
