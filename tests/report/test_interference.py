"""The page of the ledger, of a database whose runs have one."""
import json
import os
import re
import subprocess

import example
from page import chart_table, columns, go, load, size
from report_case import ReportCase


class Interference(ReportCase):
    def test_the_page_is_there_where_runs_have_a_ledger_alone(self):
        names = self.driver.execute_script("return [...document.querySelectorAll('nav a')].map((link) => link.innerText)")
        self.assertNotIn("Interference", names)

    def test_what_runs_say(self):
        db = os.path.join(self.folder, "interference.sqlite")
        page = os.path.join(self.folder, "interference.html")
        # A goal, and so a ledger.
        printed = subprocess.run([example.PROGRAM, "run", "sgemm:goal=80%", "lbm", "--machine", "wang17-16sm", "--policy", "qos-rollover",
                                  "--cycles", "120000", "--db", db], check=True, capture_output=True, text=True).stdout
        example.write_report(db, page)
        load(self.driver, page)
        go(self.driver, "interference")
        (run, policy, text), = example.Values(db).all(
            "SELECT id, policy, result FROM runs WHERE id IN (SELECT run_id FROM apps GROUP BY run_id HAVING count(*) > 1)")
        result = json.loads(text)
        names = [app["app"] for app in result["apps"]]
        lost = {}
        for entry in result["ledger"]:
            lost.setdefault((entry["victim"], entry["culprit"]), {})[entry["place"]] = entry["lost_share"]
        self.assertEqual(set(lost), {(0, 1), (1, 0)})
        shown = chart_table(self.driver, f"ledger-{policy}")
        self.assertEqual({(row[0], row[1]): row[2] for row in shown["rows"]},
                         {(names[v], names[c]): f"{100 * sum(places.values()):.1f}%" for (v, c), places in lost.items()})
        by_place = columns(self.driver, '[data-table="ledger"]')
        self.assertEqual(len(by_place["Lost"]), len(result["ledger"]))
        shares = sorted((entry["lost_share"] for entry in result["ledger"]), reverse=True)
        self.assertEqual(by_place["Lost"], [f"{100 * share:.1f}%" for share in shares])  # the greatest loss first
        # Places have the words of the command line.
        said = [part.split("% ", 1) for line in re.findall(r"^.* lost .*% of its cycles to .*: (.*)$", printed, re.M) for part in line.split(", ")]
        self.assertGreater(len(said), 3)
        for share, place in said:
            self.assertIn((f"{share}%", place), list(zip(by_place["Lost"], by_place["At"])))
        for width in (360, 768):
            size(self.driver, width)
            self.assertLessEqual(self.driver.execute_script("return document.documentElement.scrollWidth"), width)
        go(self.driver, f"run/{run}")
        shown = chart_table(self.driver, "ledger")
        self.assertEqual(len(shown["rows"]), len(lost))
        for row in shown["rows"]:
            victim, culprit = (int(cell[cell.rindex("(") + 1:-1]) - 1 for cell in row[:2])
            places = lost[(victim, culprit)]
            self.assertEqual(row[2], f"{100 * sum(places.values()):.1f}%")
            self.assertEqual(sorted(row[3:]), sorted(f"{100 * places.get(place, 0):.1f}%" for place in {p for of in lost.values() for p, share in of.items() if share > 0}))
