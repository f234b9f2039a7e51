#!/usr/bin/env python3
"""Which words the check of pages, comments and messages finds, and which it leaves alone."""

import contextlib
import io
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "scripts"))

from rules import words  # noqa: E402


class WordsTest(unittest.TestCase):
    def found(self, text, language="markdown"):
        return [found for _, found, _ in words.findings(text, language)]

    def test_a_phrase_is_found_across_lines_and_as_whole_words(self):
        self.assertEqual(list(words.findings("The agent is\ntold the rank.\n")),
                         [(1, "is told", "is informed, receives, is reported")])
        self.assertEqual(self.found("It utmostly needs a header, and the toldest one."), [])

    def test_a_sentence_without_a_subject_is_found_and_a_question_is_not(self):
        self.assertEqual(self.found("It ends. Who joins later waits.\n\nWho votes is a voter."), ["Who", "Who"])
        self.assertEqual(self.found("## Who may connect\n\nIt asks: Who leads the job? That is all."), [])

    def test_the_coordinator_has_one_name_on_pages(self):
        self.assertEqual(self.found("the leader, a new head"), ["the leader", "new head"])
        self.assertEqual(self.found("`--store leader` and the leader lease of Raft, at the head of the line"), [])
        self.assertEqual(self.found("// The leader steps down.", "cpp"), [])

    def test_code_links_and_quotations_are_no_prose(self):
        self.assertEqual(self.found('```text\nis told\n```\n`is told`, [x](under-way.md "anew"), "is told"'), [])

    def test_comments_and_strings_of_cpp_are_prose_and_code_is_not(self):
        self.assertEqual(list(words.findings("int x;\n/// It is\n/// told the rank.\n", "cpp"))[0][:2], (2, "is told"))
        self.assertEqual(self.found("/* It begins\n   anew. */ int whoever;  // it is told", "cpp"), ["anew", "is told"])
        self.assertEqual(self.found('warn("it is "\n     "told");', "cpp"), ["is told"])
        self.assertEqual(self.found('auto x = R"(\nit is told "anew"\n)";', "cpp"), ["is told"])
        self.assertEqual(self.found("int is; int told; bool under(way);", "cpp"), [])

    def test_what_only_looks_like_a_comment_or_a_string_is_read_as_what_it_is(self):
        self.assertEqual(self.found('f("http://h");  // `anew`\nint told = \'"\';  // whoever', "cpp"), ["whoever"])
        self.assertEqual(self.found('f("// it is");\nint told;\n', "cpp"), [])
        self.assertEqual(self.found('x = "# it is"\ntold = 1  # anew\n', "python"), ["anew"])

    def test_a_comment_or_string_begins_a_sentence(self):
        self.assertEqual(self.found('// Who joins waits.\nsay("Who votes is a voter");', "cpp"), ["Who", "Who"])
        self.assertEqual(self.found("#!/bin/sh\n# Who joins waits.\n", "shell"), ["Who"])

    def test_strings_and_docstrings_of_python_are_prose(self):
        self.assertEqual(self.found('"""It is\ntold."""\nadd(help="whoever")\nfail("begins "\n     "anew")\n', "python"),
                         ["anew", "whoever", "is told"])
        self.assertEqual(self.found("is_told = under.way\n", "python"), [])

    def test_scripts_are_prose_as_a_whole(self):
        self.assertEqual(self.found('# It is\n# told.\nfail "nobody listens"\n', "shell"), ["is told", "nobody listens"])
        self.assertEqual(self.found("while true; do\n  without getrandom\ndone\n", "shell"), [])
        self.assertEqual(self.found("# Compiled anew.\nadd_x()\n", "cmake"), ["anew"])

    def test_no_file_has_such_a_word(self):
        with contextlib.redirect_stdout(io.StringIO()) as output:
            code = words.main()
        self.assertEqual(code, 0, output.getvalue())


if __name__ == "__main__":
    unittest.main()
