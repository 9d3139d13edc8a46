// One run: what it was, its applications, scheduler states beside those of other policies, series, timeline, counters.

/** What the cycles of schedulers stand for, in the order in which they stack. */
const kStateColours = {issued: 0, scoreboard_memory: 1, pipeline_memory: 5, scoreboard_alu: 4, pipeline_alu: 2, synchronisation: 6, fetch: 3, throttled: 7, idle: 8};
const stateColour = (name, index) => seriesColour(kStateColours[name] ?? index);

function runPage(id) {
  const run = runOfId(id);
  if (run < 0) return [el('h1', {}, 'No such run'), nothing(`The database has no run ${id}.`)];
  const failure = core.failures.find((entry) => entry.run === run);
  const machine = machineOf(run);
  const fact = (label, value) => (value === null || value === '' ? null : [el('dt', {}, label), el('dd', {}, value)]);
  const metric = (name) => { const m = metricNamed(runMetrics, name); const v = m.of(run); return isNumber(v) ? fact(m.label, metricText(m, v)) : null; };
  return [
    el('h1', {}, workloadText(run)),
    el('p', {class: 'lead'}, `Run ${runId(run)}: ${isShared(run) ? `under ${policyOf(run)}` : `alone under ${policyOf(run)}`} on ${machine.name}${overridesOf(run).length ? ` with ${overridesText(run)}` : ''}.`),
    failure ? el('div', {}, el('p', {class: 'bad'}, `Failed with exit code ${failure.exit_code}:`), el('pre', {tabindex: 0}, failure.error)) : null,
    el('dl', {class: 'facts'}, fact('State', core.states[state[run]]), fact('Class', workloadClass(run)), metric('weighted_speedup'), metric('antt'), metric('fairness'), metric('ipc'),
       core.extras.filter((name) => name !== 'ipc').map((name) => metric(`extra.${name}`)), metric('cycles'), fact('Seed', String(runColumn('seed')[run])), fact('Hash', el('code', {}, block('hashes')[run]))),
    appsOfRun(run), cpusTable(run), ledgerOfRun(run), siblings(run), viewsOfSms(run), seriesOfRun(run), timelineOfRun(run), countersOfRun(run), source(`${machine.name} as a machine file`, () => block('machines')[runColumn('machine')[run]]),
  ];
}

function appsOfRun(run) {
  if (!appCount(run)) return null;
  const columns = [{label: 'Application', value: appName, cell: (row) => (appColumn('isolated')[row] === run ? appName(row) : runLink(appColumn('isolated')[row], appName(row)))},
                   ...appMetrics.filter((metric) => !metric.counter).map((metric) => metricColumn(metric)),
                   {label: 'Completions', number: true, value: (row) => appColumn('completions')[row]}, {label: 'Class', value: appClass}];
  return [el('h2', {}, 'Applications'), table(columns, appRows(run), {caption: 'Applications of the run', name: `run-${runId(run)}-apps`, search: false}),
          el('p', {class: 'note'}, 'The name of an application opens its isolated run.')];
}

/** Scheduler states of the runs that differ from this in their policy alone. */
function siblings(run) {
  if (state[run] !== kDone || !schedulerStates.length) return null;
  const key = workloadKey(run);
  const others = [];
  for (let other = 0; other < core.runs; ++other) if (state[other] === kDone && workloadKey(other) === key) others.push(other);
  others.sort((a, b) => policyRank(policyOf(a)) - policyRank(policyOf(b)));
  const alone = isShared(run) ? appRows(run).map((row) => appColumn('isolated')[row]).filter((other) => other !== run && state[other] === kDone) : [];
  const rows = [...others.map((other) => ({run: other, label: policyOf(other)})), ...alone.map((other) => ({run: other, label: `${workloadText(other)} alone`}))];
  const parts = schedulerStates.map((counter, i) => ({counter, label: words(counter.name), name: counter.name, i}));
  const node = figure({
    title: 'What the warp schedulers did', name: `run-${runId(run)}-schedulers`,
    note: 'Share of the scheduler cycles, by what became of them, under each policy for this workload, and for each application alone.',
    draw: (width) => stackedBars({rows: rows.map((row) => ({label: row.run === run && rows.length > 1 ? `${row.label} (this run)` : row.label, values: parts.map(({counter}) => counterColumn(counter)[row.run]), open: () => openRun(row.run)})),
                                  parts: parts.map(({label, name, i}) => ({label, colour: stateColour(name, i)}))})(width),
    values: () => ({rows, columns: [{label: 'Run', value: ({label}) => label}, ...parts.map(({label, counter}) => ({label, title: counter.meaning, number: true,
                    value: (row) => ratio(counterColumn(counter)[row.run], schedulerTotal(row.run)), text: percent}))]}),
  });
  node.dataset.chart = 'schedulers';
  return [el('h2', {}, 'Warp schedulers'), node];
}

// --- over time ------------------------------------------------------------------------------------------------

/** Those that are shown at once; the others unfold. */
const kFirstSeries = ['thread_instructions', 'lsu_stall_cycles', 'l1_misses', 'partitions.dram_bytes'];

