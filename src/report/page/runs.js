// All runs as a table, all applications in them as another, and what applications do alone.

const runsState = choices('runs', {show: null, rows: 'runs'});

function runLink(run, label) { return el('a', {href: `#run/${runId(run)}`}, label); }
function openRun(run) { location.hash = `run/${runId(run)}`; }

function runsPage() {
  const s = runsState;
  const compared = new Set(comparedRuns);
  const kinds = [['all', 'All runs', () => true], ['compared', 'Runs that are compared', (run) => compared.has(run)], ['baseline', 'Isolated baselines', (run) => !compared.has(run)],
                 ['failed', 'Failed', (run) => state[run] === kFailed], ['pending', 'Pending', (run) => state[run] !== kDone && state[run] !== kFailed]]
                    .filter(([id, , test]) => id === 'all' || runColumn('id').some((_, run) => test(run)));
  const kind = kinds.find(([id]) => id === s.show) ?? kinds.find(([id]) => id === 'compared') ?? kinds[0];
  const holder = el('div');
  const fill = () => {
    const runs = [];
    for (let run = 0; run < core.runs; ++run) if (kind[2](run) && (!compared.has(run) || inFilter(run))) runs.push(run);
    const again = () => redraw();
    const controls = el('div', {class: 'controls'}, choice('Show', kinds.map(([id, label]) => [id, label]), kind[0], (value) => { s.show = value; again(); }),
                        choice('A row for each', [['runs', 'run'], ['apps', 'application of a run']], s.rows, (value) => { s.rows = value; again(); }));
    holder.replaceChildren(controls, s.rows === 'apps' ? appsTable(runs) : runsTable(runs));
  };
  const bar = filterBar(fill);
  fill();
  return [el('h1', {}, 'Runs'), el('p', {class: 'lead'}, `All ${whole(core.runs)} runs of the database. A heading sorts; the name of a workload opens its run.`), bar, holder];
}

const metricColumn = (metric, label) => ({label: label ?? metric.label, title: axisLabel(metric), number: true, value: metric.of, text: (v) => metricText(metric, v)});
const differs = (of) => (runs) => runs.some((run) => of(run) !== of(runs[0]));

/** What tells runs apart: columns for the settings that are not the same in all of them. */
function settingColumns(runs, runOf = (row) => row) {
  const wanted = [['Machine', (run) => machineOf(run).name], ['Changed', overridesText], ['Seed', (run) => runColumn('seed')[run], true], ['Cycle limit', (run) => runColumn('cycle_limit')[run], true]];
  return wanted.filter(([, of]) => differs(of)(runs)).map(([label, of, number]) => ({label, number, value: (row) => of(runOf(row))}));
}

/** What names a row of a run, and where it came from; `runOf`: row -> run. */
const workloadColumn = (runOf = (row) => row) => ({label: 'Workload', value: (row) => workloadText(runOf(row)), cell: (row) => runLink(runOf(row), workloadText(runOf(row)))});
const policyColumn = (runOf = (row) => row) => ({label: 'Policy', value: (row) => policyOf(runOf(row)), order: (a, b) => policyRank(a) - policyRank(b)});
const runColumnOf = (runOf = (row) => row) => ({label: 'Run', value: (row) => runId(runOf(row)), order: (a, b) => a - b, cell: (row) => runLink(runOf(row), String(runId(runOf(row))))});

function runsTable(runs) {
  const failure = new Map(core.failures.map((entry) => [entry.run, entry]));
  const metric = (id) => metricColumn(metricNamed(runMetrics, id));
  const states = runs.some((run) => state[run] !== kDone) ? [{label: 'State', value: (run) => core.states[state[run]], cell: (run) => el('span', {class: state[run] === kFailed ? 'bad' : null}, core.states[state[run]])}] : [];
  const errors = runs.some((run) => failure.has(run)) ? [{label: 'Error', value: (run) => failure.get(run)?.error ?? null, long: true}] : [];
  const ended = runs.some((run) => state[run] === kDone);
  const columns = [
    workloadColumn(), policyColumn(), ...(ended ? [] : [...states, ...errors]),
    ...(runs.some(isShared) ? [metric('weighted_speedup'), metric('antt'), metric('fairness')] : []),
    metricColumn(metricNamed(runMetrics, 'ipc'), 'IPC'), metricColumn(metricNamed(runMetrics, 'lsu_stall_share'), 'LSU stalled'), metricColumn(metricNamed(runMetrics, 'l1_miss_rate')),
    metricColumn(metricNamed(runMetrics, 'cycles'), 'Cycles'), {label: 'Seconds', number: true, value: (run) => runColumn('wall_seconds')[run]},
    {label: 'Class', value: workloadClass, order: classOrder}, ...settingColumns(runs), runColumnOf(), ...(ended ? [...states, ...errors] : []),
  ];
  const node = table(columns, runs, {caption: 'Runs', name: 'runs', kept: true});
  node.dataset.table = 'runs';
  return node;
}

