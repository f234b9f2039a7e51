#include "launcher/hosts/host_messages.hpp"

#include <random>

#include "tests/support/catch.hpp"

namespace ddprun {
namespace {

using Stream = HostOutput::Stream;
using Messages = std::vector<FromHost>;

const FromHost kHello = HostHello{kHostProtocol, "1.0"};

Messages read(HostReader& reader, std::string_view bytes) {
  auto messages = reader.feed(bytes);
  if (!messages) FAIL(messages.error().message);
  return *messages;
}

TEST_CASE("what a host says is read back, however it is cut") {
  const Messages said{kHello,
                      HostListening{"10.0.0.1", 4711},
                      HostOutput{Stream::kOut, "a line\nand {\"type\":\"ended\"}\n"},
                      HostOutput{Stream::kErr, std::string{"\xff\0\n", 3}},
                      HostOutput{Stream::kNote, "ddprun: so\n"},
                      HostOutput{Stream::kReport, "{\n}\n"},
                      HostEnded{143, true, false}};
  std::string wire;
  for (const FromHost& message : said) wire += encode(message);
  for (std::size_t cut = 1; cut < 40; ++cut) {
    HostReader reader;
    Messages heard;
    for (std::size_t i = 0; i < wire.size(); i += cut)
      for (FromHost& message : read(reader, std::string_view{wire}.substr(i, cut)))
        heard.push_back(std::move(message));
    CHECK(heard == said);
  }
}

TEST_CASE("a login's greetings are not taken for an agent's words") {
  HostReader reader;
  CHECK(read(reader, "Welcome to h1!\n{\"type\": 7}\n{\"type\":\"ended\"}\n[1]\n\n").empty());
  CHECK(read(reader, encode(kHello)) == Messages{kHello});
}

TEST_CASE("a login that greets without end is cut off") {
  HostReader reader;
  const std::string line(1000, 'x');
  std::size_t lines = 0;
  while (reader.feed(line + "\n").has_value()) REQUIRE(++lines < 1000);
  CHECK(lines >= 200);
}

TEST_CASE("long output is sent in pieces") {
  const std::string text(2 * kOutputBytesMax + 5, 'x');
  HostReader reader;
  read(reader, encode(kHello));
  const Messages heard = read(reader, encode(FromHost{HostOutput{Stream::kOut, text}}));
  REQUIRE(heard.size() == 3);
  std::string joined;
  for (const FromHost& message : heard) joined += std::get<HostOutput>(message).text;
  CHECK(joined == text);
}

TEST_CASE("after the hello, what is no message is an error") {
  for (const std::string line :
       {"hello", "{}", "{\"type\":\"x\"}", "{\"type\":\"ended\"}",
        "{\"type\":\"output\",\"stream\":\"out\",\"bytes\":99999999999}",
        "{\"type\":\"output\",\"stream\":\"in\",\"bytes\":1}",
        "{\"type\":\"output\",\"stream\":\"out\",\"bytes\":-1}", "7", "null"}) {
    HostReader reader;
    read(reader, encode(kHello));
    CHECK(reader.feed(line + "\n").has_error());
  }
}

TEST_CASE("a number that does not fit is an error, and no other number") {
  for (const std::string port : {"70000", "-1", "4711.5", "4294972007"}) {
    HostReader reader;
    read(reader, encode(kHello));
    const auto heard = reader.feed(R"({"type":"listening","host":"h","port":)" + port + "}\n");
    REQUIRE(heard.has_error());
    CHECK_THAT(heard.error().message, contains("from 0 to 65535"));
  }
  auto start = encode(ToHost{HostStart{.port = 4711}});
  REQUIRE(start.has_value());
  start->replace(start->find("4711"), 4, "70000");
  CHECK_THAT(decode_to_host(*start).error().message, contains("from 0 to 65535"));
}

TEST_CASE("any bytes are messages or an error") {
  std::mt19937 random{3};
  const std::string wire = encode(kHello) + encode(FromHost{HostListening{"h", 1}}) +
                           encode(FromHost{HostOutput{Stream::kOut, "text"}}) +
                           encode(FromHost{HostEnded{}});
  for (int i = 0; i < 20'000; ++i) {
    std::string bytes = wire;
    for (auto n = random() % 4 + 1; n > 0; --n)
      bytes[random() % bytes.size()] = static_cast<char>(random());
    HostReader reader;
    const auto messages = reader.feed(bytes);
    if (messages) CHECK(messages->size() <= 4);
  }
}

TEST_CASE("what is sent to a host is read back") {
  const ToHost start = HostStart{.arguments = {"--", "train.py", "a b\n"},
                                 .environment = {{"TOKEN", "s3cr\"et"}},
                                 .directory = "/data",
                                 .run_id = "id",
                                 .node_rank = 2,
                                 .nodes_min = 1,
                                 .nodes_max = 3,
                                 .host = "10.0.0.1",
                                 .port = 4711};
  for (const ToHost& message : {start, ToHost{HostSignal{2}}}) {
    const auto line = encode(message);
    REQUIRE(line.has_value());
    CHECK(line->find('\n') == line->size() - 1);
    const auto back = decode_to_host(*line);
    REQUIRE(back.has_value());
    CHECK(*back == message);
  }
  CHECK(decode_to_host("{\"type\":\"start\"}").has_error());
  CHECK(decode_to_host("{\"type\":\"stop\"}").has_error());
  CHECK(decode_to_host("").has_error());
}

TEST_CASE("what cannot be handed over byte for byte is refused") {
  const auto line = encode(ToHost{HostStart{.environment = {{"NAME", "\xff"}}}});
  REQUIRE(line.has_error());
  CHECK_THAT(line.error().message, contains("not UTF-8"));
}

}  // namespace
}  // namespace ddprun
