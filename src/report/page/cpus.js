// CPU cores beside the GPU of one run: what their programs reached, alone and here (docs/mesh.md).

/** Equal programs in one row, by the mean over their cores. */
function cpusTable(run) {
  const rows = cpuProgramsOf(run).map(([program, cores]) => ({program, cores}));
  if (!rows.length) return null;
  const mean = (name) => ({cores}) => {
    const known = cores.map((cpu) => cpu[name]).filter(isNumber);
    return known.length ? known.reduce((sum, value) => sum + value, 0) / known.length : null;
  };
  const number = (label, name, title) => ({label, title, number: true, value: mean(name), text: (value) => decimal(value)});
  const node = table([
    {label: 'Program', value: ({program}) => program}, {label: 'Cores', number: true, value: ({cores}) => cores.length},
    number('IPC', 'ipc', 'Instructions per CPU cycle'), number('Alone', 'isolated', 'IPC of the program alone on one core'), number('Normalized', 'normalized', 'IPC over that alone'),
    number('L2 MPKI', 'mpki', 'Misses of the core\u2019s own L2 per thousand instructions'), number('Memory latency', 'latency', 'CPU cycles from a request to its reply'),
  ], rows, {caption: 'CPU programs of the run, means over their cores', name: `run-${runId(run)}-cpus`, search: false});
  node.dataset.table = 'cpus';
  return [el('h2', {}, 'CPU programs'), node];
}
