#!/usr/bin/env bash
# The five papers, a line each, from their pages here: into docs/results/papers.md and README.md.
# usage: docs/results/papers.sh    (the pages are made by docs/results/PAPER.sh)
set -euo pipefail
[ $# -eq 0 ] || { sed -n '2,3s/^# //p' "$0" >&2; exit 2; }
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
python3 - <<'PY'
import glob
import os
import re
import sys

# The sums of a page; older pages were judged by the mean alone and have no leaning directions and undecided sizes.
TODAY = re.compile(r"^(\d+ of \d+) directions agree, (\d+) lean, (\d+) away; (\d+ of \d+) sizes agree, (\d+) undecided; "
                   r"(\d+ of \d+) trends hold; answered: (\d+ of \d+) claims", re.M)
OLDER = re.compile(r"^(\d+ of \d+) directions and (\d+ of \d+) sizes agree, and (\d+ of \d+) trends; answered: (\d+ of \d+) claims", re.M)
rows = ["| paper | scale | claims compared | directions: agree, of decided | directions undecided: mean on the paper's side, on the other "
        "| sizes: agree, of decided | sizes undecided | trends that hold |", "|---|---|---:|---:|---:|---:|---:|---:|"]
for path in sorted(glob.glob("experiments/claims/*.toml")):
    with open(path, encoding="utf-8") as file:
        claims = file.read()
    name, title = (re.search(rf'^{key} = "(.*)"$', claims, re.M)[1] for key in ("paper", "title"))
    page = f"docs/results/{name}.md"
    if not os.path.exists(page):
        continue
    with open(page, encoding="utf-8") as file:
        text = file.read()
    scale = re.search(r" at the (\w+) scale", text)
    if scale and (sums := TODAY.search(text)):
        agree, lean, away, sizes, undecided, trends, answered = sums.groups()
        lean = f"{lean}, {away}"
    elif scale and (sums := OLDER.search(text)):
        agree, sizes, trends, answered = sums.groups()
        lean = undecided = "-"
    elif figure := re.search(r"^# \w+, (figure \d+)", text):  # a page of one figure
        scale, answered, agree, lean, sizes, undecided, trends = [None, figure[1]], *"------"
    else:
        sys.exit(f"error: {page}: no line of sums")
    rows.append(f"| [{name}]({page}): {title} | {scale[1]} | {answered} | {agree} | {lean} | {sizes} | {undecided} | {trends} |")


def write(path, text):
    with open(path + ".tmp", "w", encoding="utf-8") as file:
        file.write(text)
    os.replace(path + ".tmp", path)


table = "\n".join(rows)
write("docs/results/papers.md",
      "# Five papers: ours beside theirs\n\nMade by `docs/results/papers.sh` from the papers' pages, which say how each is made. "
      "Lines with \"-\" are of older pages: judged by\nthe mean alone, or of one figure. [experiments.md](../experiments.md) has the rules.\n\n"
      + table.replace("docs/results/", "") + "\n")
with open("README.md", encoding="utf-8") as file:
    text = file.read()
block = re.compile(r"(<!-- papers -->\n).*?(<!-- end -->)", re.S)
write("README.md", block.sub(lambda match: match[1] + table + "\n" + match[2], text, count=1))
PY
