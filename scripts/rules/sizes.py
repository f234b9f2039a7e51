"""How long files and functions are, and how much a class has.

Classes and functions of C++ are found by universal-ctags. It reads all files within a second or two
without their includes, where a compiler needs that long for one of them.
"""

import ast
import collections
import re

from rules import sources

FILE_LINES, FUNCTION_LINES = 400, 60
CLASS_FUNCTIONS, CLASS_FIELDS = 30, 20
CLASS_FOLDERS = ("agent/", "base/", "launcher/", "live/", "rendezvous/")
CODE = ("cpp", "python", "shell")

Class = collections.namedtuple("Class", "path name functions fields files")


def plain(name):
    """A name without the project's namespace, and without those that have none."""
    return re.sub(r"__anon\w+::|^ddprun::", "", re.sub(r"^ddprun::", "", name))


def full_name(tag):
    return f"{tag['scope']}::{tag['name']}" if "scope" in tag else tag["name"]


def file_lengths(files):
    for path, language in files.items():
        if language in CODE:
            yield path, sources.text_of(path).count("\n")


def function_lengths(files, tags):
    for tag in tags:
        if tag["kind"] == "function" and "end" in tag:
            yield f"{tag['path']}:{plain(full_name(tag))}", tag["end"] - tag["line"] + 1
    for path in (path for path, language in files.items() if language == "python"):
        for node in ast.walk(ast.parse(sources.text_of(path))):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                yield f"{path}:{node.name}", node.end_lineno - node.lineno + 1


def classes(tags):
    """Functions count that the class declares and somebody has to write; fields count without its constants."""
    members = collections.defaultdict(list)
    for tag in tags:
        if tag.get("scopeKind") in ("class", "struct") and not re.match(r"__anon|k[A-Z]", tag["name"]):
            members[tag["scope"]].append(tag)
    for tag in tags:
        if tag["kind"] in ("class", "struct") and "end" in tag:
            of_class = members[full_name(tag)]
            inside = [member for member in of_class
                      if member["path"] == tag["path"] and tag["line"] <= member["line"] <= tag["end"]]
            where = {tag["path"]} if "__anon" in full_name(tag) else {tag["path"], *(each["path"] for each in of_class)}
            yield Class(tag["path"], plain(full_name(tag)), sum(map(is_written, inside)),
                        sum(member["kind"] == "member" for member in inside), len(where))


def is_written(member):
    return member["kind"] in ("function", "prototype") and not {"default", "delete"} & set(
        member.get("properties", "").split(","))


def limited_classes(tags):
    return [found for found in classes(tags) if found.path.startswith(CLASS_FOLDERS)]
