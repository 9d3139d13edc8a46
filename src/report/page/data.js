// The data of the page: blocks that are read when they are first needed, and what follows from them. Runs and
// applications are row numbers; a column is an array by row.

const block = memo((name) => {
  const node = by(`data-${name}`);
  return node ? JSON.parse(node.textContent) : null;
});

const core = block('core');
const runColumn = (name) => block(`run-${name}`);
const appColumn = (name) => block(`app-${name}`);
const counterColumn = (counter) => block(`counter-${counter.id}`);
/** What applications did to each other in a run: {victim, culprit, counter, value}, applications by their place in the run. */
const pairsOfRun = memo((run) => (block('pairs') ?? []).filter((row) => row[0] === run)
  .map(([, victim, culprit, id, value]) => ({victim, culprit, counter: core.counters.find((counter) => counter.id === id), value})));
/** What the warps of SMs that were viewed did: {sm, counter, value}. */
const viewsOfRun = memo((run) => (block('sms') ?? []).filter((row) => row[0] === run)
  .map(([, sm, id, value]) => ({sm, counter: core.counters.find((counter) => counter.id === id), value})));
const counterNamed = memo((key) => core.counters.find((counter) => `${counter.scope}.${counter.name}` === key) ?? null);
/** One value of a counter: of an application's row for those of applications, else of a run's. */
function counterValue(key, row) {
  const counter = counterNamed(key);
  return counter ? counterColumn(counter)[row] : null;
}

const kDone = core.states.indexOf('done');
const kFailed = core.states.indexOf('failed');
const state = runColumn('state');

// Applications of run r: rows firstApp[r] to firstApp[r + 1].
const firstApp = (() => {
  const first = new Int32Array(core.runs + 1);
  for (const run of appColumn('run')) ++first[run + 1];
  for (let run = 0; run < core.runs; ++run) first[run + 1] += first[run];
  return first;
})();
function appRows(run) {
  const rows = [];
  for (let row = firstApp[run]; row < firstApp[run + 1]; ++row) rows.push(row);
  return rows;
}
const appCount = (run) => firstApp[run + 1] - firstApp[run];
const appName = (row) => core.app_names[appColumn('app')[row]];
const runId = (run) => runColumn('id')[run];
const runOfId = memo((id) => runColumn('id').indexOf(Number(id)));
const policyOf = (run) => core.policies[runColumn('policy')[run]];
const machineOf = (run) => core.machines[runColumn('machine')[run]];
const overridesOf = (run) => core.overrides[runColumn('overrides')[run]];
const overridesText = (run) => overridesOf(run).map(([key, value]) => `${key}=${value}`).join(' ');
/** CPU cores of a run with a program: {core, program, ipc, isolated, normalized, mpki, latency}, null where not known. */
const cpusOfRun = (() => {
  const byRun = new Map();
  for (const [run, at, program, ipc, isolated, normalized, mpki, latency] of block('cpus') ?? []) {
    if (!byRun.has(run)) byRun.set(run, []);
    byRun.get(run).push({core: at, program: core.cpu_programs[program], ipc, isolated, normalized, mpki, latency});
  }
  return (run) => byRun.get(run) ?? [];
})();
/** Cores by program, in their order. */
const cpuProgramsOf = (run) => [...cpusOfRun(run).reduce((groups, cpu) => groups.set(cpu.program, [...(groups.get(cpu.program) ?? []), cpu]), new Map())];
/** "mcf*7, omnetpp*7"; empty without a CPU program. */
const cpusText = memo((run) => cpuProgramsOf(run).map(([program, cores]) => `${program}*${cores.length}`).join(', '));
const workloadText = (run) => [appRows(run).map(appName).join(' + '), cpusText(run)].filter((part) => part).join(' beside ');

// --- classes ------------------------------------------------------------------------------------------------

/** M: the load/store units of its isolated run stall in more than that share of the SM cycles; C: they do not. */
function appClass(row) {
  const share = appColumn('isolated_stall_share')[row];
  return share === null ? '?' : share > core.memory_share ? 'M' : 'C';
}
const workloadClass = memo((run) => appRows(run).map(appClass).sort().join('+'));
/** C+C, C+M, M+M, then larger ones; unknown ones last. */
function classOrder(a, b) {
  return a.includes('?') - b.includes('?') || a.length - b.length || (a < b ? -1 : a > b ? 1 : 0);
}
const kClassNote = `An application is M (memory intensive) when the load/store units of its isolated run stall in more than ${
    100 * core.memory_share}% of the SM cycles, otherwise C (compute intensive).`;

// --- policies -----------------------------------------------------------------------------------------------

/** "ws:k=3,warps=lrr" -> {name: "ws", settings: {k: "3", warps: "lrr"}} */
const policyParts = memo((policy) => {
  const [, name, rest] = /^([^:,]*)[:,]?(.*)$/s.exec(policy);
  const settings = {};
  for (const setting of rest.split(',')) {
    const at = setting.indexOf('=');
    if (at > 0) settings[setting.slice(0, at)] = setting.slice(at + 1);
  }
  return {name, settings};
});

