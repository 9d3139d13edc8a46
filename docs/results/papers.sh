#!/usr/bin/env bash
# The five papers at the quick scale, a line each: into docs/results/papers.md and README.md.
# usage: docs/results/papers.sh build/release/bin/gpumux DATABASE    (runs what the database lacks: all of it is two to three hours on two cores)
set -euo pipefail
[ $# -eq 2 ] || { sed -n '2,3s/^# //p' "$0" >&2; exit 2; }
gpumux=$(realpath "$1") database=$(realpath "$2")
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
folder=$(mktemp -d)
trap 'rm -r "$folder"' EXIT
"$gpumux" reproduce all --scale quick --db "$database" --json "$folder/all.json" --quiet
VERSION=$("$gpumux" --version) python3 - "$folder/all.json" <<'PY'
import json
import os
import re
import subprocess
import sys

with open(sys.argv[1], encoding="utf-8") as file:
    papers = json.load(file)["papers"]
rows = ["| paper | claims answered | directions decided that agree | that lean, away | sizes decided that agree | undecided | trends that hold |",
        "|---|---:|---:|---:|---:|---:|---:|"]
for paper in papers:
    if not paper["claims"]:
        continue
    name, of = paper["paper"], "{} of {}".format
    page = f"docs/results/{name}.md"
    shown = f"[{name}]({page})" if os.path.exists(page) else name
    rows.append(f"| {shown}: {paper['title']} | {of(paper['answered'], paper['claims'])} | {of(paper['directions_agree'], paper['directions'])} | "
                f"{paper['directions_lean']}, {paper['directions_lean_away']} | {of(paper['sizes_agree'], paper['sizes'])} | {paper['sizes_undecided']} | {of(paper['trends_agree'], paper['trends_answered'])} |")


def write(path, text):
    with open(path + ".tmp", "w", encoding="utf-8") as file:
        file.write(text)
    os.replace(path + ".tmp", path)


table = "\n".join(rows)
write("docs/results/papers.md",
      f"# Five papers: ours beside theirs\n\nMade by `docs/results/papers.sh` with {os.environ['VERSION']}: `gpumux reproduce all --scale quick`.\n\n"
      + table.replace("docs/results/", "") + "\n\n"
      + subprocess.run(["docs/results/fingerprint.py", "papers.md"], check=True, capture_output=True, text=True).stdout)
with open("README.md", encoding="utf-8") as file:
    text = file.read()
block = re.compile(r"(<!-- papers -->\n).*?(<!-- end -->)", re.S)
write("README.md", block.sub(lambda match: match[1] + table + "\n" + match[2], text, count=1))
PY
