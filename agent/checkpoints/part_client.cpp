#include "agent/checkpoints/part_client.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <functional>
#include <optional>
#include <utility>

#include "agent/checkpoints/digest.hpp"
#include "base/clock.hpp"
#include "base/coroutines.hpp"
#include "base/descriptor.hpp"
#include "base/text.hpp"
#include "rendezvous/service/client.hpp"

namespace ddprun {

namespace fs = std::filesystem;

namespace {

/// Runs it to its end in a loop of its own.
template <typename T>
T run(asio::io_context& io, asio::awaitable<T> work) {
  std::optional<T> result;
  const auto note = [&](T value) { result = std::move(value); };
  start_coroutine(io, then(std::move(work), note), report_failure("getting a checkpoint"));
  io.restart();
  while (!result) io.run_one();
  return std::move(*result);
}

}  // namespace

/// Hands on the bytes that come in frames.
class PartClient::Taker : public TunnelEnd {
 public:
  explicit Taker(TakePiece take) : take_{std::move(take)} {}

  std::int64_t bytes() const { return bytes_; }
  const Result<void>& taken() const { return taken_; }

  Result<void> receive(const TunnelFrame& frame) override {
    const auto* const data = std::get_if<TunnelData>(&frame);
    if (data == nullptr) return taken_ = invalid("it is no part of a checkpoint");
    bytes_ += static_cast<std::int64_t>(data->bytes.size());
    return taken_ = take_(data->bytes);
  }
  void received_all() override {}
  void fill(std::string&, std::size_t) override {}

 private:
  TakePiece take_;
  std::int64_t bytes_ = 0;
  Result<void> taken_{};
};

namespace {

/// The line behind the frames. nullopt: nothing has come for kPartPatience, or the work is to end.
asio::awaitable<std::optional<Result<std::string>>> answer_of(
    Channel& channel, const std::function<std::int64_t()>& bytes, Pace& pace) {
  constexpr std::chrono::milliseconds kLookEvery{500};  // whether it is to end
  std::optional<Result<std::string>> line;
  std::int64_t before = -1;
  TimePoint gives_up{};
  while (!line && pace.spend(0)) {
    const TimePoint now = Clock::now();
    if (before != bytes()) gives_up = now + kPartPatience;
    if (now >= gives_up) break;
    before = bytes();
    line = co_await in_time(now + kLookEvery, channel.receive());
  }
  co_return line;
}

}  // namespace

PartClient::PartClient(const PartSource& source)
    : endpoint_{source.endpoint}, ticket_{source.ticket} {}

PartClient::~PartClient() {
  if (channel_) channel_->close();
  io_.poll();
}

Result<std::unique_ptr<PartClient>> PartClient::connect(
    const PartSource& source, const std::shared_ptr<const TlsContext>& tls) {
  const auto endpoint = read_endpoint(source.endpoint);
  if (!endpoint) return invalid("'" + source.endpoint + "' is no address");
  auto client = std::unique_ptr<PartClient>{new PartClient{source}};
  auto channel = run(client->io_, ddprun::connect(*endpoint, {kPartPatience, {}}, tls));
  if (!channel) return channel.error();
  client->channel_ = std::move(*channel);
  client->channel_->limit_lines(kPartLineBytesMax);
  return client;
}

Result<void> PartClient::ask(const CheckpointPart& part, const std::string& file, TakePiece take,
                             Pace& pace) {
  Taker taker{std::move(take)};
  channel_->carry(&taker);
  channel_->send(to_line(PartRequest{.ticket = ticket_,
                                     .number = part.number,
                                     .part = part.part,
                                     .parts = part.parts,
                                     .file = file}));
  const std::function<std::int64_t()> bytes = [&] { return taker.bytes(); };
  const auto line = run(io_, answer_of(*channel_, bytes, pace));
  channel_->carry(nullptr);
  if (!taker.taken()) return taker.taken();
  if (!line && !pace.spend(0)) return given_up();
  if (!line)
    return Error{Error::Kind::kTimeout, endpoint_ + " has given nothing for " +
                                            std::to_string(kPartPatience.count()) + " s"};
  if (!*line) return Error{Error::Kind::kUnavailable, endpoint_ + ": " + line->error().message};
  const auto answer = read_part_answer(**line);
  if (!answer) return answer.error();
  if (!answer->error.empty())
    return Error{Error::Kind::kUnavailable, endpoint_ + " says: " + plain_line(answer->error)};
  if (answer->bytes != taker.bytes()) return invalid(endpoint_ + " has sent less than it says");
  return {};
}

Result<Snapshot> PartClient::list(const CheckpointPart& part, Pace& pace) {
  std::string text;
  const auto got = ask(
      part, "",
      [&](std::string_view bytes) -> Result<void> {
        if (text.size() + bytes.size() > kFileListBytesMax) return invalid("the list is too long");
        text += bytes;
        if (!pace.spend(bytes.size())) return given_up();
        return {};
      },
      pace);
  if (!got) return got.error();
  auto snapshot = read_snapshot(text);
  if (!snapshot) return snapshot;
  // A node may not have heard yet that its part counts, and when the last one was kept.
  const bool is_another = snapshot->counts && snapshot->taken_unix_ms != part.taken_unix_ms;
  if (is_another || !is_part(*snapshot, part.number, part.part, part.parts))
    return invalid(endpoint_ + " has sent the list of another part");
  return snapshot;
}

Result<void> PartClient::get(const CheckpointPart& part, const KeptFile& file, const fs::path& to,
                             Pace& pace) {
  const std::string is_another =
      "'" + file.facts.path + "' has come from " + endpoint_ + " with other bytes than were saved";
  const auto written = write_file(to, [&](const TakePiece& write) -> Result<std::string> {
    Digest digest;
    std::int64_t left = file.facts.bytes;  // more would take memory that nobody has counted
    const auto got = ask(
        part, file.facts.path,
        [&](std::string_view bytes) -> Result<void> {
          left -= static_cast<std::int64_t>(bytes.size());
          if (left < 0) return invalid(is_another);
          digest.add(bytes.data(), bytes.size());
          if (!pace.spend(bytes.size())) return given_up();
          return write(bytes);
        },
        pace);
    if (!got) return got.error();
    if (left != 0 || (!file.digest.empty() && digest.text() != file.digest))
      return invalid(is_another);
    return digest.text();
  });
  return written ? Result<void>{} : written.error();
}

}  // namespace ddprun
