"""Small changes of a file's functions that a test should notice, found in clang's syntax tree.

Each operator changes what the code decides, and none makes a change that another one's tests see in any
case (so `a && b` becomes `a` and `b`, and not `a || b`):

    condition   a condition is true, or false; one side of && or || goes
    boundary    < becomes <=, > becomes >=, and the other way round
    arithmetic  + becomes -, * becomes /, % becomes *, and the other way round
    number      a number is one more, 1 is 0, a time is twice as long
    argument    a call becomes one of its arguments of the same type: max(a, b) becomes a
    result      a function returns an empty value
    statement   a statement goes
    field       a field that a new value names keeps its default
"""

import collections
import pathlib
import re

Mutant = collections.namedtuple("Mutant", "file line operator begin end new old")  # begin, end: bytes of the file

BOUNDARY = {"<": "<=", "<=": "<", ">": ">=", ">=": ">"}
ARITHMETIC = {"+": "-", "-": "+", "*": "/", "/": "*", "%": "*"}
TIME = re.compile(r"(\d[\d']*)(h|min|s|ms|us|ns)\b")
NOTHING = re.compile(r"\{\}|nullptr|std::nullopt|\"\"|0|false")
CASTS = ("move", "forward")
JUMPS = ("BREAK_STMT", "CONTINUE_STMT")
LOOPS = ("FOR_STMT", "CXX_FOR_RANGE_STMT", "WHILE_STMT", "DO_STMT")
FUNCTIONS = ("CXX_METHOD", "FUNCTION_DECL", "CONSTRUCTOR", "DESTRUCTOR", "FUNCTION_TEMPLATE", "CONVERSION_FUNCTION")
# What stands before a statement of its own, besides other statements.
BRANCHES = ("IF_STMT", "CASE_STMT", "DEFAULT_STMT", *LOOPS)
ASSIGNMENT = re.compile(r"[-+*/%|&^]?=|<<=|>>=")


