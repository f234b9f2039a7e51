#include "agent/output/log_reader.hpp"

#include <algorithm>
#include <fstream>
#include <utility>

namespace ddprun {

namespace {

std::size_t size_of(std::ifstream& file) {
  file.seekg(0, std::ios::end);
  const auto end = file.tellg();
  return end < 0 ? 0 : static_cast<std::size_t>(end);
}

std::string read_at(std::ifstream& file, std::size_t offset, std::size_t bytes) {
  std::string text(bytes, '\0');
  file.seekg(static_cast<std::streamoff>(offset));
  file.read(text.data(), static_cast<std::streamsize>(bytes));
  text.resize(static_cast<std::size_t>(file.gcount()));
  return text;
}

}  // namespace

LogReader::LogReader(std::filesystem::path file, std::size_t tail_bytes) : file_{std::move(file)} {
  std::ifstream in{file_, std::ios::binary};
  if (!in) return;
  const std::size_t size = size_of(in);
  if (size <= tail_bytes) return;
  offset_ = size - tail_bytes;
  const std::string tail = read_at(in, offset_, tail_bytes);
  const std::size_t newline = tail.find('\n');
  if (newline != std::string::npos) offset_ += newline + 1;
}

std::string LogReader::read(std::size_t bytes_max) {
  std::ifstream in{file_, std::ios::binary};
  if (!in) return "";
  const std::size_t size = size_of(in);
  if (size < offset_) offset_ = 0;
  std::string text = read_at(in, offset_, std::min(size - offset_, bytes_max));
  offset_ += text.size();
  return text;
}

}  // namespace ddprun
