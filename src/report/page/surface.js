// Pairs of applications as a matrix, trends over what runs differ in, and distributions.

const pairState = choices('pairs', {metric: 'run:weighted_speedup'});

function pairsPage() {
  const body = (runs) => {
    const [level, id] = pairState.metric.split(/:(.*)/s);
    const ofApps = level === 'app';
    const metric = metricNamed(ofApps ? appMetrics : runMetrics, id);
    const shared = runs.filter(isShared);
    if (!shared.length) return nothing('No run of several applications is in this selection.');
    const kind = new Map();
    for (const run of shared) for (const row of appRows(run)) if (!kind.has(appName(row))) kind.set(appName(row), {name: appName(row), kind: appClass(row), share: appColumn('isolated_stall_share')[row] ?? 0});
    const apps = [...kind.values()].sort((a, b) => classOrder(a.kind, b.kind) || a.share - b.share || natural(a.name, b.name));
    const index = new Map(apps.map(({name}, i) => [name, i]));
    const policies = selectedPolicies(shared);
    const sums = new Map(policies.map((policy) => [policy, apps.map(() => apps.map(() => ({sum: 0, count: 0, run: -1})))]));
    for (const run of shared) {
      const rows = appRows(run);
      const value = ofApps ? null : metric.of(run);
      for (const a of rows) {
        const v = ofApps ? metric.of(a) : value;
        if (!isNumber(v)) continue;
        for (const b of rows) {
          if (a === b) continue;
          const cell = sums.get(policyOf(run))[index.get(appName(a))][index.get(appName(b))];
          cell.sum += v;
          ++cell.count;
          cell.run = run;
        }
      }
    }
    const value = (policy) => (r, c) => { const cell = sums.get(policy)[r][c]; return cell.count ? cell.sum / cell.count : null; };
    const every = policies.flatMap((policy) => apps.flatMap((_, r) => apps.map((_, c) => value(policy)(r, c)))).filter(isNumber);
    const scale = {low: Math.min(...every), high: Math.max(...every)};
    const labels = apps.map(({name, kind: k}) => ({label: `${name} ${k}`}));
    const options = [['Of the run', runMetrics.filter((m) => !m.counter).map((m) => [`run:${m.id}`, m.label])],
                     ['Of the application of the row', appMetrics.filter((m) => !m.counter).map((m) => [`app:${m.id}`, m.label])],
                     ['Counters of the application of the row', appMetrics.filter((m) => m.counter).map((m) => [`app:${m.id}`, m.label])]];
    return [
      el('div', {class: 'controls'}, choice('Metric', options, pairState.metric, (v) => { pairState.metric = v; redraw(); })),
      el('div', {class: policies.length > 1 ? 'pair' : null}, policies.map((policy) => {
        const node = figure({
          title: policy, name: `pairs-${policy}`, height: 420,
          note: ofApps ? `${metric.label} of the application of the row beside that of the column.` : `${metric.label} of each pair. ${betterText(metric)}`,
          draw: (width) => heatMap({rows: labels, columns: labels, value: value(policy), metric, scale, open: (r, c) => openRun(sums.get(policy)[r][c].run)})(width),
          values: () => ({rows: apps.flatMap((_, r) => apps.map((_, c) => [r, c])).filter(([r, c]) => value(policy)(r, c) !== null), columns: [
            {label: 'Application', value: ([r]) => apps[r].name}, {label: 'Beside', value: ([, c]) => apps[c].name},
            {label: metric.label, number: true, value: ([r, c]) => value(policy)(r, c), text: (v) => metricText(metric, v)}]}),
        });
        node.dataset.chart = `pairs-${policy}`;
        return node;
      })),
      el('p', {class: 'note'}, `The same colours on all maps. Applications by class, then by the stalls of their load/store units. ${kClassNote} Where several runs fall on a cell, it has their mean.`),
    ];
  };
  return [el('h1', {}, 'Pairs'), el('p', {class: 'lead'}, 'Which applications get on with which.'), filtered(body)];
}

// --- trends: lines over one dimension, and a surface over two -------------------------------------------------

const trendState = choices('trends', {metric: 'weighted_speedup', x: null, series: null, y: null});

/** Mean of a metric over the runs of each value of some dimensions. */
function pivot(runs, metric, dims) {
  const cells = new Map();
  for (const run of runs) {
    const value = metric.of(run);
    const at = dims.map((d) => d.of(run));
    if (!isNumber(value) || at.includes(null)) continue;
    const key = at.join('\u0000');
    const cell = cells.get(key) ?? {sum: 0, count: 0};
    cell.sum += value;
    ++cell.count;
    cells.set(key, cell);
  }
  return (...at) => { const cell = cells.get(at.join('\u0000')); return cell ? cell.sum / cell.count : null; };
}

