"""Databases whose runs have not all the same policies: what they have in common is shown, and what is left out is said."""
import os
import shutil
import subprocess

import example
from example import SHARED
from page import By, chart_table, click, columns, go, load
from report_case import ReportCase

FOUR = ["leftover", "spatial", "even", "even,warps=lrr"]


class CommonSet(ReportCase):
    def one_more(self):
        """The page of the database with another run, of one workload under another policy."""
        page = os.path.join(self.folder, "one-more.html")
        if not os.path.exists(page):
            db = os.path.join(self.folder, "one-more.sqlite")
            shutil.copy(self.db, db)
            subprocess.run([example.PROGRAM, "run", "hotspot", "kmeans", "--policy", "smk-p", "--cycles", "3000", "--quiet", "--db", db], check=True)
            example.write_report(db, page)
        load(self.driver, page)

    def shown(self):
        """{policy: workloads} of the main chart, over all classes."""
        rows = chart_table(self.driver, "class-weighted_speedup")["rows"]
        every = [row for row in rows if row[0] == "All"] or rows
        return {row[1]: int(row[2]) for row in every}

    def note(self):
        return self.driver.find_element(By.CSS_SELECTOR, "[data-note=left-out]")

    def test_another_run_leaves_the_charts_as_they_are(self):
        pairs = self.values.one(f"SELECT count(*) FROM runs WHERE policy = 'even' AND id IN ({SHARED})")
        means = columns(self.driver, '[data-table="policies"]')
        self.assertEqual(self.driver.find_elements(By.CSS_SELECTOR, "[data-note=left-out]"), [])
        self.one_more()
        for page in ["overview", "policies"]:
            go(self.driver, page)
            self.assertEqual(self.shown(), {policy: pairs for policy in FOUR})
            self.assertEqual(columns(self.driver, '[data-table="policies"]'), means)
            self.assertEqual(self.note().text, f"Shown: 4 policies and the {pairs} workloads that all of them have ended, the largest common set. Left out: 1 policy "
                                               "(smk-p with 1 workload) and 1 workload. To see them, choose a policy by its name here, or show everything.")

    def test_what_is_left_out_is_a_click_away(self):
        self.one_more()
        click(self.driver, self.note().find_element(By.XPATH, ".//a[text()='show everything']"))
        self.assertEqual(self.driver.execute_script("return location.hash"), "#policies?same=false")
        self.assertEqual(self.shown()["smk-p"], 1)
        self.assertEqual(set(self.shown()), {*FOUR, "smk-p"})
        self.assertIn("do not compare", self.note().text)
        click(self.driver, self.note().find_element(By.TAG_NAME, "a"))
        self.assertEqual(set(self.shown()), set(FOUR))
        click(self.driver, self.note().find_element(By.XPATH, ".//a[text()='smk-p']"))
        self.assertEqual(self.driver.execute_script("return location.hash"), "#policies?policy=smk-p")
        self.assertEqual(self.shown(), {"smk-p": 1})

    def test_chosen_policies_are_shown_where_they_have_anything_in_common(self):
        db = os.path.join(self.folder, "fewer.sqlite")
        page = os.path.join(self.folder, "fewer.html")
        shutil.copy(self.db, db)
        values = example.Values(db)
        pairs = [row[0] for row in values.all(f"SELECT id FROM runs WHERE policy = 'spatial' AND id IN ({SHARED}) ORDER BY id")]
        values.db.execute(f"UPDATE runs SET state = 'pending', result = NULL WHERE id IN ({','.join(map(str, pairs[1:]))})")
        values.db.commit()
        values.db.close()
        example.write_report(db, page)
        load(self.driver, page)
        self.assertEqual(self.shown(), {policy: len(pairs) for policy in FOUR if policy != "spatial"})
        click(self.driver, self.note().find_element(By.XPATH, ".//a[text()='spatial']"))
        self.assertEqual(self.shown(), {policy: 1 for policy in FOUR})  # chosen, with all that share its workload
        self.assertEqual(self.note().text.partition(". To see")[0], f"Shown: 4 policies and the 1 workload that all of them have ended. Left out: {len(pairs) - 1} workloads")

    def test_the_largest_set_is_the_largest(self):
        wrong = self.driver.execute_script("""
            let seed = 1;
            const random = (below) => { seed = (seed * 48271) % 2147483647; return seed % below; };
            const wrong = [];
            for (let round = 0; round < 300; ++round) {
              const policies = 1 + random(6);
              const having = Array.from({length: 1 + random(12)}, () => BigInt(1 + random(2 ** policies - 1)));
              const score = (mask) => {
                const workloads = having.filter((set) => (set & mask) === mask).length;
                const size = bitCount(mask);
                return workloads ? (size > 1) * 1e6 + workloads * size : 0;
              };
              let best = 0;
              for (let mask = 1; mask < 2 ** policies; ++mask) best = Math.max(best, score(BigInt(mask)));
              const found = largestCommonSet(having);
              if (score(found) !== best) wrong.push([having.map(String), String(found)]);
              const wanted = having[random(having.length)] & having[0] || having[0];
              if ((largestCommonSet(having, wanted) & wanted) !== wanted) wrong.push([having.map(String), String(wanted)]);
            }
            return wrong;""")
        self.assertEqual(wrong, [])
