"""The Python module: the results of the program, its errors, and databases as tables.

PYTHONPATH has the built package; GPUMUX_PROGRAM is the program, GPUMUX_SOURCE_DIR the repository.
"""

import json
import os
import pathlib
import signal
import subprocess
import tempfile
import threading
import unittest

import pandas

import gpumux

PROGRAM = os.environ["GPUMUX_PROGRAM"]
KERNEL = os.path.join(os.environ["GPUMUX_SOURCE_DIR"], "tests/experiment/kernel.ptx") + ":scale"
SWEEP = """
policies = ["even", "spatial"]
apps = ["add", {name = "NA", app = "stream"}]
combine = "pairs"
cycles = 600
set.sms = [1, 2]
"""


class Folder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        os.environ["GPUMUX_CACHE"] = str(self.folder / "cache")

    def program(self, *args):
        done = subprocess.run([PROGRAM, *args], cwd=self.folder, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout


class Run(Folder):
    def test_gives_what_the_program_gives(self):
        result = gpumux.run(["add", "stream:blocks=8"], policy="even", cycles=2000, set={"sms": 2, "l1.size": "48K"}, seed=3,
                            threads=2)
        self.program("run", "add", "stream:blocks=8", "--policy", "even", "--cycles", "2000", "--set", "sms=2", "--set",
                     "l1.size=48K", "--seed", "3", "--json", "r.json", "--quiet")
        expected = json.loads((self.folder / "r.json").read_text())
        for document in (result, expected):
            del document["wall_seconds"]
        self.assertEqual(result, expected)

    def test_baselines_are_shared_with_the_program(self):
        arguments = dict(policy="even", cycles=600, set={"sms": 2})
        gpumux.run(["add", "stream"], **arguments)
        kept = sorted((self.folder / "cache").rglob("*.json"))
        self.assertEqual(len(kept), 2)
        self.program("run", "add", "stream", "--policy", "even", "--cycles", "600", "--set", "sms=2", "--quiet")
        self.assertEqual(sorted((self.folder / "cache").rglob("*.json")), kept)

    def test_is_a_table(self):
        result = gpumux.run(["add", "stream"], policy="spatial", cycles=600, set={"sms": 2})
        frame = result.to_frame()
        self.assertEqual(list(frame["app"]), ["add", "stream"])
        self.assertEqual(list(frame["policy"]), ["spatial"] * 2)
        self.assertEqual(list(frame["ipc"]), [app["ipc"] for app in result["apps"]])
        self.assertEqual(list(frame["l1d.misses"]), [app["l1d"]["misses"] for app in result["apps"]])
        self.assertEqual(frame["weighted_speedup"][1], result["metrics"]["weighted_speedup"])

    def test_kernels_of_files_and_single_applications(self):
        kernel = {"app": KERNEL, "grid": [4, 1], "block": 64, "args": ["zero:f32[256]", "zero:f32[256]", "f32:2", "u32:256"]}
        result = gpumux.run(kernel, set={"sms": 1})
        self.assertEqual(result["apps"][0]["completions"], 1)
        self.assertEqual(result["apps"][0]["normalized_ipc"], 1)
        self.assertIsNone(gpumux.run("add", cycles=600, set={"sms": 2}, baseline=False)["apps"][0]["ipc_isolated"])
        self.assertTrue(gpumux.run("add:blocks=8", set={"sms": 2}, verify=True)["apps"][0]["completions"])

    def test_wrong_input_is_an_error_that_says_what_is_right(self):
        cases = [
            (dict(apps="hotspt"), "did you mean 'hotspot'"),
            (dict(apps=["add"], policy="evn"), "did you mean 'even'"),
            (dict(apps=["add"], machine="dai18"), "dai18-maxwell"),
            (dict(apps=["add"], set={"l1.sise": 1}), "did you mean 'size'"),
            (dict(apps=[]), "1 to 16 applications"),
            (dict(apps=["add"] * 17), "1 to 16 applications"),
            (dict(apps=["add"], cycles=0), "cycles must be a whole number"),
            (dict(apps=["add"], cycles=1.5), "cycles must be a whole number"),
            (dict(apps=["add"], seed=-1), "seed must be a whole number"),
            (dict(apps=["add"], threads=True), "threads must be a whole number"),
            (dict(apps=[3]), "a text or a dict"),
            (dict(apps=[{"app": "add", "grd": 1}]), "unknown key 'grd'"),
            (dict(apps=[{"app": KERNEL, "args": "i32:1"}]), "a list of texts"),
            (dict(apps=[{"app": "add", "grid": 1}]), "--grid is for kernels"),
            (dict(apps=[{"app": KERNEL, "grid": 1, "block": 32,
                         "args": ["out:f32[32]=x.bin", "zero:f32[32]", "f32:2", "u32:32"]}]), "writes no files"),
        ]
        for arguments, part in cases:
            with self.subTest(arguments):
                with self.assertRaises(gpumux.Error) as caught:
                    gpumux.run(**arguments)
                self.assertIn(part, str(caught.exception))
                self.assertIsInstance(caught.exception, ValueError)

    def test_a_program_at_fault_is_another_error(self):
        kernel = {"app": KERNEL, "grid": 64, "block": 64, "args": ["zero:f32[1]", "zero:f32[1]", "f32:2", "u32:999999"]}
        with self.assertRaises(gpumux.SimulationFault):
            gpumux.run(kernel, set={"sms": 1})

    def test_interrupts_end_it_and_other_threads_run_meanwhile(self):
        class Interrupt(Exception):
            pass

        def handler(_signal, _frame):
            raise Interrupt

        stop = threading.Event()
        turns = []

        def work():
            while not stop.wait(0.001):
                turns.append(1)

        old = signal.signal(signal.SIGINT, handler)
        thread = threading.Thread(target=work)
        thread.start()
        try:
            before = len(turns)
            timer = threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT))
            timer.start()
            with self.assertRaises(Interrupt):
                gpumux.run("hotspot", cycles=10**12)  # hours
            self.assertGreater(len(turns) - before, 5)
        finally:
            stop.set()
            thread.join()
            signal.signal(signal.SIGINT, old)

    def test_says_what_there_is(self):
        self.assertIn("hotspot", gpumux.apps())
        self.assertIn("even", gpumux.policies())
        self.assertIn("dai18-maxwell", gpumux.machines())
        self.assertIn(gpumux.__version__, self.program("--version"))


