// Policies beside each other: means by workload class, and every workload.

const compareState = {mean: 'arithmetic', relative: '', same: true, metric: 'weighted_speedup', sort: 'name', page: 0};

/** Value of a metric by workload and policy, over seeds and machines as they are: {keys, run: (key, policy) -> run}. */
function workloadMatrix(runs, policies, same) {
  const rows = new Map();
  for (const run of runs) {
    const key = workloadKey(run);
    if (!rows.has(key)) rows.set(key, new Map());
    rows.get(key).set(policyOf(run), run);
  }
  const keys = [...rows.keys()].filter((key) => !same || policies.every((policy) => rows.get(key).has(policy)));
  return {keys, dropped: rows.size - keys.length, run: (key, policy) => rows.get(key).get(policy) ?? null, any: (key) => rows.get(key).values().next().value};
}

/** Of a workload under a policy, relative to another policy where one is chosen. */
function matrixValue(matrix, metric, key, policy, relative) {
  const run = matrix.run(key, policy);
  if (run === null) return null;
  const value = metric.of(run);
  if (!relative) return value;
  const base = matrix.run(key, relative);
  return base === null ? null : ratio(value, metric.of(base));
}

const hasValue = (matrix, policies, metric) => matrix.keys.some((key) => policies.some((policy) => isNumber(matrixValue(matrix, metric, key, policy))));
const meanNamed = (id) => kMeans.find(([name]) => name === id);
const relativeMetric = (metric, relative) => (relative ? {...metric, share: false, unit: `relative to ${relative}`} : metric);

/** Says of how many workloads the means are not, because the metric has no value there. */
function notDefined(matrix, policies, metric, relative = '') {
  const missing = policies.map((policy) => [policy, matrix.keys.filter((key) => matrix.run(key, policy) !== null && !isNumber(matrixValue(matrix, metric, key, policy, relative))).length])
                      .filter(([, count]) => count > 0);
  if (!missing.length) return '';
  return `Left out where it is not defined${metric.id === 'antt' ? ', because an application made no progress' : ''}: ${missing.map(([policy, count]) => `${policy} ${count}`).join(', ')} of ${matrix.keys.length}.`;
}

/** Grouped bars of a metric: a group for each workload class and one for all. */
function classBars(matrix, policies, metric, {mean = 'arithmetic', relative = '', name, note}) {
  const [, meanLabel, average] = meanNamed(mean);
  const classes = [...new Set(matrix.keys.map((key) => workloadClass(matrix.any(key))))].sort(classOrder);
  const bands = classes.map((label) => ({label, keys: matrix.keys.filter((key) => workloadClass(matrix.any(key)) === label)}));
  if (classes.length > 1) bands.push({label: 'All', keys: matrix.keys});
  const cell = memo((at) => {
    const [g, s] = at.split(',');
    const values = bands[g].keys.map((key) => matrixValue(matrix, metric, key, policies[s], relative)).filter(isNumber);
    return {mean: average(values), count: values.length};
  });
  const value = (g, s) => cell(`${g},${s}`).mean;
  const shown = relativeMetric(metric, relative);
  const undefinedNote = notDefined(matrix, policies, metric, relative);
  const rows = bands.flatMap((_, g) => policies.map((_, s) => [g, s]));
  const node = figure({
    title: `${metric.label} by workload class`, name, height: 330,
    note: `${meanLabel} of ${relative ? `each workload relative to ${relative}` : 'the workloads'}. ${betterText(metric)} ${undefinedNote} ${note ?? ''}`,
    draw: (width) => groupedBars({
      groups: bands.map(({label, keys}) => ({label, note: plural(keys.length, 'workload')})),
      series: policies.map((policy) => ({label: policy, colour: policyColour(policy)})), value, metric: shown, reference: relative ? 1 : undefined,
      describe: (g, s) => `${policies[s]}, ${bands[g].label}\n${metric.label}: ${metricText(shown, value(g, s))}\n${plural(cell(`${g},${s}`).count, 'workload')}`,
    })(width),
    values: () => ({rows, columns: [
      {label: 'Workload class', value: ([g]) => bands[g].label}, {label: 'Policy', value: ([, s]) => policies[s]},
      {label: 'Workloads', number: true, value: ([g, s]) => cell(`${g},${s}`).count},
      {label: shown.label, number: true, value: ([g, s]) => value(g, s), text: (v) => metricText(shown, v)}]}),
  });
  node.dataset.chart = `class-${metric.id}`;
  return node;
}

