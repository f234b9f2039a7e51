#include "launcher/run/command_words.hpp"

#include <CLI/CLI.hpp>

#include "tests/support/catch.hpp"

namespace ddprun {
namespace {

using Words = std::vector<std::string>;

/// Two commands as ddprun has them: one with arguments and options, one with commands below it.
class CommandWordsFixture {
 protected:
  CommandWordsFixture() {
    logs_.add_option("[JOB] RANK", names_)->required()->expected(1, 2);
    logs_.add_flag("-f,--follow", follow_);
    logs_.add_option("-c,--bytes", bytes_)->type_name("N");
    logs_.add_flag("--bytewise", follow_);
    for (const char* name : {"ls", "verify"})
      checkpoint_.add_subcommand(name)->add_option("DIR", folder_)->required();
    ls_.add_flag("--json", follow_);
  }

  static Words spelled(const CLI::App& app, const Words& words) {
    const auto spelled = spell_out(app, words);
    if (!spelled) FAIL(spelled.error().message);
    return *spelled;
  }
  static std::string mistake(const CLI::App& app, const Words& words) {
    const auto spelled = spell_out(app, words);
    REQUIRE(spelled.has_error());
    CHECK(spelled.error().kind == Error::Kind::kInvalid);
    return spelled.error().message;
  }

  Words names_;
  bool follow_ = false;
  int bytes_ = 0;
  std::string folder_;
  CLI::App logs_{"", "ddprun logs"};
  CLI::App ls_{"", "ddprun ls"};
  CLI::App checkpoint_{"", "ddprun checkpoint"};
};

TEST_CASE_METHOD(CommandWordsFixture, "an option of a command that is nearly right is named") {
  CHECK(mistake(logs_, {"--folow", "1"}) ==
        "logs: there is no option '--folow'; did you mean --follow?");
  CHECK(mistake(logs_, {"--colour", "1"}) == "logs: there is no option '--colour'");
  CHECK(mistake(logs_, {"-z", "1"}) == "logs: there is no option '-z'");
  CHECK(mistake(checkpoint_, {"verify", "--fix", "x"}) ==
        "checkpoint verify: there is no option '--fix'");
}

TEST_CASE_METHOD(CommandWordsFixture, "an option of a command may be cut short") {
  CHECK(spelled(logs_, {"--fol", "job", "1"}) == Words{"--follow", "job", "1"});
  CHECK(spelled(logs_, {"1", "--bytes=7"}) == Words{"1", "--bytes=7"});
  CHECK(spelled(logs_, {"1", "--bytes", "-7"}) == Words{"1", "--bytes", "-7"});
  CHECK(spelled(logs_, {"1", "-c7", "-f", "-c", "8"}) == Words{"1", "-c7", "-f", "-c", "8"});
  CHECK(mistake(logs_, {"1", "--byte", "7"}) ==
        "logs: '--byte' is short for more than one option: --bytes or --bytewise");
  CHECK(mistake(logs_, {"1", "--bytes"}) == "logs: --bytes needs a value: N");
  CHECK(mistake(logs_, {"--bytes", "--follow", "1"}) ==
        "logs: --bytes needs a value: N (the next word is the option --follow)");
}

TEST_CASE_METHOD(CommandWordsFixture, "a command below a command is one that there is") {
  CHECK(mistake(checkpoint_, {"rm", "x"}) ==
        "checkpoint: there is no command 'rm'; expected ls or verify");
  CHECK(mistake(checkpoint_, {}) == "checkpoint: expected ls or verify");
  CHECK(mistake(checkpoint_, {"ls"}) == "checkpoint ls: expected DIR");
  CHECK(spelled(checkpoint_, {"ls", "x"}) == Words{"ls", "x"});
}

TEST_CASE_METHOD(CommandWordsFixture, "arguments are as many as the command has") {
  CHECK(mistake(logs_, {"1", "2", "3"}) == "logs: expected [JOB] RANK, and no '3' behind it");
  CHECK(mistake(logs_, {}) == "logs: expected [JOB] RANK");
  CHECK(mistake(ls_, {"x"}) == "ls: expected no argument, but there is 'x'");
  CHECK(spelled(logs_, {"--", "--follow"}) == Words{"--", "--follow"});
}

TEST_CASE_METHOD(CommandWordsFixture, "the help of a command needs no arguments") {
  CHECK(spelled(logs_, {"--help"}) == Words{"--help"});
  CHECK(spelled(checkpoint_, {"verify", "-h"}) == Words{"verify", "-h"});
}

}  // namespace
}  // namespace ddprun
