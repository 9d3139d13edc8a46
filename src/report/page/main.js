// Which page is shown follows from the address: #policies, #run/17.

const pages = [
  ['overview', 'Overview', overviewPage, true], ['policies', 'Policies', comparePage, core.runs > 0], ['pairs', 'Pairs', pairsPage, hasShared],
  ['trends', 'Trends', trendsPage, core.runs > 0], ['distributions', 'Distributions', distributionPage, core.runs > 0], ['runs', 'Runs', runsPage, core.runs > 0],
  ['applications', 'Applications', applicationsPage, core.runs > 0], ['preemption', 'Preemption', preemptionPage, hasPreemption || hasRequests],
  ['interference', 'Interference', interferencePage, core.ledger_runs.length > 0],
  ['papers', papers.length === 1 ? papers[0] : 'Papers', papersPage, papers.length > 0],
].filter(([, , , there]) => there);

let shownPage = '';  // '#policies': the address without its choices

function showPage(path) {
  const {name, rest} = readAddress(path);
  const page = pages.find(([id]) => id === name) ?? pages[0];
  const content = name === 'run' ? () => runPage(rest[0]) : () => page[2](rest.join('/') || undefined);
  const moved = `#${path}` !== shownPage;
  shownPage = `#${path}`;
  leaveFigures();
  const main = by('main');
  main.replaceChildren();
  add(main, [content()]);
  const current = name === 'run' ? 'runs' : page[0];
  for (const link of by('nav').children) {
    if (link.dataset.page === current) link.setAttribute('aria-current', 'page');
    else link.removeAttribute('aria-current');
  }
  if (moved) {
    scrollTo(0, 0);
    document.title = `${main.querySelector('h1')?.textContent ?? ''} · ${core.database} · gpumux`;
    if (started) main.focus({preventScroll: true});
  }
  if (name !== 'run' && rest.length) by(rest.join('/'))?.scrollIntoView();
}

function route() {
  const {path, name, values} = readAddress(location.hash);
  const known = name === 'run' || pages.some(([id]) => id === name);
  if (started && name && !known) {  // a place on the page that is shown
    by(name)?.scrollIntoView();
    return writeAddress();
  }
  // A link to a page keeps what is chosen; an address that was shown, or is sent, says all of it.
  if (values || history.state?.exact || !started) applyAddress(name, values ?? []);
  showPage(known ? path : pages[0][0]);
  writeAddress();
}

let started = false;
by('database').textContent = core.database;
add(by('nav'), pages.map(([id, label]) => el('a', {href: `#${id}`, 'data-page': id}, label)));
startTheme();
addEventListener('hashchange', route);
route();
started = true;
document.documentElement.dataset.ready = 'true';
