#!/usr/bin/env bash
# Puts the demo's real output into README.md (between the command and the end of its block) and draws the picture.
# usage: docs/pictures/update-readme.sh build/release/bin/gpumux
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
output=$("$1" run hotspot kmeans --machine dai18-maxwell --cycles 500000 \
  --policy sequential --policy leftover --policy spatial --policy even --policy ws --policy ws-dmil)
OUTPUT=$output python3 - <<'PY'
import os
import re
with open("README.md", encoding="utf-8") as file:
    text = file.read()
block = re.compile(r"(    --policy sequential --policy leftover --policy spatial --policy even --policy ws --policy ws-dmil\n).*?(\n```)", re.S)
text = block.sub(lambda match: match[1] + os.environ["OUTPUT"].strip("\n") + match[2], text, count=1)
with open("README.md.tmp", "w", encoding="utf-8") as file:
    file.write(text)
os.replace("README.md.tmp", "README.md")
PY
docs/pictures/sharing.py "$1" docs/pictures/sharing.svg
