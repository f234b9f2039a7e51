#include "rendezvous/rounds/job_checkpoints.hpp"

#include <algorithm>
#include <utility>

namespace ddprun {

using Node = Roster::Node;
using Said = CheckpointSaid::What;
using Order = CheckpointOrder::What;

namespace {

/// The nodes that have that checkpoint, by the part that each has.
std::map<int, NodeId> holders_of(const CheckpointPart& wanted,
                                 const std::map<NodeId, HeldCheckpoints>& held) {
  std::map<int, NodeId> holders;
  for (const auto& [node, what] : held)
    for (const CheckpointPart& part : what.parts)
      if (part.number == wanted.number && part.parts == wanted.parts && part.round == wanted.round)
        holders.emplace(part.part, node);
  return holders;
}

void note_part(HeldCheckpoints& held, const CheckpointPart& part) {
  held.parts.push_back(part);
  if (held.parts.size() > kPartsHeldMax) held.parts.erase(held.parts.begin());
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
  told_[node] = {held, true};
  for (const CheckpointPart& part : held.parts) number_ = std::max(number_, part.number);
  number_ = std::max(number_, held.written);
  written_ = std::max(written_, held.written);
}

void JobCheckpoints::lost(const NodeId& node, TimePoint now) {
  told_.erase(node);
  news_.erase(node);
  do_without(node, now);
}

/// What waits for it begins again when it has told what it holds.
void JobCheckpoints::came_back(const NodeId& node, TimePoint now) {
  if (!on()) return;
  told_[node].is_known = false;
  if (keep_ && keep_->at_end && keep_->awaited.contains(node)) kept_end_ = false;
  if (write_ && write_->number != 0) tried_ = false;
  do_without(node, now);
}

/// The node does not answer what it was ordered.
void JobCheckpoints::do_without(const NodeId& node, TimePoint now) {
  if (keep_ && keep_->awaited.contains(node)) keep_.reset();
  if (!write_ || (!write_->awaited.contains(node) && write_->mover != node)) return;
  write_->number == 0 ? write_.reset() : fail_to_write(now);  // then another node is to look
}

void JobCheckpoints::stand_by() {
  begin_round(0);
  end_round();
  told_.clear();
  write_.reset();
  write_at_.reset();
  counted_ = 0;
}

void JobCheckpoints::send(const NodeId& node, const CheckpointOrder& order) {
  if (const Node* const there = nodes_.find(node)) out_.send(there->peer(), order);
}

// --- while a round runs ---

void JobCheckpoints::begin_round(int nodes) {
  round_nodes_ = nodes;
  runs_ = true;
  keep_.reset();
  kept_end_ = tried_ = settled_ = is_unknown_ = false;
  late_at_.reset();
  writers_.clear();
  news_.clear();
  for (auto& [node, told] : told_) told.held.ended_well = false;
}

void JobCheckpoints::said(const NodeId& node, const CheckpointSaid& word, TimePoint now) {
  if (!on()) return;
  switch (word.what) {
    case Said::kSaved:
      news_.insert(node);
      break;
    case Said::kKept:
      kept(node, word, now);
      break;
    case Said::kStaged:
      if (!write_ || write_->number != word.number || write_->awaited.erase(node) == 0) break;
      if (!word.done)
        fail_to_write(now);
      else if (write_->awaited.empty())
        begin_moving(write_->number, write_->parts, write_->mover);
      break;
    case Said::kWritten:
      if (write_ && write_->awaited.empty() && write_->mover == node) moved(word, now);
      break;
  }
  tick(now);
}

void JobCheckpoints::tick(TimePoint now) {
  if (!on() || settled_) return;
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
  CheckpointOrder order{.what = Order::kCounts, .number = counted_};
  for (const std::string& path : ended.removed)
    if (order.removed.size() < kRemovedPathsMax) order.removed.push_back(path);
  const auto all = members();
  for (const Node* const node : all) {
    note_part(told_[node->id()].held,
              {counted_, node->seats.group_rank(), round_nodes_, job_.counters.round});
    out_.send(node->peer(), order);
  }
}

// --- to disk ---

/// Returns false where there is nothing that could be written.
bool JobCheckpoints::begin_writing() {
  std::map<NodeId, HeldCheckpoints> held;
  std::vector<CheckpointPart> found;
  for (const auto& [node, told] : told_) {
    if (nodes_.find(node) == nullptr) continue;
    held.emplace(node, told.held);
    found.insert(found.end(), told.held.parts.begin(), told.held.parts.end());
  }
  std::ranges::stable_sort(found, std::ranges::greater{}, &CheckpointPart::number);
  for (const CheckpointPart& newest : found) {
    if (newest.number <= written_) return false;
    const auto holders = holders_of(newest, held);
    if (static_cast<int>(holders.size()) < newest.parts) continue;
    write_ = Writing{.number = newest.number, .parts = newest.parts, .mover = holders.at(0)};
    for (const auto& [part, node] : holders) write_->awaited.insert(node);
    for (const NodeId& node : write_->awaited)
      send(node, {.what = Order::kStage, .number = newest.number});
    return true;
  }
  return false;
}

void JobCheckpoints::begin_moving(int number, int parts, const NodeId& mover) {
  write_ = Writing{.number = number, .parts = parts, .mover = mover};
  send(mover, {.what = Order::kMove, .number = number, .parts = parts});
}

void JobCheckpoints::moved(const CheckpointSaid& word, TimePoint now) {
  if (!word.done) return fail_to_write(now);
  const bool was_asked = write_->number == 0;
  write_.reset();
  write_at_.reset();
  written_ = word.number;
  number_ = std::max(number_, written_);
  if (was_asked) settled_ = true;
  out_.send_to_nodes(nodes_, CheckpointOrder{.what = Order::kWritten, .number = written_});
}

void JobCheckpoints::fail_to_write(TimePoint now) {
  if (write_->number == 0) settled_ = is_unknown_ = true;
  write_.reset();
  write_at_ = now + kWriteAgainAfter;
}

// --- between rounds ---

bool JobCheckpoints::have_all_ended_well() const {
  const auto all = members();
  return !all.empty() && static_cast<int>(all.size()) == round_nodes_ &&
         std::ranges::all_of(all, [&](const Node* node) {
           const auto told = told_.find(node->id());
           return node->phase() == Roster::Phase::kFinished ||
                  (told != told_.end() && told->second.held.ended_well);
         });
}

bool JobCheckpoints::settle() {
  if (!on() || settled_) return true;
  if (keep_) return false;
  if (!kept_end_ && have_all_ended_well()) {
    kept_end_ = true;
    begin_keeping(true, false);
    if (keep_) return false;
  }
  if (write_) return false;
  const Node* mover = nullptr;
  bool all_have_told = true;
  nodes_.for_each([&](const Node& node) {
    if (node.phase() != Roster::Phase::kReady && node.phase() != Roster::Phase::kFinished) return;
    if (mover == nullptr) mover = &node;
    const auto told = told_.find(node.id());
    all_have_told &= told != told_.end() && told->second.is_known;
  });
  if (mover == nullptr) return true;
  const bool writes = all_have_told && !std::exchange(tried_, true) && begin_writing();
  if (all_have_told && !writes) begin_moving(0, 1, mover->id());
  return false;
}

}  // namespace ddprun
