"""A database with all that a report shows, what it says, and the report of it."""
import json
import math
import os
import sqlite3
import subprocess
import time

PROGRAM = ""  # gpumux

SWEEP = """
name = "browser"
machines = ["dai18-maxwell"]
policies = ["leftover", "spatial", "even", "even,warps=lrr"]
apps = ["hotspot", "kmeans", "stream", "cp"]
combine = "pairs"
cycles = 3000
[set]
code = "machine"  # with either warp scheduler the applications are of the same classes then
"l1.size" = ["24K", "48K"]
"""
# One of its runs once more, with a timeline.
TIMELINE_SWEEP = """
name = "browser-timeline"
machines = ["dai18-maxwell"]
policies = ["even"]
apps = ["kmeans", "stream"]
combine = "pairs"
cycles = 3000
timeline = true
series = 500
[set]
code = "machine"
"l1.size" = "24K"
"""
# A task that arrives every 20 us and preempts another.
PREEMPTION_SWEEP = """
name = "browser-preemption"
machines = ["chimera15-fermi30"]
policies = ["smart-even:preempt=switch,limit=5us", "smart-even:preempt=chimera,limit=5us"]
apps = ["hotspot", "chimera15/RT:at=10us,every=300us,deadline=220us"]
workloads = [["hotspot", "chimera15/RT:at=10us,every=300us,deadline=220us"]]
cycles = 500000
"""
# As `gpumux reproduce --json` writes it.
REPRODUCTION = {
    "schema": "gpumux.reproduce/1", "scale": "quick",
    "claims": [{"id": f"paper.fig{i}", "paper": 1.0 + i / 10, "ours": None if i == 4 else 1.1 + i / 10, "unit": "ratio",
                "direction_agrees": [True, True, False, True, None][i], "size_agrees": [True, False, False, True, None][i],
                "note": "", "what": f"claim {i}", "source": "Figure 1"} for i in range(5)],
    "trends": [{"id": "paper.trend", "paper": "a > b", "ours": "a > b", "unit": None, "direction_agrees": True,
                "size_agrees": None, "note": "", "what": "a before b"}],
    "papers": [{"paper": "paper", "title": "A paper about sharing"}],
}
SHARED = "SELECT run_id FROM apps GROUP BY run_id HAVING count(*) > 1"


class Values:
    """What the database says, worked out apart from the page."""

    def __init__(self, path):
        self.db = sqlite3.connect(path)

    def all(self, sql, *values):
        return self.db.execute(sql, values).fetchall()

    def one(self, sql, *values):
        return self.all(sql, *values)[0][0]

    def stall_share(self, isolated_run):
        stalls, cycles, sms = self.all(
            "SELECT m.value, r.cycles, 16 FROM metrics m JOIN counters c ON c.id = m.counter_id JOIN runs r ON r.id = m.run_id "
            "WHERE c.scope = 'app' AND c.name = 'lsu_stall_cycles' AND m.app = 0 AND m.run_id = ?", isolated_run)[0]
        return stalls / (cycles * sms)

    def workload_class(self, run):
        isolated = [row[0] for row in self.all("SELECT isolated_run_id FROM apps WHERE run_id = ?", run)]
        return "+".join(sorted("M" if self.stall_share(i) > 0.2 else "C" for i in isolated))


def run_sweep(path, folder, name, text):
    sweep = os.path.join(folder, name + ".toml")
    with open(sweep, "w", encoding="utf-8") as file:
        file.write(text)
    subprocess.run([PROGRAM, "sweep", sweep, "--db", path, "--jobs", "2"], check=True, cwd=folder, stdout=subprocess.DEVNULL)


def make_database(path, folder):
    run_sweep(path, folder, "browser", SWEEP)
    run_sweep(path, folder, "browser-timeline", TIMELINE_SWEEP)
    db = sqlite3.connect(path)
    run = db.execute(f"SELECT max(run_id) FROM ({SHARED})").fetchone()[0]
    # What `gpumux run --db` keeps of a run over time.
    counters = {(scope, name): number for number, scope, name in db.execute("SELECT id, scope, name FROM counters")}
    for app in (0, 1):
        samples = [round(1000 + 900 * math.sin(i / 9 + app)) for i in range(300)]
        db.execute("INSERT INTO series VALUES (?, ?, ?, 10, ?)", (run, app, counters["app", "warp_instructions"], json.dumps(samples)))
    for k, name in enumerate(["issued", "scoreboard_memory", "pipeline_memory"]):
        samples = [10 + (i * (k + 3)) % 50 for i in range(300)]
        db.execute("INSERT INTO series VALUES (?, -1, ?, 10, ?)", (run, counters["schedulers", name], json.dumps(samples)))
    db.execute("INSERT INTO timelines VALUES (?, ?)", (run, json.dumps(trace(100000))))
    db.commit()
    db.close()
    return run


