#include "launcher/run/log.hpp"

#include <spdlog/sinks/base_sink.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <boost/asio/post.hpp>
#include <cctype>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

#include "base/text.hpp"

namespace ddprun {

namespace {

/// The console belongs to the event loop of the thread that makes the sink. What other threads log
/// gets there by way of that loop.
class ConsoleSink : public spdlog::sinks::base_sink<std::mutex> {
 public:
  explicit ConsoleSink(Console& console) : console_{console} {}

 private:
  /// Messages quote peers, files and the environment: a terminal must take no orders from these,
  /// and each message is one line.
  void sink_it_(const spdlog::details::log_msg& message) override {
    const std::string text =
        plain_line(std::string_view{message.payload.data(), message.payload.size()});
    spdlog::details::log_msg plain{message};
    plain.payload = text;
    spdlog::memory_buf_t line;
    formatter_->format(plain, line);
    if (std::this_thread::get_id() == home_)
      return console_.write_message({line.data(), line.size()});
    asio::post(console_.executor(), [this, text = std::string{line.data(), line.size()}] {
      console_.write_message(text);
    });
  }
  void flush_() override {}

  Console& console_;
  const std::thread::id home_ = std::this_thread::get_id();
};

spdlog::level::level_enum parse_level(std::string level) {
  std::ranges::transform(level, level.begin(), [](unsigned char c) { return std::tolower(c); });
  if (level == "debug") return spdlog::level::debug;
  if (level == "info") return spdlog::level::info;
  if (level == "error" || level == "critical") return spdlog::level::err;
  return spdlog::level::warn;
}

}  // namespace

void set_up_log(Console& console, const std::optional<std::string>& level) {
  auto logger = std::make_shared<spdlog::logger>("ddprun", std::make_shared<ConsoleSink>(console));
  logger->set_pattern("ddprun: %v");
  logger->set_level(parse_level(level.value_or("")));
  spdlog::set_default_logger(std::move(logger));
}

}  // namespace ddprun
