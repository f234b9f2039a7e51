#include "launcher/doctor/ask/host_sessions.hpp"

#include <algorithm>
#include <utility>

#include "base/clock.hpp"
#include "base/process/child_process.hpp"
#include "launcher/doctor/ask/doctor_messages.hpp"

namespace ddprun {

namespace {

using namespace std::chrono_literals;

constexpr std::size_t kAnswersBytesMax = 8 * 1024 * 1024;

}  // namespace

HostSessions::~HostSessions() {
  for (const Entry& entry : entries_)
    if (entry.link) entry.link->end_input();
  run_until_gone(1s);
  for (const Entry& entry : entries_)
    if (entry.link) entry.link->kill();
  run_until_gone(1s);
}

void HostSessions::run_until_gone(std::chrono::milliseconds timeout) {
  const auto runs = [](const Entry& entry) { return entry.link != nullptr; };
  const TimePoint deadline = Clock::now() + timeout;
  io_.restart();
  while (std::ranges::any_of(entries_, runs) && io_.run_one_until(deadline) > 0) continue;
}

void HostSessions::start(const std::vector<std::string>& words,
                         const std::vector<std::string>& environment) {
  Entry& entry = entries_.emplace_back();
  auto link = connect(entries_.size() - 1, words, environment);
  entry.session.open = link.has_value();
  if (link)
    entry.link = std::move(*link);
  else
    entry.session.last_words = {link.error().message};
}

Result<std::shared_ptr<SshLink>> HostSessions::connect(
    std::size_t host, const std::vector<std::string>& words,
    const std::vector<std::string>& environment) {
  const auto gone = [this, host](ExitStatus status, std::vector<std::string> last_words) {
    Entry& entry = entries_[host];
    entry.waits = entry.session.open = false;
    entry.session.status = status;
    entry.session.last_words = std::move(last_words);
    entry.link.reset();
  };
  auto link = SshLink::open(io_.get_executor(),
                            {[this, host](std::string_view bytes) { hear(entries_[host], bytes); },
                             gone, []() -> asio::awaitable<void> { co_return; }});
  if (!link) return link.error();
  const NewChild child{{words.front(), words, environment, {}}, (*link)->ssh_ends()};
  auto started = ChildProcess::spawn(io_.get_executor(), pool_, {child});
  if (!started.front()) return started.front().error();
  (*link)->start(std::move(*started.front()));
  return link;
}

void HostSessions::send(std::size_t host, const std::string& line) {
  Entry& entry = entries_[host];
  if (!entry.session.open) return;
  entry.session.answer.clear();
  entry.session.answered_us.reset();
  entry.waits = true;
  entry.link->send(line);
  io_.restart();
  io_.poll();  // the line leaves now, and not when others have been sent theirs
}

void HostSessions::wait_for_answers(std::chrono::milliseconds timeout) {
  const TimePoint deadline = Clock::now() + timeout;
  io_.restart();
  while (std::ranges::any_of(entries_, &Entry::waits) && io_.run_one_until(deadline) > 0) continue;
  for (Entry& entry : entries_)
    if (std::exchange(entry.waits, false)) entry.session.open = false;
}

void HostSessions::hear(Entry& entry, std::string_view bytes) {
  entry.inbox += bytes;
  if (entry.inbox.size() > kAnswersBytesMax) {
    entry.waits = entry.session.open = false;
    entry.inbox.clear();
    return entry.link->kill();
  }
  for (std::size_t end; (end = entry.inbox.find('\n')) != std::string::npos;
       entry.inbox.erase(0, end + 1)) {
    if (!is_doctors_line(std::string_view{entry.inbox}.substr(0, end))) continue;
    entry.session.answer = entry.inbox.substr(0, end);
    entry.session.answered_us = unix_time_us();
    entry.waits = false;
  }
}

}  // namespace ddprun
