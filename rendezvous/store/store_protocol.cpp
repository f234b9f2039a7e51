#include "rendezvous/store/store_protocol.hpp"

#include <bit>

namespace ddprun {

static_assert(std::endian::native == std::endian::little, "the protocol is little-endian");

namespace {

// The arguments that follow an operation code.
struct Shape {
  bool counted;           // a u64 comes first, and then as many items; otherwise there is one item
  std::string_view item;  // its fields; k: key, v: value, q: 8-byte number, d: 4-byte number
};

constexpr std::array<Shape, std::variant_size_v<StoreRequest>> kShapes = {{
    {false, "d"},    // 0x00 VALIDATE
    {false, "kv"},   // 0x01 SET
    {false, "kvv"},  // 0x02 COMPARE_SET
    {false, "k"},    // 0x03 GET
    {false, "kq"},   // 0x04 ADD
    {true, "k"},     // 0x05 CHECK
    {true, "k"},     // 0x06 WAIT
    {false, ""},     // 0x07 GETNUMKEYS
    {false, "k"},    // 0x08 DELETE_KEY
    {false, "kv"},   // 0x09 APPEND
    {true, "k"},     // 0x0a MULTI_GET
    {true, "kv"},    // 0x0b MULTI_SET
    {false, ""},     // 0x0c CANCEL_WAIT
    {false, "d"},    // 0x0d PING
    {false, "kv"},   // 0x0e QUEUE_PUSH
    {false, "k"},    // 0x0f QUEUE_POP
    {false, "k"},    // 0x10 QUEUE_LEN
    {false, ""},     // 0x11 LIST_KEYS
    {false, "kq"},   // 0x12 BARRIER
}};

template <typename Number>
Number load(std::string_view bytes, std::size_t at) {
  Number number;
  std::memcpy(&number, bytes.data() + at, sizeof number);
  return number;
}

}  // namespace

RequestScanner::Progress RequestScanner::scan(std::string_view bytes) {
  const auto stopped = [&] {
    return error_.message.empty() ? Progress::kMore : Progress::kInvalid;
  };
  if (position_ == 0 && !begin(bytes)) return stopped();
  const Shape& shape = kShapes[code_];
  if (!counted_ && !count_items(bytes)) return stopped();
  while (items_walked_ < items_) {
    while (field_ < shape.item.size()) {
      if (!walk_field(shape.item[field_], bytes)) return stopped();
      ++field_;
    }
    ++items_walked_;
    field_ = 0;
  }
  return Progress::kComplete;
}

bool RequestScanner::begin(std::string_view bytes) {
  missing_ = 1;
  if (bytes.empty()) return false;
  code_ = static_cast<std::uint8_t>(bytes.front());
  if (code_ >= kShapes.size()) {
    return refuse("unknown operation code " + std::to_string(code_));
  }
  position_ = 1;
  counted_ = !kShapes[code_].counted;
  items_ = counted_ ? 1 : 0;
  return true;
}

bool RequestScanner::count_items(std::string_view bytes) {
  const std::size_t at = position_;
  if (!take(sizeof items_, 0, bytes)) return false;
  items_ = load<std::uint64_t>(bytes, at);
  if (items_ > limits_->keys_max) {
    return refuse("a request for " + std::to_string(items_) + " keys, more than the " +
                  std::to_string(limits_->keys_max) + " allowed");
  }
  counted_ = true;
  return true;
}

bool RequestScanner::walk_field(char kind, std::string_view bytes) {
  switch (kind) {
    case 'k':
      return walk_text(limits_->key_bytes_max, "key", bytes);
    case 'v':
      return walk_text(limits_->value_bytes_max, "value", bytes);
    default:
      const std::size_t size = kind == 'q' ? 8 : 4;
      fields_[field_] = {position_, size};
      return take(0, size, bytes);
  }
}

bool RequestScanner::walk_text(std::size_t bytes_max, const char* what, std::string_view bytes) {
  std::uint64_t length = 0;
  if (bytes.size() < position_ + sizeof length) return take(sizeof length, 0, bytes);
  length = load<std::uint64_t>(bytes, position_);
  if (length > bytes_max) {
    return refuse(std::string{"a "} + what + " of " + std::to_string(length) +
                  " bytes, more than the " + std::to_string(bytes_max) + " allowed");
  }
  fields_[field_] = {position_ + sizeof length, static_cast<std::size_t>(length)};
  return take(sizeof length, length, bytes);
}

// Walks over `prefix` and `length` bytes, and returns whether they were all there.
bool RequestScanner::take(std::size_t prefix, std::uint64_t length, std::string_view bytes) {
  const std::size_t end = position_ + prefix + static_cast<std::size_t>(length);
  if (end > limits_->request_bytes_max) {
    return refuse("a request of more than the " + std::to_string(limits_->request_bytes_max) +
                  " bytes allowed");
  }
  if (bytes.size() < end) {
    missing_ = end - bytes.size();
    return false;
  }
  position_ = end;
  return true;
}

bool RequestScanner::refuse(std::string sentence) {
  error_ = {Error::Kind::kInvalid, std::move(sentence)};
  return false;
}

void RequestScanner::restart() {
  position_ = 0;
  items_walked_ = 0;
  field_ = 0;
}

std::string_view RequestScanner::text(std::size_t field, std::string_view bytes) const {
  return bytes.substr(fields_[field].begin, fields_[field].length);
}

template <typename Number>
Number RequestScanner::number(std::size_t field, std::string_view bytes) const {
  return load<Number>(bytes, fields_[field].begin);
}

StoreFields RequestScanner::items(std::string_view bytes) const {
  constexpr std::size_t kBegin = 1 + sizeof(std::uint64_t);  // the code and the count
  return {static_cast<std::size_t>(items_), bytes.substr(kBegin, position_ - kBegin)};
}

StoreRequest RequestScanner::request(std::string_view bytes) const {
  using namespace store_request;
  switch (code_) {
    case 0x00:
      return Validate{number<std::uint32_t>(0, bytes)};
    case 0x01:
      return Set{text(0, bytes), text(1, bytes)};
    case 0x02:
      return CompareSet{text(0, bytes), text(1, bytes), text(2, bytes)};
    case 0x03:
      return Get{text(0, bytes)};
    case 0x04:
      return Add{text(0, bytes), number<std::int64_t>(1, bytes)};
    case 0x05:
      return Check{items(bytes)};
    case 0x06:
      return Wait{items(bytes)};
    case 0x07:
      return CountKeys{};
    case 0x08:
      return DeleteKey{text(0, bytes)};
    case 0x09:
      return Append{text(0, bytes), text(1, bytes)};
    case 0x0a:
      return MultiGet{items(bytes)};
    case 0x0b:
      return MultiSet{items(bytes)};
    case 0x0c:
      return CancelWait{};
    case 0x0d:
      return Ping{number<std::uint32_t>(0, bytes)};
    case 0x0e:
      return QueuePush{text(0, bytes), text(1, bytes)};
    case 0x0f:
      return QueuePop{text(0, bytes)};
    case 0x10:
      return QueueLength{text(0, bytes)};
    case 0x11:
      return ListKeys{};
    default:
      return Barrier{text(0, bytes), number<std::int64_t>(1, bytes)};
  }
}

namespace {

template <typename Number>
void write_number(std::string& out, Number number) {
  char bytes[sizeof number];
  std::memcpy(bytes, &number, sizeof number);
  out.append(bytes, sizeof bytes);
}

}  // namespace

void write_byte(std::string& out, std::uint8_t byte) { out.push_back(static_cast<char>(byte)); }
void write_u32(std::string& out, std::uint32_t number) { write_number(out, number); }
void write_i64(std::string& out, std::int64_t number) { write_number(out, number); }

void write_bytes(std::string& out, std::string_view bytes) {
  write_number(out, std::uint64_t{bytes.size()});
  out.append(bytes);
}

}  // namespace ddprun