const countOf = (d, runs) => valuesOf(d, runs).length;
const allNumbers = (values) => values.every((value) => numeric(value) !== null);

function trendsPage() {
  const body = (runs) => {
    if (!runs.length) return nothing('No run that ended is in this selection.');
    const t = trendState;
    const usable = dimensions.filter((d) => countOf(d, runs) > 1);
    if (!usable.length) return nothing('All runs of this selection are alike: there is nothing to draw a line over.');
    const changed = usable.filter((d) => d.id.startsWith('set.') || (d.id.startsWith('policy.') && d.id !== 'policy.name') || d.id === 'seed' || d.id === 'cycle_limit');
    const pick = (wanted, first, ...avoid) => usable.find((d) => d.id === wanted) ?? first.concat(usable).find((d) => !avoid.includes(d)) ?? usable[0];
    const x = pick(t.x, [...changed, dimension('class')].filter((d) => usable.includes(d)));
    const group = t.series === 'none' ? null : pick(t.series, [dimension('policy')].filter((d) => usable.includes(d)), x);
    const y = pick(t.y, [...changed.filter((d) => d !== x), dimension('policy')].filter((d) => usable.includes(d)), x);
    const metric = metricNamed(runMetrics, hasShared || t.metric !== 'weighted_speedup' ? t.metric : 'ipc');
    const set = (key) => (value) => { t[key] = value; redraw(); };
    const dims = usable.map((d) => [d.id, d.label]);
    const controls = el('div', {class: 'controls'}, choice('Metric', metricOptions(runMetrics), metric.id, set('metric')), choice('Across', dims, x.id, set('x')),
                        choice('A line for each', [['none', 'nothing: one line'], ...dims], group?.id ?? 'none', set('series')), choice('Surface over it and', dims, y.id, set('y')));
    return [controls, trendLines(runs, metric, x, group === x ? null : group), x === y ? null : surface(runs, metric, x, y)];
  };
  return [el('h1', {}, 'Trends'), el('p', {class: 'lead'}, 'A metric over what the runs differ in: keys of the machine, settings of the policy, seeds, classes.'), filtered(body)];
}

function trendLines(runs, metric, x, group) {
  const values = valuesOf(x, runs);
  const numbers = allNumbers(values);
  const lines = group ? valuesOf(group, runs) : [''];
  const cap = 12;  // more lines than that are no chart; the table has them
  const mean = pivot(runs, metric, group ? [x, group] : [x]);
  const at = (value, line) => (group ? mean(value, line) : mean(value));
  const even = numbers && values.length > 2 && values.every((value, i) => i < 2 || Math.abs(numeric(value) / numeric(values[i - 1]) - numeric(values[1]) / numeric(values[0])) < 1e-9);
  // Sizes and what grows by a factor at equal distances; with two values there is no distance to show.
  const named = !numbers || even || values.length < 3 || values.some((value) => /[KMG]$/i.test(value));
  const node = figure({
    title: `${metric.label} over ${x.label}`, name: `trend-${metric.id}-${x.id}`,
    note: `Mean of the runs at each point. ${betterText(metric)}${lines.length > cap ? ` The first ${cap} of ${lines.length} lines; the table has all.` : ''}`,
    draw: (width) => lineChart({
      series: lines.slice(0, cap).map((line, i) => ({label: line, colour: group?.id === 'policy' ? policyColour(line) : seriesColour(i),
        points: values.map((value, v) => [named ? v : numeric(value), at(value, line)]).filter(([, value]) => isNumber(value))})).filter(({points}) => points.length),
      names: named ? values : null, xLabel: x.label, metric})(width),
    values: () => ({rows: values.flatMap((value) => lines.map((line) => [value, line])).filter(([value, line]) => at(value, line) !== null), columns: [
      {label: x.label, value: ([value]) => value, order: x.order}, ...(group ? [{label: group.label, value: ([, line]) => line, order: group.order}] : []),
      {label: metric.label, number: true, value: ([value, line]) => at(value, line), text: (v) => metricText(metric, v)}]}),
  });
  node.dataset.chart = 'trend';
  return node;
}

