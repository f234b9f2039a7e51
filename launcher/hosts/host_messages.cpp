#include "launcher/hosts/host_messages.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "base/match.hpp"
#include "base/printable.hpp"

namespace ddprun {

using nlohmann::json;

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(HostHello, protocol, version)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(HostListening, host, port)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(HostEnded, code, began, verdict)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(HostStart, arguments, environment, directory, run_id, node_rank,
                                   nodes_min, nodes_max, leads, host, port, secret)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(HostSignal, signal)

namespace {

using Stream = HostOutput::Stream;

constexpr const char* name_of(Stream stream) {
  return stream == Stream::kOut ? "out" : stream == Stream::kErr ? "err" : "note";
}

std::optional<Stream> stream_named(const std::string& name) {
  for (const Stream stream : {Stream::kOut, Stream::kErr, Stream::kNote})
    if (name == name_of(stream)) return stream;
  return std::nullopt;
}

template <typename Message>
json tagged(const char* type, const Message& message) {
  json out = message;
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
    out += line({{"type", "output"}, {"stream", name_of(output.stream)}, {"bytes", piece.size()}});
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
  if (type == "start") return ToHost{in.get<HostStart>()};
  if (type == "signal") return ToHost{in.get<HostSignal>()};
  return nonsense("unknown message type " + printable(type));
} catch (const json::exception& e) {
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
    messages.emplace_back(in.get<HostHello>());
  } else if (type == "listening") {
    messages.emplace_back(in.get<HostListening>());
  } else if (type == "ended") {
    messages.emplace_back(in.get<HostEnded>());
  } else if (type == "output") {
    const auto stream = stream_named(in.at("stream").get<std::string>());
    output_bytes_ = in.at("bytes").get<std::size_t>();
    if (!stream || output_bytes_ > kOutputBytesMax) return nonsense("an output that is none");
    output_.stream = *stream;
  } else {
    return nonsense("unknown message type " + printable(type));
  }
  return true;
} catch (const json::exception& e) {
  return nonsense(std::string{"malformed message: "} + e.what());
}

}  // namespace ddprun
