// FolderMemory is the NodeMemory of a folder that nodes share.
//
// A network file system may hang, so a thread of its own reads and writes. Nothing waits for it but
// the end of the process, and that for a limited time. The thread is left behind then: all that it
// touches belongs to it, or to what it shares with this.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <chrono>
#include <cstddef>
#include <filesystem>
#include <memory>

#include "base/asio.hpp"
#include "rendezvous/service/node_memory.hpp"

namespace ddprun {

/// The end of the process waits this long for failures that are being kept.
inline constexpr std::chrono::milliseconds kMemoryEndTimeout{2'000};
/// This many questions and failures may wait for a folder that does not answer; more are dropped.
inline constexpr std::size_t kMemoryTasksMax = 256;

class FolderMemory : public NodeMemory {
 public:
  /// What goes wrong is logged by `home`, an event loop.
  FolderMemory(const asio::any_io_executor& home, std::filesystem::path folder);
  ~FolderMemory() override;

  void remember(const NodeFailure& failure) override;
  void recall(Answer answer) override;

  /// Waits until all failures are kept, but no longer than `at_most`. From then on no caller gets
  /// an answer: to be called while `home` and the callers' loops still live.
  void end_within(std::chrono::milliseconds at_most);

 private:
  class Work;
  std::shared_ptr<Work> work_;
};

/// The NodeMemory of a process: it remembers as long as that lives.
std::shared_ptr<NodeMemory> memory_of_process();

}  // namespace ddprun
