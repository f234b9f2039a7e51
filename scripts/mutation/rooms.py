"""What a room has to notice mutants with: its unit tests, those of the rooms that use it and whose tests are in
the same programs, and the simulations that it takes part in."""

import collections
import pathlib

from mutation import build
from rules import rooms
from rules.sources import ROOT

# tests, tests_of_users: the test files of each program. simulations: programs, with their options once these are built.
Room = collections.namedtuple("Room", "name files tests tests_of_users simulations")


def pure_files(room, commands):
    return sorted(path for path in room.pure if commands.of_unit(path))


def tests_in(folders, commands):
    """The tests of a room are in the folder under tests/ that is called like the room's own."""
    found = collections.defaultdict(list)
    for path, program in commands.program_of.items():
        folder = str(pathlib.PurePath(path).parent)
        if path.endswith("_test.cpp") and folder.removeprefix("tests/") in folders:
            found[program].append(pathlib.PurePath(path).stem)
    return dict(found)


def tests_of_users(room, tests, commands):
    folders = {user.folder for user in rooms.read_rooms().values() if room.name in user.uses}
    return {program: files for program, files in tests_in(folders, commands).items() if program in tests}


def simulations_of(room, commands):
    """The programs of simulations that the room is linked into."""
    programs = {program for path, program in commands.program_of.items() if path.startswith("tests/simulation/")}
    return {program for program in programs
            if any(word.endswith(f"/libddprun_{room.name}.a") for word in commands.of_program(program)[1])}


def chosen(names):
    """The rooms of these names, all without names, as far as they have pure files."""
    known = rooms.read_rooms()
    if unknown := [name for name in names if name not in known]:
        raise SystemExit(f"mutate: there is no room '{unknown[0]}', expected one of {', '.join(sorted(known))}")
    return [room for name, room in sorted(known.items()) if room.pure and (not names or name in names)]


def prepare(wanted):
    """Copies the sources and reads how they are built. Returns that, and the rooms that have tests."""
    build.copy_sources()
    build.configure()
    commands = build.Commands()
    found = []
    for room in wanted:
        tests = tests_in({room.folder}, commands)
        found.append(Room(room.name, pure_files(room, commands), tests, tests_of_users(room, tests, commands),
                          simulations_of(room, commands)))
    return commands, [room for room in found if room.tests or room.simulations]


def built(found, commands):
    """Builds all that the rooms' tests need. Returns the rooms, with the options of their simulations."""
    build.build(sorted({program for room in found for program in [*room.tests, *room.simulations]}))
    known = list(commands.simulations())
    return {room.name: room._replace(simulations=[each for each in known if each[0] in room.simulations])
            for room in found}
