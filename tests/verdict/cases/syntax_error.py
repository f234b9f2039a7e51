# The script imports a module that cannot be parsed.
# kind: exception
# some_of: 0,1,2
# type: SyntaxError
# file: broken_module.py
# line: 2
import os
import pathlib
import sys

import meet

folder = pathlib.Path(os.environ["CASE_DIR"]) / f"rank_{os.environ['RANK']}"
folder.mkdir()
(folder / "broken_module.py").write_text("import os\ndef train(:\n    pass\n")
sys.path.insert(0, str(folder))
meet.everybody_is_there()
import broken_module  # noqa: E402,F401