function appsTable(runs) {
  const runOf = (row) => appColumn('run')[row];
  const columns = [
    {label: 'Application', value: appName, cell: (row) => runLink(runOf(row), appName(row))}, policyColumn(runOf),
    ...appMetrics.filter((metric) => !metric.counter).map((metric) => metricColumn(metric)),
    {label: 'Completions', number: true, value: (row) => appColumn('completions')[row]},
    {label: 'Beside', value: (row) => appRows(runOf(row)).filter((other) => other !== row).map(appName).join(' + ')},
    {label: 'Class', value: appClass}, ...settingColumns(runs, runOf), runColumnOf(runOf),
    ...appMetrics.filter((metric) => metric.counter && metric.id !== 'counter.completions').map((metric) => metricColumn(metric)),
  ];
  const node = table(columns, runs.flatMap(appRows), {caption: 'Applications of runs', name: 'applications-of-runs', kept: true});
  node.dataset.table = 'apps';
  return node;
}

// --- applications ---------------------------------------------------------------------------------------------

function applicationsPage() {
  const body = (runs) => {
    if (!runs.length) return nothing('No run that ended is in this selection.');
    const policies = selectedPolicies(runs);
    const sums = new Map();  // isolated run and application -> {row of its isolated run, of each policy}
    for (const run of runs) {
      for (const row of appRows(run)) {
        if (filter.app !== 'all' && appName(row) !== filter.app) continue;
        const isolated = appColumn('isolated')[row];
        const entry = sums.get(isolated) ?? {isolated, row: appCount(isolated) === 1 ? firstApp[isolated] : row, policies: new Map(), runs: 0};
        sums.set(isolated, entry);
        const value = appColumn('normalized_ipc')[row];
        ++entry.runs;
        if (!isNumber(value)) continue;
        const cell = entry.policies.get(policyOf(run)) ?? {sum: 0, count: 0};
        cell.sum += value;
        ++cell.count;
        entry.policies.set(policyOf(run), cell);
      }
    }
    const rows = [...sums.values()];
    const mean = (entry, policy) => { const cell = entry.policies.get(policy); return cell ? cell.sum / cell.count : null; };
    const ofIsolated = (metric, label) => ({...metricColumn(metric, label), value: ({row}) => metric.of(row)});
    const named = (id) => metricNamed(appMetrics, id);
    const isolatedRuns = rows.map(({isolated}) => isolated);
    const columns = [
      {label: 'Application', value: ({row}) => appName(row), cell: ({row, isolated}) => runLink(isolated, appName(row))},
      {label: 'LSU stalled', title: 'Share of SM cycles in which the load/store unit stalls, isolated', number: true, value: ({row}) => appColumn('isolated_stall_share')[row], text: percent},
      ofIsolated(named('ipc'), 'IPC isolated'), ofIsolated(named('l1_miss_rate')), ofIsolated(named('accesses_per_instruction'), 'Accesses / instruction'),
      ...policies.map((policy) => ({label: policy, title: `Mean normalized IPC under ${policy}`, number: true, value: (entry) => mean(entry, policy)})),
      {label: 'Class', value: ({row}) => appClass(row)}, ...settingColumns(isolatedRuns, ({isolated}) => isolated),
    ];
    const node = table(columns, rows, {caption: 'Applications: alone, and mean normalized IPC under each policy', name: 'applications', kept: true, sort: [columns.findIndex(({label}) => label === 'LSU stalled'), false]});
    node.dataset.table = 'applications';
    const names = new Map();  // all runs of a name, whatever their seeds and machines
    for (const entry of rows) {
      const one = names.get(appName(entry.row)) ?? {row: entry.row, policies: new Map()};
      names.set(appName(entry.row), one);
      for (const [policy, {sum, count}] of entry.policies) {
        const cell = one.policies.get(policy) ?? {sum: 0, count: 0};
        one.policies.set(policy, {sum: cell.sum + sum, count: cell.count + count});
      }
    }
    const order = [...names.values()].sort((a, b) => natural(appName(a.row), appName(b.row)));
    const cap = 40;
    const metric = named('normalized_ipc');
    const chart = hasShared && order.length <= cap ? figure({
      title: 'Mean normalized IPC of each application', name: 'applications', height: 330, note: `Beside all that it ran with. ${betterText(metric)}`,
      draw: (width) => groupedBars({groups: order.map(({row}) => ({label: appName(row), note: appClass(row)})), series: policies.map((policy) => ({label: policy, colour: policyColour(policy)})),
                                    value: (g, s) => mean(order[g], policies[s]), metric})(width),
      values: () => ({rows: order, columns: [{label: 'Application', value: ({row}) => appName(row)}, {label: 'Class', value: ({row}) => appClass(row)},
                                             ...policies.map((policy) => ({label: policy, number: true, value: (entry) => mean(entry, policy)}))]}),
    }) : null;
    return [node, el('p', {class: 'note'}, `LSU stalled, IPC and rates are those of the isolated runs; a column for each policy has the mean normalized IPC. ${kClassNote}`), chart];
  };
  return [el('h1', {}, 'Applications'), el('p', {class: 'lead'}, 'Each application alone, and what sharing leaves of it.'), filtered(body)];
}
