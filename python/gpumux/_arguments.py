"""What Python gives to kernels: texts as on the command line, arrays, numbers with a type."""

import operator
import os
import struct

from ._core import Error

_LAUNCH_TEXTS = ("grid", "block", "shared")
_APP_KEYS = ("app", *_LAUNCH_TEXTS, "args", "symbols", "buffers", "launches", "repeat")
_LAUNCH_KEYS = ("kernel", *_LAUNCH_TEXTS, "args", "symbols", "stream", "after")
_NAMES = {("i", 1): "i8", ("u", 1): "u8", ("i", 2): "i16", ("u", 2): "u16", ("i", 4): "i32", ("u", 4): "u32",
          ("i", 8): "i64", ("u", 8): "u64", ("f", 4): "f32", ("f", 8): "f64"}


_CODES = {"i8": "b", "u8": "B", "i16": "h", "u16": "H", "i32": "i", "u32": "I", "i64": "q", "u64": "Q", "f32": "f", "f64": "d"}


class In:
    """A buffer with the content of an array: anything with Python's buffer protocol, such as numpy's. An array
    alone is the same."""

    def __init__(self, array):
        self.array = array


class Out:
    """A zeroed buffer of the array's size. After the run the array has its content."""

    def __init__(self, array):
        self.array = array


class InOut:
    """A buffer with the content of the array, which has the buffer's content after the run."""

    def __init__(self, array):
        self.array = array


class Application:
    """One application as the core takes it, and the arrays that its first completed run fills."""

    def __init__(self, app):
        self.outputs = {}  # by the name that the core knows
        self._files = {}
        if isinstance(app, (str, os.PathLike)):
            self.fields = {"app": text("an application", app)}
            self.is_program = False
            return
        if not isinstance(app, dict) or "app" not in app:
            raise Error(f"an application is a text or a dict with 'app', not {_shown(app)}")
        _check_keys(app, _APP_KEYS, "an application")
        self.fields = self._launch(app) | {"app": text("app", app["app"])}
        if "buffers" in app:
            if not isinstance(app["buffers"], dict):
                raise Error(f"'buffers' of an application is a dict of arrays and texts, not {_shown(app['buffers'])}")
            self.fields["buffers"] = {text("a buffer's name", name): self._argument(f"buffer {name}", value)
                                      for name, value in app["buffers"].items()}
        if "repeat" in app:
            self.fields["repeat"] = whole("repeat", app["repeat"], 1)
        if "launches" in app:
            if not isinstance(app["launches"], (list, tuple)) or not app["launches"]:
                raise Error(f"'launches' of an application is a list of dicts with 'kernel', not {_shown(app['launches'])}")
            self.fields["launches"] = [self._program_launch(f"launches[{i}]", launch)
                                       for i, launch in enumerate(app["launches"])]
            for key in (*_LAUNCH_TEXTS, "args", "symbols"):
                if key in app:
                    raise Error(f"{key!r} belongs to each of 'launches' here")
        else:
            for key in ("buffers", "repeat"):
                if key in app:
                    raise Error(f"{key!r} is for applications with 'launches'")
        self.fields["files"] = self._files
        self.is_program = "launches" in app or ".ptx:" in self.fields["app"]

    def fill(self, contents):
        """After the run: `contents` by the core's names."""
        for name, array in self.outputs.items():
            memoryview(array).cast("B")[:] = contents[name]

    def _program_launch(self, place, launch):
        if not isinstance(launch, dict) or "kernel" not in launch:
            raise Error(f"{place}: a launch is a dict with 'kernel', not {_shown(launch)}")
        _check_keys(launch, _LAUNCH_KEYS, "a launch")
        fields = self._launch(launch, place + " ") | {"kernel": text("kernel", launch["kernel"]), "place": place}
        if "stream" in launch:
            fields["stream"] = whole("stream", launch["stream"], 0)
        if "after" in launch:
            after = launch["after"] if isinstance(launch["after"], (list, tuple)) else [launch["after"]]
            fields["after"] = [whole("after", number, 1) for number in after]
        return fields

    def _launch(self, given, place=""):
        fields = {}
        for key in _LAUNCH_TEXTS:
            if key not in given:
                continue
            value = given[key]
            parts = value if isinstance(value, (list, tuple)) and key != "shared" else [value]
            parts = [part if isinstance(part, str) else _index(part) for part in parts]
            if None in parts:
                raise Error(f"{place}{key!r} is a whole number{'' if key == 'shared' else ', a list of up to three'} or a text, "
                            f"not {_shown(value)}")
            fields[key] = text(key, ",".join(map(str, parts)))
        if "args" in given:
            if not isinstance(given["args"], (list, tuple)):
                raise Error(f"{place}'args' is a list of texts, arrays and numbers with a type, not {_shown(given['args'])}")
            fields["args"] = [self._argument(f"{place}args[{i}]", value) for i, value in enumerate(given["args"])]
        if "symbols" in given:
            symbols = given["symbols"]
            if isinstance(symbols, dict):
                fields["symbols"] = [f"{text('a symbol', name)}={self._argument(f'{place}symbols[{name!r}]', value)}"
                                     for name, value in symbols.items()]
            elif isinstance(symbols, (list, tuple)) and all(isinstance(part, str) for part in symbols):
                fields["symbols"] = [text("a symbol", part) for part in symbols]
            else:
                raise Error(f"{place}'symbols' is a list of texts or a dict of values, not {_shown(symbols)}")
        return fields

    def _argument(self, where, value):
        """The text that stands for it, as on the command line; contents are files in memory."""
        if isinstance(value, str):
            if "=array:" in value or ",array:" in value or ":array:" in value:
                raise Error(f"{where}: files whose names begin with array: are arrays of Python; write ./array: for others")
            return text(where, value)
        wrapped = isinstance(value, (In, Out, InOut))
        array = value.array if wrapped else value
        try:
            view = memoryview(array)
        except (TypeError, ValueError, BufferError):
            raise Error(f"{where} is a text, an array or a number with a type, such as \"i32:5\" or numpy.int32(5), not "
                        f"{_shown(array)}") from None
        if "O" in view.format:
            raise Error(f"{where}: an array of Python objects has no bytes that a kernel could use")
        if ">" in view.format or "!" in view.format:
            raise Error(f"{where}: the bytes of its numbers are in the order of another computer; array.astype(...) turns them")
        if view.ndim == 0:
            if wrapped:
                raise Error(f"{where}: {type(value).__name__} is for arrays, not for {_shown(array)}")
            return self._scalar(view)
        if view.nbytes == 0:
            raise Error(f"{where}: the array is empty")
        if not view.c_contiguous:
            raise Error(f"{where}: the array is not contiguous; numpy.ascontiguousarray() makes one that is")
        if isinstance(value, (Out, InOut)):
            if view.readonly:
                raise Error(f"{where}: the array is read-only")
            if any(array is other for other in self.outputs.values()):
                raise Error(f"{where}: the array has the content of another buffer, too; give each its own")
            out = self._name()
            self.outputs[out] = array
            if isinstance(value, Out):
                return f"out:u8[{view.nbytes}]={out}"
            return f"inout:u8[{view.nbytes}]={self._content(view)},{out}"
        return f"in:u8[{view.nbytes}]={self._content(view)}"

    def _scalar(self, view):
        code = view.format.lstrip("@=<")
        kind = {"?": "u"}.get(code, "f" if code in "efdg" else "u" if code.isupper() else "i")
        name = _NAMES.get((kind, view.itemsize)) if len(code) == 1 else None
        if name is None:  # float16, a structure, ...: its bytes
            return f"bytes:{self._content(view)}"
        value, = struct.unpack(f"={_CODES[name]}", view.tobytes())
        return f"{name}:{value!r}"

    def _content(self, view):
        name = self._name()
        self._files[name] = view.tobytes()
        return name

    def _name(self):
        return f"array:{len(self._files) + len(self.outputs)}"


