#include "worker_sdk/checkpoint_files/tensor_table.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <utility>

#include "worker_sdk/checkpoint_files/shown_text.hpp"

namespace ddprun::sdk {

namespace {

using nlohmann::json;

constexpr char kMetadataName[] = "__metadata__";

struct ElementSize {
  std::string_view dtype;
  std::uint64_t bytes;
};
constexpr std::array kElementSizes{
    ElementSize{"F64", 8}, ElementSize{"F32", 4},  ElementSize{"F16", 2}, ElementSize{"BF16", 2},
    ElementSize{"I64", 8}, ElementSize{"I32", 4},  ElementSize{"I16", 2}, ElementSize{"I8", 1},
    ElementSize{"U8", 1},  ElementSize{"BOOL", 1},
};

/// Returns how many bytes the tensor has; nullopt when no tensor can have such a shape. Extents of
/// zero do not hide others that are too large to be multiplied.
std::optional<std::uint64_t> byte_count(const TensorEntry& entry) {
  constexpr auto kMost = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  std::uint64_t bytes = element_bytes(entry.dtype);
  bool empty = false;
  for (const std::int64_t extent : entry.shape) {
    if (extent < 0) return std::nullopt;
    const auto times = static_cast<std::uint64_t>(extent);
    empty = empty || times == 0;
    if (times > 1 && bytes > kMost / times) return std::nullopt;
    bytes *= std::max<std::uint64_t>(times, 1);
  }
  return empty ? 0 : bytes;
}

std::string in_quotes(const std::string& name) { return "'" + shown(name) + "'"; }

/// Takes the header's JSON piece by piece, and builds the table without a tree of all values.
class TableReader : public nlohmann::json_sax<json> {
 public:
  explicit TableReader(std::uint64_t data_bytes) : data_bytes_{data_bytes} {}

  TableReader(const TableReader&) = delete;
  TableReader& operator=(const TableReader&) = delete;

  TensorTable take() { return std::move(table_); }
  const std::string& problem() const { return problem_; }

  bool start_object(std::size_t) override {
    if (at_ == At::kBegin) return go(At::kNames);
    if (at_ == At::kTensor) return go(At::kFields);
    if (at_ == At::kMetadata) return go(At::kNotes);
    return misplaced();
  }

  bool key(string_t& name) override {
    if (at_ == At::kNames) return begin_entry(name);
    if (at_ == At::kFields) return begin_field(name);
    if (table_.metadata.size() == kTensorsMax)
      return fail("it has more than " + std::to_string(kTensorsMax) + " notes in its metadata");
    note_ = name;
    return go(At::kNote);
  }

  bool string(string_t& text) override {
    if (at_ == At::kNote) {
      table_.metadata[note_] = text;
      return go(At::kNotes);
    }
    if (at_ != At::kDtype) return misplaced();
    tensor_->second.dtype = text;
    if (element_bytes(text) == 0) return wrong("has the unknown dtype " + in_quotes(text));
    return go(At::kFields);
  }

  bool start_array(std::size_t) override {
    if (at_ == At::kShape) return go(At::kExtents);
    if (at_ == At::kPlace) return go(At::kOffsets);
    return misplaced();
  }

  bool number_unsigned(number_unsigned_t value) override {
    if (at_ == At::kOffsets) {
      offsets_.push_back(value);
      return offsets_.size() <= 2 || misplaced();
    }
    if (at_ != At::kExtents) return misplaced();
    auto& shape = tensor_->second.shape;
    constexpr auto kMost = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
    if (shape.size() == kDimensionsMax || value > kMost) return impossible_shape();
    shape.push_back(static_cast<std::int64_t>(value));
    return true;
  }

  bool number_integer(number_integer_t) override {  // a negative one
    return at_ == At::kExtents ? impossible_shape() : misplaced();
  }

  bool end_array() override {
    if (at_ == At::kOffsets && offsets_.size() != 2) return misplaced();
    return go(At::kFields);
  }

  bool end_object() override {
    if (at_ == At::kFields) return end_tensor();
    return go(at_ == At::kNotes ? At::kNames : At::kEnd);
  }

  bool null() override { return misplaced(); }
  bool boolean(bool) override { return misplaced(); }
  bool number_float(number_float_t, const string_t&) override { return misplaced(); }
  bool binary(binary_t&) override { return misplaced(); }
  bool parse_error(std::size_t, const std::string&, const json::exception& error) override {
    return fail(std::string{"its header makes no sense: "} + error.what());
  }

