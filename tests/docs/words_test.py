#!/usr/bin/env python3
"""Which words the check of the pages finds, and which it leaves alone."""

import sys
import unittest

from markdown import PROJECT, pages

sys.path.insert(0, str(PROJECT / "scripts" / "rules"))

import words  # noqa: E402


class WordsTest(unittest.TestCase):
    def found(self, text):
        return [found for _, found, _ in words.findings(text)]

    def test_a_phrase_is_found_across_lines_and_as_whole_words(self):
        self.assertEqual(list(words.findings("The agent is\ntold the rank.\n")),
                         [(1, "is told", "is informed, receives, is reported")])
        self.assertEqual(self.found("It utmostly needs a header, and the toldest one."), [])

    def test_a_sentence_without_a_subject_is_found_and_a_question_is_not(self):
        self.assertEqual(self.found("It ends. Who joins later waits.\n\nWho votes is a voter."), ["Who", "Who"])
        self.assertEqual(self.found("## Who may connect\n\nIt asks: Who leads the job? That is all."), [])

    def test_the_coordinator_has_one_name(self):
        self.assertEqual(self.found("the leader, a new head"), ["the leader", "new head"])
        self.assertEqual(self.found("`--store leader` and the leader lease of Raft, at the head of the line"), [])

    def test_code_links_and_quotations_are_no_prose(self):
        self.assertEqual(self.found('```text\nis told\n```\n`is told`, [x](under-way.md "anew"), "is told"'), [])

    def test_no_page_has_such_a_word(self):
        found = [f"{page.relative_to(PROJECT)}:{line}: {what}" for page in pages()
                 for line, what, _ in words.findings(page.read_text())]
        self.assertEqual(found, [])


if __name__ == "__main__":
    unittest.main()
