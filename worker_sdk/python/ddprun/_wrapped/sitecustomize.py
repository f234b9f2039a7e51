"""Python imports this when it starts under ddprun-wrap. Once the program imports torch.distributed.run, that
starts ddprun. Then whatever sitecustomize the program would have had is imported."""

import importlib.abc
import importlib.machinery
import importlib.util
import os
import sys

_HERE = os.path.dirname(os.path.abspath(__file__))
_MODULES = ("torch.distributed.run", "torch.distributed.launch")


def _wrap():
    """The module of ddprun, which may belong to another Python."""
    try:
        from ddprun import _wrap as module
    except ImportError:  # there is none, or an older one
        for name in [name for name in sys.modules if name.partition(".")[0] == "ddprun"]:
            del sys.modules[name]
        sys.path.insert(0, os.path.dirname(os.path.dirname(_HERE)))
        from ddprun import _wrap as module
        del sys.path[0]
    return module


class _Loader(importlib.abc.InspectLoader):
    """The real one, but for what follows an import, and for `python -m`."""

    def __init__(self, loader):
        self._loader = loader

    def create_module(self, spec):
        return self._loader.create_module(spec)

    def exec_module(self, module):
        self._loader.exec_module(module)
        if hasattr(module, "get_args_parser"):
            _wrap().wrap_module(module)

    def is_package(self, name):
        return False

    def get_source(self, name):
        return self._loader.get_source(name)

    def get_code(self, name):
        return compile(f"import sitecustomize\nsitecustomize._wrap().run_as_torchrun({name!r})", name, "exec")


class _Finder(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name not in _MODULES:
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        if spec is not None:
            spec.loader = _Loader(spec.loader)
        return spec


def _import_next():
    """The sitecustomize behind this one, if there is one."""
    rest = [path for path in sys.path if os.path.abspath(path or ".") != _HERE]
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", rest)
    if spec is not None:
        spec.loader.exec_module(importlib.util.module_from_spec(spec))


sys.meta_path.insert(0, _Finder())
_import_next()
