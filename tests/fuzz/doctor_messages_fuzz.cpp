// Fuzzes what ddprun doctor and a node say to each other over ssh.
#include <string>
#include <string_view>

#include "launcher/doctor/ask/doctor_messages.hpp"
#include "tests/fuzz/require.hpp"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  using namespace ddprun;
  const std::string_view line{reinterpret_cast<const char*>(data), size};
  is_doctors_line(line);
  if (const auto message = decode_to_node(line)) {
    const std::string sent = encode(*message);
    require(is_doctors_line(sent) && sent.find('\n') == sent.size() - 1);
    const auto again = decode_to_node(sent);
    require(again.has_value() && encode(*again) == sent);
  } else {
    require(!message.error().message.empty());
  }
  if (const auto message = decode_from_node(line)) {
    const std::string sent = encode(*message);
    require(is_doctors_line(sent) && sent.find('\n') == sent.size() - 1);
    const auto again = decode_from_node(sent);
    require(again.has_value() && encode(*again) == sent);
  } else {
    require(!message.error().message.empty());
  }
  return 0;
}