def whole(name, value, low, high=2**60):
    """A whole number: numpy's are taken, too."""
    number = _index(value)
    if number is None or not low <= number <= high:
        raise Error(f"{name} must be a whole number from {low} to {high}, not {_shown(value)}")
    return number


def share(name, value):
    """A number from 0 to 1."""
    good = isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value <= 1
    if not good:
        raise Error(f"{name} must be a number from 0 to 1, not {_shown(value)}")
    return float(value)


def _index(value):
    """None when it is no whole number."""
    try:
        return None if isinstance(value, bool) else operator.index(value)
    except TypeError:
        return None


def text(name, value):
    """A text or a path."""
    if not isinstance(value, (str, os.PathLike)) or not isinstance(os.fspath(value), str):
        raise Error(f"{name} must be a text, not {_shown(value)}")
    value = os.fspath(value)
    try:
        value.encode()
    except UnicodeEncodeError:
        raise Error(f"{name} is no valid Unicode text: {_shown(value)}") from None
    return value


def flag(name, value):
    """True or False."""
    if not isinstance(value, bool):
        raise Error(f"{name} must be True or False, not {_shown(value)}")
    return value


def settings(given):
    """{"l1.size": "48K"} as `--set` has it."""
    if not isinstance(given, dict):
        raise Error(f'set must be a dict such as {{"l1.size": "48K"}}, not {_shown(given)}')

    def shown(key, value):
        if isinstance(value, bool):
            return "true" if value else "false"
        if isinstance(value, (list, tuple)):
            return "[" + ",".join(shown(key, part) for part in value) + "]"
        if isinstance(value, (str, int, float)) or hasattr(value, "__index__"):
            return str(value)
        raise Error(f"set: the value of {key} is a text, a number, a truth value or a list of them, not {_shown(value)}")

    return [f"{text('a key of set', key)}={shown(key, value)}" for key, value in given.items()]


def _check_keys(given, known, what):
    for key in given:
        if key not in known:
            raise Error(f"unknown key {key!r} of {what}; known: {', '.join(known)}")


def _shown(value):
    shown = repr(value)
    return shown if len(shown) <= 100 else f"{shown[:60]}... ({type(value).__name__})"
