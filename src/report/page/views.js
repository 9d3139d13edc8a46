// Views of execution: what the warps of single SMs did, over time where the run has series (docs/views.md).

/** States of warps in the order in which they stack, the first eight as the thesis that has them; then what an SM did. */
const kWarpStates = ['warps_can_issue_alu', 'warps_can_issue_memory', 'warps_alu_stall', 'warps_memory_stall', 'warps_alu_scoreboard', 'warps_memory_scoreboard',
                     'warps_fetch', 'warps_barrier', 'warps_held', 'warps_completed'];
const kCoreStates = ['core_active_cycles', 'core_pipeline_cycles', 'core_mixed_cycles', 'core_scoreboard_cycles', 'core_idle_cycles'];
const kLoads = ['alu_in_flight', 'memory_in_flight'];
const viewWords = (name) => words(name.replace(/^(warps|core)_/, '').replace(/_cycles$/, ''));

/** By SM: charts of its series, or of its sums. */
function viewsOfSms(run) {
  const rows = viewsOfRun(run);
  if (!rows.length) return null;
  const sms = [...new Set(rows.map(({sm}) => sm))].sort((a, b) => a - b);
  const ids = new Map(core.counters.map((counter) => [counter.id, counter]));
  const series = core.series.includes(run) ? block(`series-${run}`).map((one) => ({...one, counter: ids.get(one.counter)})).filter(({counter}) => counter?.scope === 'sm') : [];
  return [el('h2', {}, 'What warps did'), viewsTable(run, sms, rows), sms.map((sm) => viewsOverTime(run, sm, series.filter(({app}) => app === sm)))];
}

/** Shares of each SM's cycles, and of its warps'. */
function viewsTable(run, sms, rows) {
  const of = (sm, name) => rows.find((row) => row.sm === sm && row.counter.name === name)?.value ?? 0;
  const sum = (sm, names) => names.reduce((total, name) => total + of(sm, name), 0);
  const columns = [{label: 'SM', number: true, value: (sm) => sm},
    ...kCoreStates.map((name) => ({label: capital(viewWords(name)), title: 'Share of the cycles', number: true, value: (sm) => ratio(of(sm, name), sum(sm, kCoreStates)), text: percent})),
    {label: 'Overlap', title: 'Share of the cycles in which arithmetic and accesses to memory were in flight', number: true, value: (sm) => ratio(of(sm, 'overlap_cycles'), sum(sm, kCoreStates)), text: percent},
    {label: 'Memory latency', title: 'Cycles of an access to memory, from its issue on', number: true, value: (sm) => ratio(of(sm, 'memory_in_flight'), of(sm, 'memory_in_flight_begun')), text: (value) => short(value)},
    {label: 'Tail', title: 'Share of the cycles in which a block had warps that had ended', number: true, value: (sm) => ratio(of(sm, 'tail_cycles'), sum(sm, kCoreStates)), text: percent}];
  const node = table(columns, sms, {caption: 'SMs that were viewed', name: `run-${runId(run)}-views`, search: false});
  node.dataset.table = 'views';
  return node;
}

function viewsOverTime(run, sm, series) {
  if (!series.length) return null;
  const interval = series[0].interval;
  const named = (names) => names.map((name) => series.find(({counter}) => counter.name === name)).filter((one) => one?.samples.some((value) => value > 0));
  const note = (text) => `${text}, in intervals of ${plural(interval, 'core cycle')}.`;
  const values = (parts) => ({rows: parts[0].samples.map((_, i) => i), columns: [{label: 'From cycle', number: true, value: (i) => i * interval},
                              ...parts.map(({counter, samples}) => ({label: viewWords(counter.name), title: counter.meaning, number: true, value: (i) => samples[i] ?? null}))]});
  const areas = (title, kind, parts, text) => {
    if (!parts.length) return null;
    const all = kind === 'phases' ? core.counters.map(({name}) => name).filter((name) => name.startsWith('phase_')) : kind === 'warps' ? kWarpStates : kCoreStates;  // a colour for each, whatever there is of it
    const most = parts[0].samples.reduce((high, _, i) => Math.max(high, parts.reduce((sum, {samples}) => sum + samples[i], 0)), 0);
    const node = figure({title: `${title} of SM ${sm}`, name: `run-${runId(run)}-sm-${sm}-${kind}`, height: 300, note: note(text), values: () => values(parts),
      draw: (width) => stackedAreas({parts: parts.map(({counter, samples}) => ({label: viewWords(counter.name), colour: seriesColour(all.indexOf(counter.name)), samples})), interval, xLabel: 'Core cycle', most})(width)});
    node.dataset.chart = `${kind}-${sm}`;
    return node;
  };
  const loads = named(kLoads);
  const load = loads.length ? figure({title: `Instructions in flight of SM ${sm}`, name: `run-${runId(run)}-sm-${sm}-load`, note: note('Arithmetic until its result, accesses to memory until they are performed'), values: () => values(loads),
    draw: (width) => lineChart({series: loads.map(({counter, samples}, i) => ({label: viewWords(counter.name), colour: seriesColour(i), points: samples.map((value, k) => [k * interval, value / Math.min(interval, runColumn('cycles')[run] - k * interval)])})),
                                xLabel: 'Core cycle', zero: true, height: 200, metric: {label: 'In flight', unit: 'instructions'}})(width)}) : null;
  if (load) load.dataset.chart = `load-${sm}`;
  return [areas('Warps', 'warps', named(kWarpStates), 'Warps by what they wait for'), load,
          areas('Phases', 'phases', series.filter(({counter, samples}) => counter.name.startsWith('phase_') && samples.some((value) => value > 0)), 'Warps by the phase of their kernel'),
          areas('Cycles', 'core', named(kCoreStates), 'What became of each cycle')];
}
