// EventFile: a file that TensorBoard reads.
//
// It is a TFRecord file (https://www.tensorflow.org/tutorials/load_data/tfrecord) of messages Event
// (https://github.com/tensorflow/tensorboard, tensorboard/compat/proto/event.proto). An Event with
// a few numbers takes a few lines to encode
// (https://protobuf.dev/programming-guides/encoding), so libprotobuf is not worth its weight here.
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ddprun::sdk {

/// Returns a record: the length of `data`, 8 bytes in little-endian; 4 bytes of checksum of these;
/// the data; 4 bytes of checksum of the data. The checksum is a masked CRC-32C.
std::string tf_record(std::string_view data);

/// Appends to a new file in a folder. Errors, of all its functions: std::runtime_error when the
/// file cannot be written.
class EventFile {
 public:
  /// Makes the folder if it is not there, and the file, whose name sorts after earlier ones.
  explicit EventFile(const std::filesystem::path& folder);

  /// Tells readers to forget what earlier files in the folder say of `step` and later ones.
  void restart_at(std::int64_t step);

  /// Adds the numbers of a step, each with its name; `time` is in seconds since 1970.
  void add(double time, std::int64_t step,
           const std::vector<std::pair<std::string, double>>& values);

 private:
  void write(std::string_view event);

  std::filesystem::path path_;
  std::ofstream file_;
};

}  // namespace ddprun::sdk
