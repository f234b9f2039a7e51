#include "ddprun/work.hpp"

#include <exception>
#include <future>
#include <mutex>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
#include <utility>

#include "worker_sdk/group/waits.hpp"

namespace ddprun::sdk {

namespace {

constexpr std::size_t kTensorsShown = 4;

std::string describe_tensor(const torch::Tensor& tensor) {
  if (!tensor.defined()) return "an undefined tensor";
  return c10::str(c10::getDtypeNames(tensor.scalar_type()).first, " ", tensor.sizes());
}

/// Gloo's sends and receives do not notice that they are done until somebody waits for them.
bool must_be_waited_for(const c10d::Work& work) {
  return dynamic_cast<const c10d::ProcessGroupGloo::SendWork*>(&work) != nullptr ||
         dynamic_cast<const c10d::ProcessGroupGloo::RecvWork*>(&work) != nullptr;
}

/// The future would wait for its thread, and that for a peer; an abort would tell the peer that we
/// are gone before we have said why.
void keep_for_good(std::future<void> polled) {
  static std::mutex mutex;
  static auto& kept = *new std::vector<std::future<void>>;
  const std::lock_guard lock{mutex};
  kept.push_back(std::move(polled));
}

}  // namespace

std::string Operation::describe() const {
  std::string text = name + " on group \"" + group + "\" (rank " + std::to_string(rank) + " of " +
                     std::to_string(size) + ")";
  for (std::size_t i = 0; i < tensors.size() && i < kTensorsShown; ++i)
    text += ", " + describe_tensor(tensors[i]);
  if (tensors.size() > kTensorsShown)
    text += " and " + std::to_string(tensors.size() - kTensorsShown) + " more";
  return text;
}

void Operation::refuse(const std::string& reason) const {
  throw std::invalid_argument{describe() + ": " + reason};
}

void Operation::guard(const std::function<void()>& act) const try {
  act();
} catch (const c10::Error& e) {
  throw CommunicationError{describe() + ": " + e.what_without_backtrace()};
} catch (const CommunicationError&) {
  throw;
} catch (const std::exception& e) {
  throw CommunicationError{describe() + ": " + e.what()};
}

c10::intrusive_ptr<c10d::Work> Operation::start(
    const std::function<c10::intrusive_ptr<c10d::Work>()>& act) const try {
  return act();
} catch (const c10::DistError& e) {
  throw CommunicationError{describe() + ": " + e.what_without_backtrace()};
} catch (const c10::Error& e) {
  refuse(e.what_without_backtrace());
} catch (const std::exception& e) {
  throw CommunicationError{describe() + ": " + e.what()};
}

struct Work::State {
  State(Operation its_operation, c10::intrusive_ptr<c10d::Work> its_work,
        std::function<void()> at_the_end)
      : operation{std::move(its_operation)},
        work{std::move(its_work)},
        finish{std::move(at_the_end)} {}
  ~State() {
    if (std::uncaught_exceptions() > exceptions_before) {
      if (polled.valid()) keep_for_good(std::move(polled));
      return;
    }
    // Otherwise the thread that waits would hold us up until the group's timeout.
    if (polled.valid() && polled.wait_for(std::chrono::seconds{0}) != std::future_status::ready)
      work->abort();
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  Operation operation;
  c10::intrusive_ptr<c10d::Work> work;
  std::function<void()> finish;
  bool done = false;
  int exceptions_before = std::uncaught_exceptions();  // in flight when it was made
  std::future<void> polled;  // a thread's wait, for a send or recv that somebody asks about
};

Work::Work(Operation operation, c10::intrusive_ptr<c10d::Work> work, std::function<void()> finish)
    : state_{std::make_shared<State>(std::move(operation), std::move(work), std::move(finish))} {}

void Work::wait(Milliseconds timeout) const {
  State& state = *state_;
  if (state.done) return;
  state.operation.guard([&] {
    if (state.polled.valid()) {
      if (timeout.count() > 0 && state.polled.wait_for(timeout) != std::future_status::ready)
        throw std::runtime_error{"not done within " + std::to_string(timeout.count()) + " ms"};
      state.polled.get();
    } else {
      const Wait wait;
      state.work->wait(timeout);
    }
    if (state.finish) std::exchange(state.finish, {})();
  });
  state.done = true;
}

bool Work::is_completed() const {
  State& state = *state_;
  if (state.done || state.work->isCompleted()) return true;
  if (!must_be_waited_for(*state.work)) return false;
  if (!state.polled.valid())
    state.polled = std::async(std::launch::async, [work = state.work] { work->wait(); });
  return state.polled.wait_for(std::chrono::seconds{0}) == std::future_status::ready;
}

int Work::source_rank() const { return state_->work->sourceRank(); }

void wait_all(const std::vector<Work>& works) {
  for (const Work& work : works) work.wait();
}

}  // namespace ddprun::sdk
