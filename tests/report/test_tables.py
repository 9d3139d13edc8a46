"""Tables on wide and narrow screens: names stay in sight and are cut off where they are long, figures come first; and charts
of many policies, none of which has the colour of another."""
import os
import shutil

import example
from page import By, frame, go, load, scheme, size
from report_case import ReportCase

LONG = "kernels/of/a/folder/with/a/long/name/hotspot.ptx:calculate_temperature"
MANY = [f"ws-smil:k0={k},k1=inf,profile=a-file-with-a-long-name.json" for k in range(30)]


class Tables(ReportCase):
    def long_names(self):
        """The page of the same runs with a long name among the applications, and many policies."""
        page = os.path.join(self.folder, "long-names.html")
        if not os.path.exists(page):
            db = os.path.join(self.folder, "long-names.sqlite")
            shutil.copy(self.db, db)
            example.with_policies(db, MANY)
            values = example.Values(db)
            values.db.execute("UPDATE apps SET app = ? WHERE app = 'hotspot'", (LONG,))
            values.db.commit()
            values.db.close()
            example.write_report(db, page)
        load(self.driver, page)

    def test_the_first_figure_is_in_sight_and_the_name_stays(self):
        self.long_names()
        for width in (1280, 390):
            size(self.driver, width)
            for page, name, figure in [("overview", "policies", "Weighted speedup"), ("policies", "policies", "Weighted speedup"), ("runs?", "runs", "Weighted speedup"),
                                       ("runs?rows=apps", "apps", "Normalized IPC"), ("applications", "applications", "LSU stalled")]:
                self.driver.execute_script("location.hash = arguments[0]", page)
                frame(self.driver)
                frame(self.driver)
                seen = self.driver.execute_script("""
                    const [name, figure] = arguments;
                    const scroll = document.querySelector(`[data-table=${name}] .scroll`);
                    const headings = [...scroll.querySelectorAll('thead th')];
                    const cell = [...scroll.querySelectorAll('tbody th')].sort((a, b) => b.scrollWidth - a.scrollWidth)[0];
                    const heading = headings.find((th) => th.innerText.replace(/\\s+/g, ' ').includes(figure));
                    const edge = () => [cell, headings[0]].map((node) => Math.round(node.getBoundingClientRect().left - scroll.getBoundingClientRect().left));
                    const before = {figure: heading.getBoundingClientRect().right - scroll.getBoundingClientRect().right, edge: edge(), width: cell.clientWidth, box: scroll.clientWidth,
                                    cut: cell.scrollWidth > cell.clientWidth, overflow: getComputedStyle(cell).textOverflow, whole: cell.title, text: cell.innerText};
                    scroll.scrollLeft = 10000;
                    return {...before, scrolled: scroll.scrollLeft, after: edge(), page: document.documentElement.scrollWidth};""", name, figure)
                where = (page, width, seen)
                self.assertLessEqual(seen["figure"], 0, where)
                self.assertEqual(seen["edge"], [0, 0], where)
                self.assertEqual(seen["after"], [0, 0], where)
                self.assertLess(seen["width"], seen["box"] / 2, where)
                self.assertTrue(seen["cut"], where)
                self.assertEqual(seen["overflow"], "ellipsis", where)
                self.assertEqual(seen["whole"], seen["text"], where)
                self.assertLessEqual(seen["page"], width, where)
                if width == 390:
                    self.assertGreater(seen["scrolled"], 0, where)

    def test_no_two_policies_have_the_same_colour(self):
        self.long_names()
        go(self.driver, "policies")
        for colours in ("light", "dark"):
            scheme(self.driver, colours)
            frame(self.driver)
            fills = self.driver.execute_script("return [...document.querySelectorAll('figure[data-chart=\"class-weighted_speedup\"] rect[rx]')].map((rect) => rect.getAttribute('fill'))")
            self.assertEqual(len(fills), 4 + len(MANY))
            self.assertEqual(len(set(fills)), len(fills))
        nearest = self.driver.execute_script("""
            const of = [true, false].map((dark) => Array.from({length: 40}, (_, i) => toOklab(i < 10 ? kThemes[dark ? 'dark' : 'light'].series[i] : furtherColours(dark).colour(i))));
            return of.map((places) => Math.min(...places.flatMap((a, i) => places.slice(0, i).map((b) => Math.hypot(...a.map((x, k) => x - b[k]))))));""")
        for distance in nearest:
            self.assertGreater(distance, 0.06)  # 0.02 is what an eye just tells apart
        self.assertEqual(self.driver.execute_script("return new Set(Array.from({length: 1000}, (_, i) => seriesColour(i))).size"), 1000)

    def test_wide_and_narrow_pages_of_long_names_do_not_scroll_sideways(self):
        self.long_names()
        for width in (390, 1280):
            size(self.driver, width)
            for page in self.all_pages()[:-2]:
                go(self.driver, page)
                self.assertLessEqual(self.driver.execute_script("return document.documentElement.scrollWidth"), width, (page, width))
