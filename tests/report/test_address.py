"""A view can be sent: its address has the page, the filter, and what else was chosen."""
from page import By, Keys, chart_table, click, columns, frame, go, table, wait
from report_case import ReportCase


class Address(ReportCase):
    def address(self):
        return self.driver.execute_script("return location.hash")

    def open(self, address):
        """The page anew, as one opens it to whom the address was sent."""
        self.driver.get("about:blank")
        self.driver.get(f"file://{self.page}{address}")
        wait(lambda: self.driver.execute_script("return document.documentElement.dataset.ready"), "the page is ready")
        frame(self.driver)

    def choose(self, label, value):
        select = self.driver.find_element(By.XPATH, f"//label[starts-with(., '{label}')]/select")
        self.driver.execute_script("arguments[0].value = arguments[1]; arguments[0].dispatchEvent(new Event('change'))", select, value)
        frame(self.driver)

    def test_the_page_is_in_it_from_the_start(self):
        self.assertEqual(self.address(), "#overview")

    def test_filters_and_choices_are_in_it(self):
        go(self.driver, "policies")
        click(self.driver, self.driver.find_element(By.XPATH, "//button[@aria-pressed][text()='leftover']"))
        self.choose("l1.size", "48K")
        self.choose("Metric", "antt")
        self.choose("Mean", "geometric")
        sent = self.address()
        self.assertEqual(sent, "#policies?set.l1.size=48K&policy=spatial&policy=even&policy=even,warps=lrr&mean=geometric&metric=antt")
        rows = chart_table(self.driver, "class-antt")["rows"]
        self.open(sent)
        self.assertEqual(chart_table(self.driver, "class-antt")["rows"], rows)
        pressed = self.driver.execute_script("return [...document.querySelectorAll('button[aria-pressed=true]')].map((button) => button.textContent)")
        self.assertEqual(pressed, ["spatial", "even", "even,warps=lrr"])
        self.assertEqual(self.address(), sent)

    def test_links_keep_the_filter_and_going_back_restores_it(self):
        go(self.driver, "policies")
        click(self.driver, self.driver.find_element(By.XPATH, "//button[@aria-pressed][text()='even']"))
        click(self.driver, self.driver.find_element(By.XPATH, "//nav/a[text()='Runs']"))
        wait(lambda: self.address().startswith("#runs?"), "the runs")
        frame(self.driver)
        self.assertNotIn("even", columns(self.driver, '[data-table="runs"]')["Policy"])
        click(self.driver, self.driver.find_element(By.XPATH, "//button[@aria-pressed][text()='even']"))  # on again: no filter
        self.assertEqual(self.address(), "#runs")
        self.driver.back()
        wait(lambda: self.address().startswith("#policies?"), "the policies")
        frame(self.driver)
        self.assertNotIn("even", {row[1] for row in chart_table(self.driver, "class-weighted_speedup")["rows"]})
        self.driver.forward()
        wait(lambda: self.address() == "#runs", "the runs")
        frame(self.driver)
        self.assertIn("even", columns(self.driver, '[data-table="runs"]')["Policy"])

    def test_tables_keep_what_their_reader_looks_for(self):
        go(self.driver, "runs")
        name = '[data-table="runs"]'
        self.driver.find_element(By.XPATH, "//div[@data-table='runs']//th/button[contains(., 'ANTT')]").click()
        self.driver.find_element(By.CSS_SELECTOR, f"{name} input[type=search]").send_keys("hotspot lrr")
        shown = columns(self.driver, name)
        sent = self.address()
        self.assertEqual(sent, "#runs?find.runs=hotspot+lrr&sort.runs=-ANTT")
        self.open(sent)
        self.assertEqual(columns(self.driver, name), shown)
        self.assertEqual(self.driver.find_element(By.CSS_SELECTOR, f"{name} input[type=search]").get_attribute("value"), "hotspot lrr")
        go(self.driver, "overview")
        self.assertEqual(self.address(), "#overview")

    def test_a_run_and_its_way_back(self):
        self.open(f"#run/{self.last_run}?policy=even")
        self.assertEqual(len(self.driver.find_elements(By.CSS_SELECTOR, "[data-table=counters]")), 1)
        click(self.driver, self.driver.find_element(By.XPATH, "//nav/a[text()='Runs']"))
        wait(lambda: self.address() == "#runs?policy=even", "the runs")
        frame(self.driver)
        self.assertEqual(set(columns(self.driver, '[data-table="runs"]')["Policy"]), {"even"})

    def test_addresses_that_say_nothing_known_show_everything(self):
        count = self.values.one("SELECT count(*) FROM (SELECT run_id FROM apps GROUP BY run_id HAVING count(*) > 1)")
        for address in ["#runs?policy=none&app=none&sweep=none&set.l1.size=1&class=%", "#runs?show=none&rows=none&sort.runs=none", "#runs?%zz&=&&a"]:
            self.open(address)
            self.assertEqual(table(self.driver, '[data-table="runs"]')["count"], count, address)
            self.assertEqual(self.address(), "#runs" if "show" not in address and "sort" not in address else self.address())
        self.open("#none")
        self.assertEqual(self.driver.execute_script("return shownPage"), "#overview")
        self.open("#trends?x=none&series=none&y=none&metric=none")
        self.assertGreater(len(chart_table(self.driver, "trend")["rows"]), 0)

    def test_places_on_a_page_leave_the_address(self):
        go(self.driver, "pairs")
        self.driver.execute_script("document.querySelector('.skip').focus()")  # which brings it into view
        self.driver.switch_to.active_element.send_keys(Keys.ENTER)
        wait(lambda: self.address() == "#pairs", "the address of the page")
