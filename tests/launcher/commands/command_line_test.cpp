#include "launcher/commands/command_line.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <map>

#include "launcher/commands/subcommands.hpp"
#include "launcher/run/dry_run.hpp"
#include "launcher/run/exit_code.hpp"
#include "rendezvous/messages/messages.hpp"
#include "tests/launcher/local_system.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/scratch_folder.hpp"

namespace ddprun {
namespace {

namespace fs = std::filesystem;
using Words = std::vector<std::string>;

// A directory with a script and two interpreters, and an environment that knows only them.
class CommandLineFixture {
 protected:
  CommandLineFixture() {
    write("train.py", 0644);
    fs::create_directories(dir_ / "venv/bin");
    write("python3", 0755);
    write("venv/bin/python3", 0755);
    write("other", 0755);
    environment_["PATH"] = dir_.string();
  }

  void write(const std::string& name, mode_t mode) {
    std::ofstream{dir_ / name} << "#!/bin/sh\n";
    chmod((dir_ / name).c_str(), mode);
  }
  Result<CommandLine> parse(const Words& words) {
    const auto environment = [this](const std::string& name) {
      const auto found = environment_.find(name);
      return found == environment_.end() ? std::nullopt : std::optional{found->second};
    };
    return parse_command_line(words, local_system(environment, 6, gpus_));
  }
  Launch launch(const Words& words) {
    const auto parsed = parse(words);
    if (!parsed) FAIL(parsed.error().message);
    return std::get<Launch>(*parsed);
  }
  LaunchSpec spec(const Words& words) { return launch(words).spec; }
  Words warnings(const Words& words) { return launch(words).warnings; }
  std::string error(const Words& words) {
    const auto parsed = parse(words);
    REQUIRE(parsed.has_error());
    return parsed.error().message;
  }
  std::string script() const { return (dir_ / "train.py").string(); }