/** How series are drawn: those of the schedulers as areas, the others a chart for each counter with a line for each application. */
function seriesOfRun(run) {
  if (!core.series.includes(run)) return null;
  const counters = new Map(core.counters.map((counter) => [counter.id, counter]));
  const all = block(`series-${run}`).map((series) => ({...series, counter: counters.get(series.counter)})).filter(({counter}) => counter);
  const charts = [];
  const states = all.filter(({counter}) => counter.scope === 'schedulers');
  const interval = states[0]?.interval;
  const at = (i, step) => i * step;
  if (states.length > 1) {
    const parts = states.filter(({samples}) => samples.some((value) => value > 0));
    const node = figure({
      title: 'Warp schedulers over time', name: `run-${runId(run)}-states`, height: 300, note: `Share of the scheduler cycles in each interval of ${plural(interval, 'core cycle')}.`,
      draw: (width) => stackedAreas({parts: parts.map(({counter, samples}, i) => ({label: words(counter.name), colour: stateColour(counter.name, i), samples})), interval, xLabel: 'Core cycle'})(width),
      values: () => ({rows: parts[0].samples.map((_, i) => i), columns: [{label: 'From cycle', number: true, value: (i) => at(i, interval)},
                      ...parts.map(({counter, samples}) => ({label: words(counter.name), number: true, value: (i) => samples[i] ?? null}))]}),
    });
    node.dataset.chart = 'states';
    charts.push(node);
  }
  const byCounter = new Map();
  for (const series of all) {
    if (states.length > 1 && series.counter.scope === 'schedulers') continue;
    if (series.counter.scope === 'sm') continue;  // viewsOverTime
    if (!series.samples.some((value) => value)) continue;
    if (series.counter.scope === 'pair' && appCount(run) === 1) continue;
    const key = series.counter.scope === 'app' || series.counter.scope === 'gpu' ? series.counter.name : `${series.counter.scope}.${series.counter.name}`;
    byCounter.set(key, [...(byCounter.get(key) ?? []), series]);
  }
  const chart = (list) => {
    const {counter} = list[0];
    const label = (series) => (series.culprit >= 0 ? `${appName(firstApp[run] + series.culprit)} to ${appName(firstApp[run] + series.app)}` : series.app >= 0 ? appName(firstApp[run] + series.app) : 'whole GPU');
    const node = figure({
      title: words(counter.name), name: `run-${runId(run)}-${counter.name}`, note: `${capital(counter.meaning)}, per core cycle, in intervals of ${plural(list[0].interval, 'cycle')}.`,
      draw: (width) => lineChart({series: list.map((series, i) => ({label: label(series), colour: series.culprit >= 0 ? seriesColour(i) : series.app >= 0 ? seriesColour(series.app) : theme().soft,
                                  points: series.samples.map((value, k) => [at(k, series.interval), isNumber(value) ? value / Math.min(series.interval, runColumn('cycles')[run] - k * series.interval) : null])})),
                                  xLabel: 'Core cycle', zero: true, height: 150, metric: {label: words(counter.name), unit: `${counter.unit} / core cycle`}})(width),
      values: () => ({rows: list.flatMap((series) => series.samples.map((value, k) => ({series, k, value}))), columns: [
        {label: 'Of', value: ({series}) => label(series)}, {label: 'From cycle', number: true, value: ({series, k}) => at(k, series.interval)}, {label: capital(counter.unit), number: true, value: ({value}) => value}]}),
    });
    node.dataset.chart = `series-${counter.name}`;
    return node;
  };
  const first = kFirstSeries.filter((key) => byCounter.has(key));
  const rest = [...byCounter.keys()].filter((key) => !first.includes(key));
  if (rest.length < 5 || !first.length) first.push(...rest.splice(0));
  const pairs = (keys) => el('div', {class: keys.length > 1 ? 'pair' : null}, keys.map((key) => chart(byCounter.get(key))));
  const more = el('details', {toggle: () => { if (more.open && more.children.length === 1) more.append(pairs(rest)); }}, el('summary', {}, `${whole(rest.length)} more counters over time`));
  return [el('h2', {}, 'Over time'), charts, pairs(first), rest.length ? more : null];
}

function timelineOfRun(run) {
  if (!core.timelines.includes(run)) return null;
  const nodes = timelineFigure(block(`timeline-${run}`), `run-${runId(run)}-timeline`);
  nodes[0].dataset.chart = 'timeline';
  return [el('h2', {}, 'Timeline'), nodes];
}

function countersOfRun(run) {
  if (state[run] !== kDone) return null;
  const rows = core.counters.flatMap((counter) => (counter.scope === 'app'
    ? appRows(run).map((row) => ({counter, of: `${appName(row)}${appCount(run) > 1 ? ` (${row - firstApp[run] + 1})` : ''}`, value: counterColumn(counter)[row]}))
    : counter.scope === 'pair' || counter.scope === 'sm' ? [] : [{counter, of: counter.scope, value: counterColumn(counter)[run]}])).filter(({value}) => value !== null);
  const name = (app) => `${appName(firstApp[run] + app)}${appCount(run) > 1 ? ` (${app + 1})` : ''}`;
  for (const {victim, culprit, counter, value} of pairsOfRun(run)) rows.push({counter, of: `${name(culprit)} to ${name(victim)}`, value});
  for (const {sm, counter, value} of viewsOfRun(run)) rows.push({counter, of: `SM ${sm}`, value});
  const node = table([{label: 'Counter', value: ({counter}) => counter.name}, {label: 'Of', value: ({of}) => of}, {label: 'Value', number: true, value: ({value}) => value},
                      {label: 'Unit', value: ({counter}) => counter.unit}, {label: 'Meaning', value: ({counter}) => counter.meaning, long: true}], rows, {caption: 'Counters of the run', name: `run-${runId(run)}-counters`, kept: true});
  node.dataset.table = 'counters';
  return [el('h2', {}, 'Counters'), node];
}