function surface(runs, metric, x, y) {
  const limit = 60;
  const xs = valuesOf(x, runs);
  const ys = valuesOf(y, runs);
  const mean = pivot(runs, metric, [x, y]);
  const all = xs.flatMap((a) => ys.map((b) => mean(a, b))).filter(isNumber);
  const scale = {low: all.reduce((a, b) => Math.min(a, b), Infinity), high: all.reduce((a, b) => Math.max(a, b), -Infinity)};
  const rows = ys.slice(0, limit);
  const columns = xs.slice(0, limit);
  const node = figure({
    title: `${metric.label} over ${x.label} and ${y.label}`, name: `surface-${metric.id}-${x.id}-${y.id}`,
    note: `Mean of the runs in each cell. ${betterText(metric)}${xs.length > limit || ys.length > limit ? ` The first ${limit} values of each; the table has all.` : ''}`,
    draw: (width) => heatMap({rows: rows.map((label) => ({label})), columns: columns.map((label) => ({label})), value: (r, c) => mean(columns[c], rows[r]), metric, scale,
                              rowLabel: y.label, columnLabel: x.label})(width),
    values: () => ({rows: xs.flatMap((a) => ys.map((b) => [a, b])).filter(([a, b]) => mean(a, b) !== null), columns: [
      {label: x.label, value: ([a]) => a, order: x.order}, {label: y.label, value: ([, b]) => b, order: y.order},
      {label: metric.label, number: true, value: ([a, b]) => mean(a, b), text: (v) => metricText(metric, v)}]}),
  });
  node.dataset.chart = 'surface';
  return node;
}

// --- distributions --------------------------------------------------------------------------------------------

const spreadState = choices('distributions', {metric: 'weighted_speedup', by: 'policy', kind: 'boxes'});

function distributionPage() {
  const body = (runs) => {
    if (!runs.length) return nothing('No run that ended is in this selection.');
    const s = spreadState;
    const metric = metricNamed(runMetrics, hasShared || s.metric !== 'weighted_speedup' ? s.metric : 'ipc');
    const by = dimension(s.by) ?? dimension('policy');
    const names = valuesOf(by, runs);
    const cap = 24;
    const sets = names.slice(0, cap).map((label, i) => ({label, colour: by.id === 'policy' ? policyColour(label) : seriesColour(i), values: []}));
    const place = new Map(sets.map((entry, i) => [entry.label, i]));
    const counted = [];
    for (const run of runs) {
      const value = metric.of(run);
      const i = place.get(by.of(run));
      if (!isNumber(value) || i === undefined) continue;
      sets[i].values.push([value, workloadText(run)]);
      counted.push(run);
    }
    const set = (key) => (value) => { s[key] = value; redraw(); };
    const controls = el('div', {class: 'controls'}, choice('Metric', metricOptions(runMetrics), metric.id, set('metric')),
                        choice('By', dimensions.filter((d) => d.id === 'policy' || countOf(d, runs) > 1).map((d) => [d.id, d.label]), by.id, set('by')),
                        choice('As', [['boxes', 'Boxes and runs'], ['histogram', 'Histograms']], s.kind, set('kind')));
    const node = figure({
      title: `${metric.label} by ${by.label.toLowerCase()}`, name: `distribution-${metric.id}`,
      note: `${s.kind === 'boxes' ? 'Boxes from the lower to the upper quartile, with the median; lines from 5% to 95%; a dot is a run.' : 'Each bar counts runs.'} ${betterText(metric)}${
          names.length > cap ? ` The first ${cap} of ${names.length}.` : ''}`,
      draw: (width) => distribution({sets, metric, kind: s.kind})(width),
      values: () => ({rows: sets.filter(({values}) => values.length).map(({label, values}) => ({label, sorted: ascending(values.map(([v]) => v))})), columns: [
        {label: by.label, value: ({label}) => label, order: by.order}, {label: 'Runs', number: true, value: ({sorted}) => sorted.length},
        ...[['Smallest', 0], ['5%', 0.05], ['Lower quartile', 0.25], ['Median', 0.5], ['Upper quartile', 0.75], ['95%', 0.95], ['Largest', 1]].map(([label, q]) => (
          {label, number: true, value: ({sorted}) => quantile(sorted, q), text: (v) => metricText(metric, v)})),
        {label: 'Mean', number: true, value: ({sorted}) => arithmeticMean(Array.from(sorted)), text: (v) => metricText(metric, v)}]}),
    });
    node.dataset.chart = 'distribution';
    return [controls, counted.length ? node : nothing('No run of this selection has that metric.')];
  };
  return [el('h1', {}, 'Distributions'), el('p', {class: 'lead'}, 'How much the runs differ.'), filtered(body)];
}
