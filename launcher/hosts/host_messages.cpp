#include "launcher/hosts/host_messages.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <tuple>
#include <utility>

#include "base/match.hpp"
#include "base/printable.hpp"
#include "rendezvous/messages/json_fields.hpp"

namespace ddprun {

using nlohmann::json;

namespace {

/// An output on its way: its bytes follow the line.
struct OutputLine {
  HostOutput::Stream stream = HostOutput::Stream::kOut;
  std::size_t bytes = 0;
};

}  // namespace

namespace fields {

// No text that fits a line is cut: a word that were cut would be another one.
constexpr TextLimit kAnyText{kHostLineBytesMax};
constexpr std::size_t kAnyCount = kHostLineBytesMax;

// clang-format off
using Stream = HostOutput::Stream;
template <> inline constexpr auto kNames<Stream> = std::to_array<Named<Stream>>({
    {Stream::kOut, "out"}, {Stream::kErr, "err"}, {Stream::kNote, "note"},
    {Stream::kReport, "report"}});
template <> inline constexpr auto kFields<OutputLine> = std::tuple{
    field("stream", &OutputLine::stream), field("bytes", &OutputLine::bytes)};
template <> inline constexpr auto kFields<HostHello> = std::tuple{
    field("protocol", &HostHello::protocol), text("version", &HostHello::version, kAnyText)};
template <> inline constexpr auto kFields<HostListening> = std::tuple{
    text("host", &HostListening::host, kAnyText), field("port", &HostListening::port)};
template <> inline constexpr auto kFields<HostEnded> = std::tuple{
    field("code", &HostEnded::code), field("began", &HostEnded::began),
    field("verdict", &HostEnded::verdict)};
template <> inline constexpr auto kFields<HostStart> = std::tuple{
    texts("arguments", &HostStart::arguments, kAnyText, kAnyCount),
    texts("environment", &HostStart::environment, kAnyText, kAnyCount),
    text("directory", &HostStart::directory, kAnyText), text("run_id", &HostStart::run_id, kAnyText),
    field("node_rank", &HostStart::node_rank), field("nodes_min", &HostStart::nodes_min),
    field("nodes_max", &HostStart::nodes_max), field("leads", &HostStart::leads),
    field("reports", &HostStart::reports), text("host", &HostStart::host, kAnyText),
    field("port", &HostStart::port), text("secret", &HostStart::secret, kAnyText)};
template <> inline constexpr auto kFields<HostSignal> = std::tuple{
    field("signal", &HostSignal::signal)};
// clang-format on

}  // namespace fields

namespace {

template <typename Message>
json tagged(const char* type, const Message& message) {
  json out = fields::to_object(message);
  out["type"] = type;
  return out;
}

std::string line(const json& message) {
  return message.dump(-1, ' ', false, json::error_handler_t::replace) + '\n';
}

std::string encode_output(const HostOutput& output) {
  std::string out;
  std::string_view rest = output.text;
  while (!rest.empty()) {
    const std::string_view piece = rest.substr(0, kOutputBytesMax);
    out += line(tagged("output", OutputLine{output.stream, piece.size()}));
    out += piece;
    rest.remove_prefix(piece.size());
  }
  return out;
}

Error nonsense(const std::string& what) { return {Error::Kind::kInvalid, what}; }

}  // namespace

Result<std::string> encode(const ToHost& message) try {
  const json out = match(
      message,  //
      [](const HostStart& m) { return tagged("start", m); },
      [](const HostSignal& m) { return tagged("signal", m); });
  return out.dump() + '\n';
} catch (const json::type_error&) {
  return nonsense("an argument or a variable of -x is not UTF-8, and cannot be handed over");
}

std::string encode(const FromHost& message) {
  return match(
      message,  //
      [](const HostHello& m) { return line(tagged("hello", m)); },
      [](const HostListening& m) { return line(tagged("listening", m)); },
      [](const HostOutput& m) { return encode_output(m); },
      [](const HostEnded& m) { return line(tagged("ended", m)); });
}

Result<ToHost> decode_to_host(std::string_view text) try {
  const json in = json::parse(text);
  const auto type = in.at("type").get<std::string>();
  if (type == "start") return ToHost{fields::from_object<HostStart>(in, type)};
  if (type == "signal") return ToHost{fields::from_object<HostSignal>(in, type)};
  return nonsense("unknown message type " + printable(type));
} catch (const std::exception& e) {  // from the parser, or Unfit
  return nonsense(std::string{"malformed message: "} + e.what());
}

Result<std::vector<FromHost>> HostReader::feed(std::string_view bytes) {
  inbox_ += bytes;
  std::vector<FromHost> messages;
  for (;;) {
    const auto taken = take_one(messages);
    if (!taken) return taken.error();
    if (!*taken) return messages;
  }
}

/// Returns false when more has to come first.
Result<bool> HostReader::take_one(std::vector<FromHost>& messages) {
  if (output_bytes_ == 0) return take_line(messages);
  if (inbox_.size() < output_bytes_) return false;
  output_.text = inbox_.substr(0, output_bytes_);
  inbox_.erase(0, std::exchange(output_bytes_, 0));
  messages.emplace_back(std::exchange(output_, {}));
  return true;
}

Result<bool> HostReader::take_line(std::vector<FromHost>& messages) try {
  const std::size_t end = inbox_.find('\n');
  const std::size_t limit = greeted_ ? kHostLineBytesMax : kGreetingBytesMax;
  if (greeting_bytes_ + std::min(end, inbox_.size()) > limit)
    return nonsense("it writes on and on, and not what an agent writes");
  if (end == std::string::npos) return false;
  const std::string text = inbox_.substr(0, end);
  inbox_.erase(0, end + 1);
  const json in = json::parse(text, nullptr, greeted_);
  const bool is_message = in.is_object() && in.contains("type");
  if (!greeted_ && !(is_message && in["type"] == "hello")) {
    greeting_bytes_ += text.size() + 1;
    return true;
  }
  const auto type = in.at("type").get<std::string>();
  greeted_ = true;
  greeting_bytes_ = 0;
  if (type == "hello") {
    messages.emplace_back(fields::from_object<HostHello>(in, type));
  } else if (type == "listening") {
    messages.emplace_back(fields::from_object<HostListening>(in, type));
  } else if (type == "ended") {
    messages.emplace_back(fields::from_object<HostEnded>(in, type));
  } else if (type == "output") {
    const auto output = fields::from_object<OutputLine>(in, type);
    if (output.bytes > kOutputBytesMax) return nonsense("an output that is too long");
    output_bytes_ = output.bytes;
    output_.stream = output.stream;
  } else {
    return nonsense("unknown message type " + printable(type));
  }
  return true;
} catch (const std::exception& e) {  // from the parser, or Unfit
  return nonsense(std::string{"malformed message: "} + e.what());
}

}  // namespace ddprun
