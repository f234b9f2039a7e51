#include "launcher/record/hidden_secrets.hpp"

#include "tests/support/catch.hpp"

namespace ddprun {
namespace {

using Words = std::vector<std::string>;

TEST_CASE("names that end in a word for a secret name one") {
  for (const char* name :
       {"--hf-token", "HF_TOKEN", "WANDB_API_KEY", "db.password", "--authToken", "client_secret",
        "--apikey", "DB_PASS", "access-key", "key", "accessKey", "Proxy-Authorization"})
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
        Words{"-c", "export A=1 HF_TOKEN=***; train --token *** | tee log"});
  CHECK(without_secrets({"s3://me:abc@host/data", "--url=https://abc@host", "a@b"}) ==
        Words{"s3://***@host/data", "--url=https://***@host", "a@b"});
}

std::string hidden_in(const std::string& word) { return without_secrets({word}).front(); }

TEST_CASE("a secret is hidden as a whole, whatever characters it has") {
  for (const char* secret : {"a,b", "two words", "-abc", "--Abc", "a;b", "it's", "", "a b=c\nd"})
    CHECK(without_secrets({"--passphrase", secret, "--lr"}) ==
          Words{"--passphrase", *secret == '\0' ? "" : "***", "--lr"});
  CHECK(hidden_in("--password=a,b") == "--password=***");
  CHECK(hidden_in("--password=a;b|c'd") == "--password=***");
  CHECK(hidden_in("https://me:a,b;c@host/x") == "https://***@host/x");
}

TEST_CASE("in the text of a shell a secret ends with its word, quotes included") {
  CHECK(hidden_in("HF_TOKEN='a b' train") == "HF_TOKEN=*** train");
  CHECK(hidden_in("HF_TOKEN=\"a \\\" b\"c,d train") == "HF_TOKEN=*** train");
  CHECK(hidden_in("HF_TOKEN=a\\ b train") == "HF_TOKEN=*** train");
  CHECK(hidden_in("train --token 'a b'&& x") == "train --token ***&& x");
  CHECK(hidden_in("train --token -aB --lr 1") == "train --token *** --lr 1");
  CHECK(hidden_in("train --token 'a b") == "train --token ***");
  CHECK(hidden_in("os.environ[\"HF_TOKEN\"] = 'a b'; f()") ==
        "os.environ[\"HF_TOKEN\"] = ***; f()");
}

TEST_CASE("a colon assigns a secret, too") {
  CHECK(hidden_in("{\"api_key\": \"x y\", \"lr\": 1}") == "{\"api_key\": ***, \"lr\": 1}");
  CHECK(hidden_in("{\"api_key\":\"x\",\"lr\":1}") == "{\"api_key\":***");
  CHECK(hidden_in("{\\\"api_key\\\": \\\"x y\\\"}") == "{\\\"api_key\\\": ***");
  CHECK(hidden_in("api_key: x y\nlr: 1") == "api_key: ***\nlr: 1");
  CHECK(hidden_in("api_key: it's") == "api_key: ***");
  CHECK(hidden_in("api_key:x") == "api_key:***");
  CHECK(hidden_in("curl -H \"Authorization: Bearer x\" host") ==
        "curl -H \"Authorization: ***\" host");
  CHECK(without_secrets({"-H", "Authorization: Bearer x"}) == Words{"-H", "Authorization: ***"});
  CHECK(without_secrets({"Authorization:", "Bearer x"}) == Words{"Authorization:", "***"});
  CHECK(hidden_in("monkey: x, path: y") == "monkey: x, path: y");
}

TEST_CASE("an option behind a secret's flag is no value") {
  CHECK(without_secrets({"--use-auth", "--lr", "0.1"}) == Words{"--use-auth", "--lr", "0.1"});
  CHECK(without_secrets({"--use-auth", "-x"}) == Words{"--use-auth", "-x"});
  CHECK(without_secrets({"--use-auth", "--token", "abc"}) == Words{"--use-auth", "--token", "***"});
  CHECK(without_secrets({"--use-auth", "--HF_TOKEN", "abc"}) == Words{"--use-auth", "***", "***"});
  CHECK(hidden_in("train --use-auth --lr 0.1") == "train --use-auth --lr 0.1");
  CHECK(hidden_in("train --use-auth && x") == "train --use-auth && x");
}

TEST_CASE("the value of an option or a variable is hidden by its name") {
  CHECK(without_secrets("TORCH_TOKEN", "abc") == "***");
  CHECK(without_secrets("TORCH_TOKEN", "") == "");
  CHECK(without_secrets("rdzv-conf", "join_timeout=3,password=abc") ==
        "join_timeout=3,password=***");
}

}  // namespace
}  // namespace ddprun