class Load(Folder):
    def setUp(self):
        super().setUp()
        (self.folder / "s.toml").write_text(SWEEP)
        self.program("sweep", "s.toml", "--db", "r.sqlite", "--quiet")
        self.db = self.folder / "r.sqlite"
        self.runs = json.loads(self.program("export", "r.sqlite", "--json"))["runs"]

    def test_applications(self):
        frame = gpumux.load(self.db)
        self.assertEqual(len(frame), sum(len(run["apps"]) for run in self.runs))
        self.assertEqual(sorted(frame["app"].unique()), ["NA", "add"])
        self.assertEqual(sorted(frame["set.sms"].unique()), ["1", "2"])
        self.assertTrue(frame["error"].isna().all())
        at = 0
        for run in self.runs:
            for position, app in enumerate(run["result"]["apps"]):
                row = frame.iloc[at]
                at += 1
                self.assertEqual((row["hash"], row["app"], row["set.sms"]), (run["hash"], app["app"], run["overrides"]["sms"]))
                self.assertEqual(row["normalized_ipc"], app["normalized_ipc"])
                self.assertEqual(row["l1_misses"], run["counters"]["apps"][position]["l1_misses"])
        pairs = frame[frame["apps"] == 2]
        means = pairs.groupby("policy")["weighted_speedup"].mean()
        self.assertEqual(set(means.index), {"even", "spatial"})
        self.assertTrue(pandas.api.types.is_float_dtype(frame["ipc"]))

    def test_a_changed_key_may_have_spaces(self):
        (self.folder / "l.toml").write_text('apps = ["add"]\ncombine = "alone"\ncycles = 500\n'
                                            '[set]\nsms = 1\n"latency.int_add" = ["[4, 1]", "[8, 2]"]\n')
        self.program("sweep", "l.toml", "--db", "l.sqlite", "--quiet")
        frame = gpumux.load(self.folder / "l.sqlite")
        self.assertEqual(sorted(frame["set.latency.int_add"]), ["[4, 1]", "[8, 2]"])
        self.assertEqual(set(frame["set.sms"]), {"1"})

    def test_runs(self):
        frame = gpumux.load(self.db, rows="runs")
        self.assertEqual(len(frame), len(self.runs))
        for row, run in zip(frame.to_dict("records"), self.runs):
            self.assertEqual(row["weighted_speedup"], run["result"]["metrics"]["weighted_speedup"])
            self.assertEqual(row["schedulers.issued"], run["counters"]["schedulers"]["issued"])
            self.assertEqual(row["l1_misses"], run["counters"]["gpu"]["l1_misses"])
            self.assertEqual(row["set.sms"], run["overrides"]["sms"])
        self.assertIn("add + NA", set(frame["apps"]))

    def test_what_is_no_database_is_an_error(self):
        (self.folder / "x").write_text("no database, though a long enough text to have been one of them" * 20)
        for path in ("none.sqlite", "x", "."):
            with self.subTest(path), self.assertRaises(gpumux.Error):
                gpumux.load(self.folder / path)
        with self.assertRaises(gpumux.Error):
            gpumux.load(self.db, rows="columns")


if __name__ == "__main__":
    unittest.main()
