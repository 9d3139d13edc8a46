#!/usr/bin/env bash
# Every application at its default size against its CPU reference: alone on every machine, and each pair.
# usage: docs/results/verify.sh build/release/bin/gpumux >docs/results/verify.md    (about half an hour)
set -euo pipefail
gpumux=$1
mapfile -t apps < <("$gpumux" list apps --json | python3 -c 'import json,sys; [print(a["name"]) for a in json.load(sys.stdin)["apps"] if not a["name"].startswith(("dai18/", "wang17/"))]')
mapfile -t machines < <("$gpumux" list machines --json | python3 -c 'import json,sys; [print(m["name"]) for m in json.load(sys.stdin)["machines"]]')

# Prints "yes", or what went wrong.
check() {
  local output
  if output=$("$gpumux" run "$@" --verify --baseline off 2>&1); then
    [[ $output == *"verified: every completed run matched its reference"* ]] && echo yes || echo "not verified"
  else
    echo "${output##*$'\n'}"
  fi
}

echo "# Results checked against CPU references"
echo
echo "Made by \`docs/results/verify.sh\` with $("$gpumux" --version): each application at its default size, one completion,"
echo "\`yes\` where the results matched the reference within the stated tolerance."
echo
printf '| application |'; printf ' %s |' "${machines[@]}"; echo
printf '|---|'; printf -- '---|%.0s' "${machines[@]}"; echo
for app in "${apps[@]}"; do
  printf '| %s |' "$app"
  for machine in "${machines[@]}"; do printf ' %s |' "$(check "$app" --machine "$machine")"; done
  echo
done
echo
echo "## Pairs on dai18-maxwell, policy even, until both have ended"
echo
wrong=0 pairs=0
for ((i = 0; i < ${#apps[@]}; ++i)); do
  for ((j = i; j < ${#apps[@]}; ++j)); do
    pairs=$((pairs + 1))
    answer=$(check "${apps[i]}" "${apps[j]}" --machine dai18-maxwell --policy even)
    [[ $answer == yes ]] || { wrong=$((wrong + 1)); echo "- ${apps[i]} with ${apps[j]}: $answer"; }
  done
done
echo "$((pairs - wrong)) of $pairs pairs gave right results for both applications."
