"""What all tests of the report in a browser share: one database, its report, one browser."""
import json
import os
import unittest

import example
from page import PAGES, browser, load, scheme, size


class ReportCase(unittest.TestCase):
    driver = None  # until the first test

    @classmethod
    def prepare(cls, folder):
        """Once, before all tests."""
        cls.folder = folder
        cls.db = os.path.join(folder, "browser.sqlite")
        cls.page = os.path.join(folder, "report.html")
        cls.last_run = example.make_database(cls.db, folder)
        reproduction = os.path.join(folder, "reproduction.json")
        with open(reproduction, "w", encoding="utf-8") as file:
            json.dump(example.REPRODUCTION, file)
        example.write_report(cls.db, cls.page, "--reproduction", reproduction)
        cls.values = example.Values(cls.db)
        cls.downloads = os.path.join(folder, "downloads")
        os.mkdir(cls.downloads)
        cls.driver = browser(cls.downloads)

    @classmethod
    def end(cls):
        if cls.driver:
            cls.driver.quit()

    def setUp(self):
        size(self.driver, 1280)
        scheme(self.driver, "light")
        load(self.driver, self.page)

    def tearDown(self):
        self.check_quiet()

    def check_quiet(self):
        """No errors in the console, and nothing asked of a network."""
        self.assertEqual([entry for entry in self.driver.get_log("browser") if entry["level"] != "DEBUG"], [])
        for entry in self.driver.get_log("performance"):
            message = json.loads(entry["message"])["message"]
            if message["method"] == "Network.requestWillBeSent":
                url = message["params"]["request"]["url"]
                self.assertTrue(url.startswith(("file:", "data:", "blob:", "about:")), url)

    def all_pages(self):
        return PAGES + [f"run/{self.last_run}"]