/** Means of the metrics by policy as a table. */
function scoreboard(matrix, policies, {mean = 'arithmetic'} = {}) {
  const average = meanNamed(mean)[2];
  const metrics = ['weighted_speedup', 'antt', 'fairness', 'ipc', 'extra.dram_bandwidth_utilization', 'lsu_stall_share', 'l1_miss_rate'].map((id) => runMetrics.find((m) => m.id === id))
                      .filter((metric) => metric && hasValue(matrix, policies, metric));
  const of = memo((at) => {
    const [m, policy] = at.split('\n');
    return average(matrix.keys.map((key) => matrixValue(matrix, metrics[m], key, policy)).filter(isNumber));
  });
  const columns = [{label: 'Policy', value: (policy) => policy, order: (a, b) => policyRank(a) - policyRank(b)},
                   {label: 'Workloads', number: true, value: (policy) => matrix.keys.filter((key) => matrix.run(key, policy) !== null).length},
                   ...metrics.map((metric, m) => ({label: metric.brief ?? metric.label, title: axisLabel(metric), number: true, value: (policy) => of(`${m}\n${policy}`), text: (v) => metricText(metric, v)}))];
  const node = table(columns, policies, {caption: `${meanNamed(mean)[1]}s by policy`, name: 'policies', search: false});
  node.dataset.table = 'policies';
  const notes = metrics.map((metric) => [metric, notDefined(matrix, policies, metric)]).filter(([, note]) => note).map(([metric, note]) => `${metric.label}: ${note.charAt(0).toLowerCase()}${note.slice(1)}`);
  return [node, notes.length ? el('p', {class: 'note'}, notes.join(' ')) : null];
}

