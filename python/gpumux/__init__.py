"""gpumux: simulates how GPU kernels behave when they share a GPU. See docs/python.md."""

import io
import json
import os
import re

from . import _core
from ._core import Error, InternalError, SimulationFault, __version__, apps, machines, policies

__all__ = ["Error", "InternalError", "Result", "SimulationFault", "apps", "load", "machines", "policies", "run"]

for _error in (Error, InternalError, SimulationFault):
    _error.__module__ = __name__

_TEXT_KEYS = ("app", "grid", "block", "shared")
_LIST_KEYS = ("args", "symbols")


class Result(dict):
    """The document that `gpumux run --json` writes (gpumux.result/1), as a dict."""

    def __str__(self):
        """What `gpumux run` prints of it, in short; repr() has all of the document."""
        def number(value, digits):
            return "-" if value is None else f"{value:.{digits}f}"

        rows = [["app", "IPC", "isolated", "normalized", "completed"]]
        rows += [[app["app"], number(app["ipc"], 2), number(app["ipc_isolated"], 2), number(app["normalized_ipc"], 4),
                  str(app["completions"])] for app in self["apps"]]
        widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
        lines = ["  ".join([row[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:]))])
                 for row in rows]
        metrics = self["metrics"]
        return "\n".join([f"machine {self['machine']}, seed {self['seed']}, policy {self['policy']}: {self['cycles']} cycles", "",
                          *lines, "", f"weighted speedup {number(metrics['weighted_speedup'], 4)}, ANTT {number(metrics['antt'], 4)}, "
                          f"STP {number(metrics['stp'], 4)}, fairness {number(metrics['fairness'], 4)}"])

    def to_frame(self):
        """A pandas DataFrame with a row per application: what was run, metrics, counters."""
        import pandas

        rows = []
        for position, app in enumerate(self["apps"]):
            row = {key: self[key] for key in ("machine", "policy", "seed", "cycles")}
            row["position"] = position
            row.update(_flat(app))
            row.update(self["metrics"])
            rows.append(row)
        return pandas.DataFrame(rows)


def run(apps, machine="dai18-maxwell", policy="leftover", cycles=None, set=None, seed=1, threads=1, baseline=True,
        verify=False):
    """Simulates applications that share a GPU, and gives back a Result.

    apps      one application or a list of them. Each is a text as `gpumux run` takes it ("hotspot:size=256",
              "trace.gmt"), or a dict for a kernel of a PTX file:
              {"app": "k.ptx:scale", "grid": 64, "block": [16, 16], "shared": 0, "args": ["zero:f32[64]"], "symbols": []}
    machine   a preset's name or a machine file
    policy    a sharing policy with its settings
    cycles    core cycles; None: until every application has ended once
    set       changes of the machine: {"l1.size": "48K"}
    threads   host threads; results never depend on them
    baseline  also run each application alone, for normalized IPC and the metrics; kept in the cache of `gpumux run`
    verify    check the results of every completed run

    Raises Error (a ValueError) for wrong input, SimulationFault when a simulated program is at fault. Other Python threads
    run meanwhile; Ctrl-C ends it with KeyboardInterrupt.
    """
    many = apps if isinstance(apps, (list, tuple)) else [apps]
    return Result(json.loads(_core.run(
        apps=[_app(app) for app in many], machine=os.fspath(machine), set=_settings(set or {}), policy=policy,
        cycles=0 if cycles is None else _whole("cycles", cycles, 1), seed=_whole("seed", seed, 0),
        threads=_whole("threads", threads, 1, 256), baseline=bool(baseline), verify=bool(verify))))


def load(path, rows="apps"):
    """A database of `gpumux sweep` as a pandas DataFrame. Raises Error when it is none.

    rows="apps"   a row per application of each run, with its metrics and counters
    rows="runs"   a row per run, with those of the whole GPU, its schedulers and memory partitions

    Changed keys of the machine are columns such as "set.l1.size". Runs that failed or are pending have no numbers.
    """
    import pandas

    if rows == "apps":
        text = {name: str for name in ("hash", "machine", "overrides", "policy", "state", "app", "error")}
        # An application may be called "NA"; what is empty is missing.
        frame = pandas.read_csv(io.StringIO(_core.export_csv(os.fspath(path))), dtype=text, keep_default_na=False,
                                na_values=[""], float_precision="round_trip")
        overrides = [dict(part.split("=", 1) for part in re.split(r" (?=[A-Za-z_][\w.]*=)", value)) if isinstance(value, str) else {}
                     for value in frame.pop("overrides")]
        keys = list(dict.fromkeys(key for changed in overrides for key in changed))
        for offset, key in enumerate(keys):
            frame.insert(frame.columns.get_loc("machine") + 1 + offset, "set." + key,
                         [changed.get(key) for changed in overrides])
        return frame
    if rows == "runs":
        return pandas.DataFrame([_run_row(entry) for entry in json.loads(_core.export_json(os.fspath(path)))["runs"]])
    raise Error(f"rows is 'apps' or 'runs', not {rows!r}")


def _run_row(entry):
    row = {key: entry[key] for key in ("hash", "machine")}
    row.update({"set." + key: value for key, value in entry["overrides"].items()})
    row.update({key: entry[key] for key in ("policy", "seed", "cycle_limit", "state")})
    row["apps"] = " + ".join(app["app"] for app in entry["apps"])
    row["error"] = entry.get("error")
    if "result" in entry:
        row["cycles"] = entry["result"]["cycles"]
        row["wall_seconds"] = entry["result"]["wall_seconds"]
        row.update(entry["result"]["metrics"])
        for key in ("alu_utilization", "dram_bandwidth_utilization"):
            row[key] = entry["result"]["gpu"][key]
        row.update(entry["counters"]["gpu"])
        for scope in ("schedulers", "partitions"):
            row.update({f"{scope}.{key}": value for key, value in entry["counters"][scope].items()})
    return row


def _flat(table, prefix=""):
    flat = {}
    for key, value in table.items():
        if isinstance(value, dict):
            flat.update(_flat(value, f"{prefix}{key}."))
        else:
            flat[prefix + key] = value
    return flat


def _app(app):
    if isinstance(app, (str, os.PathLike)):
        return {"app": os.fspath(app)}, {}
    if not isinstance(app, dict) or "app" not in app:
        raise Error(f"an application is a text or a dict with 'app', not {app!r}")
    texts, lists = {}, {}
    for key, value in app.items():
        if key in _TEXT_KEYS:
            texts[key] = ",".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)
        elif key in _LIST_KEYS:
            if isinstance(value, str) or not all(isinstance(part, str) for part in value):
                raise Error(f"{key!r} of an application is a list of texts, not {value!r}")
            lists[key] = list(value)
        else:
            raise Error(f"unknown key {key!r} of an application; known: {', '.join(_TEXT_KEYS + _LIST_KEYS)}")
    return texts, lists


def _settings(settings):
    def text(value):
        if isinstance(value, bool):
            return "true" if value else "false"
        if isinstance(value, (list, tuple)):
            return "[" + ",".join(map(text, value)) + "]"
        return str(value)

    return [f"{key}={text(value)}" for key, value in settings.items()]


def _whole(name, value, low, high=2**60):
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise Error(f"{name} must be a whole number from {low} to {high}, not {value!r}")
    return value