 private:
  // What comes next.
  enum class At {
    kBegin,
    kNames,
    kTensor,
    kFields,
    kDtype,
    kShape,
    kExtents,
    kPlace,
    kOffsets,
    kMetadata,
    kNotes,
    kNote,
    kEnd
  };

  bool go(At next) {
    at_ = next;
    return true;
  }

  bool begin_entry(const std::string& name) {
    if (name == kMetadataName) return go(At::kMetadata);
    if (table_.tensors.size() == kTensorsMax)
      return fail("it has more than " + std::to_string(kTensorsMax) + " tensors");
    const auto [tensor, is_new] = table_.tensors.try_emplace(name);
    tensor_ = tensor;
    if (!is_new) return wrong("is there twice");
    has_dtype_ = has_shape_ = has_place_ = false;
    offsets_.clear();
    return go(At::kTensor);
  }

  bool begin_field(const std::string& name) {
    if (name == "dtype") return begin_field(has_dtype_, At::kDtype);
    if (name == "shape") return begin_field(has_shape_, At::kShape);
    if (name == "data_offsets") return begin_field(has_place_, At::kPlace);
    return wrong("has the unknown field " + in_quotes(name));
  }

  bool begin_field(bool& seen, At next) {
    if (std::exchange(seen, true)) return misplaced();
    return go(next);
  }

  bool end_tensor() {
    if (!has_dtype_ || !has_shape_ || !has_place_)
      return fail("its header makes no sense: tensor " + in_quotes(tensor_->first) +
                  " lacks dtype, shape or data_offsets");
    TensorEntry& entry = tensor_->second;
    entry.begin = offsets_[0];
    entry.end = offsets_[1];
    if (entry.begin > entry.end || entry.end > data_bytes_) return wrong("reaches beyond its end");
    const auto bytes = byte_count(entry);
    if (!bytes) return impossible_shape();
    if (*bytes != entry.end - entry.begin) return wrong("has a size that does not fit its shape");
    return go(At::kNames);
  }

  bool misplaced() {
    if (at_ == At::kBegin) return fail("its header is not an object");
    return fail("its header makes no sense: a value is not what the format has there" +
                (table_.tensors.empty() ? "" : ", in tensor " + in_quotes(tensor_->first)));
  }
  bool impossible_shape() { return wrong("has an impossible shape"); }
  bool wrong(const std::string& what) {
    return fail("tensor " + in_quotes(tensor_->first) + " " + what);
  }
  bool fail(std::string what) {
    problem_ = std::move(what);
    return false;
  }

  std::uint64_t data_bytes_;
  TensorTable table_;
  std::string problem_;
  At at_ = At::kBegin;
  std::map<std::string, TensorEntry>::iterator tensor_;  // the one that is being read
  bool has_dtype_ = false;
  bool has_shape_ = false;
  bool has_place_ = false;
  std::vector<std::uint64_t> offsets_;
  std::string note_;
};

[[noreturn]] void fail(const std::string& what) {
  throw std::runtime_error{shown(what, kProblemBytesMax)};
}

/// The tensors must fill the rest of the file without holes and overlaps, as the format demands.
void check_places(const TensorTable& table, std::uint64_t data_bytes) {
  std::vector<std::pair<std::uint64_t, std::uint64_t>> places;
  for (const auto& [name, entry] : table.tensors) places.emplace_back(entry.begin, entry.end);
  std::ranges::sort(places);
  std::uint64_t position = 0;
  for (const auto& [begin, end] : places) {
    if (begin != position) fail("its tensors overlap or leave a hole");
    position = end;
  }
  if (position != data_bytes) fail("it is longer or shorter than its tensors");
}

}  // namespace

std::uint64_t element_bytes(std::string_view dtype) {
  const auto* found = std::ranges::find(kElementSizes, dtype, &ElementSize::dtype);
  return found == kElementSizes.end() ? 0 : found->bytes;
}

void check_header_length(std::uint64_t claimed, std::uint64_t file_bytes) {
  if (file_bytes < kHeaderLengthBytes) fail("it has " + std::to_string(file_bytes) + " bytes");
  if (claimed > file_bytes - kHeaderLengthBytes)
    fail("its header claims " + std::to_string(claimed) + " bytes");
  if (claimed > kHeaderBytesMax)
    fail("its header claims " + std::to_string(claimed) + " bytes, and " +
         std::to_string(kHeaderBytesMax) + " are read at most");
}

TensorTable parse_tensor_table(std::string_view header, std::uint64_t data_bytes) {
  TableReader reader{data_bytes};
  if (!json::sax_parse(header, &reader)) fail(reader.problem());
  TensorTable table = reader.take();
  check_places(table, data_bytes);
  return table;
}

}  // namespace ddprun::sdk
