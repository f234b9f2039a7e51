// Data sets in files, and how they are cut into parts.

#include <zlib.h>

#include <fstream>
#include <set>

#include "ddprun/data_partitioner.hpp"
#include "ddprun/mnist.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/scratch_folder.hpp"
#include "tests/worker_sdk/data/indices.hpp"

namespace ddprun::sdk {
namespace {

namespace fs = std::filesystem;

std::string idx(const std::vector<std::uint32_t>& shape, const std::string& numbers) {
  std::string text{0, 0, 8, static_cast<char>(shape.size())};
  for (const std::uint32_t extent : shape)
    for (int shift = 24; shift >= 0; shift -= 8) text += static_cast<char>(extent >> shift);
  return text + numbers;
}

void write(const fs::path& path, const std::string& bytes) {
  std::ofstream{path, std::ios::binary} << bytes;
}

void write_gzipped(const fs::path& path, const std::string& bytes) {
  const gzFile file = gzopen(path.c_str(), "wb");
  gzwrite(file, bytes.data(), static_cast<unsigned>(bytes.size()));
  gzclose(file);
}

TEST_CASE("MNIST is read from plain and from gzipped files, and from where torchvision puts them") {
  const ScratchFolder folder;
  const fs::path raw = folder / "MNIST/raw";
  fs::create_directories(raw);
  write_gzipped(raw / "train-images-idx3-ubyte.gz", idx({3, 1, 2}, {0, 51, 102, '\xff', 1, 2}));
  write_gzipped(raw / "train-labels-idx1-ubyte.gz", idx({3}, {5, 0, 9}));
  write(raw / "t10k-images-idx3-ubyte", idx({1, 1, 2}, {7, 8}));
  write(raw / "t10k-labels-idx1-ubyte", idx({1}, {3}));
  const Mnist mnist = load_mnist(folder.path());
  CHECK(mnist.train.images.sizes() == std::vector<std::int64_t>{3, 1, 1, 2});
  CHECK(
      torch::allclose(mnist.train.images.flatten(),
                      torch::tensor({0.0, 0.2, 0.4, 1.0, 1 / 255.0, 2 / 255.0}, torch::kFloat32)));
  CHECK(torch::equal(mnist.train.labels, torch::tensor({5, 0, 9})));
  CHECK(mnist.test.size() == 1);
}

TEST_CASE("an IDX file that is not whole is refused, naming it") {
  const ScratchFolder folder;
  const fs::path path = folder / "x";
  const auto error = [&](const std::string& bytes) -> std::string {
    write(path, bytes);
    try {
      load_idx(path);
    } catch (const std::runtime_error& e) {
      CHECK_THAT(e.what(), contains(path.string()));
      return e.what();
    }
    return "no error";
  };
  CHECK(error(idx({2}, "ab")) == "no error");
  CHECK_THAT(error(idx({3}, "ab")), contains("it has 2 numbers, its header says 3"));
  CHECK_THAT(error(idx({1}, "ab")), contains("longer than its header says"));
  CHECK_THAT(error("ab"), contains("it has no header"));
  CHECK_THAT(error(idx({1}, "").substr(0, 6)), contains("its header is cut off"));
  CHECK_THAT(error("text of some kind"), contains("does not begin with"));
  CHECK_THAT(error(idx({0xffffffff, 0xffffffff}, "")), contains("more than 16 GiB"));
}

TEST_CASE("a folder without MNIST is refused, naming what is missing") {
  const ScratchFolder folder;
  CHECK_THROWS_WITH(load_mnist(folder.path()), contains("no train-images-idx3-ubyte"));
  write(folder / "train-images-idx3-ubyte", idx({2, 1, 1}, "ab"));
  write(folder / "train-labels-idx1-ubyte", idx({1}, "a"));
  CHECK_THROWS_WITH(load_mnist(folder.path()), contains("1 labels for 2 images"));
}

TEST_CASE("the parts of a data set have the sizes that were asked for, and share nothing") {
  const DataPartitioner parts{1000, {0.7, 0.2, 0.1}};
  REQUIRE(parts.size() == 3);
  CHECK(parts.use(0).size() == 700);
  CHECK(parts.use(1).size() == 200);
  CHECK(parts.use(2).size() == 100);
  std::set<std::int64_t> all;
  for (std::size_t i = 0; i < 3; ++i) all.insert(parts.use(i).begin(), parts.use(i).end());
  CHECK(all.size() == 1000);
  CHECK(DataPartitioner{1000}.use(1) == parts.use(1));
  CHECK(DataPartitioner(1000, {0.7, 0.2, 0.1}, 7).use(1) != parts.use(1));
  CHECK_THROWS_AS(parts.use(3), std::out_of_range);
}

TEST_CASE("a partition that makes no sense is refused") {
  CHECK_THROWS_WITH((DataPartitioner{0}), contains("a data set of 0 samples"));
  CHECK_THROWS_WITH((DataPartitioner{10, {}}), contains("at least one"));
  CHECK_THROWS_WITH((DataPartitioner{10, {0.9, 0.2}}), contains("add up to 1.1"));
  CHECK_THROWS_WITH((DataPartitioner{10, {-0.1}}), contains("a fraction of -0.1"));
}

}  // namespace
}  // namespace ddprun::sdk
