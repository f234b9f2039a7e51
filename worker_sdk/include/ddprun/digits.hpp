// The UCI handwritten digits: 1,797 images of 8 by 8 pixels
// (https://archive.ics.uci.edu/dataset/80). The file is the one that scikit-learn ships,
// sklearn/datasets/data/digits.csv.gz.
#pragma once

#include <torch/torch.h>

#include <ddprun/labelled_images.hpp>
#include <filesystem>

namespace ddprun::sdk {

/// The images, [N, 64] float32 from 0 to 1, in the file's order.
struct Digits {
  LabelledImages train;  // four of five images
  LabelledImages test;   // every fifth image, beginning with the first
};

/// Reads a comma-separated file, gzipped or plain, each line of which has 64 pixels from 0 to 16
/// and the digit that they show. Errors: std::runtime_error, naming file and line.
Digits load_digits(const std::filesystem::path& path);

}  // namespace ddprun::sdk
