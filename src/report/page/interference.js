// Who delayed whom, and where: the ledger of interference.

/** By run, its losses: {victim, culprit, place, share}; applications by their place in the run, the culprit after the last stands for CPU cores; the share is that of the victim's cycles. */
const allLosses = memo(() => {
  const byRun = new Map(core.ledger_runs.map((run) => [run, []]));
  for (const [run, victim, culprit, place, share] of block('ledger') ?? []) byRun.get(run).push({victim, culprit, place, share});
  return byRun;
});
const hasLedger = (run) => allLosses().has(run);
const lossesOf = (run) => allLosses().get(run) ?? [];
const kLost = {label: 'Lost', unit: 'share of cycles', share: true, better: -1};
const kLedgerNote = 'A share of the cycles in which the victim\'s warps were on schedulers, worked out from waits for others; docs/ledger.md says how.';
const kCpuCores = 'CPU cores';
const appInRun = (run, app) => (app >= appCount(run) ? kCpuCores : `${appName(firstApp[run] + app)}${appCount(run) > 1 ? ` (${app + 1})` : ''}`);
const sumOf = (losses) => losses.reduce((sum, {share}) => sum + share, 0);

/** Where most is lost comes first; in the words of `gpumux run`. */
const placesOf = (losses) => core.ledger_places.map((label, place) => ({label, place, all: sumOf(losses.filter((loss) => loss.place === place))}))
  .filter(({all}) => all > 0).sort((a, b) => b.all - a.all);

/** Of a run: pairs by places. Nothing where no ledger was kept. */
function ledgerOfRun(run) {
  if (!hasLedger(run)) return null;
  const losses = lossesOf(run);
  if (!losses.some(({share}) => share > 0)) return [el('h2', {}, 'Interference'), el('p', {}, 'No application waited for another.')];
  const of = (victim, culprit) => losses.filter((loss) => loss.victim === victim && loss.culprit === culprit);
  const pairs = [];
  for (let victim = 0; victim < appCount(run); ++victim)
    for (let culprit = 0; culprit <= appCount(run); ++culprit) if (of(victim, culprit).length) pairs.push({victim, culprit, all: sumOf(of(victim, culprit))});
  pairs.sort((a, b) => b.all - a.all);
  const places = placesOf(losses);
  const value = (r, c) => sumOf(of(pairs[r].victim, pairs[r].culprit).filter(({place}) => place === places[c].place));
  const high = Math.max(...pairs.flatMap((_, r) => places.map((_, c) => value(r, c))));
  const node = figure({
    title: 'Who delayed whom', name: `run-${runId(run)}-ledger`, note: kLedgerNote,
    draw: (width) => heatMap({rows: pairs.map(({victim, culprit}) => ({label: `${appInRun(run, victim)} to ${appInRun(run, culprit)}`})), columns: places, value, metric: kLost, scale: {low: 0, high}, rowLabel: 'Victim, and to whom it lost'})(width),
    values: () => ({rows: pairs.map((_, r) => r), sort: [2, true], columns: [
      {label: 'Victim', value: (r) => appInRun(run, pairs[r].victim)}, {label: 'Lost to', value: (r) => appInRun(run, pairs[r].culprit)}, {label: 'All', number: true, value: (r) => pairs[r].all, text: percent},
      ...places.map(({label}, c) => ({label, number: true, value: (r) => value(r, c), text: percent}))]}),
  });
  node.dataset.chart = 'ledger';
  return [el('h2', {}, 'Interference'), node];
}

function interferencePage() {
  const body = (all) => {
    const runs = all.filter(hasLedger);
    if (!runs.length) return nothing('No run of this selection has a ledger.');
    return [ledgerMaps(runs), ledgerTable(runs)];
  };
  return [el('h1', {}, 'Interference'), el('p', {class: 'lead'}, 'Which applications delayed which others, and at which places of the machine.'), filtered(body)];
}

/** Victims by culprits, a map for each policy; a cell is a mean over the runs of the two. */
function ledgerMaps(runs) {
  const apps = [...new Set(runs.flatMap((run) => appRows(run).map(appName)))].sort(natural);
  const culprits = [...apps, ...(runs.some((run) => lossesOf(run).some(({culprit}) => culprit === appCount(run))) ? [kCpuCores] : [])];
  const policies = selectedPolicies(runs);
  const cells = new Map(policies.map((policy) => [policy, apps.map(() => culprits.map(() => ({sum: 0, count: 0, run: -1})))]));
  for (const run of runs) {
    const of = cells.get(policyOf(run));
    for (let victim = 0; victim < appCount(run); ++victim) {
      for (let culprit = 0; culprit <= appCount(run); ++culprit) {
        const other = culprit === appCount(run) ? kCpuCores : appName(firstApp[run] + culprit);
        if (victim === culprit || (other === kCpuCores && !cpusOfRun(run).length)) continue;
        const cell = of[apps.indexOf(appName(firstApp[run] + victim))][culprits.indexOf(other)];
        if (!cell) continue;
        cell.sum += sumOf(lossesOf(run).filter((loss) => loss.victim === victim && loss.culprit === culprit));
        ++cell.count;
        cell.run = run;
      }
    }
  }
  const value = (policy) => (r, c) => { const cell = cells.get(policy)[r][c]; return cell.count ? cell.sum / cell.count : null; };
  const high = Math.max(...policies.flatMap((policy) => apps.flatMap((_, r) => culprits.map((_, c) => value(policy)(r, c)))).filter(isNumber));
  const labels = (names) => names.map((label) => ({label}));
  return el('div', {class: policies.length > 1 ? 'pair' : null}, policies.map((policy) => {
    const node = figure({
      title: policy, name: `ledger-${policy}`, height: 380, note: `Cycles of the row's application that it lost to the column's. ${kLedgerNote}`,
      draw: (width) => heatMap({rows: labels(apps), columns: labels(culprits), value: value(policy), metric: kLost, scale: {low: 0, high}, rowLabel: 'Victim', columnLabel: 'Culprit', open: (r, c) => openRun(cells.get(policy)[r][c].run)})(width),
      values: () => ({rows: apps.flatMap((_, r) => culprits.map((_, c) => [r, c])).filter(([r, c]) => value(policy)(r, c) !== null), sort: [2, true], columns: [
        {label: 'Victim', value: ([r]) => apps[r]}, {label: 'Lost to', value: ([, c]) => culprits[c]}, {label: kLost.label, number: true, value: ([r, c]) => value(policy)(r, c), text: percent}]}),
    });
    node.dataset.chart = `ledger-${policy}`;
    return node;
  }));
}

function ledgerTable(runs) {
  const rows = runs.flatMap((run) => lossesOf(run).map((loss) => ({run, ...loss})));
  const runOf = ({run}) => run;
  const node = table([
    {label: 'Victim', value: ({run, victim}) => appInRun(run, victim)}, {label: 'Lost', number: true, value: ({share}) => share, text: percent},
    {label: 'Lost to', value: ({run, culprit}) => appInRun(run, culprit)}, {label: 'At', value: ({place}) => core.ledger_places[place]},
    policyColumn(runOf), ...settingColumns(rows.map(runOf), runOf), runColumnOf(runOf),
  ], rows, {caption: 'Losses by place', name: 'ledger', kept: true, sort: [1, true]});
  node.dataset.table = 'ledger';
  return [el('h2', {}, 'By place'), node];
}
