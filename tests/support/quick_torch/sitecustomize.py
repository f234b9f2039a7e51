"""Python runs this as it starts where PYTHONPATH names its folder: a process that imports torch then takes a fifth
less of processor time, and one that uses DistributedDataParallel two fifths.

An import makes some hundred thousand objects and no garbage: they are not looked through for some, neither during
the import nor at the end of the process.
"""

import gc
import sys
from importlib.machinery import PathFinder

HEAVY = {"torch", "torch._dynamo"}  # DistributedDataParallel imports the second


class Finder:
    @staticmethod
    def find_spec(name, path=None, target=None):
        spec = PathFinder.find_spec(name, path, target) if name in HEAVY else None
        if spec and spec.loader:
            execute = spec.loader.exec_module

            def execute_without_collecting(module):
                collects = gc.isenabled()
                gc.disable()
                try:
                    execute(module)
                finally:
                    if collects:
                        gc.enable()
                gc.freeze()

            spec.loader.exec_module = execute_without_collecting
        return spec


sys.meta_path.insert(0, Finder)
