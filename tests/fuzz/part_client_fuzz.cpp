// Fuzzes what a node takes from another one that it asks for a part of a checkpoint: any bytes. It
// takes a list only of that part, with paths that stay in the folder, and a file only with the
// bytes that the list promises; of what it refuses, nothing is left.
//
// The first byte of the input says what is asked for. In the rest 0xfe stands for 1,024 spaces.
#include <spdlog/spdlog.h>

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/write.hpp>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "agent/checkpoints/digest.hpp"
#include "agent/checkpoints/part_client.hpp"
#include "base/text.hpp"
#include "rendezvous/messages/tunnel_frame.hpp"
#include "tests/agent/checkpoints/checkpoint_words.hpp"
#include "tests/fuzz/require.hpp"
#include "tests/support/file_text.hpp"
#include "tests/support/scratch_folder.hpp"

namespace {

namespace asio = boost::asio;
namespace fs = std::filesystem;
using namespace ddprun;

constexpr std::string_view kFileText = "eleven byte";
constexpr CheckpointPart kPart{
    .number = 7, .part = 1, .parts = 2, .taken_unix_ms = 1'790'000'000'007};

/// A node that says what the input has, whatever it is asked.
class Node {
 public:
  std::unique_ptr<PartClient> client_that_hears(const std::string& bytes) {
    asked_ = asio::ip::tcp::socket{io_};
    const PartSource source{kPart, "127.0.0.1:" + std::to_string(acceptor_.local_endpoint().port()),
                            "ticket"};
    auto client = PartClient::connect(source, nullptr);
    require(client.has_value());
    acceptor_.accept(asked_);
    boost::system::error_code failed;
    asked_.non_blocking(true);
    asio::write(asked_, asio::buffer(bytes), failed);
    asked_.shutdown(asio::ip::tcp::socket::shutdown_send, failed);
    return std::move(*client);
  }

 private:
  asio::io_context io_{1};
  asio::ip::tcp::acceptor acceptor_{io_, {asio::ip::address_v4::loopback(), 0}};
  asio::ip::tcp::socket asked_{io_};
};

/// What the first line in `bytes` says that the node has been given, if it says that all was.
Result<std::string> told(std::string_view bytes) {
  std::string data;
  Result<PartAnswer> answer = invalid("there is no line");
  for (bool has_line = false; !bytes.empty();) {
    if (begins_frame(bytes.front())) {
      const auto read = read_frame(bytes);
      if (!read || read->bytes == 0) break;
      if (const auto* const piece = std::get_if<TunnelData>(&read->frame)) data += piece->bytes;
      bytes.remove_prefix(read->bytes);
      continue;
    }
    const std::size_t end = bytes.find('\n');
    if (end >= kPartLineBytesMax) break;
    if (!std::exchange(has_line, true)) answer = read_part_answer(bytes.substr(0, end));
    bytes.remove_prefix(end + 1);
  }
  if (!answer) return answer.error();
  const bool is_all = answer->bytes >= 0 && answer->bytes <= static_cast<std::int64_t>(data.size());
  if (!answer->error.empty() || !is_all) return invalid("not all was sent");
  return data.substr(0, static_cast<std::size_t>(answer->bytes));
}

void check_error(const Error& error) {
  require(error.message.size() < 2'000 && plain_line(error.message) == error.message);
}

void check_list(PartClient& client, const std::string& bytes) {
  Pace pace;
  pace.hurry(true);
  const auto list = client.list(kPart, pace);
  if (!list) return check_error(list.error());
  require(told(bytes).has_value() && is_part(*list, 7, 1, 2));
  require(!list->counts || list->taken_unix_ms == kPart.taken_unix_ms);
  const fs::path folder = "/folder";
  for (const KeptFile& file : list->files) {
    const fs::path path = (folder / file.facts.path).lexically_normal();
    require(path.string().starts_with("/folder/") && path == folder / file.facts.path);
    require(find_file(*list, file.facts.path) == &file);
  }
  const auto again = read_snapshot(to_text(*list));
  require(again.has_value() && to_text(*again) == to_text(*list));
}

void check_file(PartClient& client, const std::string& bytes, bool has_digest) {
  static const ScratchFolder folder;
  const fs::path to = folder / "file";
  KeptFile file{.facts = a_file("a.pt", 1, kFileText.size())};
  if (has_digest) {
    Digest digest;
    digest.add(kFileText.data(), kFileText.size());
    file.digest = digest.text();
  }
  Pace pace;
  pace.hurry(true);
  const auto got = client.get(kPart, file, to, pace);
  require(pace.spent() <= kFileText.size());
  require(got.has_value() == fs::exists(to));
  if (!got) return check_error(got.error());
  const std::string text = content(to);
  const auto expected = told(bytes);
  require(expected.has_value() && text == *expected && text.size() == kFileText.size());
  require(!has_digest || text == kFileText);
  fs::remove(to);
}

std::string sent_for(std::string_view input) {
  std::string bytes;
  for (const char c : input) c == '\xfe' ? bytes.append(1024, ' ') : bytes.append(1, c);
  return bytes.substr(0, 200'000);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  spdlog::set_level(spdlog::level::off);
  if (size == 0) return 0;
  static Node node;
  const std::string bytes = sent_for({reinterpret_cast<const char*>(data) + 1, size - 1});
  const auto client = node.client_that_hears(bytes);
  if (data[0] == 'l') check_list(*client, bytes);
  if (data[0] == 'f') check_file(*client, bytes, true);
  if (data[0] == 'u') check_file(*client, bytes, false);
  return 0;
}
