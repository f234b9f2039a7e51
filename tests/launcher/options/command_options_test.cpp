#include "launcher/options/command_options.hpp"

#include <boost/asio/io_context.hpp>

#include "agent/output/console.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/pipe.hpp"

namespace ddprun {
namespace {

using Words = std::vector<std::string>;

/// Three commands as ddprun has them: with arguments and options, with one option, and with
/// commands below it.
class CommandOptionsFixture {
 protected:
  CommandOptionsFixture() {
    logs_.argument("[JOB] RANK", names_, "which worker", {.required = true, .count_max = 2});
    logs_.flag("-f,--follow", follow_, "keep showing");
    logs_.option("-c,--bytes", bytes_, "N", "how many", {.variable = "PET_BYTES"});
    logs_.flag("--bytewise", follow_, "");
    logs_.option("--shape", shape_, "SHAPE", "", {.choices = {"round", "square"}});
    logs_.option("--every", seconds_, "SECONDS", "", {.least = 0.5, .most = 2});
    logs_.option("--leave-out", left_out_, "NODE,...", "", {.separator = ','});
    for (CommandOptions* each : {&list_, &verify_})
      each->argument("DIR", folder_, "a folder", {.required = true});
    ls_.flag("--json", follow_, "for programs");
  }

  void read(CommandOptions& command, const Words& words) {
    if (const auto done = command.parse(words, console_))
      FAIL((done->has_error() ? done->error().message : "there is nothing more to do"));
  }
  std::string mistake(CommandOptions& command, const Words& words) {
    const auto done = command.parse(words, console_);
    REQUIRE(done.has_value());
    REQUIRE(done->has_error());
    CHECK(done->error().kind == Error::Kind::kInvalid);
    return done->error().message;
  }
  std::string help(CommandOptions& command, const Words& words) {
    const auto done = command.parse(words, console_);
    REQUIRE(done.has_value());
    REQUIRE(done->has_value());
    CHECK(**done == 0);
    console_.flush_blocking();
    return pipe_.available();
  }

