#include "launcher/nodes/folder_memory.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <fstream>
#include <future>

#include "launcher/nodes/node_folder.hpp"
#include "tests/support/captured_log.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/scratch_folder.hpp"

namespace ddprun {
namespace {

using namespace std::chrono_literals;

NodeFailure failure_of(const std::string& host) {
  return {.host = host,
          .at = Clock::now() - 5s,
          .kind = FailureKind::kHang,
          .fingerprint = "ab",
          .run_id = "job",
          .sentence = "rank 1 hangs"};
}

NodeMemory::Failures recalled(NodeMemory& memory) {
  std::promise<NodeMemory::Failures> answer;
  memory.recall([&](NodeMemory::Failures failures) { answer.set_value(std::move(failures)); });
  return answer.get_future().get();
}

TEST_CASE("a failure that one process keeps another one recalls, with its time") {
  const ScratchFolder folder;
  asio::io_context io;
  const NodeFailure kept = failure_of("h2");
  {
    FolderMemory memory{io.get_executor(), folder.path()};
    memory.remember(kept);
    memory.end_within(1min);
  }
  FolderMemory memory{io.get_executor(), folder.path()};
  const auto found = recalled(memory);
  REQUIRE(found);
  REQUIRE(found->size() == 1);
  NodeFailure read = found->front();
  CHECK(std::chrono::abs(read.at - kept.at) < 1s);
  read.at = kept.at;
  CHECK(read == kept);
}

TEST_CASE("a failure is recalled by the process that kept it, right afterwards") {
  const ScratchFolder folder;
  asio::io_context io;
  FolderMemory memory{io.get_executor(), folder.path()};
  for (int i = 1; i <= 20; ++i) {
    memory.remember(failure_of("h2"));
    CHECK(recalled(memory)->size() == static_cast<std::size_t>(i));
  }
}

TEST_CASE("a folder that is none is warned of once, and nothing is known of it") {
  const ScratchFolder scratch;
  std::ofstream{scratch.path() / "file"} << "mine";
  asio::io_context io;
  const CapturedLog log;
  FolderMemory memory{io.get_executor(), scratch.path() / "file"};
  for (int i = 0; i < 3; ++i) CHECK(recalled(memory) == std::nullopt);
  io.run();
  CHECK_THAT(log.text(), contains("--node-history: '" + (scratch.path() / "file").string()));
  CHECK(log.text().find("--node-history") == log.text().rfind("--node-history"));
}

TEST_CASE("what could not be written is known all the same, and is written when it can be") {
  const ScratchFolder scratch;
  const std::filesystem::path place = scratch.path() / "place";
  std::ofstream{place} << "no folder yet";
  asio::io_context io;
  const CapturedLog log;
  FolderMemory memory{io.get_executor(), place};
  memory.remember(failure_of("h1"));
  CHECK(recalled(memory) == std::nullopt);
  REQUIRE(std::filesystem::remove(place));
  CHECK(recalled(memory)->size() == 1);
  memory.remember(failure_of("h2"));
  CHECK(recalled(memory)->size() == 2);
  CHECK(read_node_records(place).value().records.size() == 2);
}

TEST_CASE("who has ended gets no answer") {
  const ScratchFolder folder;
  asio::io_context io;
  FolderMemory memory{io.get_executor(), folder.path()};
  memory.end_within(1min);
  std::promise<void> nobody;
  auto future = nobody.get_future();
  memory.recall([answer = std::make_shared<std::promise<void>>(std::move(nobody))](
                    const NodeMemory::Failures&) { answer->set_value(); });
  memory.end_within(1min);
  CHECK_THROWS_AS(future.get(), std::future_error);
}

TEST_CASE("a process remembers as long as it lives, and no more than a folder") {
  const auto memory = memory_of_process();
  CHECK(recalled(*memory)->empty());
  for (int i = 0; i < kNodeFailuresMax; ++i) memory->remember(failure_of("h1"));
  memory->remember(failure_of("h2"));
  const auto found = recalled(*memory);
  CHECK(found->size() == kNodeFailuresMax);
  CHECK(found->back().host == "h2");
}

}  // namespace
}  // namespace ddprun