  ScratchFolder folder_;
  fs::path dir_ = folder_.path();
  std::map<std::string, std::string> environment_;
  int gpus_ = 0;
};

TEST_CASE_METHOD(CommandLineFixture, "a script is run by python -u with all that follows it") {
  const LaunchSpec s = spec({"--standalone", "--nproc-per-node", "2", script(), "--lr", "0.1",
                             "--nproc-per-node", "9", "--", "-h"});
  const std::string python = (dir_ / "python3").string();
  CHECK(s.program == python);
  CHECK(s.arguments ==
        Words{python, "-u", script(), "--lr", "0.1", "--nproc-per-node", "9", "--", "-h"});
  CHECK(s.workers == 2);
}

TEST_CASE_METHOD(CommandLineFixture,
                 "options are taken in both spellings and with an equals sign") {
  CHECK(spec({"--nproc_per_node=3", "--max_restarts=2", script()}).workers == 3);
  CHECK(spec({"--nproc-per-node=3", "--max_restarts=2", script()}).terms.restarts_max == 2);
}

TEST_CASE_METHOD(CommandLineFixture, "a module is run by python -u -m, and need not be a file") {
  const LaunchSpec s = spec({"-m", "my.training", "-m"});
  CHECK(Words(s.arguments.begin() + 1, s.arguments.end()) ==
        Words{"-u", "-m", "my.training", "-m"});
}

TEST_CASE_METHOD(CommandLineFixture, "with --no-python the program itself is run, found in PATH") {
  const LaunchSpec s = spec({"--no-python", "other", "x"});
  CHECK(s.program == (dir_ / "other").string());
  CHECK(s.arguments == Words{"other", "x"});
}

TEST_CASE_METHOD(CommandLineFixture, "after -- a script may look like an option") {
  write("--odd", 0755);
  CHECK(spec({"--no-python", "--", "--odd"}).arguments == Words{"--odd"});
}

TEST_CASE_METHOD(CommandLineFixture, "an active virtual environment's Python comes before PATH's") {
  environment_["VIRTUAL_ENV"] = (dir_ / "venv").string();
  CHECK(spec({script()}).program == (dir_ / "venv/bin/python3").string());
  environment_["PYTHON_EXEC"] = (dir_ / "other").string();
  CHECK(spec({script()}).program == (dir_ / "other").string());
}

TEST_CASE_METHOD(CommandLineFixture, "without any Python the message says how to name one") {
  environment_["PATH"] = (dir_ / "venv").string();
  CHECK_THAT(error({script()}), contains("PYTHON_EXEC"));
}

TEST_CASE_METHOD(CommandLineFixture,
                 "a standalone job has a run id of its own, another one torchrun's") {
  CHECK(spec({"--standalone", "--rdzv-id", "mine", script()}).meeting.run_id.empty());
  CHECK(spec({"--rdzv-id", "mine", script()}).meeting.run_id == "mine");
  CHECK(spec({script()}).meeting.run_id == "none");
}

TEST_CASE_METHOD(CommandLineFixture, "bad values are named with the option and what is accepted") {
  CHECK(error({"--nproc-per-node", "two", script()}) ==
        "--nproc-per-node 'two': expected a whole number from 1 to 65536, auto, gpu or cpu");
  CHECK_THAT(error({"--nproc-per-node", "0", script()}), contains("--nproc-per-node '0'"));
  CHECK(error({"--max-restarts=-1", script()}) ==
        "--max-restarts '-1': expected N, N/TIME or N@progress: 3, 3/1h, 3@progress");
  CHECK_THAT(error({"--shutdown-timeout", "nan", script()}), contains("expected a time"));
  CHECK(spec({"--shutdown-timeout", "2592000", script()}).terms.shutdown_timeout ==
        std::chrono::hours{30 * 24});
  CHECK_THAT(error({"--shutdown-timeout", "2592001", script()}), contains("up to 30 days"));
  CHECK_THAT(error({"-m", "--no-python", "x"}), contains("exclude each other"));
}

TEST_CASE_METHOD(CommandLineFixture, "an unknown option is not taken for the script") {
  CHECK(error({"--bogus", script()}) == "there is no option '--bogus'");
  CHECK_THAT(error({}), contains("the script to run is missing"));
  CHECK_THAT(error({"--nproc-per-node"}), contains("--nproc-per-node"));
}

TEST_CASE_METHOD(CommandLineFixture, "a script or program that is not there is reported at once") {
  const auto missing = parse({"nothing.py"});
  REQUIRE(missing.has_error());
  CHECK(missing.error().message == "there is no script 'nothing.py'");
  CHECK(exit_code(missing.error()) == 127);
  CHECK(error({"--no-python", "nothing"}) == "there is no program 'nothing' in PATH");
  const auto not_executable = parse({"--no-python", script()});
  REQUIRE(not_executable.has_error());
  CHECK_THAT(not_executable.error().message, contains("is not executable"));
  CHECK(exit_code(not_executable.error()) == 126);
}

TEST_CASE_METHOD(CommandLineFixture, "help and version are printed, whatever else is there") {
  const auto printed = [&](const Words& words) {
    const auto parsed = parse(words);
    REQUIRE(parsed.has_value());
    return std::get<JustPrint>(*parsed).text;
  };
  CHECK_THAT(printed({"--nproc-per-node", "2", "--help"}), contains("--rdzv-conf"));
  CHECK_THAT(printed({"--nnodes", "2", "-h", "train.py", "--help"}), !contains("--rdzv-conf"));
  const std::string lines = printed({"--version"});
  CHECK(lines.starts_with("ddprun " DDPRUN_VERSION " (commit "));
  CHECK_THAT(lines, contains(fmt::format("speaks protocol {}\n", kProtocolVersion)));
}

TEST_CASE("a command is one only to a program that is not called torchrun") {
  for (const char* name : {"ddprun", "/usr/bin/ddprun", "./my-torchrun", "", "torchrun/ddprun"}) {
    const Subcommand* const command = find_subcommand(name, {"server", "--port", "0"});
    REQUIRE(command != nullptr);
    CHECK(command->name == "server");
  }
  for (const char* name : {"torchrun", "/opt/bin/torchrun", "/usr/bin/ddprun-torchrun"})
    CHECK(find_subcommand(name, {"server", "--port", "0"}) == nullptr);
  CHECK(find_subcommand("ddprun", {"train.py", "server"}) == nullptr);
  CHECK(find_subcommand("ddprun", {}) == nullptr);
}

TEST_CASE_METHOD(CommandLineFixture, "an option may be cut short as long as it is unique") {
  CHECK(spec({"--nproc=3", script()}).workers == 3);
  CHECK(spec({"--standal", "--max-r=2", script()}).terms.restarts_max == 2);
  CHECK_THAT(error({"--n=3", script()}),
             contains("more than one option: --nproc-per-node, --nnodes, --no-python,"));
  // Unique among torchrun's options, which our own --no-pty does not change.
  CHECK(spec({"--no-p", "other"}).program == (dir_ / "other").string());
}

TEST_CASE_METHOD(CommandLineFixture, "short options take their value behind them in any form") {
  for (const Words& words : {Words{"-r", "1"}, Words{"-r1"}, Words{"-r=1"}, Words{"--redirects=1"}})
    CHECK(spec({words.front(), words.back() == words.front() ? "-t=0" : words.back(), script()})
              .logs.redirects.front() == Streams{true, false});
}

TEST_CASE_METHOD(CommandLineFixture,
                 "the last of a repeated option counts, and a value may be empty") {
  CHECK(spec({"--role", "a", "--role=b", script()}).role == "b");
  CHECK(spec({"--rdzv-id=", script()}).meeting.run_id.empty());
  CHECK(spec({"--rdzv-id", "", script()}).meeting.run_id.empty());
  CHECK(spec({"--rdzv-endpoint", "[::1]", script()}).meeting.coordinator.host == "::1");
}

TEST_CASE_METHOD(CommandLineFixture,
                 "PET_ variables are defaults, which the command line overrides") {
  environment_["PET_NPROC_PER_NODE"] = "4";
  environment_["PET_STANDALONE"] = "1";
  environment_["PET_ROLE"] = "";
  CHECK(spec({script()}).workers == 4);
  CHECK(spec({script()}).meeting.run_id.empty());
  CHECK(spec({script()}).role == "default");
  CHECK(spec({"--nproc-per-node=2", script()}).workers == 2);
  environment_["PET_NPROC_PER_NODE"] = "many";
  CHECK_THAT(error({script()}), contains("PET_NPROC_PER_NODE 'many': expected"));
  environment_["PET_STANDALONE"] = "perhaps";
  CHECK(error({"--nproc-per-node=2", script()}) == "PET_STANDALONE 'perhaps': expected 1 or 0");
  CHECK(parse({"--help"}).has_value());
}

TEST_CASE_METHOD(CommandLineFixture, "workers are counted by GPUs or by usable CPUs") {
  CHECK(spec({"--nproc-per-node", "cpu", script()}).workers == 6);
  CHECK(spec({"--nproc-per-node", "auto", script()}).workers == 6);
  CHECK_THAT(error({"--nproc-per-node", "gpu", script()}), contains("no GPU is visible"));
  gpus_ = 3;
  CHECK(spec({"--nproc-per-node", "auto", script()}).workers == 3);
  CHECK(spec({"--nproc-per-node", "gpu", script()}).workers == 3);
}

TEST_CASE_METHOD(CommandLineFixture,
                 "launch hands the local rank to the script, as its first argument") {
  const Words arguments = spec({"launch", script(), "-x"}).arguments;
  CHECK(Words(arguments.begin() + 2, arguments.end()) ==
        Words{script(), "--local-rank=${local_rank}", "-x"});
  CHECK(spec({"launch", "--use-env", script(), "-x"}).arguments.back() == "-x");
  CHECK(spec({"launch", "--use-env", script()}).arguments.back() == script());
  CHECK(spec({"--use-env", script()}).arguments.back() == script());
  CHECK_THAT(error({"launch", "--no-python", "other"}), contains("--use-env"));
}

TEST_CASE_METHOD(CommandLineFixture,
                 "a static job meets where the options say, one without them anywhere") {
  CHECK(spec({script()}).meeting.coordinator.port == 0);
  const LaunchSpec told = spec({"--master-addr", "localhost", "--master-port", "1234", script()});
  CHECK(told.meeting.coordinator.port == 1234);
  CHECK(told.meeting.coordinator.host == "localhost");
  const LaunchSpec endpoint = spec({"--rdzv-endpoint=[::1]:77", script()});
  CHECK(endpoint.meeting.coordinator.host == "::1");
  CHECK(endpoint.meeting.coordinator.port == 77);
  CHECK(spec({"--rdzv-backend=c10d", "--rdzv-endpoint=somewhere", script()})
            .meeting.coordinator.port == 0);
}

TEST_CASE_METHOD(CommandLineFixture, "a static job of several nodes meets at its first node") {
  const Words where{"--nnodes=3", "--master-addr=10.0.0.1", "--rdzv-id=job"};
  const auto node = [&](const char* rank) {
    Words words = where;
    words.insert(words.end(), {"--node-rank", rank, script()});
    return spec(words);
  };
  CHECK(node("0").meeting.hosting == Hosting::kHere);
  CHECK(node("0").meeting.coordinator.port == 29500);
  CHECK(node("2").meeting.hosting == Hosting::kElsewhere);
  CHECK(node("2").meeting.node_rank == 2);
  CHECK(node("1").meeting.run_id == "job");
  CHECK_THAT(error({"--nnodes=3", "--node-rank=3", script()}), contains("from 0 to 2"));
}

TEST_CASE_METHOD(CommandLineFixture, "a c10d job of several nodes meets at its endpoint") {
  const LaunchSpec s =
      spec({"--nnodes=1:4", "--rdzv-backend=c10d", "--rdzv-endpoint=node7", script()});
  CHECK(s.meeting.hosting == Hosting::kAtEndpoint);
  CHECK(s.meeting.coordinator.host == "node7");
  CHECK(s.meeting.coordinator.port == 29400);
  CHECK(s.terms.nodes_min == 1);
  CHECK(s.meeting.node_rank == -1);
  const auto hosting = [&](const char* is_host) {
    return spec({"--nnodes=2", "--rdzv-backend=c10d", "--rdzv-endpoint=a:1", "--rdzv-conf",
                 std::string{"is_host="} + is_host, script()})
        .meeting.hosting;
  };
  CHECK(hosting("true") == Hosting::kHere);
  CHECK(hosting("false") == Hosting::kElsewhere);
  CHECK_THAT(error({"--nnodes=2", "--rdzv-backend=c10d", script()}), contains("--rdzv-endpoint"));
  CHECK_THAT(error({"--nnodes=2", "--rdzv-backend=c10d", "--rdzv-endpoint=a:0", script()}),
             contains("know the port"));
  CHECK_THAT(error({"--nnodes=2", "--rdzv-id=", script()}), contains("name in common"));
  CHECK_THAT(error({"--nnodes=2", "--standalone", script()}), contains("for one node"));
}

TEST_CASE_METHOD(CommandLineFixture, "workers may be counted for each node by its rank") {
  CHECK(spec({"--nnodes=3", "--nproc-per-node=4,4,2", "--node-rank=2", script()}).workers == 2);
  CHECK_THAT(error({"--nnodes=2", "--nproc-per-node=4,4,2", "--node-rank=1", script()}),
             contains("one number for each of 2 nodes"));
  CHECK_THAT(error({"--nnodes=2", "--nproc-per-node=4,4", script()}), contains("--node-rank"));
  CHECK_THAT(error({"--nnodes=2", "--nproc-per-node=4,x", "--node-rank=1", script()}),
             contains("as in 4,4,2"));
}

TEST_CASE_METHOD(CommandLineFixture,
                 "the rendezvous configuration sets the times, and knows its keys") {
  const LaunchSpec s = spec({"--rdzv-conf",
                             "join_timeout=20,last_call_timeout=1.5,keep_alive_interval=2,"
                             "keep_alive_max_attempt=4,is_host=yes,read_timeout=9",
                             script()});
  CHECK(s.terms.join_timeout == std::chrono::seconds{20});
  CHECK(s.terms.last_call_timeout == std::chrono::milliseconds{1500});
  CHECK(s.terms.heartbeat_timeout == std::chrono::seconds{8});
  for (const auto& [conf, seconds] : {std::pair{"heartbeat_timeout=7", 7},
                                      std::pair{"heartbeat_timeout=7,keep_alive_interval=2", 6},
                                      std::pair{"keep_alive_max_attempt=4", 20}})
    CHECK(spec({"--rdzv-conf", conf, script()}).terms.heartbeat_timeout ==
          std::chrono::seconds{seconds});
  CHECK_THAT(error({"--rdzv-conf=abc", script()}), contains("expected KEY=VALUE"));
  CHECK_THAT(error({"--rdzv-conf==3", script()}), contains("expected KEY=VALUE"));
  CHECK_THAT(error({"--rdzv-conf=timout=3", script()}), contains("there is no key 'timout'"));
  CHECK_THAT(error({"--rdzv-conf=join_timeout=x", script()}),
             contains("'join_timeout': expected seconds"));
  CHECK_THAT(error({"--rdzv-conf=join_timeout=0", script()}), contains("more than 0"));
  CHECK_THAT(error({"--rdzv-conf=is_host=maybe", script()}), contains("expected true or false"));
  CHECK_THAT(error({"--rdzv-conf=heartbeat_timeout=0.05", script()}),
             contains("a node would be lost after 0.05 s without a heartbeat: expected 0.1 s"));
  CHECK_THAT(error({"--rdzv-conf=keep_alive_interval=2592000,keep_alive_max_attempt=2", script()}),
             contains("after 5184000 s without a heartbeat: expected 0.1 s to 30 days"));
}

TEST_CASE_METHOD(CommandLineFixture,
                 "the rendezvous configuration may be in quotes and have blanks") {
  for (const char* conf : {"'join_timeout=5,timeout=9'", "\"join_timeout=5,timeout=9\"",
                           " join_timeout = 5 , timeout=9 ", "' join_timeout=5,timeout = 9 ' "})
    CHECK(spec({"--rdzv-conf", conf, script()}).terms.join_timeout == std::chrono::seconds{5});
  for (const char* nothing : {"", " ", "''", "\"\""})
    CHECK(spec({"--rdzv-conf", nothing, script()}).terms.join_timeout == JobTerms{}.join_timeout);
  for (const char* bad : {"'join_timeout=5", "'", "'join_timeout=5\"", "join_timeout=' '",
                          "join_timeout=5,", "join_timeout= ", " =5"})
    CHECK_THAT(error({"--rdzv-conf", bad, script()}), contains("--rdzv-conf '"));
}

TEST_CASE_METHOD(CommandLineFixture, "keys that are torchrun's alone are accepted and named") {
  const auto warnings = [&](const char* conf) {
    std::string text;
    for (const std::string& warning : launch({"--rdzv-conf", conf, script()}).warnings)
      text += warning + "\n";
    return text;
  };
  CHECK(warnings("join_timeout=5,timeout=9,last_call_timeout=1").empty());
  CHECK(warnings("use_libuv=1,cas_backoff_max_seconds=0.5,join_timeout=5,rank=0") ==
        "--rdzv-conf cas_backoff_max_seconds, rank, use_libuv has no effect: ddprun's coordinator "
        "has no use for that\n");
  CHECK(warnings("cacert=a,protocol=https") ==
        "--rdzv-conf cacert, protocol has no effect: that is for --rdzv-backend etcd\n");
  environment_["PET_RDZV_CONF"] = "use_libuv=1";
  CHECK(launch({script()}).warnings.empty());
}

TEST_CASE_METHOD(CommandLineFixture, "the prefix of lines is an option, or a variable") {
  const std::string option = "--log-line-prefix-template";
  CHECK(spec({script()}).logs.prefix_template == "[${role_name}${local_rank}]:");
  CHECK(spec({option, "${hostname}: ", "-t3", script()}).logs.prefix_template == "${hostname}: ");
  CHECK(launch({option, "x", "-t3", script()}).warnings.empty());
  CHECK_THAT(launch({option, "x", script()}).warnings.at(0), contains("without --tee"));
  environment_["TORCHELASTIC_LOG_LINE_PREFIX_TEMPLATE"] = "<$rank>";
  CHECK(spec({script()}).logs.prefix_template == "<$rank>");
  CHECK(spec({option + "=", script()}).logs.prefix_template == "[${role_name}${local_rank}]:");
  CHECK(spec({option, "y", "-t3", script()}).logs.prefix_template == "y");
}

TEST_CASE_METHOD(CommandLineFixture, "streams are chosen for all workers or by local rank") {
  const LaunchSpec s = spec({"--nproc=12", "-r", "3", "-t", "0:1,11:2", script()});
  CHECK(s.logs.redirects == std::vector<Streams>(12, Streams{true, true}));
  CHECK(s.logs.tee[0] == Streams{true, false});
  CHECK(s.logs.tee[11] == Streams{false, true});
  CHECK(s.logs.tee[5] == Streams{});
  CHECK_FALSE(s.logs.fold);
  CHECK_FALSE(s.logs.timestamps);
  CHECK(s.logs.rotation == RotationRule{});
  CHECK_THAT(error({"-r", "4", script()}), contains("--redirects '4': expected 0 (none)"));
  CHECK_THAT(error({"-t", "1:7", script()}), contains("--tee '1:7'"));
  CHECK(spec({"--duplicate-stdout-filters=a,,b,c", "-t1", script()}).logs.out_filters ==
        Words{"a,b", "c"});
  CHECK(spec({"--duplicate-stderr-filters=d", "-t2", script()}).logs.err_filters == Words{"d"});
  CHECK_THAT(error({"--local-ranks-filter=a", script()}), contains("expected local ranks"));
}

TEST_CASE_METHOD(CommandLineFixture, "lines can be folded and stamped, and log files rotated") {
  const LogSpec logs =
      spec({"--fold", "--log-timestamps", "--log-rotate", "100M:5", "-t3", script()}).logs;
  CHECK(logs.fold);
  CHECK(logs.fold_template == "[${rank}] ");
  CHECK(logs.timestamps);
  CHECK(logs.rotation == RotationRule{100 * 1024 * 1024, 5});
  const auto rotation = [&](const std::string& text) {
    return spec({"-t3", "--log-rotate=" + text, script()}).logs.rotation;
  };
  CHECK(rotation("256:2") == RotationRule{256, 2});
  CHECK(rotation("1k:1000") == RotationRule{1024, 1000});
  CHECK(rotation("2GB:3") == RotationRule{std::uint64_t{2} << 30, 3});
  for (const std::string wrong : {"", "100M", "100M:", ":5", "100M:1", "100M:1001", "255:5", "x:5",
                                  "-1:5", "1.5M:5", "99999999999T:5", "100M:5:1", "M:5"})
    CHECK_THAT(error({"-t3", "--log-rotate=" + wrong, script()}), contains("as in 100M:5"));
  for (const std::string option : {"--log-timestamps", "--log-rotate=1M:2"})
    CHECK_THAT(warnings({option, script()}).at(0), contains("without --tee or --redirects"));
}

TEST_CASE_METHOD(CommandLineFixture, "a prefix of one's own is that of folded lines, too") {
  const Launch launched = launch({"--fold", "--log-line-prefix-template", "<${rank}>", script()});
  CHECK(launched.warnings.empty());
  CHECK(launched.spec.logs.fold_template == "<${rank}>");
}

TEST_CASE_METHOD(CommandLineFixture,
                 "every other bad value of torchrun's options is one sentence, too") {
  CHECK_THAT(error({"--nnodes=a", script()}), contains("--nnodes 'a': expected"));
  CHECK_THAT(error({"--nnodes=1:2:3", script()}), contains("MIN:MAX"));
  CHECK_THAT(error({"--nnodes=0", script()}), contains("at least 1"));
  CHECK_THAT(error({"--nnodes=2:1", script()}), contains("MIN not above MAX"));
  CHECK_THAT(error({"--rdzv-backend=zoo", script()}), contains("; another one is a plug-in"));
  CHECK_THAT(error({"--nnodes=2", "--rdzv-backend=etcd", script()}),
             contains("needs --rdzv-endpoint"));
  CHECK_THAT(error({"--rdzv-endpoint=a:70000", script()}), contains("port from 0 to 65535"));
  CHECK_THAT(error({"--master-port=70000", script()}), contains("--master-port '70000'"));
  CHECK(error({"--node-rank=1", script()}) ==
        "--node-rank '1': --nnodes is 1, so the only node rank is 0");
  CHECK_THAT(error({"--monitor-interval=0", script()}), contains("more than 0"));
  CHECK_THAT(error({"--start-method=thread", script()}), contains("spawn, fork, forkserver"));
  CHECK_THAT(error({"--signals-to-handle=SIGFOO", script()}), contains("no signal 'SIGFOO'"));
  CHECK_THAT(error({"--signals-to-handle=SIGKILL", script()}), contains("cannot be handled"));
  CHECK_THAT(error({"--numa-binding=near", script()}), contains("node, socket, exclusive, core"));
  CHECK_THAT(error({"--standalone=1", script()}), contains("--standalone takes no value"));
  CHECK_THAT(error({"-z", script()}), contains("there is no option '-z'"));
  environment_["CUDA_VISIBLE_DEVICES"] = "3";
  for (const char* list : {"3", "3,-1", "3,", "3,x,5"}) {
    environment_["CUDA_VISIBLE_DEVICES"] = list;
    CHECK_THAT(error({"--virtual-local-rank", "--nproc=2", script()}), contains("names 1"));
  }
}

TEST_CASE_METHOD(CommandLineFixture, "workers reach their store where --store says") {
  CHECK(spec({script()}).terms.store == StoreAt::kLeader);
  CHECK(spec({"--store=leader", script()}).terms.store == StoreAt::kLeader);
  CHECK(spec({"--store", "local", script()}).terms.store == StoreAt::kLocal);
  CHECK(spec({"--standalone", "--store", "local", script()}).terms.store == StoreAt::kLocal);
  CHECK_THAT(error({"--store", "here", script()}), contains("expected one of leader, local"));
  environment_["PET_STORE"] = "local";
  CHECK(spec({script()}).terms.store == StoreAt::kLocal);
  const std::string shown = dry_run(spec({"--master-port", "29500", script()}), {});
  CHECK_THAT(shown, contains("MASTER_ADDR=127.0.0.1 MASTER_PORT='<any free port>'"));
}

TEST_CASE_METHOD(CommandLineFixture,
                 "modules for --warm are named, or those that the script imports") {
  CHECK_FALSE(spec({script()}).warm);
  CHECK(spec({"--warm", script()}).warm->modules.empty());
  CHECK(spec({"--warm=auto", script()}).warm->modules.empty());
  CHECK(spec({"--warm=torch,my.package", script()}).warm->modules == Words{"torch", "my.package"});
  for (const char* bad : {"--warm=", "--warm=a/b", "--warm=.a", "--warm=a..b", "--warm=a b"})
    CHECK_THAT(error({bad, script()}), contains("expected names of Python modules"));
  CHECK_THAT(error({"--warm", "--no-python", "other"}), contains("--warm and --no-python"));
  CHECK_THAT(error({"--warm", "--virtual-local-rank", script()}),
             contains("--warm and --virtual-local-rank"));
  environment_["PET_WARM"] = "auto";
  CHECK(spec({script()}).warm->modules.empty());
}

TEST_CASE_METHOD(CommandLineFixture,
                 "options that have no effect are named, unless a variable sets them") {
  CHECK(warnings({script()}).empty());
  CHECK(warnings({"--standalone", "--rdzv-id=x", script()}) ==
        Words{"--rdzv-id has no effect: with --standalone"});
  CHECK_THAT(warnings({"--monitor-interval=1", script()}).front(), contains("--monitor-interval"));
  CHECK_THAT(warnings({"--run-path", "-m", script()}).front(), contains("--module has no effect"));
  CHECK_THAT(warnings({"--duplicate-stdout-filters=x", script()}).front(), contains("--tee"));
  for (const char* backend : {"static", "c10d"})
    CHECK(warnings({"--nnodes=2", "--rdzv-endpoint=h:1", std::string{"--rdzv-backend="} + backend,
                    "--local-addr=10.0.0.1", script()}) ==
          Words{"--local-addr has no effect: several nodes meet at the coordinator's "
                "address"});
  environment_["PET_MONITOR_INTERVAL"] = "1";
  CHECK(warnings({script()}).empty());
}

TEST_CASE("a dry run shows commands that a shell can run") {
  LaunchSpec spec{
      .program = "/usr/bin/echo", .arguments = {"echo", "it's", "${local_rank}"}, .workers = 2};
  const std::string text = dry_run(spec, {.environment = {"HOME=/root"}});
  CHECK_THAT(text,
             contains("# rank 1\nenv DDPRUN_CHECKPOINT_SIGNAL=10 DDPRUN_ROUND=1 GROUP_RANK=0"));
  CHECK_THAT(text, contains("MASTER_PORT='<any free port>'"));
  CHECK_THAT(text, contains(" /usr/bin/echo 'it'\\''s' 1\n"));
  CHECK(text.find("HOME") == std::string::npos);
}

}  // namespace
}  // namespace ddprun
