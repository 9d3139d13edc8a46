"""gpumux: simulates how GPU kernels behave when they share a GPU. See docs/python.md."""

import io
import json
import re
import warnings

from . import _arguments as _given
from . import _core
from ._arguments import In, InOut, Out
from ._core import Error, InternalError, SimulationFault, __version__, apps, machines, policies

__all__ = ["Error", "In", "InOut", "InternalError", "Out", "Result", "SimulationFault", "apps", "load", "machines", "policies",
           "run"]

for _name in (Error, InternalError, SimulationFault, In, InOut, Out):
    _name.__module__ = __name__


class Result(dict):
    """The document that `gpumux run --json` writes (gpumux.result/1), as a dict.

    timeline  the Chrome trace of a run with timeline=True, as a dict: json.dump() of it is a file for viewers
    """

    timeline = None

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
            row.update(_flat(self["metrics"]))
            rows.append(row)
        return pandas.DataFrame(rows)


    def cpus(self):
        """A pandas DataFrame with a row per CPU core with a program: what it executed, IPC, counters."""
        import pandas

        if "cpus" not in self:
            raise Error("this run has no CPU programs; give cpu=\"H2\" or another list to run()")
        return pandas.DataFrame([_flat(entry) for entry in self["cpus"]])

    def pairs(self):
        """A pandas DataFrame with a row per pair of applications: what the culprit did to the victim (positions)."""
        import pandas

        frame = pandas.DataFrame(self["pairs"])
        for column in ("culprit", "victim"):
            frame.insert(2, f"{column}_app", [self["apps"][position]["app"] for position in frame[column]])
        return frame

    def series(self, scope="apps"):
        """A pandas DataFrame of a run with series=N: what each interval added to each counter.

        scope     "apps": a row per interval and application; "gpu", "schedulers" or "partitions": a row per interval;
                  "pairs": a row per interval and pair of applications, what the culprit did to the victim (positions)
        Column begin is the interval's first core cycle.
        """
        if scope not in ("apps", "gpu", "schedulers", "partitions", "pairs"):
            raise Error(f"scope is 'apps', 'gpu', 'schedulers', 'partitions' or 'pairs', not {scope!r}")
        if "series" not in self:
            raise Error("this run has no series; give series=N to run(), the core cycles of an interval")
        return _series_frame(self["series"], scope, [app["app"] for app in self["apps"]])


def _series_frame(series, scope, names, **columns):
    import pandas

    frames = []
    for position, counters in enumerate(series[scope] if scope in ("apps", "pairs") else [series[scope]]):
        frame = pandas.DataFrame(counters)
        place = {**columns, "begin": [k * series["interval"] for k in range(len(frame))]}
        if scope == "apps":
            place.update(position=position, app=names[position])
        for at, (name, value) in enumerate(place.items()):
            frame.insert(at, name, value)
        frames.append(frame)
    return pandas.concat(frames, ignore_index=True)


def run(apps, machine="dai18-maxwell", policy="leftover", cycles=None, set=None, seed=1, threads=1, baseline=True,
        verify=False, series=None, timeline=False, cpu=None, cpu_warm_up=100_000, cpu_instructions=500_000, alpha=0.5):
    """Simulates applications that share a GPU, and gives back a Result.

    apps      one application or a list of them. Each is a text as `gpumux run` takes it ("hotspot:size=256",
              "trace.gmt"), or a dict for a kernel of a PTX file:
              {"app": "k.ptx:scale", "grid": 64, "block": [16, 16], "shared": 0, "args": [x, Out(y), numpy.float32(2)]}
              or for several that share buffers, in order or in streams:
              {"app": "chain", "buffers": {"x": x, "y": Out(y)}, "repeat": 1, "launches": [
               {"kernel": "k.ptx:scale", "grid": 64, "block": 256, "args": ["buffer:x", "buffer:y"], "stream": 0, "after": []}]}
              args, buffers and symbols are texts as --arg takes them ("zero:f32[64]", "f32:2"), numbers with a type
              (numpy.float32(2)) and arrays: In(x) or x is copied to the GPU, Out(y) has the kernel's result after the
              run, InOut(z) both. Arrays are whatever has Python's buffer protocol, such as numpy's
    machine   a preset's name or a machine file
    policy    a sharing policy with its settings
    cycles    core cycles; None: until every application has ended once
    set       changes of the machine: {"l1.size": "48K"}
    threads   host threads; results never depend on them
    baseline  also run each application alone, for normalized IPC and the metrics; kept in the cache of `gpumux run`
    verify    check the results of every completed run
    series    core cycles of an interval in which all counters are sampled: Result.series()
    timeline  Result.timeline is a Chrome trace of kernels, blocks and (with series) counters
    cpu       programs of the machine's CPU cores, as `gpumux run --cpu` takes them ("H2", "mcf*14"): Result.cpus()
    cpu_warm_up       instructions of the slowest of them before the applications begin
    cpu_instructions  of each of them that count from there on
    alpha     importance of the GPU in the overall system speedup, metrics["oss"]: 0 to 1

    Raises Error (a ValueError) for wrong input, SimulationFault when a simulated program is at fault. Other Python threads
    run meanwhile; Ctrl-C ends it with KeyboardInterrupt.
    """
    many = [_given.Application(app) for app in (apps if isinstance(apps, (list, tuple)) else [apps])]
    document, trace, outputs = _core.run(
        apps=[app.fields for app in many], machine=_given.text("machine", machine), set=_given.settings({} if set is None else set),
        policy=_given.text("policy", policy), cycles=0 if cycles is None else _given.whole("cycles", cycles, 1), seed=_given.whole("seed", seed, 0),
        threads=_given.whole("threads", threads, 1, 256), baseline=_given.flag("baseline", baseline), verify=_given.flag("verify", verify),
        series=0 if series is None else _given.whole("series", series, 1), timeline=_given.flag("timeline", timeline),
        cpu="" if cpu is None else _given.text("cpu", cpu), cpu_warm_up=_given.whole("cpu_warm_up", cpu_warm_up, 0),
        cpu_instructions=_given.whole("cpu_instructions", cpu_instructions, 1), alpha=_given.share("alpha", alpha))
    for app, (complete, contents) in zip((app for app in many if app.is_program), outputs):
        if complete:
            app.fill(contents)
        elif app.outputs:
            warnings.warn(f"{app.fields['app']} did not end within {cycles} cycles: its arrays are as they were", stacklevel=2)
    result = Result(json.loads(document))
    if trace is not None:
        result.timeline = json.loads(trace)
    return result


