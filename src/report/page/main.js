// Which page is shown follows from the address: #policies, #run/17.

const pages = [
  ['overview', 'Overview', overviewPage, true], ['policies', 'Policies', comparePage, core.runs > 0], ['pairs', 'Pairs', pairsPage, hasShared],
  ['trends', 'Trends', trendsPage, core.runs > 0], ['distributions', 'Distributions', distributionPage, core.runs > 0], ['runs', 'Runs', runsPage, core.runs > 0],
  ['applications', 'Applications', applicationsPage, core.runs > 0], ['preemption', 'Preemption', preemptionPage, hasPreemption || hasRequests],
  ['interference', 'Interference', interferencePage, core.ledger_runs.length > 0],
  ['papers', papers.length === 1 ? papers[0] : 'Papers', papersPage, papers.length > 0],
].filter(([, , , there]) => there);

let shownPage = '';
function route() {
  const [name, ...rest] = decodeURIComponent(location.hash.slice(1)).split('/');
  const anchor = name && !rest.length && !pages.some(([id]) => id === name);  // a place on the page that is shown
  if (anchor && by(name)) return by(name).scrollIntoView();
  const address = location.hash;
  const moved = address !== shownPage;
  const page = pages.find(([id]) => id === name) ?? pages[0];
  const content = name === 'run' ? () => runPage(rest[0]) : () => page[2](rest.join('/') || undefined);
  leaveFigures();
  const main = by('main');
  main.replaceChildren();
  add(main, [content()]);
  shownPage = address;
  const current = name === 'run' ? 'runs' : page[0];
  for (const link of by('nav').children) {
    if (link.hash === `#${current}`) link.setAttribute('aria-current', 'page');
    else link.removeAttribute('aria-current');
  }
  if (moved) {
    scrollTo(0, 0);
    document.title = `${main.querySelector('h1')?.textContent ?? ''} · ${core.database} · gpumux`;
    if (started) main.focus({preventScroll: true});
  }
}

let started = false;
by('database').textContent = core.database;
add(by('nav'), pages.map(([id, label]) => el('a', {href: `#${id}`}, label)));
startTheme();
addEventListener('hashchange', route);
route();
started = true;
document.documentElement.dataset.ready = 'true';
