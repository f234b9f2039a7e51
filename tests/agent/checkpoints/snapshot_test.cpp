#include "agent/checkpoints/snapshot.hpp"

#include <random>

#include "tests/agent/checkpoints/checkpoint_words.hpp"
#include "tests/support/catch.hpp"

namespace ddprun {
namespace {

using How = FileToKeep::How;

/// What would be done with each file, as "path how".
std::vector<std::string> planned(const FolderState& state, const Snapshot& previous) {
  static const std::map<How, std::string> kWords{
      {How::kAsBefore, "as before"}, {How::kLink, "link"}, {How::kCopy, "copy"}};
  std::vector<std::string> lines;
  for (const FileToKeep& file : plan_snapshot(folder_with(state), previous))
    lines.push_back(file.facts.path + " " + kWords.at(file.how));
  return lines;
}

using Lines = std::vector<std::string>;

TEST_CASE("a log is known by its name") {
  for (const char* path : {"train.log", "checkpoint-500/metrics.csv", "history.jsonl", "wandb",
                           "wandb/run-1/model.pt", "runs/events.out.tfevents.1790000000.host.1.0"})
    CHECK(is_log(path));
  for (const char* path : {"model.pt", "checkpoint-500/trainer_state.json", "log", "train.log.pt",
                           "wandb2/x", "out/wandb/model.pt", "tfevents/model.pt", ""})
    CHECK_FALSE(is_log(path));
}

TEST_CASE("a folder is no log, whatever its name, for a checkpoint may be in it") {
  CHECK_FALSE(is_left_out(a_folder("run.log")));
  CHECK(is_left_out(a_file("run.log")));
  CHECK(is_left_out(a_folder("wandb")));
  CHECK(is_left_out(a_folder(".ddprun")));
  CHECK(is_left_out(a_file(".ddprun/files.json")));
  CHECK_FALSE(is_left_out(a_file(".ddprun2")));
  CHECK(planned({a_folder("run.log"), a_file("run.log/model.pt")}, {}) ==
        Lines{"run.log copy", "run.log/model.pt copy"});
}

TEST_CASE("an unfinished name is one of a file or of a folder above it") {
  for (const char* path : {"model.pt.tmp", ".tmp1234", "a/x.part", "a.incomplete/model.pt",
                           ".tmp-checkpoint/model.pt", "a/b.tmp/c"})
    CHECK(is_unfinished(path));
  for (const char* path : {"model.pt", "tmp/model.pt", "a.tmp1", "checkpoint-500/part", ""})
    CHECK_FALSE(is_unfinished(path));
}

TEST_CASE("a path is found in a snapshot, and no other") {
  const Snapshot snapshot = snapshot_of(1, {a_file("a"), a_folder("b"), a_file("b/c")});
  CHECK(find_file(snapshot, "b/c")->facts.path == "b/c");
  for (const char* path : {"", "b/", "b/d", "c", "B"}) CHECK(find_file(snapshot, path) == nullptr);
}

TEST_CASE("a folder is as it was until a file's time, inode, size or mode is another one") {
  const FolderState state = folder_with({a_folder("c"), a_file("c/model.pt"), a_link("last", "c")});
  const Snapshot snapshot = snapshot_of(1, state);
  CHECK(has_same_files(state, snapshot));

  using Change = void (*)(FileFacts&);
  for (const Change change : std::initializer_list<Change>{
           [](FileFacts& file) { ++file.modified_ns; }, [](FileFacts& file) { ++file.inode; },
           [](FileFacts& file) { ++file.bytes; }, [](FileFacts& file) { file.mode = 0600; },
           [](FileFacts& file) { file.kind = FileFacts::Kind::kFolder; },
           [](FileFacts& file) { file.on_disk = true; }}) {
    FolderState other = state;
    change(other[1]);
    CHECK_FALSE(has_same_files(other, snapshot));
  }
  FolderState other = state;
  other[2].target = "d";
  CHECK_FALSE(has_same_files(other, snapshot));
}

TEST_CASE("a folder's own time and a link's say nothing, but what a folder may do does") {
  FolderState state = folder_with({a_folder("c"), a_link("last", "c")});
  const Snapshot snapshot = snapshot_of(1, state);
  for (FileFacts& facts : state) {
    ++facts.modified_ns;
    ++facts.inode;
  }
  CHECK(has_same_files(state, snapshot));
  state[0].mode = 0700;
  CHECK_FALSE(has_same_files(state, snapshot));
}

TEST_CASE("a folder with more or fewer files is another one, but for logs") {
  const Snapshot snapshot = snapshot_of(1, {a_file("a"), a_file("b")});
  CHECK_FALSE(has_same_files(folder_with({a_file("a")}), snapshot));
  CHECK_FALSE(has_same_files(folder_with({a_file("a"), a_file("b"), a_file("c")}), snapshot));
  CHECK(has_same_files(folder_with({a_file("a"), a_file("b"), a_file("x.log")}), snapshot));
  CHECK(has_same_files({a_file("x.log")}, {}));
}

TEST_CASE("a file is copied until the program has shown that it numbers its saves") {
  const Snapshot first = snapshot_of(
      1, {a_folder("checkpoint-500"), a_file("model.pt", 1), a_file("checkpoint-500/w.pt", 2)});
  CHECK(planned({a_folder("checkpoint-500"), a_file("checkpoint-500/w.pt", 2),
                 a_file("model.pt", 1), a_file("train.log")},
                {}) == Lines{"checkpoint-500 copy", "checkpoint-500/w.pt copy", "model.pt copy"});
  CHECK(planned({a_folder("checkpoint-500"), a_file("checkpoint-500/w.pt", 2),
                 a_folder("checkpoint-1000"), a_file("checkpoint-1000/w.pt", 3),
                 a_file("checkpoint-1000/new.pt", 4), a_file("model.pt", 9)},
                first) == Lines{"checkpoint-1000 link", "checkpoint-1000/new.pt copy",
                                "checkpoint-1000/w.pt link", "checkpoint-500 as before",
                                "checkpoint-500/w.pt as before", "model.pt copy"});
}

TEST_CASE("a numbered file that was written again is copied") {
  const Snapshot first = snapshot_of(1, {a_file("slot-0.pt", 1), a_file("slot-1.pt", 2)});
  CHECK(planned({a_file("slot-0.pt", 1), a_file("slot-1.pt", 3)}, first) ==
        Lines{"slot-0.pt as before", "slot-1.pt copy"});
}

TEST_CASE("the bytes of a save are those of its new files") {
  Snapshot snapshot = snapshot_of(3, {a_file("a", 1, 100), a_file("b", 2, 20), a_file("c", 3, 3)});
  file_of(snapshot, "b").since = 2;
  CHECK(new_bytes(snapshot) == 103);
  CHECK(new_bytes({}) == 0);
}

TEST_CASE("a checkpoint is called by the entry that changed last") {
  CHECK(title_of({}).empty());
  CHECK(title_of(snapshot_of(1, {a_folder("empty")})).empty());
  Snapshot snapshot = snapshot_of(2, {a_folder("checkpoint-1000"), a_file("checkpoint-1000/w.pt"),
                                      a_folder("checkpoint-500"), a_file("checkpoint-500/w.pt")});
  ++file_of(snapshot, "checkpoint-500/w.pt").facts.modified_ns;
  CHECK(title_of(snapshot) == "checkpoint-500");
  file_of(snapshot, "checkpoint-500/w.pt").since = 1;
  CHECK(title_of(snapshot) == "checkpoint-1000");
  Snapshot fenced = snapshot_of(2, {a_file(".fence", 2), a_file("checkpoint-3/w.pt")});
  CHECK(title_of(fenced) == "checkpoint-3");
  CHECK(title_of(snapshot_of(2, {a_file(".fence")})) == ".fence");
}

// --- as JSON ---

Snapshot snapshot_with_all() {
  FileFacts on_disk = a_file("d");
  on_disk.on_disk = true;
  FileFacts ancient = a_file("e");
  ancient.modified_ns = -5;
  Snapshot snapshot = snapshot_of(12, {a_folder("c"), a_file("c/größe \"1\".pt", 1, 0),
                                       a_link("l", "../out"), on_disk, ancient});
  snapshot.files[1].copied = true;
  return snapshot;
}

TEST_CASE("a snapshot is the same when it has been written and read") {
  const Snapshot snapshot = snapshot_with_all();
  const auto read = read_snapshot(to_text(snapshot));
  REQUIRE(read.has_value());
  CHECK(read->number == 12);
  CHECK(read->taken_unix_ms == snapshot.taken_unix_ms);
  REQUIRE(read->files.size() == snapshot.files.size());
  for (std::size_t i = 0; i < read->files.size(); ++i) {
    CHECK(read->files[i].facts == snapshot.files[i].facts);
    CHECK(read->files[i].digest == snapshot.files[i].digest);
    CHECK(read->files[i].since == snapshot.files[i].since);
    CHECK(read->files[i].copied == snapshot.files[i].copied);
  }
}

TEST_CASE("a list of files that somebody has sorted otherwise is sorted by path") {
  Snapshot snapshot = snapshot_of(1, {a_file("a"), a_file("b")});
  std::swap(snapshot.files[0], snapshot.files[1]);
  const auto read = read_snapshot(to_text(snapshot));
  REQUIRE(read.has_value());
  CHECK(read->files[0].facts.path == "a");
}

TEST_CASE("a path that leads out of the folder, or is there twice, is refused") {
  for (const std::string path :
       {"../x", "/etc/passwd", "a/../../x", "a//b", "", ".", "a/.", "a/", "..", "a\nb"}) {
    const auto read = read_snapshot(to_text(snapshot_of(1, {a_file("a"), a_file(path)})));
    INFO(path);
    REQUIRE(read.has_error());
    CHECK(read.error().kind == Error::Kind::kInvalid);
  }
  CHECK(read_snapshot(to_text(snapshot_of(1, {a_file("..a"), a_file("b..")}))).has_value());
}

TEST_CASE("a text that is no list of files is refused") {
  const std::string file = R"({"path": "a", "kind": "file", "modified_ns": 1, "inode": 1,
                               "mode": 1, "since": 1)";
  const auto list = [](const std::string& files) {
    return R"({"number": 1, "taken_unix_ms": 1, "files": [)" + files + "]}";
  };
  REQUIRE(read_snapshot(list(file + "}")).has_value());
  for (const std::string& text :
       {std::string{}, std::string{"nonsense"}, std::string{"[]"}, std::string{"{}"},
        std::string{R"({"number": "1", "taken_unix_ms": 1, "files": []})"},
        std::string{R"({"number": 1.5, "taken_unix_ms": 1, "files": []})"},
        std::string{R"({"number": 4294967297, "taken_unix_ms": 1, "files": []})"},
        std::string{R"({"number": 1, "taken_unix_ms": 1, "files": {}})"}, list("1"), list("[]"),
        list(R"({"path": "a"})"), list(file + R"(, "kind": 1})"), list(file + R"(, "bytes": "x"})"),
        list(file + R"(, "bytes": -5})"), list(file + R"(, "xxh3_128": 1})"),
        list(file + R"(, "copied": "yes"})"), list(file + "}, " + file + "}"), list(file)}) {
    INFO(text);
    CHECK(read_snapshot(text).has_error());
  }
}

TEST_CASE("no text of chance, and no damaged list, is more than refused") {
  std::mt19937 random{5};
  const std::string whole = to_text(snapshot_with_all());
  for (int i = 0; i < 2'000; ++i) {
    std::string text = whole.substr(0, random() % whole.size());
    if (i % 3 == 1) text += whole.substr(random() % whole.size());
    if (i % 3 == 2)
      for (char& c : text = whole.substr(0, 1 + random() % 40)) c = static_cast<char>(random());
    if (const auto read = read_snapshot(text)) CHECK(read_snapshot(to_text(*read)).has_value());
    std::string damaged = whole;
    damaged[random() % damaged.size()] = static_cast<char>(random());
    if (const auto read = read_snapshot(damaged)) CHECK(read_snapshot(to_text(*read)).has_value());
  }
}

}  // namespace
}  // namespace ddprun
