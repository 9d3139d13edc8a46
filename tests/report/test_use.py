"""Tables, charts and timelines by mouse and keyboard, and what is saved from them."""
import json
import os
import sys
import xml.etree.ElementTree

from example import SHARED
from page import By, Keys, chart_table, columns, decimal, frame, go, table, wait, webdriver
from report_case import ReportCase


class Use(ReportCase):
    def test_runs_sort_filter_and_scroll(self):
        go(self.driver, "runs")
        name = '[data-table="runs"]'
        everything = self.values.all(f"SELECT id, weighted_speedup FROM runs WHERE id IN ({SHARED}) ORDER BY weighted_speedup DESC, id")
        self.assertEqual(table(self.driver, name)["count"], len(everything))
        heading = self.driver.find_element(By.XPATH, f"//div[@data-table='runs']//th/button[contains(., 'Weighted speedup')]")
        heading.send_keys(Keys.ENTER)  # by the keyboard
        self.assertEqual(heading.find_element(By.XPATH, "..").get_attribute("aria-sort"), "descending")
        self.assertEqual(columns(self.driver, name)["Weighted speedup"], [decimal(speedup) for _, speedup in everything])
        heading.click()
        self.assertEqual(heading.find_element(By.XPATH, "..").get_attribute("aria-sort"), "ascending")
        self.assertEqual(columns(self.driver, name)["Weighted speedup"], [decimal(speedup) for _, speedup in reversed(everything)])
        self.driver.find_element(By.CSS_SELECTOR, f"{name} input[type=search]").send_keys("hotspot lrr")
        expected = self.values.one("SELECT count(*) FROM runs WHERE policy LIKE '%lrr' AND id IN (SELECT run_id FROM apps WHERE app = 'hotspot') "
                                   f"AND id IN ({SHARED})")
        self.assertEqual(table(self.driver, name)["count"], expected)
        self.assertGreater(expected, 0)

    def test_filters_hold_for_all_pages(self):
        go(self.driver, "policies")
        self.driver.find_element(By.XPATH, "//button[@aria-pressed][text()='leftover']").click()
        frame(self.driver)
        self.assertEqual({row[1] for row in chart_table(self.driver, "class-weighted_speedup")["rows"]}, {"spatial", "even", "even,warps=lrr"})
        go(self.driver, "runs")
        self.assertEqual(table(self.driver, '[data-table="runs"]')["count"],
                         self.values.one(f"SELECT count(*) FROM runs WHERE policy != 'leftover' AND id IN ({SHARED})"))

    def test_charts_answer_to_pointer_and_keyboard(self):
        plot = self.driver.find_element(By.CSS_SELECTOR, 'figure[data-chart="class-weighted_speedup"] .plot')
        self.assertIn("Weighted speedup by workload class", plot.get_attribute("aria-label"))
        plot.send_keys(Keys.ARROW_RIGHT)
        tip = self.driver.find_element(By.ID, "tip")
        self.assertTrue(tip.is_displayed())
        self.assertIn("Weighted speedup: ", tip.text)
        self.assertEqual(self.driver.find_element(By.ID, "live").get_attribute("textContent"), tip.get_attribute("textContent"))
        first = tip.text
        plot.send_keys(Keys.ARROW_RIGHT)
        self.assertNotEqual(tip.text, first)
        plot.send_keys(Keys.ESCAPE)
        self.assertFalse(tip.is_displayed())
        webdriver.ActionChains(self.driver).move_to_element(plot.find_elements(By.CSS_SELECTOR, "rect:not([rx])")[0]).perform()
        self.assertTrue(tip.is_displayed())

    def test_charts_are_saved_as_svg_and_png(self):
        for kind in ("SVG", "PNG"):
            self.driver.find_element(By.XPATH, f"//figure[@data-chart='class-weighted_speedup']//button[text()='{kind}']").click()
        svg = wait(lambda: self.downloaded("overview.svg"), "the SVG")
        root = xml.etree.ElementTree.fromstring(svg)
        self.assertIn("Weighted speedup by workload class", "".join(root.itertext()))
        self.assertGreater(len(root.findall(".//{http://www.w3.org/2000/svg}rect")), 10)
        png = wait(lambda: self.downloaded("overview.png"), "the PNG")
        self.assertEqual(png[:8], b"\x89PNG\r\n\x1a\n")
        self.assertEqual(int.from_bytes(png[16:20], "big"), 2 * int(root.get("width")))
        self.assertGreater(len(png), 5000)
        self.driver.find_element(By.XPATH, "//div[@data-table='policies']//button[text()='CSV']").click()
        csv = wait(lambda: self.downloaded("policies.csv"), "the CSV").decode()
        self.assertEqual(len(csv.splitlines()), 5)

    def downloaded(self, name):
        path = os.path.join(self.downloads, name)
        if not os.path.exists(path):
            return None
        with open(path, "rb") as file:
            return file.read()

    def test_series_and_states_over_time(self):
        go(self.driver, f"run/{self.last_run}")
        rows = chart_table(self.driver, "series-warp_instructions")
        self.assertEqual(rows["count"], 600)
        states = chart_table(self.driver, "states")
        self.assertEqual(states["count"], 300)
        self.assertEqual(states["rows"][2], ["20", "16", "18", "20"])
        self.assertEqual(len(self.driver.find_elements(By.CSS_SELECTOR, 'figure[data-chart="states"] path')), 3)
        self.assertEqual(len(self.driver.find_elements(By.CSS_SELECTOR, 'figure[data-chart="series-warp_instructions"] path')), 2)

    def test_the_timeline_of_a_sweep_has_blocks_and_stalls(self):
        run, trace = self.values.all("SELECT run_id, trace FROM timelines WHERE run_id != ?", self.last_run)[0]
        spans = [event for event in json.loads(trace)["traceEvents"] if event["ph"] == "X"]
        self.assertGreater(sum(event["cat"] == "stall" for event in spans), 9)
        go(self.driver, f"run/{run}")
        note = self.driver.find_element(By.CSS_SELECTOR, 'figure[data-chart="timeline"] .note').text
        self.assertIn(f"{len(spans)} spans; time in core cycles", note)
        shown = self.driver.execute_script("""
            const {data} = document.querySelector('figure[data-chart="timeline"]').timeline;
            const of = (i) => [data.rows[data.row[i]].thread, data.categories[data.category[i]], data.start[i], data.duration[i]];
            return Array.from({length: data.count}, (_, i) => of(i)).filter((span) => span[1] === 'stall');""")
        self.assertEqual({span[0] for span in shown}, {"LSU stalls"})
        self.assertEqual(sorted(tuple(span[2:]) for span in shown),
                         sorted((event["args"]["begin_cycle"], event["args"]["end_cycle"] - event["args"]["begin_cycle"])
                                for event in spans if event["cat"] == "stall"))

    def test_timeline_of_a_hundred_thousand_spans(self):
        go(self.driver, f"run/{self.last_run}")
        self.assertIn("100 000 spans; time in core cycles", self.driver.find_element(By.CSS_SELECTOR, 'figure[data-chart="timeline"] .note').text)
        colours = """const canvas = document.querySelector('figure[data-chart="timeline"] canvas');
            const context = new OffscreenCanvas(canvas.width, canvas.height).getContext('2d', {willReadFrequently: true});
            context.drawImage(canvas, 0, 0);
            const pixels = new Uint32Array(context.getImageData(0, 0, canvas.width, canvas.height).data.buffer);
            return new Set(pixels).size;"""
        self.assertGreater(self.driver.execute_script(colours), 4)
        view = "const {view} = document.querySelector('figure[data-chart=\"timeline\"]').timeline; return [view.from, view.to];"
        begin, end = self.driver.execute_script(view)
        plot = self.driver.find_element(By.CSS_SELECTOR, 'figure[data-chart="timeline"] .plot')
        for key in "++++":
            plot.send_keys(key)
        plot.send_keys(Keys.ARROW_RIGHT)
        frame(self.driver)
        low, high = self.driver.execute_script(view)
        self.assertAlmostEqual(high - low, (end - begin) / 16)
        self.assertGreater(low, begin)
        self.assertGreater(self.driver.execute_script(colours), 4)
        milliseconds = self.driver.execute_script("""
            const {data, view} = document.querySelector('figure[data-chart="timeline"]').timeline;
            const context = document.createElement('canvas').getContext('2d');
            const surface = {rect(x, y, w, h, c) { context.fillStyle = c; context.fillRect(x, y, w, h); }, text(x, y, t) { context.fillText(t, x, y); }};
            const began = performance.now();
            for (let i = 0; i < 10; ++i) drawTimeline(surface, data, {from: 0, to: view.to * 20, top: 0}, 1200, 560, 180);
            return (performance.now() - began) / 10;""")
        print(f"timeline of 100 000 spans: {milliseconds:.1f} ms for a whole redraw", file=sys.stderr)

    def test_reproductions(self):
        go(self.driver, "papers")
        self.assertEqual(self.driver.find_element(By.TAG_NAME, "h1").text, "A paper about sharing")
        self.assertEqual(self.driver.find_element(By.CSS_SELECTOR, ".lead").text,
                         "3 of 4 directions agree; 2 of 4 sizes agree. 1 claim of 5 not judged; the notes say why. 1 of 1 trends agree.")
        shown = columns(self.driver, '[data-table="claims"]')
        self.assertEqual(shown["Ours"], ["1.100", "1.200", "1.300", "1.400", "–"])
        self.assertEqual(shown["Paper"], ["1.000", "1.100", "1.200", "1.300", "1.400"])
        self.assertEqual(shown["Direction"], ["agrees", "agrees", "differs", "agrees", "–"])
        self.assertEqual(columns(self.driver, '[data-table="trends"]')["Paper"], ["a > b"])
