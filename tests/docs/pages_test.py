#!/usr/bin/env python3
"""What README.md and docs/ name is there, and what they list is complete: pages_test.py DDPRUN"""

import re
import subprocess
import sys
import unittest

from markdown import PROJECT, anchors, blocks, links, pages, prose

COLUMNS_MAX = 120
# Paths in the checkout. A page may also name files of its reader's, which are elsewhere.
PATH = re.compile(r"(?<![\w./-])((?:scripts|tests|docs|base|rendezvous|agent|launcher|worker_sdk)/[\w./-]*\w)")
BUILT = re.compile(r"(?<![\w./-])build/(\w+)(?![\w./-])")
SDK_PROGRAM = PROJECT / "worker_sdk" / "examples"


def places(pattern):
    """(page:line, what the pattern finds) of all pages, code included."""
    for page in pages():
        for number, line in enumerate(page.read_text().splitlines(), 1):
            for match in pattern.finditer(line):
                yield f"{page.relative_to(PROJECT)}:{number}", match


class PagesTest(unittest.TestCase):
    def test_every_path_is_there(self):
        missing = [f"{place}: {match[1]}" for place, match in places(PATH)
                   if not (PROJECT / match[1]).exists()]
        self.assertEqual(missing, [])

    def test_every_program_of_the_build_is_one(self):
        ours = {"ddprun", "dev", "site"} | {path.stem for path in SDK_PROGRAM.glob("*.cpp")}
        cmake = "".join(path.read_text() for path in (PROJECT / "tests").glob("**/CMakeLists.txt"))
        missing = [f"{place}: build/{match[1]}" for place, match in places(BUILT)
                   if match[1] not in ours and match[1] not in cmake]
        self.assertEqual(missing, [])

    def test_every_subject_of_bench_is_one(self):
        bench = (PROJECT / "scripts" / "bench").read_text()
        subjects = re.findall(r'"(\w+)"', re.search(r"SUBJECTS = \[(.*?)\]", bench, re.DOTALL)[1])
        unknown = [f"{place}: {match[0]}" for place, match in places(re.compile(r"scripts/bench (\w+)`"))
                   if match[1] not in subjects]
        self.assertEqual(unknown, [])

    def test_every_link_within_leads_somewhere(self):
        broken = []
        for page in pages():
            for number, target in links(page):
                if target.startswith(("http://", "https://")):
                    continue
                path, _, anchor = target.partition("#")
                other = (page.parent / path) if path else page
                if not other.exists() or (anchor and anchor not in anchors(other)):
                    broken.append(f"{page.relative_to(PROJECT)}:{number}: {target}")
        self.assertEqual(broken, [])

    def test_prose_fits_the_columns(self):
        long = [f"{page.relative_to(PROJECT)}:{number}: {len(line)} columns"
                for page in pages() for number, line in prose(page)
                if len(line) > COLUMNS_MAX and not line.startswith("|")]
        self.assertEqual(long, [])

    def test_commands_are_in_fenced_blocks_where_they_are_tested(self):
        hidden = [f"{page.relative_to(PROJECT)}:{number}: {line.strip()}" for page in pages()
                  for number, line in prose(page) if re.match(r"\s{4,}(\$ )?\S*ddprun\s", line)]
        self.assertEqual(hidden, [])

    def test_a_program_shown_in_a_page_is_the_file(self):
        shown = [block for page in pages() for block in blocks(page) if "file" in block.remarks]
        self.assertTrue(shown)
        for block in shown:
            self.assertEqual(block.text, (PROJECT / block.remarks["file"]).read_text(), block)

    def test_the_reference_of_the_sdk_lists_its_headers_and_no_others(self):
        there = [path.stem for path in (PROJECT / "worker_sdk" / "include" / "ddprun").glob("*.hpp")]
        headers = (PROJECT / "docs" / "sdk-reference.md").read_text().split("## Learning rates")[0]
        rows = re.findall(r"^- ((?:`\w+`, )*`\w+`)(?: \(\*\))?: ", headers, re.MULTILINE)
        listed = re.findall(r"`(\w+)`", " ".join(rows))
        self.assertEqual(sorted(listed), sorted(set(there) - {"sdk"}))

    def test_the_index_lists_every_page_once(self):
        docs = PROJECT / "docs"
        listed = [index.parent / target for index in docs.glob("**/index.md") for _, target in links(index)]
        there = [page for page in docs.glob("**/*.md") if page != docs / "index.md"]
        self.assertEqual(sorted(listed), sorted(there))

    def test_the_newest_entry_of_the_changelog_is_this_version(self):
        first = subprocess.run([DDPRUN, "--version"], check=True, capture_output=True, text=True).stdout
        entries = re.findall(r"^## (\S+), (.*)$", (PROJECT / "docs" / "changelog.md").read_text(), re.MULTILINE)
        self.assertEqual(first.split()[1], entries[0][0])
        for version, day in entries[1:]:
            self.assertRegex(day, r"^\d{4}-\d\d-\d\d$", version)

    def test_the_exit_codes_are_those_of_the_man_page(self):
        man = subprocess.run([DDPRUN, "--man"], check=True, capture_output=True, text=True).stdout
        section = man.split(".SH EXIT STATUS")[1].split(".SH")[0]
        page = (PROJECT / "docs" / "report.md").read_text()
        table = page.split("## Exit codes")[1].split("\n## ")[0]
        listed = re.findall(r"\d+", " ".join(re.findall(r"^\| ([^|]*) \|", table, re.MULTILINE)))
        heads = " ".join(re.findall(r"^\.(?:B|I|RI|BR) (.*)$", section, re.MULTILINE))
        self.assertEqual(sorted(set(listed)), sorted(set(re.findall(r"\d+", heads))))

    def test_the_words_that_no_script_can_be_called_are_the_commands(self):
        man = subprocess.run([DDPRUN, "--man"], check=True, capture_output=True, text=True).stdout
        section = man.split(".SH COMMANDS")[1].split(".SH")[0]
        commands = re.findall(r"^\.B ddprun (\w+)$", section, re.MULTILINE)
        page = (PROJECT / "docs" / "compatibility.md").read_text()
        listed = re.findall(r"`(\w+)`", page.split("- **Commands.**")[1].split("it is a command")[0])
        self.assertEqual(sorted(listed), sorted([*commands, "launch", "agent"]))


if __name__ == "__main__":
    DDPRUN = sys.argv.pop()
    unittest.main()
