// Reproductions: a page per paper, ours beside the paper's.

const reproductions = Array.from({length: block('reproductions') ?? 0}, (_, i) => block(`reproduction-${i}`));
const claims = reproductions.flatMap((document) => document.claims);
const trends = reproductions.flatMap((document) => document.trends ?? []);
const paperOf = (claim) => claim.id.split('.')[0];
const papers = [...new Set([...claims, ...trends].map(paperOf))].sort(natural);
const paperTitle = memo((paper) => reproductions.flatMap((document) => document.papers ?? []).find((entry) => entry.paper === paper)?.title ?? paper);

/** "143 of 180 directions agree": of those that the chosen scale covers. */
function agreement(list, key, what) {
  const judged = list.filter((claim) => typeof claim[key] === 'boolean');
  if (!judged.length) return null;
  return `${judged.filter((claim) => claim[key]).length} of ${judged.length} ${what} agree`;
}
const verdict = (value) => (value === true ? 'agrees' : value === false ? 'differs' : '–');
/** Of a claim; what is not decided leans, or is undecided. */
const standing = (claim, key) => claim[key] ?? verdict(claim[`${key}_agrees`]);
function standingCell(claim, key) {
  const word = standing(claim, key);
  return el('span', {class: word === 'agrees' ? 'good' : word === 'differs' ? 'bad' : 'soft'}, word);
}

const theirs = (claim) => claim.paper ?? null;
const claimName = (claim) => claim.what ?? claim.id.slice(paperOf(claim).length + 1);

function papersPage(paper) {
  const shown = paper ? [paper] : papers;
  if (paper && !papers.includes(paper)) return [el('h1', {}, 'No such paper'), nothing(`No reproduction of ${paper} is in this report.`)];
  if (!paper && papers.length > 1) {
    const node = table([
      {label: 'Paper', value: (p) => p, cell: (p) => el('a', {href: `#papers/${encodeURIComponent(p)}`}, paperTitle(p))},
      {label: 'Claims', number: true, value: (p) => claims.filter((claim) => paperOf(claim) === p).length},
      ...[['direction_agrees', 'Directions'], ['size_agrees', 'Sizes']].map(([key, label]) => ({label, value: (p) => agreement(claims.filter((claim) => paperOf(claim) === p), key, '')?.replace('  ', ' ') ?? null})),
      {label: 'Trends', value: (p) => agreement(trends.filter((trend) => paperOf(trend) === p), 'direction_agrees', '')?.replace('  ', ' ') ?? null},
    ], papers, {caption: 'Papers', name: 'papers', search: false});
    node.dataset.table = 'papers';
    return [el('h1', {}, 'Papers'), el('p', {class: 'lead'}, summary(claims)), node];
  }
  return shown.flatMap((name) => {
    const of = claims.filter((claim) => paperOf(claim) === name);
    const trendsOf = trends.filter((trend) => paperOf(trend) === name);
    return [el('h1', {}, paperTitle(name)), el('p', {class: 'lead'}, summary(of), trendsOf.length ? ` ${agreement(trendsOf, 'direction_agrees', 'trends') ?? 'No trend is judged'}.` : ''),
            claimsChart(of), of.length ? [el('h2', {}, 'Claims'), claimsTable(of, 'claims')] : null, trendsOf.length ? [el('h2', {}, 'Trends'), claimsTable(trendsOf, 'trends')] : null];
  });
}

function summary(list) {
  const parts = [agreement(list, 'direction_agrees', 'directions'), agreement(list, 'size_agrees', 'sizes')].filter(Boolean);
  for (const [key, word, text] of [['direction', 'leans', 'lean'], ['direction', 'leans away', 'lean away'], ['size', 'undecided', 'sizes are undecided']]) {
    const count = list.filter((claim) => claim[key] === word).length;
    if (count) parts.push(`${count} ${text}`);
  }
  const open = list.filter((claim) => ['direction', 'size'].every((key) => standing(claim, key) === verdict(null))).length;
  return `${parts.length ? `${parts.join('; ')}.` : 'Nothing is judged yet.'}${open ? ` ${plural(open, 'claim')} of ${list.length} not judged; the notes say why.` : ''}`;
}

function claimsTable(list, what) {
  const columns = [
    {label: 'Claim', value: claimName, cell: (claim) => el('span', {title: claim.id}, claimName(claim))},
    ...(list.some((claim) => theirs(claim) !== null) ? [{label: 'Paper', number: list.some((claim) => isNumber(theirs(claim))), value: theirs, text: (v) => (isNumber(v) ? decimal(v) : String(v))}] : []),
    ...(list.some((claim) => 'ours' in claim) ? [{label: 'Ours', number: list.some((claim) => isNumber(claim.ours)), value: (claim) => claim.ours ?? null, text: (v) => (isNumber(v) ? decimal(v) : String(v))}, ...(list.some((claim) => claim.unit) ? [{label: 'Unit', value: (claim) => claim.unit ?? null}] : [])] : []),
    ...(list.some((claim) => claim.interval) ? [{label: '95% interval', value: (claim) => claim.interval?.[0] ?? null, text: (v, claim) => (claim?.interval ? claim.interval.map(decimal).join(' to ') : '–')}] : []),
    ...(list.some((claim) => claim.workloads) ? [{label: 'Workloads', number: true, value: (claim) => claim.workloads ?? null}] : []),
    {label: 'Direction', value: (claim) => standing(claim, 'direction'), cell: (claim) => standingCell(claim, 'direction')},
    ...(list.some((claim) => claim.size || typeof claim.size_agrees === 'boolean') ? [{label: 'Size', value: (claim) => standing(claim, 'size'), cell: (claim) => standingCell(claim, 'size')}] : []),
    ...(list.some((claim) => claim.source) ? [{label: 'Source', value: (claim) => claim.source ?? null}] : []),
    {label: 'Note', value: (claim) => claim.note ?? null},
  ];
  const node = table(columns, list, {caption: capital(what), name: what, wrap: true, search: list.length > 12});
  node.dataset.table = what;
  return node;
}

/** Both values of each claim on a line; a chart for each unit, since units do not compare. */
function claimsChart(list) {
  const known = list.filter((claim) => isNumber(claim.ours) && isNumber(theirs(claim)));
  const units = [...new Set(known.map((claim) => claim.unit ?? ''))];
  return units.map((unit) => {
    const of = known.filter((claim) => (claim.unit ?? '') === unit);
    const metric = {label: unit ? capital(unit) : 'Value', unit: ''};
    const series = () => [{label: 'Paper', colour: theme().series[1]}, {label: 'Ours', colour: theme().series[0]}];
    const node = figure({
      title: `Ours beside the paper's: ${unit || 'values'}`, name: `claims-${unit || 'values'}`, note: plural(of.length, 'claim') + ' of which both have a value.',
      draw: (width) => dotRows({groups: of.map((claim) => ({label: claimName(claim)})), series: series(), value: (g, s) => (s ? of[g].ours : theirs(of[g])), metric})(width),
      values: () => ({rows: of, columns: [{label: 'Claim', value: claimName}, {label: 'Paper', number: true, value: theirs}, {label: 'Ours', number: true, value: (claim) => claim.ours}, {label: 'Unit', value: (claim) => claim.unit}]}),
    });
    node.dataset.chart = 'claims';
    return node;
  });
}
