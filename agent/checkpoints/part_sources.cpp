#include "agent/checkpoints/part_sources.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace ddprun {

PartSources::PartSources(const std::vector<PartSource>& sources,
                         std::shared_ptr<const TlsContext> tls, int node)
    : tls_{std::move(tls)} {
  for (const PartSource& source : sources) sources_[source.part.part].push_back(source);
  for (auto& [part, of_part] : sources_) {
    const auto first = static_cast<std::size_t>(node + part) % of_part.size();
    // clang 14 does not compile std::ranges::rotate
    std::rotate(of_part.begin(), of_part.begin() + static_cast<std::ptrdiff_t>(first),
                of_part.end());
  }
}

std::vector<CheckpointPart> PartSources::parts() const {
  std::vector<CheckpointPart> parts;
  for (const auto& [part, of_part] : sources_) parts.push_back(of_part.front().part);
  return parts;
}

Result<Snapshot> PartSources::list(int part, Pace& pace) {
  Result<Snapshot> list = Snapshot{};
  const auto got = ask_one(part, [&](PartClient& client, const CheckpointPart& which) {
    list = client.list(which, pace);
    return list ? Result<void>{} : list.error();
  });
  return got ? list : got.error();
}

Result<void> PartSources::get(int part, const KeptFile& file, const std::filesystem::path& to,
                              Pace& pace) {
  return ask_one(part, [&](PartClient& client, const CheckpointPart& which) {
    return client.get(which, file, to, pace);
  });
}

std::vector<std::string> PartSources::complaints() const {
  const std::lock_guard lock{mutex_};
  return complaints_;
}

Result<void> PartSources::ask_one(int part, const Ask& ask) {
  Result<void> got = Error{Error::Kind::kUnavailable, "nobody has it"};
  const auto of_part = sources_.find(part);
  if (of_part == sources_.end()) return got;
  for (const PartSource& source : of_part->second) {
    auto client = client_of(source);
    got = client ? ask(**client, source.part) : client.error();
    const std::lock_guard lock{mutex_};
    if (got) idle_[source.endpoint].push_back(std::move(*client));
    if (got) return got;
    if (std::ranges::find(complaints_, got.error().message) == complaints_.end())
      complaints_.push_back(got.error().message);
  }
  return got;
}

Result<std::unique_ptr<PartClient>> PartSources::client_of(const PartSource& source) {
  {
    const std::lock_guard lock{mutex_};
    auto& idle = idle_[source.endpoint];
    if (!idle.empty()) {
      auto client = std::move(idle.back());
      idle.pop_back();
      return client;
    }
  }
  return PartClient::connect(source, tls_);
}

}  // namespace ddprun
