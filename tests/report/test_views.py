"""What warps of single SMs did, of a database whose runs were viewed."""
import json
import os
import subprocess

import example
from page import chart_table, columns, go, load, size
from report_case import ReportCase


class Views(ReportCase):
    def test_what_runs_say(self):
        db = os.path.join(self.folder, "views.sqlite")
        page = os.path.join(self.folder, "views.html")
        subprocess.run([example.PROGRAM, "run", "kmeans", "stream", "--machine", "dai18-maxwell", "--policy", "even", "--cycles", "9000", "--series", "500",
                        "--view-sms", "0,3", "--quiet", "--db", db], check=True)
        example.write_report(db, page)
        load(self.driver, page)
        values = example.Values(db)
        (run, text), = values.all("SELECT id, result FROM runs WHERE id IN (SELECT run_id FROM apps GROUP BY run_id HAVING count(*) > 1)")
        views = json.loads(text)["views"]
        self.assertEqual([view["sm"] for view in views], [0, 3])
        go(self.driver, f"run/{run}")
        shown = columns(self.driver, '[data-table="views"]')
        self.assertEqual(shown["SM"], ["0", "3"])
        self.assertEqual(shown["Active"], [f"{100 * view['core_active_cycles'] / 9000:.1f}%" for view in views])
        self.assertEqual(shown["Overlap"], [f"{100 * view['overlap_cycles'] / 9000:.1f}%" for view in views])
        for view in views:
            for chart, prefix in [("warps", "warps_"), ("phases", "phase_"), ("core", "core_")]:
                rows = chart_table(self.driver, f"{chart}-{view['sm']}")["rows"]
                self.assertEqual(len(rows), 18)
                total = sum(int(cell.replace("\u202f", "").replace(" ", "")) for row in rows for cell in row[1:])
                self.assertEqual(total, sum(value for name, value in view.items() if name.startswith(prefix)), chart)
        for width in (360, 768):
            size(self.driver, width)
            self.assertLessEqual(self.driver.execute_script("return document.documentElement.scrollWidth"), width)
