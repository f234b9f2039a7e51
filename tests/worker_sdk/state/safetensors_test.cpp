#include "ddprun/safetensors.hpp"

#include <sys/stat.h>

#include <cstring>
#include <fstream>

#include "tests/support/catch.hpp"
#include "tests/support/scratch_folder.hpp"

namespace ddprun::sdk {
namespace {

class FileFixture {
 protected:
  /// A file with that header and that many bytes of data.
  void write(const std::string& header, std::size_t data_bytes, std::uint64_t claimed_length = 0) {
    std::ofstream file{path_, std::ios::binary};
    const std::uint64_t length = claimed_length != 0 ? claimed_length : header.size();
    file.write(reinterpret_cast<const char*>(&length), sizeof length);
    file << header << std::string(data_bytes, '\0');
  }
  std::string error() {
    try {
      load_safetensors(path_);
    } catch (const std::runtime_error& e) {
      CHECK_THAT(e.what(), contains(path_.string()));
      return e.what();
    }
    return "no error";
  }

  ScratchFolder folder_;
  std::filesystem::path path_ = folder_ / "x.safetensors";
};

TEST_CASE_METHOD(FileFixture, "tensors of every dtype and shape come back as they were") {
  SafeTensors written;
  for (const auto type :
       {torch::kFloat64, torch::kFloat32, torch::kFloat16, torch::kBFloat16, torch::kInt64,
        torch::kInt32, torch::kInt16, torch::kInt8, torch::kUInt8, torch::kBool})
    written.tensors[c10::toString(type)] = (torch::arange(6).reshape({2, 3}) % 2).to(type);
  written.tensors["scalar"] = torch::tensor(7.5);
  written.tensors["empty"] = torch::empty({0, 3});
  written.tensors["transposed"] = torch::arange(6).reshape({2, 3}).t();
  written.metadata = {{"epoch", "3"}, {"quote", "\"\n"}};
  save_safetensors(path_, written);

  const SafeTensors read = load_safetensors(path_);
  CHECK(read.metadata == written.metadata);
  REQUIRE(read.tensors.size() == written.tensors.size());
  for (const auto& [name, tensor] : written.tensors) {
    INFO(name);
    CHECK(read.tensors.at(name).scalar_type() == tensor.scalar_type());
    CHECK(torch::equal(read.tensors.at(name), tensor));
  }
}

/// How much memory this process has that is no file's, in bytes.
std::size_t anonymous_bytes() {
  std::ifstream rollup{"/proc/self/smaps_rollup"};
  std::string word;
  std::size_t kib = 0;
  while (rollup >> word)
    if (word == "Anonymous:") rollup >> kib;
  return kib * 1024;
}

TEST_CASE_METHOD(FileFixture,
                 "what is loaded stays in the file, also when that has lost its name") {
  constexpr std::int64_t kNumbers = 16'000'000;
  save_safetensors(path_, {{{"a", torch::arange(kNumbers, torch::kFloat32)}}, {}});
  const std::size_t before = anonymous_bytes();
  const torch::Tensor loaded = load_safetensors(path_).tensors.at("a");
  CHECK(loaded[kNumbers - 1].item<float>() == static_cast<float>(kNumbers - 1));
  CHECK(anonymous_bytes() < before + kNumbers);  // a quarter of it
  std::filesystem::remove(path_);
  CHECK(loaded[kNumbers - 2].item<float>() == static_cast<float>(kNumbers - 2));
}

TEST_CASE_METHOD(FileFixture, "a tensor that was loaded may be changed; the file stays as it is") {
  save_safetensors(path_, {{{"a", torch::ones({3})}}, {}});
  load_safetensors(path_).tensors.at("a").fill_(7);
  CHECK(torch::equal(load_safetensors(path_).tensors.at("a"), torch::ones({3})));
}

TEST_CASE_METHOD(FileFixture, "tensors may lie where numbers of their dtype cannot be") {
  write(R"({"a":{"dtype":"U8","shape":[3],"data_offsets":[0,3]},)"
        R"("b":{"dtype":"F32","shape":[2],"data_offsets":[3,11]}})",
        11);
  const SafeTensors read = load_safetensors(path_);
  CHECK(torch::equal(read.tensors.at("b"), torch::zeros({2})));
  const auto address = reinterpret_cast<std::uintptr_t>(read.tensors.at("b").const_data_ptr());
  CHECK(address % sizeof(float) == 0);
}

TEST_CASE_METHOD(FileFixture, "a dtype that the format lacks is refused, and no file appears") {
  CHECK_THROWS_WITH(save_safetensors(path_, {{{"z", torch::zeros({1}, torch::kComplexFloat)}}, {}}),
                    contains("tensor 'z' is of dtype ComplexFloat"));
  CHECK(std::filesystem::is_empty(folder_.path()));
}

TEST_CASE_METHOD(FileFixture, "a file that cannot be written is named, with the reason") {
  CHECK_THROWS_WITH(save_safetensors(folder_ / "no/such/folder/x", {}),
                    contains("No such file or directory"));
  CHECK_THROWS_WITH(load_safetensors(folder_ / "absent"), contains("cannot open"));
}

TEST_CASE_METHOD(FileFixture, "a file that could not be read again is not written") {
  SafeTensors contents;
  contents.metadata["notes"] = std::string(20'000'000, 'x');
  CHECK_THROWS_WITH(save_safetensors(path_, contents), contains("too many for a safetensors file"));
  CHECK(std::filesystem::is_empty(folder_.path()));
}

TEST_CASE_METHOD(FileFixture, "a file is found through a link, and nobody waits for a pipe") {
  write(R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}})", 4);
  std::filesystem::create_symlink(path_, folder_ / "link");
  CHECK(load_safetensors(folder_ / "link").tensors.size() == 1);
  std::filesystem::remove(path_);
  REQUIRE(mkfifo(path_.c_str(), 0600) == 0);
  CHECK_THAT(error(), contains("is no regular file"));
}

