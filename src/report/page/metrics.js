// Figures of a run or of an application in it: {id, label, unit, better (1: larger, -1: smaller, 0: neither), of}.
// `of` takes a run's row, for those of applications an application's. Shares are printed as percentages.

function ratio(part, of) { return isNumber(part) && of ? part / of : null; }

function smCycles(run) {
  const sms = machineOf(run).sms;
  const cycles = runColumn('cycles')[run];
  return sms && cycles ? sms * cycles : null;
}

const schedulerStates = core.counters.filter((counter) => counter.scope === 'schedulers');
function schedulerTotal(run) {
  let total = 0;
  for (const counter of schedulerStates) total += counterColumn(counter)[run] ?? 0;
  return total;
}
const words = (name) => capital(name.replace(/_/g, ' ')).replace(/\b(dram|alu|ipc|l1|l2|lsu|mshr|sm|gpu|cpu)\b/gi, (letters) => letters.toUpperCase());

/** Of a run's document, beside columns and counters. */
function extraValue(name, run) {
  const at = core.extras.indexOf(name);
  return at < 0 ? null : block(`extra-${at}`)[run];
}
/** Those of runs with CPU cores. */
const kCpuMetrics = {su_gpu: ['GPU speedup', 1, 'mean of normalized IPC'], ws_cpu: ['CPU weighted speedup', 1, 'sum of normalized IPC'],
                     oss: ['Overall system speedup', 1, ''], oss_alpha: ['Importance of the GPU in it', 0, '']};

const runMetrics = (() => {
  const column = (name) => (run) => runColumn(name)[run];
  const share = (id, label, of, better = 0) => ({id, label, unit: '', better, of, share: true});
  const list = [
    {id: 'weighted_speedup', label: 'Weighted speedup', unit: 'sum of normalized IPC', better: 1, of: column('weighted_speedup')},
    {id: 'antt', label: 'ANTT', unit: 'mean slowdown', better: -1, of: column('antt')},
    {id: 'fairness', label: 'Fairness', unit: 'smallest / largest normalized IPC', better: 1, of: column('fairness')},
    {id: 'stp', label: 'System throughput', unit: 'sum of normalized IPC', better: 1, of: column('stp')},
    {id: 'ipc', label: 'IPC of the GPU', brief: 'IPC', unit: 'thread instructions / core cycle', better: 1,
     of: (run) => (cpusOfRun(run).length ? extraValue('ipc', run) : ratio(counterValue('gpu.thread_instructions', run) - (counterValue('gpu.discarded_thread_instructions', run) ?? 0), runColumn('cycles')[run]))},
    share('l1_miss_rate', 'L1 miss rate', (run) => ratio(counterValue('gpu.l1_misses', run), counterValue('gpu.l1_accesses', run)), -1),
    share('l2_miss_rate', 'L2 miss rate', (run) => ratio(counterValue('partitions.l2_misses', run), counterValue('partitions.l2_accesses', run)), -1),
    {...share('lsu_stall_share', 'Load/store unit stalled, share of SM cycles', (run) => ratio(counterValue('gpu.lsu_stall_cycles', run), smCycles(run)), -1), brief: 'LSU stalled'},
    share('row_hit_rate', 'DRAM row hit rate', (run) => ratio(counterValue('partitions.dram_row_hits', run),
          (counterValue('partitions.dram_reads', run) ?? 0) + (counterValue('partitions.dram_writes', run) ?? 0)), 1),
    {id: 'cycles', label: 'Cycles simulated', unit: 'core cycles', better: 0, whole: true, of: column('cycles')},
    {id: 'wall_seconds', label: 'Time of the simulation', unit: 's', better: -1, of: column('wall_seconds')},
  ];
  core.extras.forEach((name, i) => {
    if (name === 'ipc') return;
    const is_share = name.endsWith('_utilization');
    const [label, better, unit] = kCpuMetrics[name] ?? [words(name.replace(/^policy\./, '')), 0, name.endsWith('_joules') ? 'J' : ''];
    list.push({id: `extra.${name}`, label, whole: name === 'completions', unit, better, share: is_share,
               of: (run) => block(`extra-${i}`)[run]});
  });
  for (const counter of schedulerStates) {
    list.push(share(`schedulers.${counter.name}`, `Schedulers: ${words(counter.name).toLowerCase()}, share of scheduler cycles`,
                    (run) => ratio(counterColumn(counter)[run], schedulerTotal(run)), counter.name === 'issued' ? 1 : 0));
  }
  for (const counter of core.counters) {
    if (counter.scope === 'app' || counter.scope === 'pair' || counter.scope === 'sm') continue;
    list.push({id: `counter.${counter.scope}.${counter.name}`, label: `${words(counter.name)} (${counter.scope})`, unit: counter.unit, better: 0,
               counter: true, whole: true, of: (run) => counterColumn(counter)[run]});
  }
  return list;
})();

