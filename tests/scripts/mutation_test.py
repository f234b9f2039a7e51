#!/usr/bin/python3
"""The changes that scripts/mutate makes, found in the syntax tree of a few functions."""

import pathlib
import sys
import tempfile
import unittest

import clang.cindex

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "scripts"))

from mutation import operators  # noqa: E402

BEGINNING = """
struct Time { long left; friend auto operator<=>(const Time&, const Time&) = default; };
struct Order { int round = 0; bool all = false; };
int most(int a, int b);
void say(int what);
bool is_on();
"""


class Operators(unittest.TestCase):
    def changes(self, function):
        """{(operator, old, new)} of a function."""
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "x.cpp")
            path.write_text("#include <compare>" + BEGINNING + function + "\n")
            unit = clang.cindex.Index.create().parse(str(path), args=["-std=c++20"])
            self.assertEqual([str(each) for each in unit.diagnostics], [])
            return {(each.operator, each.old.strip(), each.new.strip())
                    for each in operators.Finder(unit, path, "x.cpp").mutants()}

    def test_each_side_of_a_condition_decides_once(self):
        self.assertEqual(self.changes("void f(bool a, bool b) { if (a && !b) say(3); }"), {
            ("condition", "a && !b", "false"), ("condition", "a", "true"), ("condition", "b", "false"),
            ("number", "3", "4")})

    def test_a_comparison_has_a_boundary(self):
        self.assertEqual(self.changes("bool f(Time a, Time b) { return a >= b; }"), {
            ("boundary", ">=", ">"), ("condition", "a >= b", "false"), ("condition", "a >= b", "true")})

    def test_statements_and_loops_go_and_declarations_stay(self):
        self.assertEqual(self.changes("void f(int n) { int i = n; for (; is_on();) say(i); i = n; say(i); }"), {
            ("statement", "for (; is_on();) say(i)", ""), ("condition", "is_on()", "false"),
            ("condition", "is_on()", "true"), ("statement", "say(i)", ""), ("statement", "i = n", "")})

    def test_a_call_becomes_an_argument_and_a_result_is_empty(self):
        self.assertEqual(self.changes("int f(int a) { return most(a, 2) + 1; }"), {
            ("argument", "most(a, 2)", "a"), ("argument", "most(a, 2)", "2"), ("number", "2", "3"),
            ("arithmetic", "+", "-"), ("number", "1", "0"), ("result", "most(a, 2) + 1", "{}")})

    def test_a_field_keeps_its_default(self):
        self.assertEqual(self.changes("Order f(int n) { return Order{.round = n, .all = true}; }"), {
            ("field", ".round = n,", ""), ("field", ".all = true", ""), ("condition", "true", "false"),
            ("result", "Order{.round = n, .all = true}", "{}")})

    def test_nothing_outside_of_functions_is_changed(self):
        self.assertEqual(self.changes("constexpr int kMost = 3; static_assert(kMost > 2);"), set())


if __name__ == "__main__":
    unittest.main()
