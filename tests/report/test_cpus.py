"""CPU cores beside the GPU: their programs, and what a run's three speedups are."""
import json
import os
import subprocess

import example
from page import columns, decimal, go, load, size
from report_case import ReportCase


class Cpus(ReportCase):
    def test_what_runs_say(self):
        db = os.path.join(self.folder, "cpus.sqlite")
        page = os.path.join(self.folder, "cpus.html")
        subprocess.run([example.PROGRAM, "run", "add", "--machine", "kayiran14-small3x3", "--cpu", "mcf*2,povray", "--cpu-warm-up", "500",
                        "--cpu-instructions", "2000", "--quiet", "--db", db], check=True)
        example.write_report(db, page)
        load(self.driver, page)
        (run, text), = example.Values(db).all("SELECT id, result FROM runs WHERE id IN (SELECT run_id FROM apps) AND id IN (SELECT run_id FROM cpus)")
        result = json.loads(text)
        go(self.driver, f"run/{run}")
        self.assertEqual(self.driver.execute_script("return document.querySelector('h1').textContent"), "add beside mcf*2, povray*1")
        shown = columns(self.driver, '[data-table="cpus"]')
        self.assertEqual(shown["Program"], ["mcf", "povray"])
        self.assertEqual(shown["Cores"], ["2", "1"])
        for label, name in [("IPC", "ipc"), ("Alone", "ipc_isolated"), ("Normalized", "normalized_ipc"), ("L2 MPKI", "l2_mpki")]:
            values = [cpu[name] for cpu in result["cpus"]]
            self.assertEqual(shown[label], [decimal((values[0] + values[1]) / 2), decimal(values[2])], label)
        facts = self.driver.execute_script(
            "return Object.fromEntries([...document.querySelectorAll('.facts dt')].map((dt) => [dt.textContent, dt.nextElementSibling.textContent]))")
        for label, name in [("GPU speedup", "su_gpu"), ("CPU weighted speedup", "ws_cpu"), ("Overall system speedup", "oss")]:
            self.assertEqual(facts[label], decimal(result["metrics"][name]), label)
        # A CPU program alone has no application, and a page all the same.
        (alone,), *_ = example.Values(db).all("SELECT id FROM runs WHERE id NOT IN (SELECT run_id FROM apps) ORDER BY id")
        go(self.driver, f"run/{alone}")
        self.assertEqual(self.driver.execute_script("return document.querySelector('h1').textContent"), "mcf*1")
        self.assertEqual(columns(self.driver, '[data-table="cpus"]')["Normalized"], [decimal(1)])
        for width in (360, 768):
            size(self.driver, width)
            self.assertLessEqual(self.driver.execute_script("return document.documentElement.scrollWidth"), width)
