"""--help of a script prints its first comment, and nothing is installed or built for that."""

import subprocess
import unittest
from pathlib import Path

SCRIPTS = Path(__file__).resolve().parent.parent.parent / "scripts"


class HelpTest(unittest.TestCase):
    def test_each_script_explains_itself_and_does_nothing_else(self):
        scripts = [path for path in SCRIPTS.iterdir()
                   if path.is_file() and path.stat().st_mode & 0o100 and path.read_text().startswith("#!/usr/bin/env bash")]
        self.assertGreater(len(scripts), 10)
        for script in scripts:
            head = script.read_text().split("\n", 2)[1].removeprefix("# ")
            for option in ("--help", "-h"):
                with self.subTest(script=script.name, option=option):
                    done = subprocess.run(["/bin/bash", script, option], capture_output=True, text=True, timeout=20)
                    self.assertEqual((done.returncode, done.stderr, done.stdout.split("\n")[0]), (0, "", head))


if __name__ == "__main__":
    unittest.main()
