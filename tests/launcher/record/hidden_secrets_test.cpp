#include "launcher/record/hidden_secrets.hpp"

#include "tests/support/catch.hpp"

namespace ddprun {
namespace {

using Words = std::vector<std::string>;

TEST_CASE("names that end in a word for a secret name one") {
  for (const char* name : {"--hf-token", "HF_TOKEN", "WANDB_API_KEY", "db.password", "--authToken",
                           "client_secret", "--apikey", "DB_PASS", "access-key"})
    CHECK(names_secret(name));
  for (const char* name : {"--max-tokens", "tokenizer", "--token-dropout", "--lr", "", "--",
                           "--compass", "monkey", "OMP_NUM_THREADS", "--secret-file"})
    CHECK_FALSE(names_secret(name));
}

TEST_CASE("the value of a secret is hidden, wherever it stands") {
  CHECK(without_secrets({"--hf-token", "abc", "--lr", "0.1"}) ==
        Words{"--hf-token", "***", "--lr", "0.1"});
  CHECK(without_secrets({"--hf-token=abc", "wandb.api_key=abc"}) ==
        Words{"--hf-token=***", "wandb.api_key=***"});
  CHECK(without_secrets({"-c", "export A=1 HF_TOKEN='abc'; train --token abc | tee log"}) ==
        Words{"-c", "export A=1 HF_TOKEN='***'; train --token *** | tee log"});
  CHECK(without_secrets({"s3://me:abc@host/data", "--url=https://abc@host", "a@b"}) ==
        Words{"s3://***@host/data", "--url=https://***@host", "a@b"});
}

TEST_CASE("an option behind a secret's flag is no value") {
  CHECK(without_secrets({"--use-auth", "--lr", "0.1"}) == Words{"--use-auth", "--lr", "0.1"});
}

TEST_CASE("the value of an option or a variable is hidden by its name") {
  CHECK(without_secrets("TORCH_TOKEN", "abc") == "***");
  CHECK(without_secrets("TORCH_TOKEN", "") == "");
  CHECK(without_secrets("rdzv-conf", "join_timeout=3,password=abc") ==
        "join_timeout=3,password=***");
}

}  // namespace
}  // namespace ddprun
