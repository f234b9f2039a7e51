#include "worker_sdk/progress/event_file.hpp"

#include <unistd.h>

#include <array>
#include <bit>
#include <boost/crc.hpp>
#include <chrono>
#include <cstdio>
#include <stdexcept>

namespace ddprun::sdk {

namespace {

template <typename Number>
std::string little_endian(Number number) {
  std::string bytes;
  for (std::size_t i = 0; i < sizeof(number); ++i)
    bytes.push_back(static_cast<char>((number >> (8 * i)) & 0xff));
  return bytes;
}

std::string checksum(std::string_view data) {
  boost::crc_optimal<32, 0x1EDC6F41, 0xFFFFFFFF, 0xFFFFFFFF, true, true> crc;  // CRC-32C
  crc.process_bytes(data.data(), data.size());
  const std::uint32_t sum = crc.checksum();
  return little_endian<std::uint32_t>((sum >> 15 | sum << 17) + 0xa282ead8U);
}

// The encoding of protocol buffers: a field is its number and type, and its value.

std::string varint(std::uint64_t number) {
  std::string bytes;
  for (; number >= 0x80; number >>= 7) bytes.push_back(static_cast<char>((number & 0x7f) | 0x80));
  bytes.push_back(static_cast<char>(number));
  return bytes;
}

std::string field(std::uint64_t number, std::int64_t value) {
  return varint(number << 3) + varint(static_cast<std::uint64_t>(value));
}

std::string field(std::uint64_t number, double value) {
  return varint(number << 3 | 1) + little_endian(std::bit_cast<std::uint64_t>(value));
}

std::string field(std::uint64_t number, float value) {
  return varint(number << 3 | 5) + little_endian(std::bit_cast<std::uint32_t>(value));
}

std::string field(std::uint64_t number, std::string_view value) {
  return varint(number << 3 | 2) + varint(value.size()).append(value);
}

double unix_seconds() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration<double>{now}.count();
}

/// As TensorFlow names them, with microseconds: readers take the files in the order of their names.
std::string file_name() {
  std::array<char, 64> host{};
  gethostname(host.data(), host.size() - 1);
  std::array<char, 160> name{};
  std::snprintf(name.data(), name.size(), "events.out.tfevents.%017.6f.%s.%d", unix_seconds(),
                host.data(), getpid());
  return name.data();
}

}  // namespace

std::string tf_record(std::string_view data) {
  const std::string length = little_endian<std::uint64_t>(data.size());
  return (length + checksum(length)).append(data) + checksum(data);
}

EventFile::EventFile(const std::filesystem::path& folder) : path_{folder / file_name()} {
  std::filesystem::create_directories(folder);
  file_.open(path_, std::ios::binary);
  write(field(1, unix_seconds()) + field(3, std::string_view{"brain.Event:2"}));
}

void EventFile::restart_at(std::int64_t step) {
  const std::string started = field(1, std::int64_t{1});  // SessionLog.status = START
  write(field(1, unix_seconds()) + field(2, step) + field(7, std::string_view{started}));
}

void EventFile::add(double time, std::int64_t step,
                    const std::vector<std::pair<std::string, double>>& values) {
  std::string summary;
  for (const auto& [name, number] : values) {
    const std::string value =
        field(1, std::string_view{name}) + field(2, static_cast<float>(number));
    summary += field(1, std::string_view{value});
  }
  write(field(1, time) + field(2, step) + field(5, std::string_view{summary}));
}

void EventFile::write(std::string_view event) {
  const std::string record = tf_record(event);
  file_.write(record.data(), static_cast<std::streamsize>(record.size())).flush();
  if (!file_) throw std::runtime_error{"cannot write the metrics '" + path_.string() + "'"};
}

}  // namespace ddprun::sdk
