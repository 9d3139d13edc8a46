"""The numbers of a report are those of its database."""
from example import SHARED
from page import By, chart_table, columns, decimal, frame, go
from report_case import ReportCase


class Numbers(ReportCase):
    def test_overview_has_the_counts_and_means_of_the_database(self):
        tiles = self.driver.execute_script("return Object.fromEntries([...document.querySelectorAll('.tiles div')].map((d) => [d.children[0].innerText, d.children[1].innerText]))")
        self.assertEqual(int(tiles["Runs ended"]), self.values.one("SELECT count(*) FROM runs WHERE state = 'done'"))
        self.assertEqual(tiles["Policies"], "4")
        self.assertEqual(tiles["Applications"], "4")
        means = columns(self.driver, '[data-table="policies"]')
        expected = self.values.all(f"SELECT policy, count(*), avg(weighted_speedup), avg(antt), avg(fairness) FROM runs WHERE id IN ({SHARED}) GROUP BY policy ORDER BY min(id)")
        self.assertEqual(means["Policy"], [row[0] for row in expected])
        self.assertEqual(means["Workloads"], [str(row[1]) for row in expected])
        for i, heading in enumerate(["Weighted speedup", "ANTT", "Fairness"], 2):
            self.assertEqual(means[heading], [decimal(row[i]) for row in expected], heading)
        self.assertEqual(sorted({row[0] for row in chart_table(self.driver, "class-weighted_speedup")["rows"]} - {"All"}),
                         sorted({self.values.workload_class(run) for (run,) in self.values.all(SHARED)}))

    def test_class_means_are_those_of_the_database(self):
        go(self.driver, "policies")
        groups = {}
        for run, policy, speedup in self.values.all(f"SELECT id, policy, weighted_speedup FROM runs WHERE id IN ({SHARED})"):
            for kind in (self.values.workload_class(run), "All"):
                groups.setdefault((kind, policy), []).append(speedup)
        rows = chart_table(self.driver, "class-weighted_speedup")["rows"]
        self.assertEqual(len(rows), len(groups))
        for kind, policy, count, mean in rows:
            self.assertEqual(int(count), len(groups[kind, policy]))
            self.assertEqual(mean, decimal(sum(groups[kind, policy]) / len(groups[kind, policy])), (kind, policy))
        self.assertGreater(len({kind for kind, _ in groups}), 2)

    def test_bars_are_as_high_as_their_values(self):
        heights, values = self.driver.execute_script("""
            const figure = document.querySelector('figure[data-chart="class-weighted_speedup"]');
            const key = [...figure.querySelectorAll('rect[rx]')].length;
            const bars = [...figure.querySelectorAll('rect:not([rx])')].map((rect) => rect.height.baseVal.value);
            return [bars, key];""")
        rows = chart_table(self.driver, "class-weighted_speedup")["rows"]
        self.assertEqual(values, 4)
        self.assertEqual(len(heights), len(rows))
        for height, row in zip(heights, rows):
            self.assertAlmostEqual(height / heights[0], float(row[3]) / float(rows[0][3]), delta=0.01)

    def test_pairs_are_those_of_the_database(self):
        go(self.driver, "pairs")
        expected = {}
        for run, speedup in self.values.all(f"SELECT id, weighted_speedup FROM runs WHERE policy = 'spatial' AND id IN ({SHARED})"):
            apps = [row[0] for row in self.values.all("SELECT app FROM apps WHERE run_id = ? ORDER BY position", run)]
            expected.setdefault(tuple(sorted(apps)), []).append(speedup)
        rows = chart_table(self.driver, "pairs-spatial")["rows"]
        self.assertEqual(len(rows), 2 * len(expected))
        for a, b, mean in rows:
            values = expected[tuple(sorted((a, b)))]
            self.assertEqual(mean, decimal(sum(values) / len(values)))

    def test_trends_follow_the_machine_key_that_changes(self):
        go(self.driver, "trends")
        rows = chart_table(self.driver, "trend")["rows"]
        expected = {(value, policy): mean for value, policy, mean in self.values.all(
            f"SELECT o.value, r.policy, avg(r.weighted_speedup) FROM runs r JOIN overrides o ON o.run_id = r.id AND o.key = 'l1.size' WHERE r.id IN ({SHARED}) GROUP BY 1, 2")}
        self.assertEqual({(value, policy): mean for value, policy, mean in rows}, {key: decimal(mean) for key, mean in expected.items()})
        self.assertEqual(len(chart_table(self.driver, "surface")["rows"]), 8)

    def test_distributions_have_their_quantiles(self):
        go(self.driver, "distributions")
        for policy, count, smallest, *_ in chart_table(self.driver, "distribution")["rows"]:
            values = sorted(row[0] for row in self.values.all(f"SELECT weighted_speedup FROM runs WHERE policy = ? AND id IN ({SHARED})", policy))
            self.assertEqual(int(count), len(values))
            self.assertEqual(smallest, decimal(values[0]))
        select = self.driver.find_element(By.XPATH, "//label[starts-with(., 'As')]/select")
        select.send_keys("Histograms")
        frame(self.driver)
        self.assertIn("Each bar counts runs", self.driver.find_element(By.CSS_SELECTOR, "figure .note").text)

    def test_applications_have_the_stalls_of_their_isolated_runs(self):
        go(self.driver, "applications")
        shown = columns(self.driver, '[data-table="applications"]')
        expected = {f"{100 * self.values.stall_share(run):.1f}%" for (run,) in self.values.all("SELECT DISTINCT isolated_run_id FROM apps WHERE isolated_run_id IS NOT NULL")}
        self.assertEqual(set(shown["LSU stalled"]), expected)
        self.assertEqual({kind for kind, share in zip(shown["Class"], shown["LSU stalled"]) if float(share[:-1]) >= 20}, {"M"})

    def test_a_run_has_all_its_counters(self):
        go(self.driver, f"run/{self.last_run}")
        shown = columns(self.driver, '[data-table="counters"]')
        expected = self.values.all("SELECT c.name, m.value FROM (SELECT run_id, counter_id, value FROM metrics UNION ALL SELECT run_id, counter_id, value "
                                   "FROM pair_metrics) m JOIN counters c ON c.id = m.counter_id WHERE m.run_id = ? ORDER BY 1, 2", self.last_run)
        self.assertEqual(sorted((name, int(value.replace(" ", ""))) for name, value in zip(shown["Counter"], shown["Value"])), expected)