/** Does this run compare policies, or is it the baseline of runs that do? */
const isShared = (run) => appCount(run) > 1 || (appCount(run) === 1 && cpusOfRun(run).length > 0);
const hasShared = (() => {
  for (let run = 0; run < core.runs; ++run) if (isShared(run)) return true;
  return false;
})();

/** Policies in the order in which sweeps name them; each keeps its place, and so its colour, on all charts. */
const policyOrder = (() => {
  const seen = new Set();
  const policy = runColumn('policy');
  for (let run = 0; run < core.runs; ++run) if (isShared(run) || !hasShared) seen.add(policy[run]);
  for (let i = 0; i < core.policies.length; ++i) seen.add(i);
  return [...seen].map((i) => core.policies[i]);
})();
const policyRank = memo((policy) => policyOrder.indexOf(policy));

/**
 * Machines that a sweep means to be the same: those of a name and with the same changes. A level of a policy, such as
 * `warps=lrr`, makes another machine of it, but only for that policy; several of them under one policy are told apart.
 */
const machineVariant = (() => {
  const seen = new Map();
  const variants = [];
  for (let run = 0; run < core.runs; ++run) {
    const name = `${machineOf(run).name}|${runColumn('overrides')[run]}`;
    const key = `${name}|${runColumn('policy')[run]}|${isShared(run)}`;
    if (!seen.has(key)) seen.set(key, []);
    const machines = seen.get(key);
    const machine = runColumn('machine')[run];
    if (!machines.includes(machine)) machines.push(machine);
    variants.push(`${name}|${machines.indexOf(machine)}`);
  }
  return variants;
})();

/** What two runs share that differ in their policy alone. */
const workloadKey = memo((run) => [machineVariant[run], runColumn('seed')[run],
                                   runColumn('cycle_limit')[run], cpusText(run), ...appRows(run).map((row) => appColumn('app')[row])].join('|'));

// --- dimensions: what runs differ in ------------------------------------------------------------------------

/** 24K -> 24576; what is no number stays text. */
function numeric(value) {
  const match = /^(-?[\d.]+(?:e-?\d+)?)([KMG]?)$/i.exec(String(value).trim());
  if (!match || Number.isNaN(Number(match[1]))) return null;
  return Number(match[1]) * {'': 1, K: 1024, M: 1048576, G: 1073741824}[match[2].toUpperCase()];
}

/** {id, label, of: run -> text or null, rank: order of its values (by number where all are numbers)}. */
const dimensions = (() => {
  const list = [
    {id: 'policy', label: 'Policy', of: policyOf, order: (a, b) => policyRank(a) - policyRank(b)},
    {id: 'class', label: 'Workload class', of: workloadClass, order: classOrder},
    {id: 'machine', label: 'Machine', of: (run) => machineOf(run).name},
    {id: 'seed', label: 'Seed', of: (run) => String(runColumn('seed')[run])},
    {id: 'cycle_limit', label: 'Cycle limit', of: (run) => (runColumn('cycle_limit')[run] === null ? 'until all end' : String(runColumn('cycle_limit')[run]))},
    {id: 'count', label: 'Applications per run', of: (run) => String(appCount(run))},
    {id: 'workload', label: 'Workload', of: workloadText},
  ];
  if ((block('cpus') ?? []).length) list.push({id: 'cpus', label: 'CPU programs', of: (run) => cpusText(run) || 'none'});
  const keys = [...new Set(core.overrides.flatMap((set) => set.map(([key]) => key)))];
  for (const key of keys) {
    const values = core.overrides.map((set) => set.find(([name]) => name === key)?.[1] ?? null);
    list.push({id: `set.${key}`, label: key, of: (run) => values[runColumn('overrides')[run]]});
  }
  const settings = [...new Set(core.policies.flatMap((policy) => Object.keys(policyParts(policy).settings)))];
  if (settings.length) list.push({id: 'policy.name', label: 'Policy without its settings', of: (run) => policyParts(policyOf(run)).name});
  for (const key of settings) {
    list.push({id: `policy.${key}`, label: `Policy setting ${key}`, of: (run) => policyParts(policyOf(run)).settings[key] ?? null});
  }
  for (const dimension of list) dimension.order ??= valueOrder;
  return list;
})();
const dimension = memo((id) => dimensions.find((d) => d.id === id));
function valueOrder(a, b) {
  const x = numeric(a);
  const y = numeric(b);
  return x !== null && y !== null ? x - y : natural(a, b);
}
/** Distinct values among runs, in their order. */
function valuesOf(dim, runs) {
  const seen = new Set();
  for (const run of runs) {
    const value = dim.of(run);
    if (value !== null) seen.add(value);
  }
  return [...seen].sort(dim.order);
}
