// MNIST and the data sets in its format (Fashion-MNIST, KMNIST, EMNIST): images and labels in IDX
// files (http://yann.lecun.com/exdb/mnist/), gzipped or plain. Nothing is downloaded.
#pragma once

#include <torch/torch.h>

#include <ddprun/labelled_images.hpp>
#include <filesystem>

namespace ddprun::sdk {

/// Images, float32 from 0 to 1, and their classes from 0 to 9.
struct Mnist {
  LabelledImages train;  // images [60000, 1, 28, 28]
  LabelledImages test;   // images [10000, 1, 28, 28]
};

/// Reads an IDX file of unsigned bytes into a uint8 tensor of the shape that its header tells.
/// Errors: std::runtime_error, naming the file and what is wrong with it.
torch::Tensor load_idx(const std::filesystem::path& path);

/// Reads train-images-idx3-ubyte, train-labels-idx1-ubyte, t10k-images-idx3-ubyte and
/// t10k-labels-idx1-ubyte, each with or without .gz, from `folder`, or from its subfolder
/// MNIST/raw, where torchvision puts them. Errors: std::runtime_error for a file that is missing or
/// damaged, naming it.
Mnist load_mnist(const std::filesystem::path& folder);

}  // namespace ddprun::sdk
