#include "agent/failure_report.hpp"

#include <sstream>

namespace ddprun {

namespace {

std::string quote(const std::vector<std::string>& lines) {
  std::string out;
  for (const std::string& line : lines) out += "    | " + line + "\n";
  return out;
}

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in{text};
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

}  // namespace

std::string summarize(const WorkerFailure& failure) {
  return "rank " + std::to_string(failure.rank) + " (local rank " +
         std::to_string(failure.local_rank) + " on host " + failure.host + ", pid " +
         std::to_string(failure.pid) + ") " + describe(failure.status);
}

std::string failure_report(const WorkerFailure& failure, int attempts) {
  std::string out = "ddprun: the job failed: " + summarize(failure) + "\n";
  if (attempts > 1) out += "  in attempt " + std::to_string(attempts) + ", the last one allowed\n";
  if (!failure.message.empty()) out += "  it recorded:\n" + quote(split(failure.message));
  if (!failure.error_file.empty()) out += "  error file: " + failure.error_file + "\n";
  if (failure.last_lines.empty())
    out += "  it wrote nothing to its output\n";
  else
    out += "  its last lines:\n" + quote(failure.last_lines);
  return out;
}

}  // namespace ddprun
