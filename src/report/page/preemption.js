// How long SMs took to change hands, how their blocks were preempted, and what became of requests.

const preemptionExtra = (name) => core.extras.indexOf(`policy.${name}`);
const preemptionValue = (name, run) => (preemptionExtra(name) < 0 ? null : block(`extra-${preemptionExtra(name)}`)[run]);
const requestValue = (name, row) => (core.app_columns.includes(`requests_${name}`) ? appColumn(`requests_${name}`)[row] : null);
const hasPreemption = preemptionExtra('preemptions') >= 0;
const hasRequests = core.app_columns.includes('requests_arrived');

const kTechniques = [['switched', 'Switched', 0], ['drained', 'Drained', 2], ['flushed', 'Flushed', 1]];
/** [key of the result, label]; core cycles. */
const kLatencies = [['mean', 'Mean'], ['p50', 'p50'], ['p95', 'p95'], ['p99', 'p99'], ['max', 'Longest']];

function preemptionPage() {
  const body = (all) => {
    const runs = all.filter((run) => preemptionValue('preemptions', run) !== null);
    const rows = all.flatMap(appRows).filter((row) => requestValue('arrived', row) !== null);
    if (!runs.length && !rows.length) return nothing('No run of this selection preempts, or has requests.');
    return [runs.length ? [lateBars(runs), techniqueBars(runs), preemptionTable(runs)] : null, rows.length ? requestsTable(rows) : null];
  };
  return [el('h1', {}, 'Preemption'), el('p', {class: 'lead'}, 'How long SMs took to change hands, how their blocks were preempted, and what became of requests.'), filtered(body)];
}

const late = (run) => ratio((preemptionValue('preemptions_over_limit', run) ?? 0) + (preemptionValue('preemptions_given_up', run) ?? 0),
                            (preemptionValue('preemptions', run) ?? 0) + (preemptionValue('preemptions_given_up', run) ?? 0));

function meansByPolicy(runs, of) {
  return selectedPolicies(runs).map((policy) => {
    const values = runs.filter((run) => policyOf(run) === policy).map(of).filter(isNumber);
    return {policy, count: values.length, mean: arithmeticMean(values)};
  }).filter(({count}) => count);
}

function lateBars(runs) {
  const metric = {label: 'Late', unit: 'share of preemptions', share: true, better: -1};
  const means = meansByPolicy(runs, late);
  if (!means.length) return null;
  const node = figure({
    title: 'Preemptions over the latency limit', name: 'preemption-late', height: 300, note: 'SMs that were not handed over within the limit, or not at all; mean over runs. Smaller is better.',
    draw: (width) => groupedBars({groups: [{label: 'All runs', note: ''}], series: means.map(({policy}) => ({label: policy, colour: policyColour(policy)})), value: (_, s) => means[s].mean, metric})(width),
    values: () => ({rows: means, columns: [{label: 'Policy', value: ({policy}) => policy}, {label: 'Runs', number: true, value: ({count}) => count}, {label: 'Late', number: true, value: ({mean}) => mean, text: percent}]}),
  });
  node.dataset.chart = 'preemption-late';
  return node;
}

function techniqueBars(runs) {
  const parts = kTechniques.map(([key, label, colour]) => ({key, label, colour: seriesColour(colour)}));
  const rows = selectedPolicies(runs).map((policy) => {
    const own = runs.filter((run) => policyOf(run) === policy);
    return {label: policy, values: parts.map(({key}) => own.reduce((sum, run) => sum + (preemptionValue(`preempted_blocks_${key}`, run) ?? 0), 0))};
  }).filter(({values}) => values.some((value) => value));
  if (!rows.length) return null;
  const node = figure({
    title: 'How blocks were preempted', name: 'preemption-techniques', note: 'Share of the preempted thread blocks of all runs.', draw: stackedBars({rows, parts}),
    values: () => ({rows, columns: [{label: 'Policy', value: ({label}) => label}, ...parts.map(({label}, p) => ({label, number: true, value: ({values}) => values[p]}))]}),
  });
  node.dataset.chart = 'preemption-techniques';
  return node;
}

function preemptionTable(runs) {
  const number = (label, name, title, format = text) => ({label, title, number: true, value: (run) => preemptionValue(name, run), text: format});
  const node = table([
    workloadColumn(), policyColumn(), number('SMs', 'preemptions', 'SMs that were handed over'),
    {label: 'Late', title: 'Over the limit, or given up', number: true, value: late, text: percent},
    ...kLatencies.map(([key, label]) => number(`Latency ${label.toLowerCase()}`, `preemption_latency_${key}`, 'Core cycles from the request to the hand-over')),
    ...kTechniques.map(([key, label]) => number(label, `preempted_blocks_${key}`, 'Thread blocks')), number('Flushed instructions', 'flushed_warp_instructions', 'Warp instructions that are done again'),
    ...['p5', 'p50', 'p95'].map((key) => number(`Predicted / actual ${key}`, `predicted_over_actual_${key}`, 'Of the latency', decimal)),
    ...settingColumns(runs), runColumnOf(),
  ], runs, {caption: 'Preemptions of runs', name: 'preemptions', kept: true});
  node.dataset.table = 'preemptions';
  return [el('h2', {}, 'Preemptions'), node, el('p', {class: 'note'}, 'Latencies in core cycles, from the request for an SM to its hand-over.')];
}

function requestsTable(rows) {
  const runOf = (row) => appColumn('run')[row];
  const number = (label, name) => ({label, number: true, value: (row) => requestValue(name, row), text});
  const node = table([
    {label: 'Application', value: appName, cell: (row) => runLink(runOf(row), appName(row))}, policyColumn(runOf),
    number('Arrived', 'arrived'), number('Done', 'done'), number('Deadline', 'deadline_cycles'), number('Missed', 'missed'), number('Killed', 'killed'),
    ...kLatencies.map(([key, label]) => number(`Turnaround ${label.toLowerCase()}`, `turnaround_${key}`)),
    {label: 'Beside', value: (row) => appRows(runOf(row)).filter((other) => other !== row).map(appName).join(' + ')},
    ...settingColumns(rows.map(runOf), runOf), runColumnOf(runOf),
  ], rows, {caption: 'Requests', name: 'requests', kept: true});
  node.dataset.table = 'requests';
  return [el('h2', {}, 'Requests'), node, el('p', {class: 'note'}, 'Deadlines and turnaround, from the arrival to the end, in core cycles.')];
}
