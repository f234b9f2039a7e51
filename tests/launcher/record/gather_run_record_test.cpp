#include "launcher/record/gather_run_record.hpp"

#include <filesystem>

#include "tests/support/catch.hpp"
#include "tests/support/scratch_folder.hpp"

namespace ddprun {
namespace {

namespace fs = std::filesystem;

/// A virtual environment, as far as its files tell of it.
class VenvFixture {
 protected:
  VenvFixture() {
    write("venv/bin/python3", "");
    write("venv/pyvenv.cfg", "home = /nowhere/bin\nversion = 3.11.2\n");
    write("venv/lib/python3.11/site-packages/torch/version.py", "__version__ = '2.11.0+cpu'\n");
    write("train.py", "print()\n");
  }

  void write(const std::string& name, const std::string& text) const { folder_.write(name, text); }

  RunRecord gather(std::vector<std::string> words, const std::vector<std::string>& environment = {},
                   const std::string& python = "venv/bin/python3") const {
    const std::string program = (folder_ / python).string();
    words.insert(words.begin(), {program, "-u"});
    return gather_run_record({.program = program, .arguments = std::move(words), .workers = 2},
                             environment);
  }

  ScratchFolder folder_;
};

TEST_CASE_METHOD(VenvFixture, "files tell the script, Python and torch, and no program is asked") {
  const std::string script = (folder_ / "train.py").string();
  const RunRecord record = gather({script, "--lr", "1", "--token", "abc"});
  CHECK(record.script.name == "train.py");
  CHECK(record.script.path == script);
  CHECK(record.script.sha256.size() == 64);
  CHECK(record.arguments == std::vector<std::string>{"--lr", "1", "--token", "***"});
  CHECK(record.python == "3.11.2");
  CHECK(record.torch == "2.11.0+cpu");
  CHECK(record.ddprun == DDPRUN_VERSION);
  CHECK_FALSE(record.kernel.empty());
  CHECK(record.workers == 2);
}

TEST_CASE_METHOD(VenvFixture,
                 "a script that has changed, or is reached by a link, has its own hash") {
  const auto hash = [&](const char* name) {
    return gather({(folder_ / name).string()}).script.sha256;
  };
  const std::string before = hash("train.py");
  fs::create_symlink(folder_ / "train.py", folder_ / "link.py");
  CHECK(hash("link.py") == before);
  write("train.py", "print(1)\n");
  CHECK(hash("train.py") != before);
  CHECK(hash("absent.py").empty());
}

TEST_CASE_METHOD(VenvFixture, "a module is found where Python looks for it") {
  write("venv/lib/python3.11/site-packages/my/job/__main__.py", "print()\n");
  const RecordedScript found = gather({"-m", "my.job"}).script;
  CHECK(found.name == "my.job");
  CHECK_THAT(found.path, contains("site-packages/my/job/__main__.py"));
  CHECK(found.sha256.size() == 64);
  CHECK(gather({"-m", "absent.job"}).script == RecordedScript{"absent.job", "-m absent.job", ""});
}

TEST_CASE_METHOD(VenvFixture, "torch is taken from where Python finds it first") {
  write("first/torch/version.py", "__version__ = '2.4.0'\n");
  const std::string path = "PYTHONPATH=:" + (folder_ / "first").string();
  CHECK(gather({"train.py"}, {path}).torch == "2.4.0");
}

TEST_CASE_METHOD(VenvFixture, "the Python behind a name of pyenv is found") {
  write("pyenv/shims/python3", "#!/bin/sh\n");
  write("pyenv/versions/3.11.4/bin/python3.11", "");
  write("pyenv/versions/3.11.4/lib/python3.11/site-packages/torch/version.py",
        "__version__ = '2.5.0'\n");
  fs::create_symlink("python3.11", folder_ / "pyenv/versions/3.11.4/bin/python3");
  const RunRecord chosen = gather({"train.py"}, {"PYENV_VERSION=3.11.4"}, "pyenv/shims/python3");
  CHECK(chosen.python == "3.11.4");
  CHECK(chosen.torch == "2.5.0");
  write("pyenv/version", "3.11.4\n");
  CHECK(gather({"train.py"}, {}, "pyenv/shims/python3").python == "3.11.4");
}

TEST_CASE_METHOD(VenvFixture, "only variables that matter to a training are recorded") {
  using Variables = std::map<std::string, std::string>;
  CHECK(gather({"train.py"}, {"NCCL_DEBUG=INFO", "HOME=/root", "OMP_NUM_THREADS=3", "AWS_KEY=abc",
                              "TORCH_HUB_TOKEN=abc", "CUDA_VISIBLE_DEVICES=0,1", "NCCL_"})
            .environment == Variables{{"CUDA_VISIBLE_DEVICES", "0,1"},
                                      {"NCCL_DEBUG", "INFO"},
                                      {"OMP_NUM_THREADS", "3"},
                                      {"TORCH_HUB_TOKEN", "***"}});
}

}  // namespace
}  // namespace ddprun
