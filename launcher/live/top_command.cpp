#include "launcher/live/top_command.hpp"

#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <csignal>
#include <optional>

#include "agent/output/console.hpp"
#include "launcher/live/job_client.hpp"
#include "launcher/live/job_texts.hpp"
#include "launcher/options/command_options.hpp"
#include "launcher/run/terminal.hpp"

namespace ddprun {

namespace {

using Seconds = std::chrono::duration<double>;

/// A terminal that shows one screen after the other. It is as it was afterwards.
class Screen {
 public:
  explicit Screen(Console& out) : out_{out} {
    if (::tcgetattr(STDIN_FILENO, &before_) == 0) {
      termios raw = before_;
      raw.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
      changed_ = ::tcsetattr(STDIN_FILENO, TCSANOW, &raw) == 0;
    }
    out_.write("\x1b[?1049h\x1b[?25l");  // another screen, without a cursor
  }
  ~Screen() {
    out_.write("\x1b[?25h\x1b[?1049l");
    out_.flush_blocking();
    if (changed_) ::tcsetattr(STDIN_FILENO, TCSANOW, &before_);
  }
  Screen(const Screen&) = delete;

  static TextStyle style() {
    winsize size{};
    if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_row < 2)
      return {.color = true, .columns = 80, .lines = 23};
    return {.color = wants_color(STDOUT_FILENO), .columns = size.ws_col, .lines = size.ws_row - 1};
  }

  /// Each line is cleared when it is written, so that nothing flickers.
  void show(const std::string& text) {
    std::string shown = "\x1b[H";
    for (const char c : text) shown += c == '\n' ? std::string{"\x1b[K\n"} : std::string{c};
    out_.write(shown + "\x1b[J");
  }

 private:
  Console& out_;
  termios before_{};
  bool changed_ = false;
};

/// Says when the user has had enough: he types q, or sends a signal.
class Keys {
 public:
  explicit Keys(asio::io_context& io) : signals_{io, SIGINT, SIGTERM}, input_{io} {
    signals_.async_wait([this](const boost::system::error_code& error, int) { enough_ |= !error; });
    if (::isatty(STDIN_FILENO) != 1) return;
    input_.assign(::dup(STDIN_FILENO));
    read();
  }
  bool enough() const { return enough_; }

 private:
  void read() {
    input_.async_wait(asio::posix::stream_descriptor::wait_read,
                      [this](const boost::system::error_code& error) {
                        char key = 0;
                        if (error || ::read(input_.native_handle(), &key, 1) != 1) return;
                        enough_ = enough_ || key == 'q' || key == 'Q';
                        if (!enough_) read();
                      });
  }

  asio::signal_set signals_;
  asio::posix::stream_descriptor input_;
  bool enough_ = false;
};

/// Waits, unless the user has had enough.
void wait(asio::io_context& io, const Keys& keys, Seconds time) {
  asio::steady_timer timer{io, std::chrono::duration_cast<asio::steady_timer::duration>(time)};
  bool over = false;
  timer.async_wait([&](const boost::system::error_code&) { over = true; });
  io.restart();
  while (!over && !keys.enough()) io.run_one();
  timer.cancel();
  io.poll();
}

/// Looks until the job has gone; then that is no error.
Result<void> watch(const Stage& stage, const std::string& word, Seconds interval) {
  auto agents = find_job(word);
  if (!agents) return agents.error();
  const bool terminal = ::isatty(STDOUT_FILENO) == 1;
  std::optional<Screen> screen;
  if (terminal) screen.emplace(stage.out);
  const Keys keys{stage.io};
  while (!keys.enough()) {
    auto status = status_of_job(stage.io, *agents);
    if (!status && !find_job(std::to_string((*agents)[0].facts.pid))) return {};
    if (status) status->run_id = names_of(*agents).front();
    const std::string text = status ? status_text(*status, terminal ? Screen::style() : TextStyle{})
                                    : status.error().message + "\n";
    if (terminal)
      screen->show(text);
    else
      stage.out.write(text + "\n");
    wait(stage.io, keys, interval);
  }
  return {};
}

}  // namespace

Result<int> run_top(const std::vector<std::string>& words, const Stage& stage) {
  std::string word;
  double interval = 1;
  CommandOptions command{
      "Shows the state of a running job and keeps it up to date. q or Ctrl-C ends it; the job goes "
      "on.",
      "ddprun top"};
  command.examples("ddprun top\nddprun top train.py --interval 5");
  command.argument("JOB", word, kJobHelp);
  command.option("-n,--interval", interval, "SECONDS", "time from one look to the next",
                 {.least = 0.1, .most = 3600});
  if (const auto done = command.parse(words, stage.out)) return *done;
  const auto watched = watch(stage, word, Seconds{interval});
  if (!watched) return watched.error();
  return 0;
}

}  // namespace ddprun
