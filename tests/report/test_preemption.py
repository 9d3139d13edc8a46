"""The page of preemptions, of a database whose runs have some."""
import json
import os

import example
from page import chart_table, columns, go, load, size
from report_case import ReportCase


class Preemption(ReportCase):
    def test_the_page_is_there_where_runs_preempt_alone(self):
        names = self.driver.execute_script("return [...document.querySelectorAll('nav a')].map((link) => link.innerText)")
        self.assertNotIn("Preemption", names)

    def test_what_runs_say(self):
        db = os.path.join(self.folder, "preemption.sqlite")
        page = os.path.join(self.folder, "preemption.html")
        example.run_sweep(db, self.folder, "browser-preemption", example.PREEMPTION_SWEEP)
        example.write_report(db, page)
        load(self.driver, page)
        go(self.driver, "preemption")
        results = {policy: json.loads(text) for policy, text in example.Values(db).all(
            "SELECT policy, result FROM runs WHERE id IN (SELECT run_id FROM apps GROUP BY run_id HAVING count(*) > 1) ORDER BY id")}
        self.assertEqual(len(results), 2)
        runs = columns(self.driver, '[data-table="preemptions"]')
        self.assertEqual(runs["Policy"], list(results))
        said = [result["metrics"]["policy"] for result in results.values()]
        self.assertEqual(runs["SMs"], [str(int(policy["preemptions"])) for policy in said])
        self.assertGreater(int(runs["SMs"][0]), 0)
        # A context switch takes longer than 5 us here; Chimera flushes.
        shares = [round(100 * (p["preemptions_over_limit"] + p["preemptions_given_up"]) / (p["preemptions"] + p["preemptions_given_up"])) for p in said]
        self.assertEqual([float(cell.rstrip("%")) for cell in runs["Late"]], shares)
        self.assertGreater(shares[0], shares[1])
        late = chart_table(self.driver, "preemption-late")
        self.assertEqual([row[0] for row in late["rows"]], list(results))
        techniques = chart_table(self.driver, "preemption-techniques")
        self.assertEqual([[int(cell.replace(",", "").replace("\u2009", "").replace("\u202f", "")) for cell in row[1:]] for row in techniques["rows"]],
                         [[int(p[f"preempted_blocks_{how}"]) for how in ("switched", "drained", "flushed")] for p in said])
        requests = columns(self.driver, '[data-table="requests"]')
        asked = [result["apps"][1]["requests"] for result in results.values()]
        self.assertEqual(requests["Missed"], [str(entry["missed"]) for entry in asked])
        self.assertEqual(requests["Arrived"], [str(entry["arrived"]) for entry in asked])
        for width in (360, 768):
            size(self.driver, width)
            self.assertLessEqual(self.driver.execute_script("return document.documentElement.scrollWidth"), width)
