#include "agent/reports/failure_texts.hpp"

#include <climits>
#include <string>
#include <string_view>

#include "base/text.hpp"

namespace ddprun {

namespace {

/// A text may have a megabyte: only as much is made printable as can stay.
std::string plain(std::string_view text, const TextLimit& limit) {
  return cut(plain_text(cut(text, limit)), limit);
}

/// Drops the oldest of the lines.
void keep_last(std::vector<std::string>& lines, std::size_t most) {
  std::size_t bytes = 0;
  auto first = lines.end();
  for (; first != lines.begin(); --first) {
    std::string& line = *(first - 1);
    line = cut(plain_line(cut(line, {most})), {most});
    bytes += line.size();
    if (bytes > most) break;
  }
  lines.erase(lines.begin(), first);
}

}  // namespace

void shorten_texts(WorkerFailure& failure, std::size_t most) {
  for (std::string* word : {&failure.host, &failure.evidence, &failure.last_heartbeat})
    *word = cut(plain_line(cut(*word, {kFailureWordBytesMax})), {kFailureWordBytesMax});
  failure.message = plain(failure.message, {most});
  failure.traceback = plain(failure.traceback, {most, TextLimit::Keep::kEnd});
  keep_last(failure.last_lines, most);
  if (failure.error_file.size() >= PATH_MAX) failure.error_file.clear();
  if (failure.log_file.size() > kFailureWordBytesMax) failure.log_file.clear();
}

}  // namespace ddprun