class Finder:
    """Walks through the functions that are written in one file, and collects its mutants."""

    def __init__(self, unit, path, shown):
        self.unit, self.path, self.shown = unit, path, shown
        self.text = pathlib.Path(path).read_bytes()
        self.found = {}  # by where and what, so that nothing is found twice

    def mutants(self):
        for cursor in self.unit.cursor.get_children():
            if cursor.location.file and cursor.location.file.name == str(self.path):
                self.declaration(cursor)
        return sorted(self.found.values())

    # --- The walk.

    def declaration(self, cursor):
        for child in cursor.get_children():
            if cursor.kind.name in FUNCTIONS and self.source(child).startswith("{"):
                self.visit(child, cursor, lambda_depth=0)
            elif cursor.kind.name not in FUNCTIONS:
                self.declaration(child)

    def visit(self, node, parent, lambda_depth):
        kind, text = node.kind.name, self.source(node)
        if text.startswith(("assert(", "static_assert(")):
            return
        below = [(child, node) for child in node.get_children()]
        if is_boolean(node) and not self.is_statement(node, parent) and not self.is_place(node, parent):
            below = self.condition(node, {"true", "false"})
        else:
            self.change(node, parent, kind, text, lambda_depth)
        for child, above in below:
            self.visit(child, above, lambda_depth + (kind == "LAMBDA_EXPR"))

    def change(self, node, parent, kind, text, lambda_depth):
        if self.is_statement(node, parent):
            self.statement(node, parent, text)
        if kind == "RETURN_STMT" and not lambda_depth:
            self.result(node)
        elif kind == "BINARY_OPERATOR" or (kind == "CALL_EXPR" and node.spelling.startswith("operator")):
            self.arithmetic(node)
        elif kind in ("INTEGER_LITERAL", "FLOATING_LITERAL"):
            self.number(node, text)
        elif kind == "CALL_EXPR" and TIME.fullmatch(text):
            self.add("number", node, TIME.sub(r"(2 * \g<0>)", text))
        elif kind == "CALL_EXPR":
            self.argument(node)
        elif kind == "INIT_LIST_EXPR":
            self.fields(node)

    # --- The operators.

    def condition(self, node, values):
        """Sets to each of the values what decides alone; within && and || what leaves the rest to decide.

        Returns what is to be visited below, each with what is above it."""
        node = self.inner(node)
        operator, sides = self.operator(node)
        below = [(side, node) for side in sides or node.get_children()]
        if operator in ("&&", "||"):
            neutral, absorbing = ("true", "false") if operator == "&&" else ("false", "true")
            below = [found for side in sides for found in self.condition(side, {neutral})]
            values = values & {absorbing}
        elif node.kind.name == "UNARY_OPERATOR" and self.source(node).startswith("!"):
            opposite = {"false" if value == "true" else "true" for value in values}
            return self.condition(next(node.get_children()), opposite)
        elif operator in BOUNDARY:
            self.boundary(sides)
        for value in sorted(values - {self.source(node)}):
            self.add("condition", node, value)
        return below

    def boundary(self, sides):
        begin, end, text = self.between(*sides)
        self.add_bytes("boundary", begin, end, text.replace(text.strip(), BOUNDARY[text.strip()]))

    def arithmetic(self, node):
        operator, sides = self.operator(node)
        if operator in ARITHMETIC and "basic_string" not in node.type.get_canonical().spelling:
            begin, end, text = self.between(*sides)
            self.add_bytes("arithmetic", begin, end, text.replace(operator, ARITHMETIC[operator]))

    def number(self, node, text):
        if re.fullmatch(r"\d[\d']*", text):
            self.add("number", node, "0" if text == "1" else str(int(text.replace("'", "")) + 1))

    def argument(self, node):
        for argument in node.get_arguments():
            if argument and same_type(argument, node) and node.spelling not in CASTS and self.source(argument):
                self.add("argument", node, self.source(argument))

    def result(self, node):
        for value in node.get_children():
            if not is_boolean(value) and not NOTHING.fullmatch(self.source(value)):
                self.add("result", value, "{}")

    def statement(self, node, parent, text):
        alone = parent.kind.name == "IF_STMT" and self.has_no_else(parent)  # as if the condition were false
        if not alone and text and node.kind.name not in ("RETURN_STMT", "NULL_STMT"):
            self.add("statement", node, "{}" if text.endswith("}") and node.kind.name in LOOPS else "")

    def fields(self, node):
        for field in node.get_children():
            if self.source(field).startswith("."):
                comma = re.compile(rb"\s*,").match(self.text, field.extent.end.offset)
                end = comma.end() if comma else field.extent.end.offset
                self.add_bytes("field", field.extent.start.offset, end, "")

    # --- What is where.

    def source(self, node):
        extent = node.extent
        if not extent.start.file or extent.start.file.name != str(self.path):
            return ""
        return self.text[extent.start.offset:extent.end.offset].decode()

    def is_statement(self, node, parent):
        """Whether it is a statement of its own that may go."""
        kind, is_loop = parent.kind.name, node.kind.name in LOOPS
        if kind not in ("COMPOUND_STMT", *BRANCHES) or not (node.kind.is_expression() or is_loop or
                                                            node.kind.name in JUMPS):
            return False
        in_head = kind == "FOR_STMT" and node != list(parent.get_children())[-1]
        return is_loop or (not in_head and bool(re.compile(rb"\s*;").match(self.text, node.extent.end.offset)))

    def is_place(self, node, parent):
        """Whether it is a variable that is written, or an assignment: no value to decide by."""
        if node.kind.name in ("DECL_REF_EXPR", "MEMBER_REF_EXPR"):
            return parent.kind.name != "UNEXPOSED_EXPR"
        operator, _ = self.operator(node)
        return node.kind.name == "COMPOUND_ASSIGNMENT_OPERATOR" or bool(operator and ASSIGNMENT.fullmatch(operator))

    def has_no_else(self, node):
        return not re.search(r"\belse\b", self.source(node))

    def inner(self, node):
        """Without casts that nobody has written, and without parentheses."""
        while node.kind.name in ("UNEXPOSED_EXPR", "PAREN_EXPR"):
            children = list(node.get_children())
            if len(children) != 1 or not is_boolean(children[0]) or not self.source(children[0]):
                break
            if node.kind.name == "UNEXPOSED_EXPR" and self.source(children[0]) != self.source(node):
                break
            node = children[0]
        return node

    def operator(self, node):
        """An operator and its two sides, also where C++ makes a comparison out of another operator."""
        children = list(node.get_children())
        while len(children) in (1, 3) and children[0].spelling.startswith("operator"):  # a <=> b > 0
            children = list(children[0].get_children())
        if len(children) == 3 and children[1].spelling.startswith("operator"):
            sides = (children[0], children[2])
        elif len(children) == 2 and node.kind.name == "BINARY_OPERATOR":
            sides = children
        else:
            return None, ()
        return self.between(*sides)[2].strip(), sides

    def between(self, left, right):
        begin, end = left.extent.end.offset, right.extent.start.offset
        return begin, end, self.text[begin:end].decode()

    # --- What was found.

    def add(self, operator, node, new):
        if self.source(node):
            self.add_bytes(operator, node.extent.start.offset, node.extent.end.offset, new)

    def add_bytes(self, operator, begin, end, new):
        old = self.text[begin:end].decode()
        if new == old:
            return
        new += "\n" * (old.count("\n") - new.count("\n"))  # assertions know their line
        line = self.text.count(b"\n", 0, begin) + 1
        self.found.setdefault((begin, end, new), Mutant(self.shown, line, operator, begin, end, new, old))


def is_boolean(node):
    return node.kind.is_expression() and node.type.get_canonical().spelling in ("bool", "const bool")


def same_type(a, b):
    plain = [node.type.get_canonical().spelling.removeprefix("const ").rstrip(" &") for node in (a, b)]
    return plain[0] == plain[1] and plain[0] not in ("bool", "<dependent type>", "void")
