// Policies beside each other: means by workload class, and every workload.

const compareState = choices('policies', {mean: 'arithmetic', relative: '', same: true, metric: 'weighted_speedup', sort: 'name'});

const bitCount = (mask) => { let count = 0; for (; mask; mask &= mask - 1n) ++count; return count; };

/**
 * Policies of which each has ended the same workloads, such that the workloads times the policies are as many as can be, and
 * at least two policies where two have a workload in common. `having`: for each workload its policies, a bit each; `wanted`:
 * policies that must be among them. A mask of policies.
 */
function largestCommonSet(having, wanted = 0n) {
  const most = 1000;  // sets that are looked at: databases of few sweeps have a handful
  const counts = new Map();
  for (const mask of having) counts.set(mask, (counts.get(mask) ?? 0) + 1);
  const given = [...counts.keys()].sort((a, b) => counts.get(b) - counts.get(a));
  // What any workloads have in common is an intersection of their sets.
  const candidates = new Set(given);
  for (const mask of candidates) {
    for (const other of given) {
      if (candidates.size >= most) break;
      if (mask & other) candidates.add(mask & other);
    }
  }
  const sets = [...candidates].filter((mask) => (mask & wanted) === wanted).map((mask) => {
    const policies = bitCount(mask);
    return {mask, policies, runs: policies * given.reduce((sum, other) => sum + ((other & mask) === mask ? counts.get(other) : 0), 0)};
  });
  const order = (a, b) => (b.policies > 1) - (a.policies > 1) || b.runs - a.runs || b.policies - a.policies;
  return sets.sort(order)[0]?.mask ?? 0n;
}

/**
 * Runs by workload and policy, over seeds and machines as they are: {policies, keys, run: (key, policy) -> run}. Means over
 * different workloads do not compare, so unless `same` is false it has the policies and workloads that all of them have in
 * common; where the reader has chosen policies, these if they have a workload in common. `all`: how many workloads there
 * are; `left`: policies that it does not have, {policy, workloads: how many of them it has ended, common: () -> policies of
 * the largest common set that has it}.
 */
function workloadMatrix(runs, policies, {same = true, chosen = false} = {}) {
  const rows = new Map();
  for (const run of runs) {
    const key = workloadKey(run);
    if (!rows.has(key)) rows.set(key, new Map());
    rows.get(key).set(policyOf(run), run);
  }
  const bit = new Map(policies.map((policy, i) => [policy, 1n << BigInt(i)]));
  const every = (1n << BigInt(policies.length)) - 1n;
  const masks = new Map([...rows].map(([key, of]) => [key, [...of.keys()].reduce((mask, policy) => mask | bit.get(policy), 0n)]));
  const having = [...masks.values()];
  const of = (mask) => policies.filter((policy) => bit.get(policy) & mask);
  const asked = same && chosen && having.includes(every);
  const kept = !same || asked ? every : largestCommonSet(having);
  const keys = [...rows.keys()].filter((key) => !same || (masks.get(key) & kept) === kept);
  const left = of(every & ~kept).map((policy) => ({policy, workloads: having.filter((mask) => mask & bit.get(policy)).length,
                                                   common: () => of(largestCommonSet(having, bit.get(policy)))}));
  return {policies: of(kept), keys, all: rows.size, left, same, asked, run: (key, policy) => rows.get(key).get(policy) ?? null, any: (key) => rows.get(key).values().next().value};
}

