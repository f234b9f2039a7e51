#include "launcher/hosts/host_messages.hpp"

#include <algorithm>
#include <utility>

#include "base/json/json_fields.hpp"
#include "base/json/json_text.hpp"
#include "base/match.hpp"
#include "base/text.hpp"

namespace ddprun {

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
template <> inline constexpr auto kNames<Stream> = std::to_array<Named>({
    {Stream::kOut, "out"}, {Stream::kErr, "err"}, {Stream::kNote, "note"},
    {Stream::kReport, "report"}});
template <> inline constexpr auto kFields<OutputLine> = message("output",
    field<&OutputLine::stream>("stream"), field<&OutputLine::bytes>("bytes"));
template <> inline constexpr auto kFields<HostHello> = message("hello",
    field<&HostHello::protocol>("protocol"), text<&HostHello::version>("version", kAnyText));
template <> inline constexpr auto kFields<HostListening> = message("listening",
    text<&HostListening::host>("host", kAnyText), field<&HostListening::port>("port"));
template <> inline constexpr auto kFields<HostEnded> = message("ended",
    field<&HostEnded::code>("code"), field<&HostEnded::began>("began"),
    field<&HostEnded::verdict>("verdict"));
template <> inline constexpr auto kFields<HostStart> = message("start",
    texts<&HostStart::arguments>("arguments", kAnyText, kAnyCount),
    texts<&HostStart::environment>("environment", kAnyText, kAnyCount),
    text<&HostStart::directory>("directory", kAnyText), text<&HostStart::run_id>("run_id", kAnyText),
    field<&HostStart::node_rank>("node_rank"), field<&HostStart::nodes_min>("nodes_min"),
    field<&HostStart::nodes_max>("nodes_max"), field<&HostStart::leads>("leads"),
    field<&HostStart::reports>("reports"), text<&HostStart::host>("host", kAnyText),
    field<&HostStart::port>("port"), text<&HostStart::secret>("secret", kAnyText));
template <> inline constexpr auto kFields<HostSignal> = message("signal",
    field<&HostSignal::signal>("signal"));
// clang-format on

}  // namespace fields

namespace {

std::string encode_output(const HostOutput& output) {
  std::string out;
  std::string_view rest = output.text;
  while (!rest.empty()) {
    const std::string_view piece = rest.substr(0, kOutputBytesMax);
    out += fields::to_line(OutputLine{output.stream, piece.size()});
    out += piece;
    rest.remove_prefix(piece.size());
  }
  return out;
}

Error nonsense(const std::string& what) { return {Error::Kind::kInvalid, what}; }

template <typename Message>
bool is(std::string_view type) {
  return type == fields::kFields<Message>.type;
}

/// Throws fields::Unfit.
std::string type_of(const nlohmann::json& message) {
  return fields::text_from(fields::member_in(message, "type", "message"), "type");
}

}  // namespace

Result<std::string> encode(const ToHost& message) {
  auto line = std::visit([](const auto& m) { return fields::to_strict_line(m); }, message);
  if (line) return line;
  return nonsense("an argument or a variable of -x is not UTF-8, and cannot be handed over");
}

std::string encode(const FromHost& message) {
  return match(
      message,  //
      [](const HostOutput& m) { return encode_output(m); },
      [](const auto& m) { return fields::to_line(m); });
}

Result<ToHost> decode_to_host(std::string_view text) try {
  const auto in = parse_json(text);
  if (!in) return nonsense("malformed message: " + in.error().message);
  const std::string type = type_of(**in);
  if (is<HostStart>(type)) return ToHost{fields::from_object<HostStart>(**in, type)};
  if (is<HostSignal>(type)) return ToHost{fields::from_object<HostSignal>(**in, type)};
  return nonsense("unknown message type " + printable(type));
} catch (const fields::Unfit& unfit) {
  return nonsense(std::string{"malformed message: "} + unfit.what());
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
  const auto in = parse_json(text);
  if (!greeted_) {
    const std::string* told = in ? text_in(member(**in, "type")) : nullptr;
    if (told == nullptr || !is<HostHello>(*told)) {
      greeting_bytes_ += text.size() + 1;
      return true;
    }
  }
  if (!in) return nonsense("malformed message: " + in.error().message);
  greeted_ = true;
  greeting_bytes_ = 0;
  return take_message(**in, messages);
} catch (const fields::Unfit& unfit) {
  return nonsense(std::string{"malformed message: "} + unfit.what());
}

/// Throws fields::Unfit.
Result<bool> HostReader::take_message(const nlohmann::json& in, std::vector<FromHost>& messages) {
  const std::string type = type_of(in);
  if (is<HostHello>(type)) {
    messages.emplace_back(fields::from_object<HostHello>(in, type));
  } else if (is<HostListening>(type)) {
    messages.emplace_back(fields::from_object<HostListening>(in, type));
  } else if (is<HostEnded>(type)) {
    messages.emplace_back(fields::from_object<HostEnded>(in, type));
  } else if (is<OutputLine>(type)) {
    const auto output = fields::from_object<OutputLine>(in, type);
    if (output.bytes > kOutputBytesMax) return nonsense("an output that is too long");
    output_bytes_ = output.bytes;
    output_.stream = output.stream;
  } else {
    return nonsense("unknown message type " + printable(type));
  }
  return true;
}

}  // namespace ddprun
