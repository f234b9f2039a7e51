#include "rendezvous/rounds/job_checkpoints.hpp"

#include <algorithm>
#include <utility>

namespace ddprun {

using Node = Roster::Node;
using Said = CheckpointSaid::What;
using Order = CheckpointOrder::What;

namespace {

/// Those that may be in the next round.
std::vector<const Node*> waiting_nodes(const Roster& nodes) {
  std::vector<const Node*> waiting;
  nodes.for_each([&](const Node& node) {
    if (node.phase() == Roster::Phase::kReady || node.phase() == Roster::Phase::kFinished)
      waiting.push_back(&node);
  });
  return waiting;
}

int count_waiting(const Roster& nodes) {
  return nodes.count(Roster::Phase::kReady) + nodes.count(Roster::Phase::kFinished);
}

/// Whether it is known what all of these hold. Each of ten thousand nodes tells, and this is asked
/// each time: while some are to tell it, it takes no look at all the others.
bool have_all_told(const Roster& nodes, const HeldParts& held) {
  return count_waiting(nodes) <= held.nodes() &&
         std::ranges::all_of(waiting_nodes(nodes),
                             [&](const Node* node) { return held.knows(node->id()); });
}

}  // namespace

// --- who is there ---

/// The nodes of the last round that are here, in the order of their ranks.
std::vector<const Node*> JobCheckpoints::members() const {
  std::vector<const Node*> members;
  if (job_.counters.round == 0) return members;
  nodes_.for_each([&](const Node& node) {
    if (node.seats.round() == job_.counters.round) members.push_back(&node);
  });
  std::ranges::sort(members, {}, [](const Node* node) { return node->seats.group_rank(); });
  return members;
}

void JobCheckpoints::holds(const NodeId& node, const HeldCheckpoints& held) {
  if (!on()) return;
  settling_.in_vain_for.reset();
  const auto before = held_.knows(node) ? std::nullopt : held_.part_of(node, counts_.number);
  held_.tells(node, held);
  if (runs_ && before && !held_.part_of(node, counts_.number)) {
    // The same agent has kept it, and has not heard that it counts.
    held_.note(node, *before);
    send(node, counts_);
  }
  for (const CheckpointPart& part : held.parts) number_ = std::max(number_, part.number);
  number_ = std::max(number_, held.written);
  written_ = std::max(written_, held.written);
}

void JobCheckpoints::lost(const NodeId& node, TimePoint now) {
  settling_.in_vain_for.reset();
  held_.lost(node);
  news_.erase(node);
  do_without(node, now);
}

/// What waits for it begins again when it has told what it holds.
void JobCheckpoints::came_back(const NodeId& node, TimePoint now) {
  if (!on()) return;
  settling_.in_vain_for.reset();
  held_.doubt(node);
  if (keep_ && keep_->concerns(node)) {
    if (keep_->at_end)
      settling_.kept_end = false;
    else
      news_.insert(node);
  }
  if (write_ && write_->number != 0) settling_.tried = false;
  do_without(node, now);
}

bool JobCheckpoints::Writing::waits_for(const NodeId& node) const {
  return mover == node ||
         std::ranges::any_of(awaited, [&](const auto& part) { return part.second == node; });
}

/// The node does not answer what it was ordered.
void JobCheckpoints::do_without(const NodeId& node, TimePoint now) {
  if (keep_ && keep_->concerns(node)) keep_.reset();
  if (!write_ || !write_->waits_for(node)) return;
  write_->number == 0 ? write_.reset() : fail_to_write(now);  // then another node is to look
}

void JobCheckpoints::stand_by() {
  recover_round(0);
  end_round();
  held_.clear();
  write_.reset();
  write_at_.reset();
  counted_ = 0;
  counts_ = {};
  loads_ = {};
  has_seen_all_ = false;
}

void JobCheckpoints::send(const NodeId& node, const CheckpointOrder& order) {
  if (const Node* const there = nodes_.find(node)) out_.send(there->peer(), order);
}

// --- while a round runs ---

void JobCheckpoints::begin_round(int nodes, const RoundCheckpoint& from) {
  // What was in memory alone goes to disk in the round.
  counted_ = std::max(counted_, from.number);
  if (on()) loads_.begin_round(from);
  has_seen_all_ = from.number != kUnknownCheckpoint;
  recover_round(nodes);
}

void JobCheckpoints::recover_round(int nodes) {
  if (write_) write_->in_vain = true;
  round_nodes_ = nodes;
  runs_ = true;
  keep_.reset();
  settling_ = {};
  late_at_.reset();
  writers_.clear();
  news_.clear();
  held_.begin_round();
}

void JobCheckpoints::said(const NodeId& node, const CheckpointSaid& word, TimePoint now) {
  if (!on()) return;
  settling_.in_vain_for.reset();
  switch (word.what) {
    case Said::kSaved:
      news_.insert(node);
      break;
    case Said::kKept:
      kept(node, word, now);
      break;
    case Said::kStaged:
      staged(node, word, now);
      break;
    case Said::kCopied:
      if (word.done) held_.note_copy(node, word.number, word.part);
      break;
    case Said::kWritten:
      if (write_ && write_->moves() && write_->mover == node) moved(word, now);
      break;
  }
  tick(now);
}

void JobCheckpoints::tick(TimePoint now) {
  if (!on() || settling_.settled) return;
  const bool is_late = late_at_ && now >= *late_at_;
  // Where workers were stopped, a folder may have half of a save that looks as if it had ended.
  if (runs_ && !keep_ && (!news_.empty() || is_late)) begin_keeping(false, is_late);
  if (write_ || counted_ <= written_ || (write_at_ && now < *write_at_)) return;
  write_at_.reset();
  begin_writing();
}

std::optional<TimePoint> JobCheckpoints::next_due() const {
  std::optional<TimePoint> due = keep_ ? std::nullopt : late_at_;
  if (!write_ && counted_ > written_ && write_at_)
    due = due ? std::min(*due, *write_at_) : write_at_;
  return due;
}

/// All nodes keep their parts at once, so that none is older than what others have seen of it.
void JobCheckpoints::begin_keeping(bool at_end, bool late) {
  const auto all = members();
  if (late) late_at_.reset();
  if (all.empty() || static_cast<int>(all.size()) < round_nodes_) return;
  keep_ = Keeping{.number = ++number_, .at_end = at_end, .late = late};
  for (const Node* const node : all) keep_->awaited.insert(node->id());
  for (const Node* const node : all)
    out_.send(node->peer(),
              CheckpointOrder{.what = Order::kKeep, .number = number_, .at_end = at_end});
}

void JobCheckpoints::kept(const NodeId& node, const CheckpointSaid& word, TimePoint now) {
  if (!keep_ || keep_->number != word.number || keep_->awaited.erase(node) == 0) return;
  keep_->refused |= !word.done;
  news_.erase(node);  // one that is saving says so when that has ended
  if (word.changed) keep_->changed.insert(node);
  keep_->sizes[node] = {
      .taken_unix_ms = word.taken_unix_ms, .bytes = word.bytes, .older_bytes = word.older_bytes};
  keep_->removed.insert(word.removed.begin(), word.removed.end());
  if (keep_->awaited.empty()) conclude(now);
}

/// A node that has saved for the checkpoint before, and not yet for this one, may be about to.
void JobCheckpoints::conclude(TimePoint now) {
  Keeping ended = *std::exchange(keep_, std::nullopt);
  if (ended.refused || ended.changed.empty()) return;
  const bool all_have_saved = std::ranges::includes(ended.changed, writers_);
  if (!all_have_saved && !ended.late && !ended.at_end) {
    if (!late_at_) late_at_ = now + kLateSave;
    return;
  }
  late_at_.reset();
  writers_ = std::move(ended.changed);
  counted_ = ended.number;
  loads_.counted();
  counts_ = {.what = Order::kCounts, .number = counted_};
  for (const std::string& path : ended.removed)
    if (counts_.removed.size() < kRemovedPathsMax) counts_.removed.push_back(path);
  for (const auto& [node, part] : ended.sizes)
    counts_.taken_unix_ms = std::max(counts_.taken_unix_ms, part.taken_unix_ms);
  const auto all = members();
  std::vector<CheckpointPart> parts;
  for (const Node* const node : all) {
    CheckpointPart part = ended.sizes[node->id()];
    part.number = counted_;
    part.part = node->seats.group_rank();
    part.parts = round_nodes_;
    part.taken_unix_ms = counts_.taken_unix_ms;
    held_.note(node->id(), parts.emplace_back(part));
  }
  // Ranks follow the machines' places: the next node may share the rack and the switch.
  for (std::size_t at = 0; at < all.size(); ++at) {
    const std::size_t from = (at + all.size() / 2) % all.size();
    CheckpointOrder order = counts_;
    if (auto source = held_.source_of(parts[from], all[from]->id()); source && from != at)
      order.copies.push_back(std::move(*source));
    out_.send(all[at]->peer(), order);
  }
}

void JobCheckpoints::round_failed(const Cause* cause) {
  loads_.failed(cause, job_.steps_since_start());
}

// --- to disk ---

/// Returns false where there is nothing that could be written.
bool JobCheckpoints::begin_writing() {
  const auto whole = held_.newest_whole(written_, {});
  if (!whole) return false;
  write_ = Writing{.number = whole->number, .parts = whole->parts, .awaited = {}, .mover = {}};
  for (const auto& [part, holders] : whole->holders)
    write_->awaited.emplace(part, holders.front().node);
  write_->mover = write_->awaited.at(0);
  for (const auto& [part, node] : write_->awaited)
    send(node,
         {.what = Order::kStage, .number = whole->number, .part = part, .parts = whole->parts});
  return true;
}

void JobCheckpoints::staged(const NodeId& node, const CheckpointSaid& word, TimePoint now) {
  if (!write_ || write_->number != word.number) return;
  const auto part = write_->awaited.find(word.part);
  if (part == write_->awaited.end() || part->second != node) return;
  if (!word.done) return fail_to_write(now);
  write_->awaited.erase(part);
  if (write_->awaited.empty()) begin_moving(write_->number, write_->parts, write_->mover);
}

void JobCheckpoints::begin_moving(int number, int parts, const NodeId& mover) {
  write_ = Writing{.number = number, .parts = parts, .awaited = {}, .mover = mover};
  send(mover, {.what = Order::kMove, .number = number, .parts = parts});
}

void JobCheckpoints::moved(const CheckpointSaid& word, TimePoint now) {
  if (!word.done) return fail_to_write(now);
  const bool was_asked = write_->number == 0 && !write_->in_vain;
  write_.reset();
  write_at_.reset();
  written_ = word.number;
  number_ = std::max(number_, written_);
  if (was_asked) settling_.settled = true;
  out_.send_to_nodes(nodes_, CheckpointOrder{.what = Order::kWritten, .number = written_});
}

void JobCheckpoints::fail_to_write(TimePoint now) {
  if (write_->number == 0 && !write_->in_vain) settling_.settled = settling_.is_unknown = true;
  write_.reset();
  write_at_ = now + kWriteAgainAfter;
}

// --- between rounds ---

bool JobCheckpoints::have_all_ended_well() const {
  const auto all = members();
  return !all.empty() && static_cast<int>(all.size()) == round_nodes_ &&
         std::ranges::all_of(all, [&](const Node* node) {
           return node->phase() == Roster::Phase::kFinished || held_.has_ended_well(node->id());
         });
}

/// Returns whether some node is to answer first.
bool JobCheckpoints::keep_last_save() {
  if (!keep_ && !settling_.kept_end && have_all_ended_well()) {
    settling_.kept_end = true;
    begin_keeping(true, false);
  }
  return keep_.has_value();
}

bool JobCheckpoints::settle() {
  if (!on() || settling_.settled) return true;
  if (keep_last_save() || write_) return false;
  if (count_waiting(nodes_) == 0) return true;
  if (!have_all_told(nodes_, held_)) return false;
  const bool writes = !std::exchange(settling_.tried, true) && begin_writing();
  if (!writes) begin_moving(0, 1, waiting_nodes(nodes_).front()->id());
  return false;
}

bool JobCheckpoints::is_ready() {
  if (!on() || settling_.settled) return true;
  // Each beat of ten thousand nodes asks, while one of them looks at the disk.
  if (write_ && settling_.in_vain_for == count_waiting(nodes_)) return false;
  if (keep_last_save()) return false;
  if (in_memory()) return true;
  settling_.in_vain_for = count_waiting(nodes_);
  return settle();
}

RoundCheckpoint JobCheckpoints::next() const {
  // One node knows itself how often it has loaded its newest one.
  if (!on()) return {.older = rules_.terms.checkpoints && loads_.are_alike()};
  if (!settling_.settled)
    if (auto start = in_memory()) return std::move(*start);
  return {.number = settling_.is_unknown ? kUnknownCheckpoint : written_};
}

/// The newest one, if all nodes that wait can have all of it in memory. What is on disk is never
/// newer: where that is not sure, the disk is looked at.
std::optional<RoundCheckpoint> JobCheckpoints::in_memory() const {
  if (!on() || count_waiting(nodes_) == 0 || !have_all_told(nodes_, held_)) return std::nullopt;
  const auto waiting = waiting_nodes(nodes_);
  const int moving = write_ && write_->moves() ? write_->number : 0;
  const int on_disk = std::max(written_, moving);
  const auto newest_without = [&](const std::set<int>& failing) -> std::optional<RoundCheckpoint> {
    const int least = failing.contains(on_disk) ? 1 : std::max(on_disk, 1);
    const auto whole = held_.newest_whole(least - 1, failing);
    if (!whole || (!has_seen_all_ && whole->number < number_)) return std::nullopt;
    auto sources = held_.sources_of(*whole);  // there are none where a round is too large
    if (sources.empty()) return std::nullopt;
    const bool fits = std::ranges::all_of(waiting, [&](const Node* node) {
      return held_.bytes_lacking(*whole, node->id()) <= held_.room_of(node->id());
    });
    if (!fits) return std::nullopt;
    return RoundCheckpoint{.number = whole->number, .sources = std::move(sources)};
  };
  if (loads_.blame_last())
    if (auto older = newest_without(loads_.failing_with_last())) {
      older->older = true;
      return older;
    }
  return newest_without(loads_.failing());
}

}  // namespace ddprun
