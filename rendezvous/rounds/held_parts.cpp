#include "rendezvous/rounds/held_parts.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <utility>

#include "base/endpoint.hpp"

namespace ddprun {

namespace {

/// Nodes that save come before those that copy.
constexpr std::array kLists{&HeldCheckpoints::parts, &HeldCheckpoints::copies};

/// A node that has not got its place yet may be given a part by any of these.
constexpr std::size_t kSourcesOfPartMax = 8;

void note_last(std::vector<CheckpointPart>& parts, const CheckpointPart& part) {
  parts.push_back(part);
  if (parts.size() > kPartsHeldMax) parts.erase(parts.begin());
}

}  // namespace

void HeldParts::note(const NodeId& node, const CheckpointPart& part) {
  note_last(told_[node].held.parts, part);
}

void HeldParts::note_copy(const NodeId& node, int number, int part) {
  for (const auto& [owner, told] : told_)
    for (const CheckpointPart& own : told.held.parts)
      if (owner != node && own.number == number && own.part == part && own.parts > 1)
        return note_last(told_[node].held.copies, own);
}

void HeldParts::begin_round() {
  for (auto& [node, told] : told_) told.held.ended_well = false;
}

bool HeldParts::knows(const NodeId& node) const {
  const auto told = told_.find(node);
  return told != told_.end() && told->second.is_known;
}

bool HeldParts::has_ended_well(const NodeId& node) const {
  const auto told = told_.find(node);
  return told != told_.end() && told->second.held.ended_well;
}

std::optional<CheckpointPart> HeldParts::part_of(const NodeId& node, int number) const {
  const auto told = told_.find(node);
  if (told == told_.end()) return std::nullopt;
  const auto& parts = told->second.held.parts;
  const auto part = std::ranges::find(parts, number, &CheckpointPart::number);
  return part == parts.end() ? std::nullopt : std::optional{*part};
}

std::int64_t HeldParts::room_of(const NodeId& node) const {
  const auto told = told_.find(node);
  return told == told_.end() ? 0 : told->second.held.room;
}

WholeCheckpoint HeldParts::holders_of(const CheckpointPart& wanted) const {
  WholeCheckpoint whole{.number = wanted.number, .parts = wanted.parts, .holders = {}};
  for (const auto list : kLists)
    for (const auto& [node, told] : told_) {
      if (nodes_.find(node) == nullptr) continue;
      for (const CheckpointPart& part : told.held.*list)
        if (is_of_one(part, wanted)) whole.holders[part.part].push_back({node, part});
    }
  return whole;
}

std::optional<WholeCheckpoint> HeldParts::newest_whole(int older,
                                                       const std::set<int>& without) const {
  std::vector<CheckpointPart> found;
  for (const auto& [node, told] : told_)
    for (const auto list : kLists)
      found.insert(found.end(), (told.held.*list).begin(), (told.held.*list).end());
  std::ranges::stable_sort(found, std::ranges::greater{}, &CheckpointPart::number);
  std::vector<CheckpointPart> tried;  // a part of each: a checkpoint may have ten thousand
  for (const CheckpointPart& newest : found) {
    if (newest.number <= older) break;
    if (without.contains(newest.number)) continue;
    const auto is_same = [&](const CheckpointPart& part) { return is_of_one(part, newest); };
    if (std::ranges::any_of(tried, is_same)) continue;
    tried.push_back(newest);
    WholeCheckpoint whole = holders_of(newest);
    if (static_cast<int>(whole.holders.size()) == whole.parts) return whole;
  }
  return std::nullopt;
}

std::int64_t HeldParts::bytes_lacking(const WholeCheckpoint& whole, const NodeId& node) const {
  std::int64_t bytes = 0;
  std::int64_t older = 0;
  bool has_part = false;
  for (const auto& [number, holders] : whole.holders) {
    const CheckpointPart& part = holders.front().part;
    older = std::max(older, part.older_bytes);
    if (std::ranges::find(holders, node, &WholeCheckpoint::Holder::node) == holders.end())
      bytes += part.bytes;
    else
      has_part = true;  // and what all had when the round began
  }
  return has_part ? bytes : bytes + older;
}

std::vector<PartSource> HeldParts::sources_of(const WholeCheckpoint& whole) const {
  const auto parts = static_cast<std::size_t>(whole.parts);
  const std::size_t of_part = std::min(kSourcesOfPartMax, kPartSourcesMax / parts);
  std::vector<PartSource> sources;
  for (const auto& [number, holders] : whole.holders) {
    const std::size_t before = sources.size();
    for (const auto& [node, part] : holders)
      if (sources.size() - before < of_part)
        if (auto source = source_of(part, node)) sources.push_back(std::move(*source));
    if (sources.size() == before) return {};
  }
  return sources;
}

std::optional<PartSource> HeldParts::source_of(const CheckpointPart& part,
                                               const NodeId& node) const {
  const auto told = told_.find(node);
  const Roster::Node* const there = nodes_.find(node);
  if (told == told_.end() || there == nullptr || told->second.held.port == 0) return std::nullopt;
  // Each node knows by itself where the coordinator is, and what stands there for its loopback.
  Endpoint endpoint{there->address, static_cast<std::uint16_t>(told->second.held.port)};
  if (is_loopback(endpoint.host)) endpoint.host.clear();
  return PartSource{part, text_of(endpoint), told->second.held.ticket};
}

}  // namespace ddprun