  asio::io_context io_{1};
  Pipe pipe_;
  Console console_{io_.get_executor(), pipe_.writer()};
  Words names_;
  Words left_out_;
  bool follow_ = false;
  int bytes_ = 16;
  double seconds_ = 1;
  std::string shape_;
  std::string folder_;
  CommandOptions logs_{"Shows what a worker writes.", "ddprun logs"};
  CommandOptions ls_{"", "ddprun ls"};
  CommandOptions checkpoint_{"Looks at checkpoints.", "ddprun checkpoint"};
  CommandOptions list_ = checkpoint_.subcommand("ls", "lists them");
  CommandOptions verify_ = checkpoint_.subcommand("verify", "reads them");
};

TEST_CASE_METHOD(CommandOptionsFixture, "an option of a command that is nearly right is named") {
  CHECK(mistake(logs_, {"--folow", "1"}) ==
        "logs: there is no option '--folow'; did you mean --follow?");
  CHECK(mistake(logs_, {"--colour", "1"}) == "logs: there is no option '--colour'");
  CHECK(mistake(logs_, {"-z", "1"}) == "logs: there is no option '-z'");
  CHECK(mistake(checkpoint_, {"verify", "--fix", "x"}) ==
        "checkpoint verify: there is no option '--fix'");
}

TEST_CASE_METHOD(CommandOptionsFixture, "an option of a command may be cut short") {
  read(logs_, {"--fol", "job", "1"});
  CHECK(follow_);
  CHECK(names_ == Words{"job", "1"});
  CHECK(mistake(logs_, {"1", "--byte", "7"}) ==
        "logs: '--byte' is short for more than one option: --bytes or --bytewise");
}

TEST_CASE_METHOD(CommandOptionsFixture, "an option of a command may have underscores") {
  read(logs_, {"--leave_out", "a", "1"});
  CHECK(left_out_ == Words{"a"});
}

TEST_CASE_METHOD(CommandOptionsFixture, "a value follows its option in many ways") {
  const std::vector<Words> ways{
      {"1", "--bytes=7"}, {"1", "--bytes", "7"}, {"1", "-c7"}, {"-c", "7", "1"}};
  for (const Words& way : ways) {
    bytes_ = 16;
    read(logs_, way);
    CHECK(bytes_ == 7);
    CHECK(names_ == Words{"1"});
  }
  read(logs_, {"1", "--bytes", "-7"});
  CHECK(bytes_ == -7);
  CHECK(mistake(logs_, {"1", "--bytes"}) == "logs: --bytes needs a value: N");
  CHECK(mistake(logs_, {"--bytes", "--follow", "1"}) ==
        "logs: --bytes needs a value: N (the next word is the option --follow)");
}

TEST_CASE_METHOD(CommandOptionsFixture, "a value is one that its rules allow") {
  CHECK(mistake(logs_, {"--shape", "oval", "1"}) == "logs: --shape: oval not in {round,square}");
  CHECK_THAT(mistake(logs_, {"--every", "3", "1"}),
             contains("logs: --every: Value 3 not in range"));  // each CLI11 has its words for it
  CHECK(mistake(logs_, {"--bytes", "few", "1"}) == "logs: Could not convert: --bytes = few");
  read(logs_, {"--shape", "square", "--every", "1.5", "1"});
  CHECK(shape_ == "square");
  CHECK(seconds_ == 1.5);
}

TEST_CASE_METHOD(CommandOptionsFixture, "a list takes what each use of its option adds") {
  read(logs_, {"1", "--leave-out", "a,b", "--leave-out", "c"});
  CHECK(left_out_ == Words{"a", "b", "c"});
}

TEST_CASE_METHOD(CommandOptionsFixture, "a variable gives the value that no word does") {
  ::setenv("PET_BYTES", "5", 1);
  read(logs_, {"1"});
  CHECK(bytes_ == 5);
  read(logs_, {"1", "--bytes", "6"});
  CHECK(bytes_ == 6);
  ::unsetenv("PET_BYTES");
}

TEST_CASE_METHOD(CommandOptionsFixture, "a command below a command is one that there is") {
  CHECK(mistake(checkpoint_, {"rm", "x"}) ==
        "checkpoint: there is no command 'rm'; expected ls or verify");
  CHECK(mistake(checkpoint_, {}) == "checkpoint: expected ls or verify");
  CHECK(mistake(checkpoint_, {"ls"}) == "checkpoint ls: expected DIR");
  read(checkpoint_, {"ls", "x"});
  CHECK(folder_ == "x");
  CHECK(list_.is_chosen());
  CHECK_FALSE(verify_.is_chosen());
}

TEST_CASE_METHOD(CommandOptionsFixture, "arguments are as many as the command has") {
  CHECK(mistake(logs_, {"1", "2", "3"}) == "logs: expected [JOB] RANK, and no '3' behind it");
  CHECK(mistake(logs_, {}) == "logs: expected [JOB] RANK");
  CHECK(mistake(ls_, {"x"}) == "ls: expected no argument, but there is 'x'");
  read(logs_, {"--", "--follow"});
  CHECK(names_ == Words{"--follow"});
}

TEST_CASE_METHOD(CommandOptionsFixture, "the help of a command needs no arguments") {
  CHECK(help(checkpoint_, {"verify", "-h"}) ==
        "reads them\n\nUsage: ddprun checkpoint verify [OPTIONS] DIR\n\n"
        "Arguments:\n  DIR          a folder\n\nOptions:\n  -h, --help   print this help\n");
}

TEST_CASE_METHOD(CommandOptionsFixture, "help shows the default of a value") {
  CHECK_THAT(help(logs_, {"--help"}), contains("  -c, --bytes N=16 "));
}

}  // namespace
}  // namespace ddprun
