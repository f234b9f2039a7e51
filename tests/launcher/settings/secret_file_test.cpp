#include "launcher/settings/secret_file.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "rendezvous/transport/fresh_secret.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/scratch_folder.hpp"

namespace ddprun {
namespace {

namespace fs = std::filesystem;

class SecretFileFixture {
 protected:
  void write(const std::string& text, mode_t mode = 0600) {
    std::ofstream{path_} << text;
    REQUIRE(chmod(path_.c_str(), mode) == 0);
  }
  std::string refusal(const fs::path& path) {
    const auto secret = read_secret_file(path.string());
    REQUIRE(secret.has_error());
    CHECK(secret.error().kind == Error::Kind::kInvalid);
    CHECK_THAT(secret.error().message, contains("'" + path.string() + "'"));
    return secret.error().message;
  }

  ScratchFolder folder_;
  fs::path path_ = folder_ / "secret";
  Secret secret_ = fresh_secret().value();
};

TEST_CASE_METHOD(SecretFileFixture, "a secret is read from a file of one's own") {
  write(to_text(secret_) + "\n");
  const auto read = read_secret_file(path_.string());
  REQUIRE(read.has_value());
  CHECK(*read == secret_);
  SECTION("that may be read only") {
    REQUIRE(chmod(path_.c_str(), 0400) == 0);
    CHECK(read_secret_file(path_.string()).has_value());
  }
}

TEST_CASE_METHOD(SecretFileFixture, "a file that others may read or write is refused") {
  for (const mode_t mode : {0640, 0604, 0620, 0602, 0644, 0666, 0610, 0601}) {
    INFO(mode);
    write(to_text(secret_), mode);
    CHECK_THAT(refusal(path_), contains("chmod 600"));
  }
}

TEST_CASE_METHOD(SecretFileFixture, "a file of another user is refused") {
  write(to_text(secret_));
  if (geteuid() != 0) {
    WARN("only root can give a file away");
    SUCCEED();
    return;
  }
  REQUIRE(chown(path_.c_str(), 65'534, 65'534) == 0);
  CHECK_THAT(refusal(path_), contains("belongs to the user with id 65534"));
}

TEST_CASE_METHOD(SecretFileFixture, "a symbolic link is refused, wherever it leads") {
  write(to_text(secret_));
  fs::create_symlink(path_, folder_ / "link");
  CHECK_THAT(refusal(folder_ / "link"), contains("is a symbolic link"));
}

TEST_CASE_METHOD(SecretFileFixture, "what is no file is refused, and nobody waits for it") {
  CHECK_THAT(refusal(folder_ / "missing"), contains("cannot be opened: No such file"));
  CHECK_THAT(refusal(folder_.path()), contains("is no file"));
  REQUIRE(mkfifo((folder_ / "pipe").c_str(), 0600) == 0);
  CHECK_THAT(refusal(folder_ / "pipe"), contains("is no file"));
}

TEST_CASE_METHOD(SecretFileFixture, "what a file holds beside a secret is not shown") {
  for (const std::string& text :
       {std::string{}, std::string{"hunter2"}, to_text(secret_) + "0", std::string(100'000, 'a')}) {
    write(text);
    const std::string why = refusal(path_);
    CHECK_THAT(why, contains("holds no secret"));
    if (!text.empty()) CHECK(why.find(text.substr(0, 7)) == std::string::npos);
  }
}

}  // namespace
}  // namespace ddprun
