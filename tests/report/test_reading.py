"""Where a report is read: light and dark, narrow, without sight, without a network, with ten thousand runs."""
import os
import shutil
import subprocess
import sys
import time

import example
from example import SHARED, Values, multiply, write_report
from page import PAGES, By, columns, frame, go, load, scheme, size, table
from report_case import ReportCase


class Reading(ReportCase):
    def background(self):
        return self.driver.execute_script("return getComputedStyle(document.body).backgroundColor")

    def test_dark_follows_the_system_and_the_switch(self):
        self.assertEqual(self.background(), "rgb(255, 255, 255)")
        light = self.driver.execute_script("return document.querySelector('figure svg').outerHTML")
        scheme(self.driver, "dark")
        frame(self.driver)
        self.assertEqual(self.background(), "rgb(19, 21, 24)")
        self.assertNotEqual(self.driver.execute_script("return document.querySelector('figure svg').outerHTML"), light)
        switch = self.driver.find_element(By.ID, "theme")
        self.assertEqual(switch.text, "Light")
        switch.click()
        self.assertEqual(self.background(), "rgb(255, 255, 255)")
        self.driver.execute_script("localStorage.clear(); themeChoice = 'auto'; applyTheme();")
        for page in self.all_pages():
            go(self.driver, page)

    def test_narrow_screens_scroll_down_only(self):
        for width in (360, 768):
            size(self.driver, width)
            for page in self.all_pages():
                go(self.driver, page)
                self.assertLessEqual(self.driver.execute_script("return document.documentElement.scrollWidth"), width, page)

    def test_everything_has_a_name(self):
        for page in self.all_pages():
            go(self.driver, page)
            nameless = self.driver.execute_script("""
                const nameless = [...document.querySelectorAll('button, a, select, input')].filter((node) =>
                    !(node.innerText || '').trim() && !node.getAttribute('aria-label') && !node.labels?.length);
                const tables = [...document.querySelectorAll('table')].filter((node) => !node.caption);
                const charts = [...document.querySelectorAll('.plot')].filter((node) => !node.getAttribute('aria-label'));
                return nameless.concat(tables, charts).map((node) => node.outerHTML.slice(0, 200));""")
            self.assertEqual(nameless, [], page)
            self.assertEqual(self.driver.execute_script("return document.querySelectorAll('h1').length"), 1, page)
            self.assertEqual(self.driver.execute_script("return document.querySelectorAll('nav [aria-current=page]').length"), 1, page)

    def test_policy_lets_nothing_in(self):
        violated = self.driver.execute_async_script("""
            const done = arguments[0];
            const seen = [];
            document.addEventListener('securitypolicyviolation', (event) => { seen.push(event.effectiveDirective); if (seen.length === 3) done(seen.sort()); });
            fetch('http://127.0.0.1:9/').catch(() => {});
            new Image().src = 'http://127.0.0.1:9/x.png';
            const script = document.createElement('script');
            script.textContent = 'window.intruded = true';
            document.body.append(script);
            setTimeout(() => done(seen), 5000);""")
        self.assertEqual(violated, ["connect-src", "img-src", "script-src-elem"])
        self.assertIsNone(self.driver.execute_script("return window.intruded"))
        self.driver.get_log("browser")  # these errors are meant
        self.driver.get_log("performance")

    def test_errors_are_one_line_and_leave_the_old_page(self):
        old = os.path.join(self.folder, "old.html")
        with open(old, "w", encoding="utf-8") as file:
            file.write("old")
        broken = os.path.join(self.folder, "broken.json")
        with open(broken, "w", encoding="utf-8") as file:
            file.write("{\n  \"claims\": [,\n")
        for arguments, message in [(["none.sqlite", "-o", old], "none.sqlite: error: does not exist"),
                                   ([broken, "-o", old], "broken.json: error: "),
                                   ([self.db, "-o", old, "--reproduction", broken], "broken.json:2:14: error: is no JSON"),
                                   ([self.db, "-o", self.folder], ": error: is a folder; a file name was expected"),
                                   ([self.db, "-o", self.db], "would be overwritten by a result"),
                                   ([self.db, "-o", self.db + "-wal"], "would be overwritten by a result"),
                                   ([self.db, "-o", broken, "--reproduction", broken], "would be overwritten by a result"),
                                   ([self.db], "error: ")]:
            outcome = subprocess.run([example.PROGRAM, "report", *arguments], capture_output=True, text=True, cwd=self.folder, check=False)
            self.assertEqual(outcome.returncode, 2, arguments)
            self.assertIn(message, outcome.stderr)
            self.assertEqual(outcome.stderr.count("\n"), 1, outcome.stderr)
        with open(old, encoding="utf-8") as file:
            self.assertEqual(file.read(), "old")
        self.assertEqual([name for name in os.listdir(self.folder) if ".part." in name or ".tmp." in name], [])

    def test_ten_thousand_runs(self):
        many = os.path.join(self.folder, "many.sqlite")
        shutil.copy(self.db, many)
        multiply(many, 10000)
        page = os.path.join(self.folder, "many.html")
        written = write_report(many, page)
        began = time.monotonic()
        load(self.driver, page)
        drawn = time.monotonic() - began
        paint = self.driver.execute_script("return performance.getEntriesByType('paint').find(({name}) => name === 'first-contentful-paint')?.startTime")
        print(f"10 000 runs: written in {written:.2f} s, {os.path.getsize(page) / 1e6:.1f} MB; first frame "
              f"after {(paint or 0) / 1000:.2f} s, overview drawn after {drawn:.2f} s", file=sys.stderr)
        values = Values(many)
        self.assertEqual(values.one("SELECT count(*) FROM runs"), 10000)
        means = columns(self.driver, '[data-table="policies"]')
        for policy, mean in zip(means["Policy"], means["Weighted speedup"]):
            exact = values.one(f"SELECT avg(weighted_speedup) FROM runs WHERE policy = ? AND id IN ({SHARED})", policy)
            self.assertAlmostEqual(float(mean), exact, delta=0.003)  # workloads that lack a policy are left out
        times = []
        for name in PAGES[:-1]:
            began = time.monotonic()
            go(self.driver, name)
            times.append(f"{name} {time.monotonic() - began:.2f} s")
        print("pages of 10 000 runs: " + ", ".join(times), file=sys.stderr)
        go(self.driver, "runs")
        shared = values.one(f"SELECT count(*) FROM ({SHARED})")
        shown = table(self.driver, '[data-table="runs"]')
        self.assertEqual(shown["count"], shared)
        self.assertLess(len(shown["rows"]), 120)
        self.driver.execute_script("const node = document.querySelector('[data-table=runs] .scroll'); node.scrollTop = node.scrollHeight")
        frame(self.driver)
        last = values.one(f"SELECT max(run_id) FROM ({SHARED})")
        self.assertEqual(columns(self.driver, '[data-table="runs"]')["Run"][-1], str(last))
