// Which runs the pages show: those that ended, of a sweep, a machine, a seed... The choice holds for all pages, and is in
// the address.

const filter = {sweep: 'all', app: 'all', policies: null, dims: {}};

/** Runs that charts compare, before any filter: several applications, or one where no run has several. */
const comparedRuns = (() => {
  const runs = [];
  for (let run = 0; run < core.runs; ++run) if (isShared(run) || !hasShared) runs.push(run);
  return runs;
})();

const filterDimensions = dimensions.filter((d) => !['policy', 'workload', 'policy.name'].includes(d.id) && !d.id.startsWith('policy.'))
                             .map((d) => ({...d, values: valuesOf(d, comparedRuns)})).filter((d) => d.values.length > 1);

function inFilter(run) {
  if (filter.sweepRuns && !filter.sweepRuns.has(run)) return false;
  if (filter.policies && !filter.policies.has(policyOf(run))) return false;
  for (const d of filterDimensions) {
    const wanted = filter.dims[d.id];
    if (wanted !== undefined && d.of(run) !== wanted) return false;
  }
  return filter.app === 'all' || appRows(run).some((row) => appName(row) === filter.app);
}

/** Ended runs of the filter. */
const selectedRuns = () => comparedRuns.filter((run) => state[run] === kDone && inFilter(run));
const selectedPolicies = (runs) => valuesOf(dimension('policy'), runs);

/** Policies that runs compare, in their order. */
const knownPolicies = policyOrder.filter((policy) => comparedRuns.some((run) => policyOf(run) === policy));

function filterSweep(index) {
  filter.sweep = index;
  filter.sweepRuns = index === 'all' ? null : new Set(core.sweeps[index].runs);
}

/** The filter as [key, value] pairs of an address; nothing where it lets all runs through. */
function filterValues() {
  const values = filter.sweep === 'all' ? [] : [['sweep', sweepTitle(core.sweeps[filter.sweep])]];
  if (filter.app !== 'all') values.push(['app', filter.app]);
  for (const {id} of filterDimensions) if (id in filter.dims) values.push([id, filter.dims[id]]);
  if (filter.policies) values.push(...[...filter.policies].map((policy) => ['policy', policy]));
  return values;
}

/** The filter of an address. What this database does not have is passed over. */
function setFilter(values) {
  const all = (key) => values.filter(([name]) => name === key).map(([, value]) => value);
  const sweep = core.sweeps.findIndex((one) => sweepTitle(one) === all('sweep')[0]);
  filterSweep(sweep < 0 ? 'all' : sweep);
  filter.app = core.app_names.includes(all('app')[0]) ? all('app')[0] : 'all';
  filter.dims = {};
  for (const {id, values: known} of filterDimensions) if (known.includes(all(id)[0])) filter.dims[id] = all(id)[0];
  const policies = knownPolicies.filter((policy) => all('policy').includes(policy));
  filter.policies = policies.length ? new Set(policies) : null;  // all of them may be chosen, too: they are to be shown together
}

/** The controls, with policies to switch on and off; `change` is called after each change. */
function filterBar(change, {policies = true} = {}) {
  const controls = [];
  const changed = () => { change(); writeAddress(); };
  const set = (apply) => (value) => { apply(value); changed(); };
  if (core.sweeps.length > 1) {
    controls.push(choice('Sweep', [['all', 'All of the database'], ...core.sweeps.map((sweep, i) => [i, sweepTitle(sweep)])], filter.sweep, set(filterSweep)));
  }
  if (core.app_names.length > 1) {
    const names = [...core.app_names].sort(natural);
    controls.push(choice('With application', [['all', 'Any'], ...names.map((name) => [name, name])], filter.app, set((value) => { filter.app = value; })));
  }
  for (const d of filterDimensions) {
    const values = d.values.length > 400 ? d.values.slice(0, 400) : d.values;
    controls.push(choice(d.label, [['', 'Any'], ...values.map((value) => [value, value])], filter.dims[d.id] ?? '', set((value) => {
      if (value === '') delete filter.dims[d.id];
      else filter.dims[d.id] = value;
    })));
  }
  const known = knownPolicies;
  if (policies && known.length > 1) {
    const on = (policy) => !filter.policies || filter.policies.has(policy);
    controls.push(el('div', {role: 'group', 'aria-label': 'Policies'}, known.map((policy) => {
      const button = el('button', {type: 'button', class: 'quiet name', title: policy, 'aria-pressed': String(on(policy)), click: () => {
        const chosen = new Set(known.filter((other) => (other === policy ? !on(other) : on(other))));
        filter.policies = chosen.size === known.length || chosen.size === 0 ? null : chosen;
        for (const other of button.parentNode.children) other.setAttribute('aria-pressed', String(on(other.textContent)));
        changed();
      }}, policy);
      return button;
    })));
  }
  return controls.length ? el('div', {class: 'filters', role: 'search', 'aria-label': 'Which runs'}, el('div', {class: 'controls'}, controls)) : null;
}

const sweepTitle = (sweep) => (sweep.scale ? `${sweep.name}, ${sweep.scale}` : sweep.name);

/** A page's parts that depend on the filter: made again when it changes. */
function filtered(make, options) {
  const holder = el('div');
  const fill = () => {
    leaveFigures();
    holder.replaceChildren(...[make(selectedRuns())].flat(Infinity).filter(Boolean));
  };
  const bar = filterBar(fill, options);
  fill();
  return [bar, holder];
}

const nothing = (what) => el('p', {class: 'empty'}, what);
