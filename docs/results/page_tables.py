"""Tables of a paper's page: for the scripts docs/results/PAPER.sh, which find it by PYTHONPATH."""
import collections
import json


def row(*cells):
    print("| " + " | ".join("-" if cell is None else str(cell) for cell in cells) + " |")


def head(*columns, text=1):
    """The first two lines of a table, of which the first `text` columns are text and the others numbers."""
    row(*columns)
    print("|" + "---|" * text + "---:|" * (len(columns) - text))


def number(value, digits=1):
    return None if value is None else f"{value:.{digits}f}"


def quantities(path):
    """Experiment -> quantity -> value, of the file that `gpumux reproduce --json` wrote."""
    values = collections.defaultdict(dict)
    with open(path, encoding="utf-8") as file:
        for experiment in json.load(file)["experiments"]:
            for quantity in experiment["quantities"]:
                values[experiment["id"].split("/")[1]][quantity["name"]] = quantity["value"]
    return values
