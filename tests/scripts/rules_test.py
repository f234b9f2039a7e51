#!/usr/bin/env python3
"""What scripts/check-rules sees: the size of classes and functions, and comments that begin in the middle."""

import pathlib
import shutil
import sys
import tempfile
import unittest
from unittest import mock

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "scripts"))

from rules import prose, sizes, sources  # noqa: E402

SKIPPED = 77

MACHINE = """
namespace ddprun {
class Machine {
 public:
  static constexpr int kMost = 3;
  explicit Machine(int rank) : rank_{rank} {}
  ~Machine() override;
  Machine(const Machine&) = delete;
  template <typename T>
  std::vector<Action> step(const T& event, TimePoint now);
  asio::awaitable<Result<void>> run() const { co_return Result<void>{}; }
  bool operator==(const Machine&) const = default;

 private:
  struct Part {
    int x = 0;
  };
  int rank_;
  std::size_t limit_ = std::size_t{1} << 20;
  std::string name_ = Rules{}.name;
  std::function<void(bool)> tell_ = [](bool) {};
};

inline int longest(
    int x) {
  if (x > 1'000) return '{';
  return x;
}
}
"""


class InFolder(unittest.TestCase):
    """A test that has a folder instead of the project."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        patched = mock.patch.object(sources, "ROOT", self.folder)
        patched.start()
        self.addCleanup(patched.stop)

    def write(self, path, text):
        (self.folder / path).parent.mkdir(parents=True, exist_ok=True)
        (self.folder / path).write_text(text)
        return {path: sources.language_of(path)}


class Sizes(InFolder):
    def setUp(self):
        super().setUp()
        self.files = self.write("agent/machine.hpp", MACHINE)
        self.tags = sources.tags(list(self.files))

    def test_functions_and_fields_are_counted_as_a_compiler_does(self):
        found = {each.name: (each.functions, each.fields) for each in sizes.classes(self.tags)}
        self.assertEqual(found, {"Machine": (4, 4), "Machine::Part": (0, 1)})

    def test_a_class_is_in_all_files_that_define_its_functions(self):
        self.files |= self.write("agent/machine.cpp", "namespace ddprun {\nMachine::~Machine() {}\n}\n")
        machine = next(each for each in sizes.classes(sources.tags(list(self.files))) if each.name == "Machine")
        self.assertEqual(machine.files, 2)

    def test_a_function_ends_at_its_brace(self):
        lengths = dict(sizes.function_lengths(self.files, self.tags))
        self.assertEqual(lengths["agent/machine.hpp:longest"], 5)

    def test_functions_of_scripts_are_measured_too(self):
        files = self.write("scripts/x.py", "def f():\n    a = 1\n    return a\n")
        self.assertEqual(dict(sizes.function_lengths(files, [])), {"scripts/x.py:f": 3})


class Comments(InFolder):
    def begin_in_the_middle(self, text, path="x.cpp"):
        return [line for _, line, _ in prose.headless(self.write(path, text))]

    def test_a_comment_that_needs_the_line_above_has_no_head(self):
        for text in ("// The same, but twice.", "/// Of a job that has ended.", "// Who asks has to wait.",
                     "int x;  // the same of the other one", "int x;  // of this node", "int x;  // what is left"):
            self.assertEqual(self.begin_in_the_middle(text), [1], text)

    def test_a_comment_that_names_its_subject_has_one(self):
        for text in ("// The same values as above.", "/// What the agent does.", "// Often it is enough.",
                     "int x;  // whatever is left", "int x;  // the rank of this node", "// offered to all"):
            self.assertEqual(self.begin_in_the_middle(text), [], text)

    def test_only_the_beginning_of_several_lines_counts(self):
        self.assertEqual(self.begin_in_the_middle("// The rank\n// of this node.\nint x;  // one\n        // of two\n"), [])
        self.assertEqual(self.begin_in_the_middle("// The rank.\n\n// of this node.\n"), [3])

    def test_what_only_looks_like_a_comment_is_none(self):
        self.assertEqual(self.begin_in_the_middle('auto x = "// of it";\nauto y = R"(\n// of it\n)";\n'), [])
        self.assertEqual(self.begin_in_the_middle("int x = 1'000;  // many\nint y = 2'000;  // of it\n"), [2])
        self.assertEqual(self.begin_in_the_middle('x = "# of it"\ny = 1  # of it\n', "x.py"), [2])


class Width(InFolder):
    def too_wide(self, text, path):
        return [line for _, line, _ in prose.too_wide(self.write(path, text))]

    def test_prose_is_measured_and_code_tables_and_addresses_are_not(self):
        wide = "w" * 121
        self.assertEqual(self.too_wide(f"{wide}\n```\n{wide}\n```\n| {wide} |\n[x]({wide})\n{wide}\n", "x.md"), [1, 7])
        self.assertEqual(self.too_wide(f"// {wide}\n// https://{wide}\n{wide}\n", "x.cpp"), [1])
        self.assertEqual(self.too_wide(f"# {wide}\nx = '{wide}'\n", "x.py"), [1])


if __name__ == "__main__":
    if not shutil.which("ctags"):
        print("skipped: there is no ctags: scripts/setup-packages quick")
        sys.exit(SKIPPED)
    unittest.main()