def trace(spans):
    """Blocks on 16 SMs of 4 places each, in the form of `gpumux run --timeline`."""
    events = []
    for sm in range(16):
        events.append({"ph": "M", "name": "process_name", "pid": sm, "args": {"name": f"SM {sm}"}})
        for place in range(4):
            events.append({"ph": "M", "name": "thread_name", "pid": sm, "tid": place, "args": {"name": f"block slot {place}"}})
    for i in range(spans):
        lane, nth = i % 64, i // 64
        events.append({"ph": "X", "cat": "block", "name": ["hotspot", "kmeans", "stream"][(lane + nth // 7) % 3], "pid": lane // 4,
                       "tid": lane % 4, "ts": nth * 10 + lane % 5, "dur": 5 + (i * 7) % 5,
                       "args": {"block": i, "begin_cycle": nth * 10 + lane % 5, "end_cycle": nth * 10 + lane % 5 + 5 + (i * 7) % 5}})
    return {"otherData": {"core_mhz": 1400}, "traceEvents": events}


def multiply(path, runs):
    """The same runs with other seeds, until there are so many."""
    db = sqlite3.connect(path)
    have, most = db.execute("SELECT count(*), max(id) FROM runs").fetchone()
    copies = -(-runs // have) - 1
    for k in range(1, copies + 1):
        shift = k * most
        db.execute(f"INSERT INTO runs SELECT id + {shift}, hash || '-{k}', state, machine_id, policy, seed + {k}, cycle_limit, program, cycles, "
                   f"weighted_speedup * (1 + (id * 7 + {k} * 13) % 50 * 0.002), antt, stp, fairness, result, exit_code, error, wall_seconds, "
                   f"finished_at, su_gpu, ws_cpu, oss FROM runs WHERE id <= {most} AND id + {shift} <= {runs}")
        for name, values in [("apps", "position, app, identity, seed, isolated_run_id"), ("overrides", "position, key, value"), ("metrics", "app, counter_id, value")]:
            shifted = values.replace("isolated_run_id", f"isolated_run_id + {shift}")
            db.execute(f"INSERT INTO {name} (run_id, {values}{', ipc, ipc_isolated, normalized_ipc, completions' if name == 'apps' else ''}) SELECT run_id + {shift}, "
                       f"{shifted}{', ipc, ipc_isolated, normalized_ipc, completions' if name == 'apps' else ''} FROM {name} WHERE run_id <= {most} AND run_id + {shift} <= {runs}")
    db.execute("DELETE FROM timelines")
    db.commit()
    db.close()


def with_policies(path, policies):
    """The runs of several applications under `even` once more under each of these."""
    db = sqlite3.connect(path)
    most, = db.execute("SELECT max(id) FROM runs").fetchone()
    chosen = f"IN (SELECT id FROM runs WHERE policy = 'even' AND id <= {most} AND id IN ({SHARED}))"
    for k, policy in enumerate(policies, 1):
        shift = k * most
        db.execute(f"INSERT INTO runs SELECT id + {shift}, hash || '-{k}', state, machine_id, ?, seed, cycle_limit, program, cycles, weighted_speedup, antt, stp, "
                   f"fairness, result, exit_code, error, wall_seconds, finished_at, su_gpu, ws_cpu, oss FROM runs WHERE id {chosen}", (policy,))
        for name, values in [("apps", "position, app, identity, seed, isolated_run_id, ipc, ipc_isolated, normalized_ipc, completions"), ("overrides", "position, key, value"),
                             ("metrics", "app, counter_id, value")]:
            db.execute(f"INSERT INTO {name} (run_id, {values}) SELECT run_id + {shift}, {values} FROM {name} WHERE run_id {chosen}")
    db.commit()
    db.close()


def write_report(db, page, *options):
    began = time.monotonic()
    subprocess.run([PROGRAM, "report", db, "-o", page, *options], check=True, stdout=subprocess.DEVNULL)
    return time.monotonic() - began
