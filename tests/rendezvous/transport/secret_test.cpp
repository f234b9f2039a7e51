#include "rendezvous/transport/secret.hpp"

#include <numeric>

#include "rendezvous/transport/fresh_secret.hpp"
#include "tests/support/catch.hpp"

namespace ddprun {
namespace {

constexpr char kHex[] = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f";
constexpr char kBase64[] = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";

Secret counting() {
  Secret::Bytes bytes{};
  std::iota(bytes.begin(), bytes.end(), static_cast<unsigned char>(0));
  return Secret{bytes};
}

TEST_CASE("a secret is read from hexadecimal digits and from base64, with white space around it") {
  for (const std::string& text :
       {std::string{kHex}, kHex + std::string{"\n"}, " \t" + std::string{kHex} + "\r\n",
        std::string{kBase64}, kBase64 + std::string{"\n"},
        std::string{"000102030405060708090A0B0C0D0E0F101112131415161718191A1B1C1D1E1F"}}) {
    INFO(text);
    const auto secret = parse_secret(text);
    REQUIRE(secret.has_value());
    CHECK(*secret == counting());
  }
}

TEST_CASE("what is no secret is refused, and not shown") {
  const std::string hex = kHex;
  const std::string base64 = kBase64;
  for (const std::string& text :
       {std::string{}, std::string{"\n"}, std::string{"hunter2"}, hex.substr(1), hex + "0",
        "g" + hex.substr(1), "-" + hex.substr(1), hex.substr(0, 32) + " " + hex.substr(33),
        base64.substr(0, 43), base64 + "=", "*" + base64.substr(1), base64.substr(0, 42) + "==",
        base64.substr(0, 43) + "A", hex + hex, hex + std::string(1, '\0')}) {
    INFO(text);
    const auto secret = parse_secret(text);
    REQUIRE_FALSE(secret.has_value());
    CHECK(secret.error().kind == Error::Kind::kInvalid);
    CHECK_THAT(secret.error().message, contains("64 hexadecimal digits"));
    if (text.size() > 1)
      CHECK(secret.error().message.find(text.substr(0, 12)) == std::string::npos);
  }
}

TEST_CASE("a secret's text is read as the same secret") {
  CHECK(to_text(counting()) == kHex);
  const auto fresh = fresh_secret();
  REQUIRE(fresh.has_value());
  const auto again = parse_secret(to_text(*fresh));
  REQUIRE(again.has_value());
  CHECK(*again == *fresh);
}

TEST_CASE("no two fresh secrets are the same") {
  const auto one = fresh_secret();
  const auto other = fresh_secret();
  REQUIRE((one.has_value() && other.has_value()));
  CHECK_FALSE(*one == *other);
}

// Computed by another program, so that nodes with different versions of ddprun agree on it.
TEST_CASE("a job's key is HKDF of the secret with the run id") {
  const JobKey key = job_key(counting(), "job7");
  CHECK(key.run_id == "job7");
  CHECK(key.identity == "c6ee1171e301bd94307a77bb4019dd0b95c887f47d7fa8faf2edc6e00f04b484");
  CHECK(to_text(key.key) == "5c7571722481e63d150bef94ddc2058a9cf15c70f4995262727b962d1afe1b3f");
}

TEST_CASE("another run id or another secret gives another key with another name") {
  const JobKey key = job_key(counting(), "job7");
  const JobKey other_job = job_key(counting(), "job8");
  const JobKey other_secret = job_key(Secret{Secret::Bytes{}}, "job7");
  for (const JobKey& other : {other_job, other_secret}) {
    CHECK(other.identity != key.identity);
    CHECK_FALSE(other.key == key.key);
  }
}

}  // namespace
}  // namespace ddprun
