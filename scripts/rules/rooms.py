"""The rooms: what CMake's calls of ddprun_room() and of the worker SDK's functions like it list."""

import re

from rules.sources import ROOT

ROOM_CALLS = {"ddprun_room", "ddprun_sdk_room", "ddprun_torch_room"}
FILES = ("PURE", "SHELL", "FILES")
LIBRARIES = ("USES", "PRIVATELY")
SDK_INCLUDE = "worker_sdk/include"


class Room:
    def __init__(self, name, folder):
        self.name, self.folder = name, folder
        self.files, self.pure, self.uses = set(), set(), set()


def calls(text):
    """Each call of CMake as a pair: the name of the function, and its arguments as words."""
    text = re.sub(r"#[^\n]*", "", text)
    for match in re.finditer(r"\b(\w+)\s*\(([^()]*)\)", text):
        yield match.group(1), match.group(2).split()


def files_of(folder, word):
    """The files that a word in one of the lists of a room stands for."""
    places = [f"{folder}/{word}.hpp", f"{folder}/{word}.cpp"]
    if folder.startswith("worker_sdk/"):
        places.append(f"{SDK_INCLUDE}/ddprun/{word}.hpp")
    return {place for place in places if (ROOT / place).exists()}


def read_room(folder, words):
    room, keyword = Room(words[0], folder), None
    for word in words[1:]:
        if word in FILES or word in LIBRARIES:
            keyword = word
        elif keyword in FILES:
            files = files_of(folder, word)
            room.files |= files
            if keyword == "PURE":
                room.pure |= files
        elif word.startswith("ddprun::"):
            room.uses.add(word.removeprefix("ddprun::"))
    return room


def read_rooms():
    rooms = {}
    for path in sorted(ROOT.glob("[a-z]*/**/CMakeLists.txt")):
        folder = path.parent.relative_to(ROOT).as_posix()
        if folder.split("/")[0] in ("build", "tests"):
            continue
        for name, words in calls(path.read_text()):
            if name in ROOM_CALLS and words and "${" not in words[0]:
                rooms[words[0]] = read_room(folder, words)
    return rooms