TEST_CASE_METHOD(FileFixture, "nothing that a file claims is believed unchecked") {
  const std::string good = R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})";
  write(good, 8);
  CHECK(error() == "no error");
  write(good, 7);
  CHECK_THAT(error(), contains("reaches beyond its end"));
  write(good, 9);
  CHECK_THAT(error(), contains("longer or shorter than its tensors"));
  write(good, 8, 1ULL << 63);
  CHECK_THAT(error(), contains("its header claims 9223372036854775808 bytes"));
  write(R"({"a":{"dtype":"F32","shape":[3],"data_offsets":[0,8]}})", 8);
  CHECK_THAT(error(), contains("does not fit its shape"));
  write(R"({"a":{"dtype":"F32","shape":[-2],"data_offsets":[0,8]}})", 8);
  CHECK_THAT(error(), contains("impossible shape"));
  write(R"({"a":{"dtype":"F32","shape":[4611686018427387904,4],"data_offsets":[0,0]}})", 0);
  CHECK_THAT(error(), contains("impossible shape"));
  write(R"({"a":{"dtype":"F99","shape":[2],"data_offsets":[0,8]}})", 8);
  CHECK_THAT(error(), contains("unknown dtype 'F99'"));
  write(R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},)"
        R"("b":{"dtype":"U8","shape":[4],"data_offsets":[2,6]}})",
        6);
  CHECK_THAT(error(), contains("overlap"));
  write("{" + std::string(20'000'000, ' ') + "}", 0);
  CHECK_THAT(error(), contains("are read at most"));
  write(R"({"a":{"dtype":"U8","shape":[4]}})", 4);
  CHECK_THAT(error(), contains("makes no sense"));
  write("[]", 0);
  CHECK_THAT(error(), contains("not an object"));
  write("{\"a", 0);
  CHECK_THAT(error(), contains("makes no sense"));
  std::ofstream{path_, std::ios::trunc} << "abc";
  CHECK_THAT(error(), contains("it has 3 bytes"));
}

}  // namespace
}  // namespace ddprun::sdk
