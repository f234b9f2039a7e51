#include "ddprun/digits.hpp"

#include <array>
#include <charconv>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

#include "worker_sdk/data/gzip_file.hpp"

namespace ddprun::sdk {

namespace {

constexpr int kPixels = 64;
constexpr float kBrightest = 16;
constexpr std::int64_t kTestEvery = 5;
constexpr std::size_t kLineBytesMax = 4096;

using Line = std::array<int, kPixels + 1>;

Line parse_line(const char* text, const std::string& where) {
  Line values{};
  const char* end = text + std::strlen(text);
  for (std::size_t i = 0; i < values.size(); ++i) {
    double value = 0;  // the file has both "5" and "5.0"
    const auto [next, error] = std::from_chars(text, end, value);
    const int most = i < kPixels ? static_cast<int>(kBrightest) : 9;
    if (error != std::errc{} || value < 0 || value > most)
      throw std::runtime_error{where + ": value " + std::to_string(i + 1) +
                               " is no number from 0 to " + std::to_string(most)};
    values[i] = static_cast<int>(value);
    text = next < end && *next == ',' ? next + 1 : next;
  }
  if (text < end && *text != '\n' && *text != '\r')
    throw std::runtime_error{where + ": more than 65 values"};
  return values;
}

std::vector<Line> read_lines(const std::filesystem::path& path) {
  GzipFile file{path};
  std::vector<Line> lines;
  std::array<char, kLineBytesMax> text{};
  while (file.read_line(text.data(), static_cast<int>(text.size())))
    lines.push_back(
        parse_line(text.data(), path.string() + ":" + std::to_string(lines.size() + 1)));
  if (lines.empty()) throw std::runtime_error{"'" + path.string() + "' is empty"};
  return lines;
}

}  // namespace

Digits load_digits(const std::filesystem::path& path) {
  const std::vector<Line> lines = read_lines(path);
  const auto count = static_cast<std::int64_t>(lines.size());
  const LabelledImages all{torch::empty({count, kPixels}), torch::empty({count}, torch::kInt64)};
  auto pixels = all.images.accessor<float, 2>();
  auto labels = all.labels.accessor<std::int64_t, 1>();
  for (std::int64_t i = 0; i < count; ++i) {
    for (int p = 0; p < kPixels; ++p) pixels[i][p] = static_cast<float>(lines[i][p]) / kBrightest;
    labels[i] = lines[i][kPixels];
  }
  const torch::Tensor is_test = torch::arange(count).remainder(kTestEvery) == 0;
  return {all.select(is_test.logical_not().nonzero().squeeze(1)),
          all.select(is_test.nonzero().squeeze(1))};
}

}  // namespace ddprun::sdk