const appMetrics = (() => {
  const column = (name) => (row) => appColumn(name)[row];
  const app = (name) => (row) => counterValue(`app.${name}`, row);
  const list = [
    {id: 'normalized_ipc', label: 'Normalized IPC', unit: 'shared / isolated', better: 1, of: column('normalized_ipc')},
    {id: 'ipc', label: 'IPC', unit: 'thread instructions / core cycle', better: 1, of: column('ipc')},
    {id: 'ipc_isolated', label: 'IPC isolated', unit: 'thread instructions / core cycle', better: 0, of: column('ipc_isolated')},
    {id: 'l1_miss_rate', label: 'L1 miss rate', unit: '', share: true, better: -1, of: (row) => ratio(app('l1_misses')(row), app('l1_accesses')(row))},
    {id: 'lsu_stall_share', label: 'Load/store unit stalled', unit: '', share: true, better: -1,
     of: (row) => ratio(app('lsu_stall_cycles')(row), smCycles(appColumn('run')[row]))},
    {id: 'accesses_per_instruction', label: 'L1 accesses / memory instruction', unit: '', better: -1,
     of: (row) => ratio(app('l1_accesses')(row), app('memory_instructions')(row))},
  ];
  for (const counter of core.counters) {
    if (counter.scope !== 'app') continue;
    list.push({id: `counter.${counter.name}`, label: words(counter.name), unit: counter.unit, better: 0, counter: true, whole: true,
               of: (row) => counterColumn(counter)[row]});
  }
  return list;
})();

const metricNamed = (list, id) => list.find((metric) => metric.id === id) ?? list[0];
const metricText = (metric, value) => (metric.share ? percent(value) : metric.whole ? text(value) : decimal(value));
/** How values that stand together are written: all with as many decimals. */
function evenly(metric, values) {
  const most = values.reduce((a, b) => Math.max(a, Math.abs(b)), 0);
  if (metric.share) return (value) => `${(100 * value).toFixed(most < 0.0995 ? 1 : 0)}%`;
  if (values.every(Number.isInteger) || most >= 1000) return short;
  return (value) => value.toFixed(most < 1 ? 3 : most < 10 ? 2 : most < 100 ? 1 : 0);
}
const metricShort = (metric, value, digits = 3) => (metric.share ? `${short(100 * value, digits)}%` : short(value, digits));
function metricOptions(list) {
  const option = (metric) => [metric.id, metric.label];
  const counters = list.filter((metric) => metric.counter);
  return [['Metrics', list.filter((metric) => !metric.counter).map(option)], ...(counters.length ? [['Counters', counters.map(option)]] : [])];
}
const axisLabel = (metric) => (metric.unit ? `${metric.label} (${metric.unit})` : metric.label);
const betterText = (metric) => (metric.better > 0 ? 'Larger is better.' : metric.better < 0 ? 'Smaller is better.' : '');