/** What charts leave out, and links that show it. `filtered`: the links keep the filter. */
function leftOut(matrix, {filtered = true} = {}) {
  const others = filtered ? filterValues().filter(([key]) => key !== 'policy') : [];
  const link = (label, own, policies) => el('a', {href: addressOf('policies', {own, filter: [...others, ...policies.map((policy) => ['policy', policy])]})}, label);
  const chosen = filtered ? [...(filter.policies ?? [])] : [];
  const note = (...parts) => el('p', {class: 'note', 'data-note': 'left-out'}, ...parts);
  if (!matrix.same) {
    const uneven = matrix.policies.filter((policy) => matrix.keys.some((key) => matrix.run(key, policy) === null));
    if (!uneven.length) return null;
    return note(`Nothing is left out, so the means of ${uneven.join(', ')} are over fewer workloads than there are, and do not compare with others. `,
                link('Show what policies have in common', {same: true}, chosen), '.');
  }
  const workloads = matrix.all - matrix.keys.length;
  const {left} = matrix;
  if (!workloads && !left.length) return null;
  const cap = 6;
  const names = left.slice(0, cap).flatMap(({policy, workloads: has, common}, i) => [i ? ', ' : '', link(policy, {same: true}, common()), ` with ${plural(has, 'workload')}`]);
  return note(`Shown: ${plural(matrix.policies.length, 'policy', 'policies')} and the ${plural(matrix.keys.length, 'workload')} that ${
    matrix.policies.length > 1 ? 'all of them have' : 'it has'} ended${matrix.asked ? '' : ', the largest common set'}. Left out: `,
              left.length ? [plural(left.length, 'policy', 'policies'), ' (', names, left.length > cap ? ', ...)' : ')'] : null, left.length && workloads ? ' and ' : null,
              workloads ? plural(workloads, 'workload') : null, `. To see them, ${left.length ? "choose a policy by its name here, or " : ''}`, link('show everything', {same: false}, chosen), '.');
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

const hasValue = (matrix, metric) => matrix.keys.some((key) => matrix.policies.some((policy) => isNumber(matrixValue(matrix, metric, key, policy))));
const meanNamed = (id) => kMeans.find(([name]) => name === id) ?? kMeans[0];
const relativeMetric = (metric, relative) => (relative ? {...metric, share: false, unit: `relative to ${relative}`} : metric);

/** Says of how many workloads the means are not, because the metric has no value there. */
function notDefined(matrix, metric, relative = '') {
  const missing = matrix.policies.map((policy) => [policy, matrix.keys.filter((key) => matrix.run(key, policy) !== null && !isNumber(matrixValue(matrix, metric, key, policy, relative))).length])
                      .filter(([, count]) => count > 0);
  if (!missing.length) return '';
  return `Left out where it is not defined${metric.id === 'antt' ? ', because an application made no progress' : ''}: ${missing.map(([policy, count]) => `${policy} ${count}`).join(', ')} of ${matrix.keys.length}.`;
}

/** Grouped bars of a metric: a group for each workload class and one for all. */
function classBars(matrix, metric, {mean = 'arithmetic', relative = '', name}) {
  const {policies} = matrix;
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
  const undefinedNote = notDefined(matrix, metric, relative);
  const rows = bands.flatMap((_, g) => policies.map((_, s) => [g, s]));
  const node = figure({
    title: `${metric.label} by workload class`, name, height: 330,
    note: `${meanLabel} of ${relative ? `each workload relative to ${relative}` : 'the workloads'}. ${betterText(metric)} ${undefinedNote}`,
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
function scoreboard(matrix, {mean = 'arithmetic'} = {}) {
  const {policies} = matrix;
  const average = meanNamed(mean)[2];
  const metrics = ['weighted_speedup', 'antt', 'fairness', 'ipc', 'extra.dram_bandwidth_utilization', 'lsu_stall_share', 'l1_miss_rate'].map((id) => runMetrics.find((m) => m.id === id))
                      .filter((metric) => metric && hasValue(matrix, metric));
  const of = memo((at) => {
    const [m, policy] = at.split('\n');
    return average(matrix.keys.map((key) => matrixValue(matrix, metrics[m], key, policy)).filter(isNumber));
  });
  const columns = [{label: 'Policy', value: (policy) => policy, order: (a, b) => policyRank(a) - policyRank(b)},
                   ...metrics.map((metric, m) => ({label: metric.brief ?? metric.label, title: axisLabel(metric), number: true, value: (policy) => of(`${m}\n${policy}`), text: (v) => metricText(metric, v)})),
                   {label: 'Workloads', number: true, value: (policy) => matrix.keys.filter((key) => matrix.run(key, policy) !== null).length}];
  const node = table(columns, policies, {caption: `${meanNamed(mean)[1]}s by policy`, name: 'policies', search: false});
  node.dataset.table = 'policies';
  const notes = metrics.map((metric) => [metric, notDefined(matrix, metric)]).filter(([, note]) => note).map(([metric, note]) => `${metric.label}: ${note.charAt(0).toLowerCase()}${note.slice(1)}`);
  return [node, notes.length ? el('p', {class: 'note'}, notes.join(' ')) : null];
}

/** Every workload as a row of dots, some at a time. */
function workloadDots(matrix, metric, relative, open) {
  const {policies} = matrix;
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
  const controls = el('div', {class: 'controls'}, choice('Order', sorts, compareState.sort, (value) => { compareState.sort = value; page = 0; sort(); update(); writeAddress(); }),
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
    if (!runs.length) return nothing('No run that ended is in this selection.');
    const again = () => redraw();
    const matrix = workloadMatrix(runs, selectedPolicies(runs), {same: c.same, chosen: filter.policies !== null});
    const {policies} = matrix;
    const relative = policies.includes(c.relative) ? c.relative : '';
    const metric = metricNamed(runMetrics, c.metric);
    const controls = el('div', {class: 'controls'}, choice('Metric', metricOptions(runMetrics), metric.id, (value) => { c.metric = value; again(); }),
      choice('Mean', kMeans, c.mean, (value) => { c.mean = value; again(); }),
      choice('Relative to', [['', 'nothing'], ...policies.map((policy) => [policy, policy])], relative, (value) => { c.relative = value; again(); }),
      tick('Only workloads that all policies shown have', c.same, (value) => { c.same = value; again(); }));
    const others = ['weighted_speedup', 'antt', 'fairness'].filter((id) => id !== metric.id).slice(0, 2).map((id) => metricNamed(runMetrics, id))
                       .filter((m) => hasValue(matrix, m));
    const options = {mean: c.mean, relative};
    return [controls, leftOut(matrix), classBars(matrix, metric, {...options, name: metric.id}),
            others.length ? el('div', {class: 'pair'}, others.map((m) => classBars(matrix, m, {...options, name: m.id}))) : null,
            el('p', {class: 'note'}, kClassNote), el('h2', {}, 'Means'), scoreboard(matrix, options),
            workloadDots(matrix, metric, relative, openRun)];
  };
  return [el('h1', {}, 'Policies'), el('p', {class: 'lead'}, 'How the policies share the GPU among the same workloads.'), filtered(body)];
}
