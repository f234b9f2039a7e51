// Fuzzes what a node takes from those that ask it for parts of checkpoints: any bytes. It answers
// what is asked with its ticket, and nothing else; what comes behind a word that it does not know
// is not heard; and the next client is served as if nothing had been.
//
// In the input 0xff stands for the ticket, which no fuzzer finds, and 0xfe for 1,024 spaces.
#include <spdlog/spdlog.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "agent/checkpoints/part_server.hpp"
#include "rendezvous/messages/tunnel_frame.hpp"
#include "tests/agent/checkpoints/checkpoint_words.hpp"
#include "tests/fuzz/require.hpp"
#include "tests/support/scratch_folder.hpp"

namespace {

namespace asio = boost::asio;
using namespace ddprun;

/// What the node gives for a request: bytes, or only a word why not.
using Given = std::optional<std::string>;

class Node {
 public:
  Node() {
    part_ = snapshot_of(7, {a_file("a.pt", 1, 70'000), a_file("empty.pt", 2, 0),
                            a_file("gone.pt", 3), a_file("link.pt", 4)});
    part_.part = 1;
    part_.parts = 2;
    folder_.write("part/a.pt", text_);
    folder_.write("part/empty.pt", "");
    folder_.write("part/unlisted.pt", std::string(100, 's'));
    folder_.write("secret", std::string(100, 's'));
    std::filesystem::create_symlink(folder_ / "secret", folder_ / "part/link.pt");
    auto started = PartServer::start(io_.get_executor(), nullptr);
    require(started.has_value());
    server_ = std::move(*started);
    server_->offer({{part_, folder_ / "part"}});
  }

  const std::string& ticket() const { return server_->ticket(); }

  Given expected(const PartRequest& request) const {
    if (request.ticket != ticket() || request.number != 7 || request.part != 1 ||
        request.parts != 2)
      return std::nullopt;
    if (request.file.empty()) return to_text(part_);
    if (request.file == "a.pt") return text_;
    if (request.file == "empty.pt") return "";
    return std::nullopt;
  }

  /// Returns all that the node says. `is_cut`: it has not read all, so its last words may be lost.
  std::string reply_to(const std::string& bytes, bool& is_cut) {
    for (;;) {
      asio::ip::tcp::socket socket{io_};
      boost::system::error_code lost, failed;
      std::string reply;
      socket.connect({asio::ip::address_v4::loopback(), server_->port()}, lost);
      if (!lost) asio::write(socket, asio::buffer(bytes), lost);
      if (!lost) socket.shutdown(asio::ip::tcp::socket::shutdown_send, failed);
      asio::read(socket, asio::dynamic_buffer(reply), failed);
      // The fuzzer looks at its clock now and then.
      if (lost == asio::error::interrupted || failed == asio::error::interrupted) continue;
      is_cut = lost || failed != asio::error::eof;
      return reply;
    }
  }

 private:
  ScratchFolder folder_;
  const std::string text_ = std::string(70'000, 'a');
  Snapshot part_;
  asio::io_context io_{1};
  std::unique_ptr<PartServer> server_;
};

/// What the node gives for all that is asked, one after the other.
std::vector<Given> expected(const Node& node, std::string_view bytes) {
  std::vector<Given> all;
  while (!bytes.empty() && !begins_frame(bytes.front())) {
    const std::size_t end = bytes.find('\n');
    if (end == std::string_view::npos || end >= kPartLineBytesMax) break;
    const auto request = read_part_request(bytes.substr(0, end));
    if (!request) break;
    all.push_back(node.expected(*request));
    if (!all.back()) break;
    bytes.remove_prefix(end + 1);
  }
  return all;
}

std::vector<Given> read_reply(std::string_view reply) {
  std::vector<Given> all;
  std::string data;
  while (!reply.empty()) {
    if (begins_frame(reply.front())) {
      const auto read = read_frame(reply);
      require(read.has_value());
      if (read->bytes == 0) break;
      require(std::holds_alternative<TunnelData>(read->frame));
      data += std::get<TunnelData>(read->frame).bytes;
      reply.remove_prefix(read->bytes);
      continue;
    }
    const std::size_t end = reply.find('\n');
    if (end == std::string_view::npos) break;
    const auto answer = read_part_answer(reply.substr(0, end));
    require(answer.has_value() && answer->bytes == static_cast<std::int64_t>(data.size()));
    require(answer->error.empty() || data.empty());
    all.push_back(answer->error.empty() ? Given{std::exchange(data, {})} : std::nullopt);
    reply.remove_prefix(end + 1);
  }
  return all;
}

std::string sent_for(std::string_view input, const std::string& ticket) {
  std::string bytes;
  for (const char c : input) {
    if (c == '\xff')
      bytes += ticket;
    else if (c == '\xfe')
      bytes.append(1024, ' ');
    else
      bytes += c;
  }
  return bytes.substr(0, 200'000);
}

void check(Node& node, const std::string& bytes, bool may_be_cut) {
  bool is_cut = false;
  const std::vector<Given> given = read_reply(node.reply_to(bytes, is_cut));
  std::vector<Given> wanted = expected(node, bytes);
  require(may_be_cut || !is_cut);
  if (is_cut && given.size() < wanted.size()) wanted.resize(given.size());
  require(given == wanted);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  spdlog::set_level(spdlog::level::off);
  static Node node;
  check(node, sent_for({reinterpret_cast<const char*>(data), size}, node.ticket()), true);
  check(node, to_line(PartRequest{node.ticket(), 7, 1, 2, "empty.pt"}), false);
  return 0;
}
