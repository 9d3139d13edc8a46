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

import numpy
import pandas

import gpumux

PROGRAM = os.environ["GPUMUX_PROGRAM"]
KERNEL = os.path.join(os.environ["GPUMUX_SOURCE_DIR"], "tests/experiment/kernel.ptx") + ":scale"
TWICE = numpy.zeros(4)
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

    def test_numbers_of_policies_have_columns_of_their_own(self):
        result = gpumux.run(["add", "stream"], policy="ws", cycles=600, set={"sms": 2})
        frame = result.to_frame()
        self.assertEqual(list(frame["policy"]), ["ws"] * 2)
        self.assertEqual(list(frame["policy.profiles"]), [result["metrics"]["policy"]["profiles"]] * 2)

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
            (dict(apps=[{"app": KERNEL, "args": "i32:1"}]), "'args' is a list of texts, arrays"),
            (dict(apps=[{"app": KERNEL, "args": [5]}]), 'args[0] is a text, an array or a number with a type, such as "i32:5"'),
            (dict(apps=[{"app": KERNEL, "args": [numpy.zeros(0)]}]), "args[0]: the array is empty"),
            (dict(apps=[{"app": KERNEL, "args": [numpy.zeros((4, 4))[:, 1]]}]), "args[0]: the array is not contiguous"),
            (dict(apps=[{"app": KERNEL, "args": [gpumux.Out(b"abc")]}]), "args[0]: the array is read-only"),
            (dict(apps=[{"app": KERNEL, "args": [gpumux.Out(numpy.int32(5))]}]), "args[0]: Out is for arrays"),
            (dict(apps=[{"app": KERNEL, "grid": 1.5}]), "'grid' is a whole number, a list of up to three or a text, not 1.5"),
            (dict(apps=[{"app": KERNEL, "args": [numpy.array([None, 5])]}]), "args[0]: an array of Python objects"),
            (dict(apps=[{"app": KERNEL, "args": [gpumux.Out(numpy.zeros(4, ">f4"))]}]), "args[0]: the bytes of its numbers"),
            (dict(apps=[{"app": KERNEL, "args": [numpy.array(2, ">f4")]}]), "args[0]: the bytes of its numbers"),
            (dict(apps=[{"app": KERNEL, "args": [numpy.array(["2026-01-01"], "M8[D]")]}]), "args[0] is a text, an array"),
            (dict(apps=[{"app": KERNEL, "args": ["in:array:0"]}]), "args[0]: files whose names begin with array:"),
            (dict(apps=[{"app": KERNEL, "args": [gpumux.Out(TWICE), gpumux.Out(TWICE)]}]), "args[1]: the array has the content"),
            (dict(apps=["hot\udc80spot"]), "an application is no valid Unicode text"),
            (dict(apps=[b"hotspot"]), "a text or a dict"),
            (dict(apps=["add"], cycles=numpy.array([1, 2])), "cycles must be a whole number"),
            (dict(apps=["add"], cycles=int), "cycles must be a whole number"),
            (dict(apps=[{"app": "a", "buffers": {}, "launches": [{"kernel": KERNEL, "grid": 1, "block": 1, "args": [
                "buffer:x", "buffer:x", "f32:1", "u32:1"]}]}]), "launches[0]: error: --arg buffer:x: there is no such buffer"),
            (dict(apps=[{"app": "a\nb", "launches": [{"kernel": KERNEL}]}]), "not empty, and on one line"),
            (dict(apps=[{"app": 5}]), "app must be a text, not 5"),
            (dict(apps=[{"app": "a", "launches": 5}]), "'launches' of an application is a list of dicts"),
            (dict(apps=[{"app": "a", "launches": [{}]}]), "a launch is a dict with 'kernel'"),
            (dict(apps=[{"app": "a", "launches": [{"kernel": KERNEL, "strem": 1}]}]), "unknown key 'strem' of a launch"),
            (dict(apps=[{"app": "a", "launches": [{"kernel": KERNEL, "stream": -1}]}]), "stream must be a whole number"),
            (dict(apps=[{"app": "a", "grid": 1, "launches": [{"kernel": KERNEL}]}]), "'grid' belongs to each of 'launches'"),
            (dict(apps=[{"app": KERNEL, "repeat": 2}]), "'repeat' is for applications with 'launches'"),
            (dict(apps=[{"app": "a", "buffers": [], "launches": [{"kernel": KERNEL}]}]), "'buffers' of an application is a dict"),
            (dict(apps=["add"], policy=5), "policy must be a text, not 5"),
            (dict(apps=["add"], machine=None), "machine must be a text, not None"),
            (dict(apps=["add"], set=["sms=4"]), 'set must be a dict such as {"l1.size": "48K"}, not'),
            (dict(apps=["add"], set={"sms": None}), "set: the value of sms is a text, a number"),
            (dict(apps=["add"], set={5: 1}), "a key of set must be a text, not 5"),
            (dict(apps=["add"], verify="no"), "verify must be True or False, not 'no'"),
            (dict(apps=["add"], series=0), "series must be a whole number from 1"),
            (dict(apps=["add"], timeline=1), "timeline must be True or False, not 1"),
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

    def test_arrays_go_in_and_out(self):
        x = numpy.arange(64, dtype=numpy.float32) * 0.25
        y = numpy.full(64, 7, dtype=numpy.float32)
        kernel = {"app": KERNEL, "grid": 2, "block": 32, "args": [x, gpumux.Out(y), numpy.float32(1.1), numpy.uint32(64)]}
        gpumux.run(kernel, set={"sms": 1})
        self.assertTrue((y == x * numpy.float32(1.1)).all())
        # A result of 2D, in place, in a buffer that is no numpy array, and a scalar of Python's array.
        both = x.reshape(8, 8).copy()
        kernel["args"] = [gpumux.InOut(both), "same:1", "f32:2", numpy.uint32(64)]
        gpumux.run(kernel, set={"sms": 1})
        self.assertTrue((both == x.reshape(8, 8) * 2).all())
        kernel["grid"] = numpy.int64(2)
        raw = bytearray(256)
        kernel["args"] = [gpumux.In(x.tobytes()), gpumux.Out(raw), "f32:1", "u32:64"]
        gpumux.run(kernel, set={"sms": 1})
        self.assertEqual(bytes(raw), x.tobytes())

    def test_arrays_of_a_kernel_that_does_not_end_stay_as_they_were(self):
        y = numpy.full(64, 7, dtype=numpy.float32)
        kernel = {"app": KERNEL, "grid": 2, "block": 32, "args": ["zero:f32[64]", gpumux.Out(y), "f32:1", "u32:64"]}
        with self.assertWarnsRegex(UserWarning, "did not end within 20 cycles"):
            gpumux.run(kernel, set={"sms": 1}, cycles=20)
        self.assertTrue((y == 7).all())

    def test_baselines_fill_no_arrays(self):
        y = numpy.full(64, 7, dtype=numpy.float32)
        kernel = {"app": KERNEL, "grid": 2, "block": 32, "args": ["zero:f32[64]", gpumux.Out(y), "f32:1", "u32:64"]}
        for _cache in ("empty", "filled"):  # alone the kernel ends
            with self.assertWarnsRegex(UserWarning, "did not end within 2000 cycles"):
                gpumux.run(["hotspot", kernel], policy="sequential", set={"sms": 1}, cycles=2000)
            self.assertTrue((y == 7).all())

    def test_several_kernels_share_buffers(self):
        x = numpy.arange(64, dtype=numpy.float32)
        z = numpy.zeros(64, dtype=numpy.float32)
        launch = {"kernel": KERNEL, "grid": 2, "block": 32}
        chain = {"app": "chain", "buffers": {"x": gpumux.InOut(x), "z": gpumux.Out(z)}, "repeat": 3, "launches": [
            {**launch, "args": ["buffer:x", "buffer:x", numpy.float32(2), numpy.uint32(64)]},
            {**launch, "args": ["buffer:x", "buffer:z", "f32:10", "u32:64"], "stream": 1, "after": 1}]}
        result = gpumux.run([chain, "add:blocks=1"], set={"sms": 2})
        self.assertEqual(result["apps"][0]["app"], "chain")
        self.assertTrue((x == numpy.arange(64) * 8).all())
        self.assertTrue((z == x * 10).all())

    def test_series_and_timeline(self):
        result = gpumux.run(["add", "stream"], policy="even", cycles=1000, set={"sms": 2}, series=300, timeline=True)
        frame = result.series()
        self.assertEqual(list(frame["begin"]), [0, 300, 600, 900] * 2)
        self.assertEqual(list(frame["app"]), ["add"] * 4 + ["stream"] * 4)
        for position, app in enumerate(result["apps"]):
            self.assertEqual(frame[frame["position"] == position]["warp_instructions"].sum(), app["warp_instructions"])
        self.assertEqual(len(result.series("gpu")), 4)
        self.assertIn("issued", result.series("schedulers"))
        with self.assertRaisesRegex(gpumux.Error, "scope is 'apps'"):
            result.series("sms")
        with self.assertRaisesRegex(gpumux.Error, "this run has no series"):
            gpumux.run("add", cycles=600, set={"sms": 2}).series()
        self.program("run", "add", "stream", "--policy", "even", "--cycles", "1000", "--set", "sms=2", "--series", "300",
                     "--timeline", "t.json", "--quiet")
        self.assertEqual(result.timeline, json.loads((self.folder / "t.json").read_text()))

    def test_cpu_cores_beside_the_gpu(self):
        given = {"machine": "kayiran14-small3x3", "cpu": "mcf,-,povray", "cpu_warm_up": 500, "cpu_instructions": 2000, "alpha": 0.25}
        result = gpumux.run("add", **given)
        file = self.folder / "cpus.json"
        self.program("run", "add", "--machine", "kayiran14-small3x3", "--cpu", "mcf,-,povray", "--cpu-warm-up", "500",
                "--cpu-instructions", "2000", "--alpha", "0.25", "--json", file)
        expected = json.loads(file.read_text())
        self.assertEqual(result, expected)
        self.assertAlmostEqual(result["metrics"]["oss"], 0.75 * result["metrics"]["ws_cpu"] + 0.25 * result["metrics"]["su_gpu"])
        self.assertEqual(list(result.cpus()["program"]), ["mcf", "povray"])
        db = self.folder / "cpus.sqlite"
        self.program("run", "add", "--machine", "kayiran14-small3x3", "--cpu", "mcf,-,povray", "--cpu-warm-up", "500",
                "--cpu-instructions", "2000", "--db", db)
        rows = gpumux.load(db, rows="cpus")
        self.assertEqual(list(rows[rows["apps"] == "add"]["ipc"]), list(result.cpus()["ipc"]))
        for wrong, why in [({"machine": "v100"}, "v100 has no CPU cores"), ({"cpu": "mfc"}, "'mfc' is no mix"),
                           ({"alpha": 2}, "alpha must be a number from 0 to 1, not 2")]:
            with self.subTest(why), self.assertRaisesRegex(gpumux.Error, why):
                gpumux.run("add", **{**given, **wrong})
        with self.assertRaisesRegex(gpumux.Error, "has no CPU programs"):
            gpumux.run("add", cycles=500).cpus()

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

    def test_series(self):
        with self.assertRaisesRegex(gpumux.Error, "no run has a series"):
            gpumux.load(self.db, rows="series")
        (self.folder / "w.toml").write_text("series = 250\n" + SWEEP)
        self.program("sweep", "w.toml", "--db", "w.sqlite", "--quiet")
        frame = gpumux.load(self.folder / "w.sqlite", rows="series")
        runs = gpumux.load(self.folder / "w.sqlite", rows="apps")
        self.assertEqual(sorted(frame["begin"].unique()), [0, 250, 500])
        sums = frame.groupby(["hash", "position"])["l1_misses"].sum()
        for row in runs.to_dict("records"):
            self.assertEqual(sums[(row["hash"], row["position"])], row["l1_misses"])

    def test_what_is_no_database_is_an_error(self):
        (self.folder / "x").write_text("no database, though a long enough text to have been one of them" * 20)
        for path in ("none.sqlite", "x", "."):
            with self.subTest(path), self.assertRaises(gpumux.Error):
                gpumux.load(self.folder / path)
        with self.assertRaises(gpumux.Error):
            gpumux.load(self.db, rows="columns")
        with self.assertRaisesRegex(gpumux.Error, "path must be a text, not 5"):
            gpumux.load(5)


if __name__ == "__main__":
    unittest.main()