def load(path, rows="apps"):
    """A database of `gpumux sweep` as a pandas DataFrame. Raises Error when it is none.

    rows="apps"   a row per application of each run, with its metrics and counters
    rows="runs"   a row per run, with those of the whole GPU, its schedulers and memory partitions
    rows="pairs"  a row per run and pair of its applications: what the culprit did to the victim (positions)
    rows="cpus"   a row per CPU core of each run that has a program: IPC, alone and here
    rows="series" a row per interval of each application of each run that has a series

    Changed keys of the machine are columns such as "set.l1.size". Runs that failed or are pending have no numbers.
    """
    import pandas

    path = _given.text("path", path)
    if rows == "apps":
        types = {name: str for name in ("hash", "machine", "overrides", "policy", "state", "cpus", "app", "error")}
        # An application may be called "NA"; what is empty is missing.
        frame = pandas.read_csv(io.StringIO(_core.export_csv(path)), dtype=types, keep_default_na=False,
                                na_values=[""], float_precision="round_trip")
        return _with_settings(frame)
    if rows == "cpus":
        types = {name: str for name in ("hash", "machine", "overrides", "policy", "state", "apps", "program")}
        return _with_settings(pandas.read_csv(io.StringIO(_core.export_cpus_csv(path)), dtype=types, keep_default_na=False,
                                              na_values=[""], float_precision="round_trip"))
    if rows == "runs":
        return pandas.DataFrame([_run_row(entry) for entry in json.loads(_core.export_json(path))["runs"]])
    if rows == "pairs":
        return pandas.DataFrame([{**{key: entry[key] for key in ("hash", "machine")},
                                  **{"set." + key: value for key, value in entry["overrides"].items()},
                                  **{key: entry[key] for key in ("policy", "seed", "cycle_limit")},
                                  "victim_app": entry["apps"][pair["victim"]]["app"],
                                  "culprit_app": entry["apps"][pair["culprit"]]["app"], **pair}
                                 for entry in json.loads(_core.export_json(path))["runs"]
                                 for pair in entry.get("counters", {}).get("pairs", [])])
    if rows == "series":
        frames = [_series_frame(entry["result"]["series"], "apps", [app["app"] for app in entry["apps"]],
                                **{key: entry[key] for key in ("hash", "machine")},
                                **{"set." + key: value for key, value in entry["overrides"].items()}, policy=entry["policy"],
                                seed=entry["seed"])
                  for entry in json.loads(_core.export_json(path))["runs"] if "series" in entry.get("result", {})]
        if not frames:
            raise Error(f"{path}: no run has a series; `series = 1000` in a sweep's file keeps them")
        return pandas.concat(frames, ignore_index=True)
    raise Error(f"rows is 'apps', 'runs', 'pairs', 'cpus' or 'series', not {rows!r}")


def _with_settings(frame):
    """With a column for each changed key of the machine instead of `overrides`."""
    overrides = [dict(part.split("=", 1) for part in re.split(r" (?=[A-Za-z_][\w.]*=)", value)) if isinstance(value, str) else {}
                 for value in frame.pop("overrides")]
    keys = list(dict.fromkeys(key for changed in overrides for key in changed))
    for offset, key in enumerate(keys):
        frame.insert(frame.columns.get_loc("machine") + 1 + offset, "set." + key, [changed.get(key) for changed in overrides])
    return frame


def _run_row(entry):
    row = {key: entry[key] for key in ("hash", "machine")}
    row.update({"set." + key: value for key, value in entry["overrides"].items()})
    row.update({key: entry[key] for key in ("policy", "seed", "cycle_limit", "state")})
    row["apps"] = " + ".join(app["app"] for app in entry["apps"])
    row["error"] = entry.get("error")
    if "result" in entry:
        row["cycles"] = entry["result"]["cycles"]
        row["wall_seconds"] = entry["wall_seconds"]
        row.update(_flat(entry["result"]["metrics"]))
        for key in ("alu_utilization", "dram_bandwidth_utilization"):
            row[key] = entry["result"]["gpu"][key]
        row["average_watts"] = entry["result"]["gpu"].get("average_watts")
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
