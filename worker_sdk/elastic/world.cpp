#include "ddprun/world.hpp"

#include <ATen/CPUGeneratorImpl.h>

#include <algorithm>
#include <stdexcept>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <utility>

#include "worker_sdk/checkpoint_files/sha256.hpp"
#include "worker_sdk/elastic/state_courier.hpp"
#include "worker_sdk/elastic/world_impl.hpp"
#include "worker_sdk/group/process_group_state.hpp"

namespace ddprun::sdk {

namespace {

/// Set: members of a world compare what they begin with.
constexpr char kCheckState[] = "DDPRUN_CHECK_STATE";
/// Attempts to carry a state.
constexpr int kTransfersMax = 2;

/// The seed of a step's random numbers on one worker, as in Python: 63 bits of a hash.
std::uint64_t seed_of(std::int64_t seed, std::int64_t step, int rank) {
  Sha256 hash;
  const std::string text =
      std::to_string(seed) + "/" + std::to_string(step) + "/" + std::to_string(rank);
  hash.update(text.data(), text.size());
  const std::string digits = hash.hex();
  std::uint64_t number = 0;  // the first eight bytes, in little-endian
  for (int byte = 7; byte >= 0; --byte)
    number = number << 8 |
             std::stoull(digits.substr(2 * static_cast<std::size_t>(byte), 2), nullptr, 16);
  return number >> 1;
}

}  // namespace

const ProcessGroup& World::group() const { return impl_.group(); }
std::int64_t World::parts() const { return impl_.parts(); }
bool World::is_last_part() const { return impl_.is_last_part(); }
void World::begin_part(const ElasticBatches& loader) { impl_.begin_part(loader); }
void World::update(const std::function<void()>& change, double loss) { impl_.update(change, loss); }
std::shared_ptr<Reductions> World::reductions() const { return impl_.reductions(); }

WorldImpl::WorldImpl(ElasticRun::State& run, WorldPlace place, const ProcessGroupOptions& options)
    : run_{run}, place_{std::move(place)}, options_{options} {
  const std::lock_guard lock{run_.mutex};
  run_.connections = connections_;
}

WorldImpl::~WorldImpl() {
  run_.membership.leave();
  connections_->close();
}

std::optional<Entrance> WorldImpl::pass(const std::function<void(World&)>& train) {
  run_.membership.require_size(place_.env.world_size);
  {
    const std::lock_guard lock{run_.mutex};
    run_.membership.enter(place_.round);
  }
  try {
    enter();
    World world{*this};
    train(world);
    if (!reductions_->empty())
      throw std::logic_error{
          "World::wrap(): a module that it has returned is still there when its "
          "world is over"};
    end_loop();
    await_members();
    leave(/*orderly=*/true);
    return std::nullopt;
  } catch (...) {
    // An error of the program's own comes out before other members hear that this one is gone.
    if (!run_.line || !comes_from_change()) throw;
    leave(/*orderly=*/run_.membership.leaves_in_order() && meets_members());
    if (light_copy_) light_copy_->put_back();
    run_.line->say_parked(place_.round);
    auto entrance = run_.line->await_entrance([this] { return run_.membership.world_has_ended(); });
    if (!entrance) fail_without_order();
    return entrance;
  }
}

/// Called in a handler, of an error that came from a change of the members, as it seemed.
void WorldImpl::fail_without_order() const try { throw; } catch (const WorldChanged& changed) {
  throw std::runtime_error{"round " + std::to_string(place_.round) + " was left because " +
                           changed.reason + ", and no order to enter another one has come"};
}

void WorldImpl::enter() {
  run_.membership.require_unchanged();
  // A step that was dropped may have left half of a sum.
  for (const torch::nn::Module* const module : run_.parts.modules())
    for (torch::Tensor& parameter : module->parameters())
      parameter.mutable_grad() = torch::Tensor{};
  StorePtr store;
  group_ = make_group(options_, place_.env, [&](std::chrono::milliseconds timeout) {
    store = place_.open_store(timeout);
    return c10::make_intrusive<c10d::PrefixStore>("group", store);  // as the module for Python
  });
  // A connection of NCCL's may end while all is well, and nothing that the GPU waits for ends well
  // without its members. So those are not asked whether somebody has hung up.
  if (frees_gpu())
    group_->barrier();  // connects now what LibTorch would connect at its first use
  else
    connections_->note();
  const Meeting meeting{place_.env, store, group_->timeout()};
  const Line line = synchronize(meeting);
  if (line.name.step > 0 && environment_lookup(kCheckState).value_or("") != "")
    compare_states(meeting);
  if (ElasticBatches* const batches = run_.parts.batches())
    batches->deal(place_.env.rank, place_.env.world_size);
  if (run_.line) light_copy_.emplace(run_.parts.modules());
  run_.begin_training(line.name.round);
  run_.membership.require_unchanged();
}

/// Gives all members the state that is the line.
Line WorldImpl::synchronize(const Meeting& meeting) {
  const Membership& membership = run_.membership;
  const Loaded mine{membership.name(), membership.is_whole(), run_.parts.names()};
  const Line line = line_of(meeting.agree("loaded", word_of(mine), decide_line));
  if (line.lacking.empty()) return line;
  for (int attempt = 0; attempt < kTransfersMax; ++attempt)
    if (transfer(meeting, line, attempt)) return line;
  throw std::runtime_error{"the state of step " + std::to_string(line.name.step) +
                           " came with another digest " + std::to_string(kTransfersMax) + " times"};
}

/// Returns whether all digests are equal, and all that lack the state have got it.
bool WorldImpl::transfer(const Meeting& meeting, const Line& line, int attempt) {
  const int source = line.sources[static_cast<std::size_t>(attempt) % line.sources.size()];
  std::vector<int> members = line.lacking;
  members.push_back(source);
  std::ranges::sort(members);
  const bool lacks = std::ranges::find(line.lacking, place_.env.rank) != line.lacking.end();
  SafeTensors state;
  nlohmann::json digest;
  if (const auto group = group_->new_group(members)) {
    const auto root = std::ranges::find(members, source) - members.begin();
    StateCourier courier{*group, static_cast<int>(root)};
    state = courier.carry(lacks ? SafeTensors{} : run_.parts.state());
    digest = courier.digest();
  }
  const auto decision =
      meeting.agree("digests of transfer " + std::to_string(attempt), digest, decide_digests);
  if (!decision.at("equal").get<bool>()) return false;
  if (!lacks) return true;
  run_.membership.load(line.name);
  run_.parts.restore(state);
  return true;
}

void WorldImpl::compare_states(const Meeting& meeting) const {
  meeting.agree("states", digest_of(run_.parts.state_without_buffers()),
                decide_whether_states_differ);
}

std::int64_t WorldImpl::parts() const {
  const ElasticBatches* const batches = run_.parts.batches();
  return batches != nullptr ? batches->parts() : 1;
}

void WorldImpl::begin_part(const ElasticBatches& loader) {
  run_.membership.require_world("World::next()");
  if (&loader != run_.parts.batches())
    throw std::logic_error{"World::next() takes the loader that the run keeps"};
  if (part_ == parts())
    throw std::logic_error{"step " + std::to_string(run_.membership.name().step + 1) +
                           " has passed without its World::update()"};
  if (part_++ == 0) seed_step();
}

void WorldImpl::seed_step() const {
  if (!run_.options.seed) return;
  const std::uint64_t seed =
      seed_of(*run_.options.seed, run_.membership.name().step, place_.env.rank);
  const auto reseed = [&](at::Generator generator) {
    const std::lock_guard lock{generator.mutex()};
    generator.set_current_seed(seed);
  };
  reseed(at::detail::getDefaultCPUGenerator());
  if (group_->device().is_cuda()) reseed(at::globalContext().defaultGenerator(group_->device()));
}

void WorldImpl::update(const std::function<void()>& change, double loss) {
  require_results();
  begin_update();
  try {
    require_reduced();
  } catch (...) {
    drop_update();
    throw;
  }
  try {
    change();
  } catch (...) {
    end_update(/*well=*/false);
    throw;
  }
  end_update(/*well=*/true);
  part_ = 0;
  std::int64_t samples = 0;
  if (ElasticBatches* const batches = run_.parts.batches()) {
    batches->count_step();
    samples = batches->samples_of_worker();
  }
  if (light_copy_) light_copy_->take();
  run_.counted.tell(run_.membership.name().step, samples, loss);
}

void WorldImpl::begin_update() {
  std::unique_lock lock{run_.mutex};
  await_limit(lock);
  run_.membership.begin_update(run_.parts.batches() == nullptr || is_last_part());
}

void WorldImpl::drop_update() {
  const std::lock_guard lock{run_.mutex};
  run_.membership.drop_update();
}

void WorldImpl::end_update(bool well) {
  const std::lock_guard lock{run_.mutex};
  run_.membership.end_update(well);
}

/// A worker that gets a limit knows that all are held, so none finishes, and all leave.
void WorldImpl::end_loop() {
  std::unique_lock lock{run_.mutex};
  await_limit(lock);
  if (!run_.membership.end_loop()) run_.membership.require_unchanged();
}

/// Waits while this worker is held.
void WorldImpl::await_limit(std::unique_lock<std::mutex>& lock) const {
  run_.hold_ends.wait(lock, [this] { return !run_.membership.is_held(); });
}

/// Behind it all members know that all have counted the last step, so none takes one that hangs
/// up for lost.
void WorldImpl::await_members() const {
  group_->barrier();
  if (!frees_gpu()) return;
  await_stream(group_->device());
  if (!run_.membership.leaves_in_order()) run_.membership.require_unchanged();
}

/// False: a member was lost meanwhile.
bool WorldImpl::meets_members() const try {
  await_members();
  return true;
} catch (...) {
  return false;
}

/// What the GPU has received from other members is garbage where the world has ended meanwhile.
void WorldImpl::require_results() const {
  if (!frees_gpu()) return;
  await_stream(group_->device());
  run_.membership.require_unchanged();
}

/// A step whose gradients are not reduced must not count, also where the program has caught the
/// error. A reducer that waits in vain has noted already that it is done; but what it waits for in
/// vain has hung up.
void WorldImpl::require_reduced() const {
  if (run_.line && connections_->hung_up())
    throw WorldChanged{"a member is lost, perhaps before it has given its gradients"};
  try {
    reductions_->require_done();
  } catch (const std::runtime_error& e) {
    if (!run_.line) throw;
    throw WorldChanged{e.what()};
  }
}

/// Gloo's errors are plain std::runtime_errors in some places, and may come before the agent has
/// said anything. A world that ends in order causes none of them.
bool WorldImpl::comes_from_change() const try { throw; } catch (const WorldChanged&) {
  return true;
} catch (const CommunicationError&) {
  return true;
} catch (const c10::DistError&) {
  return true;
} catch (const std::exception&) {
  return run_.membership.is_told_to_leave() || connections_->hung_up();
} catch (...) {
  return false;
}

/// Whether the GPU may have to be freed from waiting for other members.
bool WorldImpl::frees_gpu() const { return run_.line && group_ && group_->device().is_cuda(); }

void WorldImpl::leave(bool orderly) {
  if (!orderly && frees_gpu()) {
    abort_gpu_groups();
    await_gpu(group_->device());
  }
  // What a thread of the program's own has of the group must not hold the others up.
  if (!orderly) connections_->shut_down();
  group_.reset();
  run_.membership.leave();
  connections_->close();
}

}  // namespace ddprun::sdk
