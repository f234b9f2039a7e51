// Samples out of tar files that Python has written: which, in which order, again, and not at all.

#include "ddprun/tar_shards.hpp"

#include <fstream>
#include <numeric>
#include <set>

#include "tests/support/catch.hpp"
#include "tests/worker_sdk/shards/shards_fixture.hpp"
#include "worker_sdk/shards/entry_name.hpp"

namespace ddprun::sdk {
namespace {

namespace fs = std::filesystem;

Numbers up_to(int size) {
  Numbers all(size);
  std::iota(all.begin(), all.end(), 0);
  return all;
}

TEST_CASE("a file's name says which sample it is of, and as what") {
  const auto split = [](const char* path) {
    const auto name = split_entry_name(path);
    return name ? name->key + "|" + name->field : "none";
  };
  CHECK(split("0001.jpg") == "0001|jpg");
  CHECK(split("a/b/0001.seg.PNG") == "a/b/0001|seg.png");
  CHECK(split("./0001.jpg") == "./0001|jpg");
  CHECK(split("v1.2/0001.") == "v1.2/0001|");
  CHECK(split("v1.2/readme") == "none");
  CHECK(split("a/.hidden") == "none");
  CHECK(split("__x__/0001.jpg") == "none");
  CHECK(split("__x__") == "none");
  CHECK(split("__x/0001.jpg") == "__x/0001|jpg");
  CHECK(split("") == "none");
}

TEST_CASE("files that follow one another and share a key are one sample, in every format") {
  const ScratchFolder folder;
  for (const std::string format : {"USTAR_FORMAT", "GNU_FORMAT", "PAX_FORMAT"}) {
    const fs::path path = folder / format;
    write_shards({"odd", path.string(), format});
    TarShards shards{{path}, {}};
    const auto first = shards.next();
    REQUIRE(first);
    CHECK(first->key == "000/a");
    CHECK(first->fields == std::map<std::string, std::string>{{"txt", "first"},
                                                              {"seg.png", std::string{"\0\1\2", 3}},
                                                              {"cls", "7"}});
    CHECK(shards.next()->key == "v1.2/b");
    CHECK(shards.next()->key == std::string(90, 'x') + "/" + std::string(90, 'y'));
    if (format != "USTAR_FORMAT") CHECK(shards.next()->key == std::string(300, 'z'));
    CHECK(shards.next()->key == "\xc3\xa4\xe6\x97\xa5");
    CHECK(shards.next()->fields.at("txt") == "the same name again, later");
    CHECK_FALSE(shards.next());
  }
}

TEST_CASE("gzipped shards are read as plain ones are") {
  const NumberedShards plain{3, 20};
  const NumberedShards gzipped{3, 20, "w:gz"};
  TarShards a{plain.paths(), {}};
  TarShards b{gzipped.paths(), {}};
  for (int epoch = 0; epoch < 2; ++epoch) CHECK(numbers(a) == numbers(b));
}

TEST_CASE("each shard is read by one stream, in another order in every epoch") {
  const NumberedShards files{13, 4};
  Numbers first_epoch;
  for (int epoch = 0; epoch < 3; ++epoch) {
    Numbers all;
    for (int rank = 0; rank < 2; ++rank)
      for (int worker = 0; worker < 3; ++worker) {
        TarShards shards{
            files.paths(),
            {.rank = rank, .world_size = 2, .worker = worker, .workers = 3, .seed = 5}};
        for (int passed = 0; passed < epoch; ++passed) numbers(shards);
        const Numbers own = numbers(shards);
        CHECK(own.size() >= 8);
        CHECK(own.size() <= 12);
        all.insert(all.end(), own.begin(), own.end());
      }
    if (epoch == 0) first_epoch = all;
    if (epoch == 1) CHECK(all != first_epoch);
    std::ranges::sort(all);
    CHECK(all == up_to(52));
  }
}

TEST_CASE("without shuffling, shards and samples come as they lie") {
  const NumberedShards files{3, 5};
  TarShards shards{files.paths(), {.shuffle_shards = false}};
  CHECK(numbers(shards) == up_to(15));
  CHECK(numbers(shards) == up_to(15));
}

TEST_CASE("the buffer shuffles samples, and holds no more than it may") {
  const NumberedShards files{2, 200};
  const TarShardsOptions options{.shuffle_shards = false, .seed = 1, .shuffle_buffer = 30};
  TarShards shards{files.paths(), options};
  const Numbers seen = numbers(shards);
  CHECK(seen != up_to(400));
  CHECK(std::set<int>(seen.begin(), seen.end()).size() == 400);
  for (int i = 0; i < 400; ++i) CHECK(seen[i] < i + 30);  // it was in the buffer then
  CHECK(std::ranges::any_of(up_to(300), [&](int i) { return seen[i] > i + 20; }));
  CHECK(numbers(shards) != seen);
  TarShards again{files.paths(), options};
  CHECK(numbers(again) == seen);
  // A sample has 5 + 3 + 5 + 3 + 1 bytes.
  TarShards small{files.paths(),
                  {.shuffle_shards = false, .shuffle_buffer = 30, .shuffle_bytes = 17 * 4}};
  const Numbers by_bytes = numbers(small);
  for (int i = 0; i < 400; ++i) CHECK(by_bytes[i] < i + 4);
}

/// What that many calls of next() return: -1 at the end of an epoch.
Numbers sequence(TarShards& shards, int calls) {
  Numbers all;
  for (int i = 0; i < calls; ++i) {
    const auto sample = shards.next();
    all.push_back(sample ? number_of(*sample) : -1);
  }
  return all;
}

TEST_CASE("a stream goes on where another one stood, with the same samples") {
  const NumberedShards files{5, 8, "w:gz"};
  for (const std::size_t buffer : {1, 7, 1000}) {
    const TarShardsOptions options{.world_size = 2, .seed = 9, .shuffle_buffer = buffer};
    TarShards whole{files.paths(), options};
    const Numbers expected = sequence(whole, 100);  // four epochs of 24, and their ends
    TarShards interrupted{files.paths(), options};
    for (int used = 0; used < 60; ++used) {
      TarShards resumed{files.paths(), options};
      sequence(resumed, 3);  // nothing of it must stay
      resumed.resume(interrupted.state());
      CHECK(resumed.state() == interrupted.state());
      CHECK(sequence(resumed, 40) ==
            Numbers(expected.begin() + used, expected.begin() + used + 40));
      interrupted.next();
    }
  }
}

TEST_CASE("states that cannot be are refused") {
  const NumberedShards files{3, 4};
  TarShards shards{files.paths(), {.shuffle_buffer = 2}};
  const auto refuses = [&](const ShardState& state) {
    CHECK_THROWS_WITH(shards.resume(state), contains("is none of 3 shards for 1 streams"));
  };
  refuses({.epoch = -1});
  refuses({.next = {4, 0}});
  refuses({.next = {3, 1}});
  refuses({.next = {0, -1}});
  refuses({.next = {1, 0}, .buffer = {{1, 0}}});
  refuses({.next = {1, 0}, .buffer = {{-1, 0}}});
  refuses({.next = {1, 0}, .buffer = {{0, 0}, {0, 1}, {0, 2}}});
  CHECK_THROWS_WITH(shards.resume({.next = {0, 5}}), contains("has fewer samples than when"));
  CHECK_THROWS_WITH(shards.resume({.next = {1, 0}, .buffer = {{0, 4}}}),
                    contains("has fewer samples than when"));
}

/// What reading all of a file says.
std::string error_of(const fs::path& path, const TarShardsOptions& options = {}) {
  try {
    TarShards shards{{path}, options};
    numbers(shards);
  } catch (const std::runtime_error& e) {
    CHECK_THAT(e.what(), contains("shard '" + path.string() + "'"));
    return e.what();
  }
  return "no error";
}

TEST_CASE("shards that cannot be read are named, with the entry") {
  const ScratchFolder folder;
  const fs::path path = folder / "a.tar";
  CHECK_THAT(error_of(path), contains("No such file"));
  std::ofstream{path} << "no tar, but a text that is longer than nothing";
  CHECK_THAT(error_of(path), contains("Unrecognized archive format"));
  write_shards({"fields", path.string(), "1.txt", "1.cls", "2.txt", "2.TXT"});
  CHECK_THAT(error_of(path), contains("entry '2.TXT': its sample has this field already"));
  write_shards({"fields", path.string(), "1.txt", "1.cls", "1.jpg"});
  CHECK_THAT(error_of(path, {.fields_max = 2}),
             contains("entry '1.jpg': its sample has more than 2"));
  CHECK_THAT(error_of(path, {.field_bytes_max = 7}),
             contains("entry '1.txt': it has 8 bytes, and 7 are allowed"));
  fs::resize_file(path, 512 * 3 + 4);  // in the second file
  CHECK_THAT(error_of(path), contains("entry '1.cls': Truncated"));
}

TEST_CASE("a gzipped shard that ends early is refused") {
  const NumberedShards files{1, 100, "w:gz"};
  const fs::path path = files.paths().front();
  fs::resize_file(path, fs::file_size(path) / 2);
  CHECK_THAT(error_of(path), contains("runcated"));  // libarchive 3.8 has a capital letter
}

TEST_CASE("options that make no sense are refused") {
  const std::vector<fs::path> two{"a", "b"};
  CHECK_THROWS_WITH((TarShards{two, {.rank = 2, .world_size = 2}}), contains("rank 2 of 2"));
  CHECK_THROWS_WITH((TarShards{two, {.worker = -1}}), contains("worker -1 of 1"));
  CHECK_THROWS_WITH((TarShards{two, {.shuffle_buffer = 0}}), contains("buffer of 0"));
  CHECK_THROWS_WITH((TarShards{two, {.world_size = 3}}), contains("2 shards for 3 ranks of 1"));
}

TEST_CASE("patterns of shards are expanded") {
  using Paths = std::vector<fs::path>;
  CHECK(expand_shards("a.tar") == Paths{"a.tar"});
  CHECK(expand_shards("t-{008..011}.tar") ==
        Paths{"t-008.tar", "t-009.tar", "t-010.tar", "t-011.tar"});
  CHECK(expand_shards("{x,y}/{1..2}") == Paths{"x/1", "x/2", "y/1", "y/2"});
  CHECK_THROWS_WITH(expand_shards("a{1..2"), contains("no end"));
  CHECK_THROWS_WITH(expand_shards("a{2..1}"), contains("the smaller one first"));
  CHECK_THROWS_WITH(expand_shards("a{-1..1}"), contains("two numbers"));
  CHECK_THROWS_WITH(expand_shards("{0..999999999999}"), contains("more than a million"));
  CHECK_THROWS_WITH(expand_shards("{0..9999}{0..9999}"), contains("more than a million"));
  const std::string long_name(100, 'x');
  CHECK_THROWS_WITH(expand_shards("{0..999999}" + long_name), contains("more than 64 MiB of text"));
  CHECK_THROWS_WITH(expand_shards("{0..99999}{" + long_name + "," + long_name + "}{0..4}"),
                    contains("more than 64 MiB of text"));
}

}  // namespace
}  // namespace ddprun::sdk
