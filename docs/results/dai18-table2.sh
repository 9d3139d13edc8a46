#!/usr/bin/env bash
# The columns of dai18's Table 2 for each of its applications alone on dai18-maxwell, the paper's beside ours.
# usage: docs/results/dai18-table2.sh build/release/bin/gpumux [CYCLES] >docs/results/dai18-table2.md    (two minutes)
set -euo pipefail
gpumux=$1
cycles=${2:-2000000} # as long as a run of the paper
agree=()
apps=(cp hs dc pf bp bs st 3m sv cd s2 ks ax) # the order of the table

echo "# dai18, Table 2: the applications alone"
echo
echo "Made by \`docs/results/dai18-table2.sh\` with $("$gpumux" --version): each alone on dai18-maxwell for $cycles"
echo "cycles, restarted where it ends earlier. The paper's value follows in brackets; what the columns count is in"
echo "[dai18-applications.md](../dai18-applications.md). The last row counts the numbers within a third of the paper's, and the types"
echo "that are the paper's."
echo
echo "| app | RF_oc | SMEM_oc | Thread_oc | TB_oc | Cinst/Minst | Req/Minst | L1 miss | L1 rsfail | LSU stalls | type |"
echo "|---|---|---|---|---|---|---|---|---|---|---|"
for app in "${apps[@]}"; do
  text=$("$gpumux" run "dai18/$app" --cycles "$cycles" --baseline off)
  read -r -a ours <<<"$(sed -n 's/^ours *//p' <<<"$text")"
  read -r -a paper <<<"$(sed -n 's/^paper *//p' <<<"$text" | sed 's/\([<>]=*\) /\1/')"
  [[ ${#ours[@]} -eq 10 && ${#paper[@]} -eq 10 ]] || { echo "dai18/$app: no line of Table 2" >&2; exit 1; }
  printf '| %s |' "$app"
  for ((i = 0; i < 10; ++i)); do
    printf ' %s (%s) |' "${ours[i]}" "${paper[i]}"
    # Numbers within a third of the paper's, and types that are the paper's.
    if ((i == 9)); then
      [[ ${ours[i]} != "${paper[i]}" ]] || agree[i]=$((${agree[i]:-0} + 1))
    elif awk -v a="${ours[i]%\%}" -v b="${paper[i]%\%}" 'BEGIN { exit !(a >= b - b / 3 && a <= b + b / 3) }'; then agree[i]=$((${agree[i]:-0} + 1)); fi
  done
  echo
done
printf '| within a third |'
for ((i = 0; i < 10; ++i)); do if ((i == 8)); then printf ' - |'; else printf ' %s of %s |' "${agree[i]:-0}" "${#apps[@]}"; fi; done
echo
echo
"$(dirname "${BASH_SOURCE[0]}")/fingerprint.py" dai18-table2.md
