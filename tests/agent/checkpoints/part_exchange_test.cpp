// PartServer and PartClient: parts of checkpoints on their way from one node's memory to another's.
#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "agent/checkpoints/folder_files.hpp"
#include "agent/checkpoints/part_client.hpp"
#include "agent/checkpoints/part_server.hpp"
#include "agent/checkpoints/part_sources.hpp"
#include "rendezvous/transport/fresh_secret.hpp"
#include "tests/agent/checkpoints/checkpoint_words.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/scratch_folder.hpp"

namespace ddprun {
namespace {

namespace fs = std::filesystem;

constexpr CheckpointPart kPart{.number = 7, .part = 1, .parts = 2};

class PartFixture {
 protected:
  void serve(std::shared_ptr<const TlsContext> tls = nullptr) {
    auto started = PartServer::start(home_.get_executor(), std::move(tls));
    REQUIRE(started.has_value());
    server_ = std::move(*started);
    part_ = snapshot_of(7, {});
    part_.part = 1;
    part_.parts = 2;
    has("a.pt", std::string(300'000, 'a'));
    has("empty.pt", "");
    server_->offer({{part_, scratch_ / "part"}});
  }
  void has(const std::string& path, const std::string& bytes) {
    fs::create_directories(scratch_ / "part");
    std::ofstream{scratch_ / "part" / path} << bytes;
    KeptFile file{.facts = a_file(path, 1, static_cast<std::int64_t>(bytes.size())),
                  .digest = digest_of_text(bytes),
                  .since = 7};
    part_.files.push_back(file);
  }
  PartSource source() const {
    return {kPart, "127.0.0.1:" + std::to_string(server_->port()), server_->ticket()};
  }
  Result<std::unique_ptr<PartClient>> client(const PartSource& source) {
    return PartClient::connect(source, tls_);
  }
  Result<void> get(const std::string& path, const std::string& digest_of = "") {
    KeptFile file = *find_file(part_, path);
    if (!digest_of.empty()) file.digest = digest_of_text(digest_of);
    auto there = client(source());
    return there ? (*there)->get(kPart, file, got_, pace_) : there.error();
  }
  std::string got() const {
    std::ifstream file{got_};
    return {std::istreambuf_iterator<char>{file}, {}};
  }

  ScratchFolder scratch_;
  const fs::path got_ = scratch_ / "got";
  asio::io_context home_{1};
  std::shared_ptr<const TlsContext> tls_;
  Snapshot part_;
  Pace pace_;
  std::unique_ptr<PartServer> server_;
};

TEST_CASE_METHOD(PartFixture, "a node gets the list of a part, and its files") {
  serve();
  auto there = client(source());
  REQUIRE(there.has_value());
  const auto list = (*there)->list(kPart, pace_);
  REQUIRE(list.has_value());
  CHECK(to_text(*list) == to_text(part_));
  for (const KeptFile& file : list->files) {
    REQUIRE((*there)->get(kPart, file, got_, pace_).has_value());
    CHECK(digest_of_text(got()) == file.digest);
  }
}

TEST_CASE_METHOD(PartFixture, "with a secret, only nodes that have it get anything") {
  const Secret secret = fresh_secret().value();
  serve(TlsContext::for_coordinator(job_key(secret, "job")).value());
  SECTION("which is encrypted") {
    tls_ = TlsContext::for_agent(job_key(secret, "job")).value();
    REQUIRE(get("a.pt").has_value());
    CHECK(got().size() == 300'000);
  }
  SECTION("not those with another one") {
    tls_ = TlsContext::for_agent(job_key(fresh_secret().value(), "job")).value();
    CHECK(get("a.pt").has_error());
  }
  SECTION("not those without") { CHECK(get("a.pt").has_error()); }
}

TEST_CASE_METHOD(PartFixture, "a client that does not show the ticket gets nothing") {
  serve();
  PartSource stranger = source();
  stranger.ticket = "a guess";
  auto there = client(stranger);
  REQUIRE(there.has_value());
  const auto list = (*there)->list(kPart, pace_);
  REQUIRE(list.has_error());
  CHECK(list.error().message.find("another ticket") != std::string::npos);
}

TEST_CASE_METHOD(PartFixture, "what is not there any more is an error, and leaves no file") {
  serve();
  SECTION("a part") { server_->offer({}); }
  SECTION("a file") { fs::remove(scratch_ / "part/a.pt"); }
  SECTION("the end of a file") { fs::resize_file(scratch_ / "part/a.pt", 100'000); }
  SECTION("a file that is a link elsewhere") {
    fs::remove(scratch_ / "part/a.pt");
    fs::create_symlink("/etc/passwd", scratch_ / "part/a.pt");
  }
  CHECK(get("a.pt").has_error());
  CHECK_FALSE(fs::exists(got_));
}

TEST_CASE_METHOD(PartFixture, "a file that is in no list is not given") {
  serve();
  std::ofstream{scratch_ / "secret"} << "s";
  auto there = client(source());
  const KeptFile outside{.facts = a_file("../secret")};
  CHECK((*there)->get(kPart, outside, got_, pace_).has_error());
  CHECK_FALSE(fs::exists(got_));
}

TEST_CASE_METHOD(PartFixture, "a file that comes with other bytes than were saved is refused") {
  serve();
  const auto wrong = get("a.pt", "other bytes");
  REQUIRE(wrong.has_error());
  CHECK(wrong.error().kind == Error::Kind::kInvalid);
  CHECK(wrong.error().message.find("a.pt") != std::string::npos);
  CHECK_FALSE(fs::exists(got_));
}

TEST_CASE_METHOD(PartFixture, "another node is asked where one does not give") {
  serve();
  const PartSource good = source();
  PartSource gone = good;
  SECTION("because nobody is there") { gone.endpoint = "127.0.0.1:1"; }
  SECTION("because it has it no more") { gone.ticket = "an old one"; }
  PartSources sources{{gone, good}, nullptr, 1};  // node 1 and part 1: the first one is asked first
  REQUIRE(sources.get(1, part_.files[0], got_, pace_).has_value());
  CHECK(got().size() == 300'000);
  CHECK(sources.complaints().size() == 1);
}

TEST_CASE_METHOD(PartFixture, "a server goes on after clients that say nonsense") {
  serve();
  using asio::ip::tcp;
  for (const std::string& nonsense :
       {std::string{"{}\n"}, std::string(100'000, 'x'), std::string{"\x01\x02\x03"},
        std::string{"{\"ticket\":\"\",\"number\":-1}\n"}, std::string{"\n\n\n"}}) {
    tcp::socket socket{home_};
    socket.connect({asio::ip::make_address("127.0.0.1"), server_->port()});
    boost::system::error_code ignored;
    asio::write(socket, asio::buffer(nonsense), ignored);
  }
  CHECK(get("a.pt").has_value());
}

}  // namespace
}  // namespace ddprun
