// FactsThread gathers the facts of a run in a thread of its own.
//
// A script or a Python may be on a disk that hangs. Neither the start of workers nor the end of the
// run waits for that: the thread is left behind, also when the process ends. So all that it touches
// belongs to it, or to what it shares with this.
#pragma once

#include <boost/asio/io_context.hpp>
#include <chrono>
#include <functional>
#include <memory>

#include "base/asio.hpp"
#include "base/result.hpp"
#include "base/system/left_behind.hpp"
#include "launcher/record/run_record.hpp"

namespace ddprun {

class FactsThread {
 public:
  using Gather = std::function<RunRecord()>;

  /// `gather` is called in the thread, and owns what it uses. That the facts have been gathered is
  /// logged in `home`, which must live longer than this.
  FactsThread(asio::io_context& home, Gather gather);
  ~FactsThread();
  FactsThread(const FactsThread&) = delete;
  FactsThread& operator=(const FactsThread&) = delete;

  /// Gathers the facts as they are from now on. While they are being gathered already, that is done
  /// once more afterwards.
  void begin();

  /// Waits for the facts that were asked for last. Errors: kTimeout, and kUnavailable where they
  /// could not be gathered, or never were to be; with a sentence.
  Result<RunRecord> facts_within(std::chrono::milliseconds at_most);

 private:
  struct Shared;
  std::shared_ptr<Shared> shared_;
  LeftBehindQueue queue_{/*tasks_max=*/1};
};

}  // namespace ddprun
