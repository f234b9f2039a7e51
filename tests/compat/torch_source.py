"""Reads sources of torch's launcher out of the newest wheel, of whose gigabyte only some kilobytes are
downloaded: a wheel is a zip archive, and pip can read such a file piece by piece over the network."""

import ast
import zipfile

FILES = ("torch/distributed/run.py", "torch/distributed/launch.py")
FOLDERS = ("torch/distributed/elastic/rendezvous/",)
RENDEZVOUS = FOLDERS[0]
FLAGS = ("store_true", "check_env")  # the actions of options without a value


def newest():
    """Returns the version of the newest wheel, and its sources by path. What pip cannot do here, or no
    longer does in this way, is some exception."""
    from pip._internal.commands import create_command
    from pip._internal.network.lazy_wheel import LazyZipOverHTTP

    command = create_command("index")
    with command.main_context():
        options, _ = command.parse_args(["versions", "torch", "--timeout", "20", "--retries", "1"])
        session = command._build_session(options)
        finder = command._build_package_finder(
            options=options, session=session, ignore_requires_python=True)
        best = finder.find_best_candidate("torch").best_candidate
        with LazyZipOverHTTP(best.link.url_without_fragment, session) as file:
            wheel = zipfile.ZipFile(file)
            return str(best.version), {
                name: wheel.read(name).decode() for name in wheel.namelist()
                if name in FILES or (name.startswith(FOLDERS) and name.endswith(".py"))}


def table_of(sources):
    """What torchrun takes: its options, each a flag or not and with the choices that are written down,
    and the keys of --rdzv-conf."""
    options, keys = {}, set()
    for path, text in sources.items():
        calls = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call)]
        if path.startswith(RENDEZVOUS):
            keys |= {key for call in calls for key in keys_in(call)}
            keys |= {key for node in ast.walk(ast.parse(text)) for key in key_of_index(node)}
        else:
            options |= dict(option for call in calls for option in option_in(call))
    return {"options": dict(sorted(options.items())), "rendezvous_keys": sorted(keys)}


def name_of(node):
    """`x` for `x`, `y` for `x.y`, and the text for a constant."""
    return getattr(node, "id", getattr(node, "attr", getattr(node, "value", None)))


def option_in(call):
    """parser.add_argument("-r", "--some-name", "--some_name", action=..., choices=[...])"""
    if name_of(call.func) != "add_argument":
        return []
    names = [arg.value for arg in call.args if isinstance(arg, ast.Constant)]
    spelled = [name for name in names if name.startswith("--")]
    if not spelled:
        return []  # the script and its arguments
    given = {keyword.arg: keyword.value for keyword in call.keywords}
    choices = given.get("choices")
    return [(spelled[0].lstrip("-").replace("_", "-"), {
        "flag": name_of(given.get("action")) in FLAGS,
        "letters": [name[1:] for name in names if not name.startswith("--")],
        "choices": [item.value for item in getattr(choices, "elts", []) if isinstance(item, ast.Constant)],
    })]


def keys_in(call):
    """params.get("key"), params.get_as_int("key"), params.config.get("key"), _get_timeout(params, "join")"""
    texts = [arg.value for arg in call.args if isinstance(arg, ast.Constant) and isinstance(arg.value, str)]
    if name_of(call.func) == "_get_timeout" and texts:
        return [texts[0] + "_timeout"]
    owner = getattr(call.func, "value", None)
    of_params = name_of(owner) == "params" or (
        name_of(owner) == "config" and name_of(getattr(owner, "value", None)) == "params")
    getters = ("get", "get_as_int", "get_as_bool")
    return texts[:1] if of_params and name_of(call.func) in getters else []


def key_of_index(node):
    """params.config["key"]"""
    if not isinstance(node, ast.Subscript) or name_of(node.value) != "config":
        return []
    if name_of(getattr(node.value, "value", None)) != "params" or not isinstance(node.slice, ast.Constant):
        return []
    return [node.slice.value]
