#!/usr/bin/env bash
# The columns of dai18's Table 2 for each of its applications alone on dai18-maxwell, the paper's beside ours.
# usage: docs/results/dai18-table2.sh build/release/bin/gpumux [CYCLES] >docs/results/dai18-table2.md    (seven minutes)
set -euo pipefail
gpumux=$1
cycles=${2:-2000000} # as long as a run of the paper
agree=()
declare -A failures printed # L1 rsfail, here and in the paper
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
  failures[$app]=${ours[7]} printed[$app]=${paper[7]}
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
echo "## Reservation failures under other readings of Table 1"
echo
echo "The paper prints no clock of the L2, and a DRAM of 48 bytes per cycle with 16 channels. *L2 at 700 MHz*: as in the GTX 480 file of"
echo "GPGPU-Sim, \`--set clocks.l2_mhz=700\`. *8-byte channels*: two chips of 4 bytes for each of the 16 channels, as in that file, 473 GB/s,"
echo "\`--set dram.bus_size=8 --set dram.transfers_per_clock=4 --set dram.burst_size=64\`. The first column is the table above."
echo
echo "| app | paper | dai18-maxwell | L2 at 700 MHz | 8-byte channels | both |"
echo "|---|---:|---:|---:|---:|---:|"
slow=(--set clocks.l2_mhz=700)
wide=(--set dram.bus_size=8 --set dram.transfers_per_clock=4 --set dram.burst_size=64)
count() { # failures per access of an application, with the options that follow its name
  "$gpumux" run "dai18/$1" --cycles "$cycles" --baseline off "${@:2}" | awk '$1 == "ours" { print $9 }'
}
near=(0 0 0 0)
for app in "${apps[@]}"; do
  first=${failures[$app]} wanted=${printed[$app]}
  second=$(count "$app" "${slow[@]}")
  third=$(count "$app" "${wide[@]}")
  fourth=$(count "$app" "${slow[@]}" "${wide[@]}")
  echo "| $app | $wanted | $first | $second | $third | $fourth |"
  at=0
  for ours in "$first" "$second" "$third" "$fourth"; do
    if awk -v a="$ours" -v b="$wanted" 'BEGIN { exit !(a >= b - b / 3 && a <= b + b / 3) }'; then near[at]=$((near[at] + 1)); fi
    at=$((at + 1))
  done
done
echo "| within a third | | ${near[0]} of ${#apps[@]} | ${near[1]} of ${#apps[@]} | ${near[2]} of ${#apps[@]} | ${near[3]} of ${#apps[@]} |"
echo
"$(dirname "${BASH_SOURCE[0]}")/fingerprint.py" dai18-table2.md