/** Every workload as a row of dots, some at a time. */
function workloadDots(matrix, policies, metric, relative, open) {
  const perPage = 30;
  const shown = relativeMetric(metric, relative);
  const value = (key, policy) => matrixValue(matrix, metric, key, policy, relative);
  const label = (key) => {
    const run = matrix.any(key);
    const more = [overridesText(run), ...(filterDimensions.some((d) => d.id === 'seed') ? [`seed ${runColumn('seed')[run]}`] : []),
                  ...(filterDimensions.some((d) => d.id === 'machine') ? [machineOf(run).name] : [])].filter(Boolean);
    return more.length ? `${workloadText(run)}, ${more.join(', ')}` : workloadText(run);
  };
  const sorts = [['name', 'Name'], ['class', 'Class'], ['spread', 'Widest spread first'], ...policies.map((policy) => [policy, `${policy}, largest first`])];
  const known = (key) => policies.map((policy) => value(key, policy)).filter(isNumber);
  const keys = [...matrix.keys];
  const sort = () => {
    const by = compareState.sort;
    const score = by === 'spread' ? (key) => { const all = known(key); return all.length ? Math.max(...all) - Math.min(...all) : -1; }
                                  : policies.includes(by) ? (key) => value(key, by) ?? -Infinity : null;
    if (score) {
      const scores = new Map(keys.map((key) => [key, score(key)]));
      keys.sort((a, b) => scores.get(b) - scores.get(a));
    } else {
      const names = new Map(keys.map((key) => [key, label(key)]));
      keys.sort((a, b) => (by === 'class' ? classOrder(workloadClass(matrix.any(a)), workloadClass(matrix.any(b))) : 0) || natural(names.get(a), names.get(b)));
    }
  };
  sort();
  let page = 0;
  const pages = Math.ceil(keys.length / perPage);
  const status = el('span', {class: 'soft', role: 'status'});
  const turn = (by) => { page = (page + by + pages) % pages; update(); };
  const controls = el('div', {class: 'controls'}, choice('Order', sorts, compareState.sort, (value) => { compareState.sort = value; page = 0; sort(); update(); }),
                      pages > 1 ? el('div', {}, el('button', {type: 'button', class: 'quiet', click: () => turn(-1)}, '← Previous'), status,
                                     el('button', {type: 'button', class: 'quiet', click: () => turn(1)}, 'Next →')) : null);
  const slice = () => keys.slice(page * perPage, (page + 1) * perPage);
  const node = figure({
    title: `${metric.label} of each workload`, name: `workloads-${metric.id}`, controls,
    note: `${betterText(metric)} A line joins the policies of a workload; a click opens the run.`,
    draw: (width) => {
      const visible = slice();
      return dotRows({groups: visible.map((key) => ({label: label(key)})), series: policies.map((policy) => ({label: policy, colour: policyColour(policy)})),
                      value: (g, s) => value(visible[g], policies[s]), metric: shown, reference: relative ? 1 : undefined,
                      open: (g, s) => open(matrix.run(visible[g], policies[s]))})(width);
    },
    values: () => ({rows: keys, columns: [{label: 'Workload', value: label}, {label: 'Class', value: (key) => workloadClass(matrix.any(key)), order: classOrder},
                                          ...policies.map((policy) => ({label: policy, number: true, value: (key) => value(key, policy), text: (v) => metricText(shown, v)}))]}),
  });
  function update() {
    status.textContent = ` ${whole(page * perPage + 1)}–${whole(Math.min(keys.length, (page + 1) * perPage))} of ${whole(keys.length)} `;
    node.redraw?.();
  }
  update();
  return node;
}

function comparePage() {
  const c = compareState;
  const body = (runs) => {
    const policies = selectedPolicies(runs);
    if (!runs.length) return nothing('No run that ended is in this selection.');
    if (c.relative && !policies.includes(c.relative)) c.relative = '';
    const again = () => route();
    const matrix = workloadMatrix(runs, policies, c.same);
    const metric = metricNamed(runMetrics, c.metric);
    const controls = el('div', {class: 'controls'}, choice('Metric', metricOptions(runMetrics), metric.id, (value) => { c.metric = value; again(); }),
      choice('Mean', kMeans, c.mean, (value) => { c.mean = value; again(); }),
      choice('Relative to', [['', 'nothing'], ...policies.map((policy) => [policy, policy])], c.relative, (value) => { c.relative = value; again(); }),
      tick('Only workloads that every policy has', c.same, (value) => { c.same = value; again(); }));
    const left = matrix.dropped ? `${plural(matrix.dropped, 'workload')} left out: not every policy has ended ${matrix.dropped === 1 ? 'it' : 'them'}.` : '';
    if (!matrix.keys.length) return [controls, nothing(`No workload has ended under every policy. ${left}`)];
    const others = ['weighted_speedup', 'antt', 'fairness'].filter((id) => id !== metric.id).slice(0, 2).map((id) => metricNamed(runMetrics, id))
                       .filter((m) => hasValue(matrix, policies, m));
    const options = {mean: c.mean, relative: c.relative};
    return [controls, left ? el('p', {class: 'note'}, left) : null, classBars(matrix, policies, metric, {...options, name: metric.id}),
            others.length ? el('div', {class: 'pair'}, others.map((m) => classBars(matrix, policies, m, {...options, name: m.id}))) : null,
            el('p', {class: 'note'}, kClassNote), el('h2', {}, 'Means'), scoreboard(matrix, policies, options),
            workloadDots(matrix, policies, metric, c.relative, openRun)];
  };
  return [el('h1', {}, 'Policies'), el('p', {class: 'lead'}, 'How the policies share the GPU among the same workloads.'), filtered(body)];
}
