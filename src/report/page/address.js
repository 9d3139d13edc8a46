// What is shown, as an address that can be sent: #policies?policy=even&metric=antt. The part before the question mark is
// the page; the others are choices that are not the usual ones: those of the filter, of the page and of its tables.

/** By page, what can be chosen there: {state, usual}. */
const pageChoices = new Map();
/** Choices of a page with their usual values (texts, true or false, null): a state that the address keeps. */
function choices(page, usual) {
  const state = {...usual};
  pageChoices.set(page, {state, usual});
  return state;
}

/** By the name of a table, what its reader has chosen: {find, sort: [heading, descending] or null}. */
const tableChoices = new Map();

// Commas and colons are in the names of policies, slashes in those of applications: an address stays readable with them.
const encoded = (text) => encodeURIComponent(text).replace(/%(?:2C|3A|2F|3D)/g, decodeURIComponent).replace(/%20/g, '+');
function decoded(text) {
  try {
    return decodeURIComponent(text.replace(/\+/g, ' '));
  } catch {
    return text;  // a lone % that somebody typed
  }
}

/** {path: as it stands there, name, rest: of the page, values: [key, value] pairs, null where there is no question mark}. */
function readAddress(hash) {
  const [, path, query] = /^#?([^?]*)\??(.*)$/s.exec(hash);
  const [name, ...rest] = path.split('/').map(decoded);
  const pair = (part) => { const at = part.indexOf('='); return at > 0 ? [decoded(part.slice(0, at)), decoded(part.slice(at + 1))] : null; };
  return {path, name, rest, values: hash.includes('?') ? query.split('&').map(pair).filter(Boolean) : null};
}

/** The address of a page with the choices of the filter and its own, or others: then it stands for all of them. */
function addressOf(path, {own = {}, filter: ofFilter = null} = {}) {
  const page = readAddress(path).name;
  const values = [...(ofFilter ?? filterValues())];
  const {state, usual} = pageChoices.get(page) ?? {state: {}, usual: {}};
  for (const [key, value] of Object.entries({...state, ...own})) if (value !== usual[key]) values.push([key, String(value)]);
  for (const [name, {find, sort}] of tableChoices) {
    if (tablePages.get(name) !== page) continue;
    if (find) values.push([`find.${name}`, find]);
    if (sort) values.push([`sort.${name}`, `${sort[1] ? '-' : ''}${sort[0]}`]);
  }
  return `#${path}${values.length || ofFilter ? '?' : ''}${values.map(([key, value]) => `${encoded(key)}=${encoded(value)}`).join('&')}`;
}
const tablePages = new Map();  // by the name of a table, the page that has it

/** Chooses what the values of an address say, and the usual where they say nothing. */
function applyAddress(page, values) {
  setFilter(values);
  const of = new Map(values);
  const {state, usual} = pageChoices.get(page) ?? {state: {}, usual: {}};
  for (const key of Object.keys(usual)) {
    const value = of.get(key);
    state[key] = value === undefined ? usual[key] : typeof usual[key] === 'boolean' ? value === 'true' : value;
  }
  for (const name of tableChoices.keys()) if (tablePages.get(name) === page) tableChoices.delete(name);
  for (const [key, value] of values) {
    const [, what, name] = /^(find|sort)\.(.+)$/s.exec(key) ?? [];
    if (!name) continue;
    tablePages.set(name, page);
    const chosen = tableChoices.get(name) ?? {find: '', sort: null};
    tableChoices.set(name, what === 'find' ? {...chosen, find: value} : {...chosen, sort: [value.replace(/^-/, ''), value.startsWith('-')]});
  }
}

/** What a reader of a table has chosen before, and `keep` for what he chooses. */
function choicesOfTable(name) {
  tablePages.set(name, readAddress(shownPage).name);
  return {...(tableChoices.get(name) ?? {find: '', sort: null}), keep: (chosen) => { tableChoices.set(name, chosen); writeAddress(); }};
}

/** Brings the address, and those of the pages' links, up to what is chosen. */
function writeAddress() {
  const address = addressOf(shownPage.slice(1));
  try {
    // `exact`: without a question mark, too, this address stands for all choices.
    if (address !== location.hash || !history.state?.exact) history.replaceState({exact: true}, '', address);
  } catch { /* a frame without an address of its own, or too many changes in a short time */ }
  for (const link of by('nav').children) link.setAttribute('href', addressOf(link.dataset.page));
}

/** After a choice: the page anew, and its address. */
function redraw() {
  writeAddress();
  showPage(shownPage.slice(1));
}
