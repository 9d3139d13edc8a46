// What was run, and the answer in short.

function overviewPage() {
  const counts = core.states.map((_, i) => state.filter((s) => s === i).length);
  const runs = comparedRuns.filter((run) => state[run] === kDone);
  const policies = selectedPolicies(runs);
  const machines = [...new Set(runs.map((run) => machineOf(run).name))];
  const apps = new Set(runs.flatMap((run) => appRows(run).map(appName)));
  const matrix = workloadMatrix(runs, policies);
  const programs = core.programs.map((program) => `gpumux ${program}`).join('; ');
  const total = (column) => runColumn(column).reduce((sum, value) => sum + (value ?? 0), 0);
  const tile = (label, value) => el('div', {}, el('dt', {}, label), el('dd', {}, value));
  const workloads = matrix.all;
  const lead = runs.length ? `${plural(workloads, 'workload')} of ${plural(apps.size, 'application')} under ${plural(policies.length, 'policy', 'policies')} on ${
      machines.length > 3 ? plural(machines.length, 'machine') : machines.join(', ')}.` : 'No run has ended yet.';
  return [
    el('h1', {}, core.sweeps.length === 1 ? capital(sweepTitle(core.sweeps[0])) : core.database.replace(/\.\w+$/, '')),
    el('p', {class: 'lead'}, lead, ' ', finding(matrix)),
    el('dl', {class: 'tiles'}, tile('Runs ended', whole(counts[kDone])), tile('Failed', counts[kFailed] ? el('a', {href: '#overview/failures'}, whole(counts[kFailed])) : '0'),
       tile('Pending', whole(counts[core.states.indexOf('pending')])), tile('Policies', whole(policies.length)), tile('Applications', whole(apps.size)),
       tile('Core cycles', short(total('cycles'))), tile('Simulation time', seconds(total('wall_seconds')))),
    matrix.keys.length ? [leftOut(matrix, {filtered: false}), classBars(matrix, metricNamed(runMetrics, hasShared ? 'weighted_speedup' : 'ipc'), {name: 'overview'}),
                          hasShared ? el('p', {class: 'note'}, kClassNote) : null, el('h2', {}, 'Means by policy'), scoreboard(matrix)] : null,
    failures(), sweepsTable(), machinesTable(), programs ? el('p', {class: 'note'}, `Simulated by ${programs}${core.finished_at ? `; the last run ended at ${core.finished_at}` : ''}.`) : null,
  ];
}

/** The best policy in a sentence, where there are several. */
function finding(matrix) {
  const {policies} = matrix;
  if (!hasShared || policies.length < 2 || !matrix.keys.length) return '';
  const metric = metricNamed(runMetrics, 'weighted_speedup');
  const means = policies.map((policy) => [policy, arithmeticMean(matrix.keys.map((key) => matrixValue(matrix, metric, key, policy)).filter(isNumber))])
                    .filter(([, mean]) => mean !== null).sort((a, b) => b[1] - a[1]);
  if (means.length < 2) return '';
  const [[best, high], [second, next]] = means;
  return `The highest mean weighted speedup is ${text(high)}, of ${best}: ${percent(high / next - 1)} above ${second}.`;
}

function failures() {
  if (!core.failures.length) return null;
  const kinds = new Map();
  for (const failure of core.failures) {
    const key = `${failure.exit_code}\n${failure.error}`;
    if (!kinds.has(key)) kinds.set(key, {...failure, runs: []});
    kinds.get(key).runs.push(failure.run);
  }
  const node = table([
    {label: 'Error', value: (kind) => kind.error.split('\n')[0]}, {label: 'Exit code', number: true, value: (kind) => kind.exit_code},
    {label: 'Runs', number: true, value: (kind) => kind.runs.length},
    {label: 'First', value: (kind) => workloadText(kind.runs[0]), cell: (kind) => runLink(kind.runs[0], `${workloadText(kind.runs[0])}, ${policyOf(kind.runs[0])}`)},
  ], [...kinds.values()], {caption: 'Runs that failed, by their errors', name: 'failures', wrap: true, sort: [2, true], search: kinds.size > 12});
  node.dataset.table = 'failures';
  return [el('h2', {id: 'failures'}, `${plural(core.failures.length, 'run')} failed`), node];
}

function sweepsTable() {
  if (!core.sweeps.length) return null;
  const of = (sweep, wanted) => sweep.runs.concat(sweep.baselines).filter((run) => state[run] === wanted).length;
  const node = table([
    {label: 'Sweep', value: (sweep) => sweep.name},
    {label: 'Runs', number: true, value: (sweep) => sweep.runs.length}, {label: 'Isolated baselines', number: true, value: (sweep) => sweep.baselines.length},
    {label: 'Ended', number: true, value: (sweep) => of(sweep, kDone)}, {label: 'Failed', number: true, value: (sweep) => of(sweep, kFailed)},
    {label: 'Scale', value: (sweep) => sweep.scale}, {label: 'File', value: (sweep) => sweep.file},
  ], core.sweeps, {caption: 'Sweeps', name: 'sweeps', search: false});
  return [el('h2', {}, 'Sweeps'), node, core.sweeps.map((sweep, i) => source(`${sweep.file || sweep.name}`, () => block('sweeps')[i]))];
}

function machinesTable() {
  const used = core.machines.map((machine, i) => ({machine, i, runs: 0}));
  for (const i of runColumn('machine')) ++used[i].runs;
  const changes = new Map();
  for (let run = 0; run < core.runs; ++run) changes.set(runColumn('machine')[run], overridesText(run));
  const node = table([
    {label: 'Machine', value: ({machine}) => machine.name}, {label: 'Runs', number: true, value: ({runs}) => runs}, {label: 'SMs', number: true, value: ({machine}) => machine.sms},
    {label: 'Changed', value: ({i}) => changes.get(i), long: true},
  ], used, {caption: 'Machines', name: 'machines', search: used.length > 12});
  return [el('h2', {}, 'Machines'), node, used.length <= 8 ? used.map(({machine, i}) => source(`${machine.name} ${changes.get(i) ?? ''}`, () => block('machines')[i])) : null];
}

/** A text that unfolds. */
function source(title, of) {
  const details = el('details', {toggle: () => { if (details.open && details.children.length === 1) details.append(el('pre', {tabindex: 0}, of())); }}, el('summary', {}, title));
  return details;
}
