// Tables that sort, filter, and put only the rows in sight into the page, so that ten thousand rows scroll as ten do. The
// first column stays in sight and names its row; what the table is about comes right behind it, and what else tells rows
// apart at the end.

const kRowHeight = 32;   // --row in style.css
const kDrawAll = 200;    // up to so many rows there is no need to leave any out
const kShortName = 14;   // letters that are never cut off; longer texts are whole under the pointer

function csvCell(value) {
  const cell = value === null || value === undefined ? '' : String(value);
  return /[",\n\r]/.test(cell) ? `"${cell.replace(/"/g, '""')}"` : cell;
}

/**
 * columns: {label, value: row -> number, text or null, text: value, row -> what is shown, number: right-aligned,
 *           cell: row -> node instead, title: what the heading means, long: a sentence rather than a name}
 * options: caption, name (of the saved file), sort: [column, descending], search: false to leave the box out, wrap,
 *          kept: the address has what the reader filters and sorts by.
 * Gives an element with `show(rows)`, and `rows()`: those shown, in their order.
 */
function table(columns, rows, options = {}) {
  const chosen = options.kept ? choicesOfTable(options.name) : null;
  const chosenColumn = chosen?.sort ? columns.findIndex(({label}) => label === chosen.sort[0]) : -1;
  let order = chosenColumn >= 0 ? [chosenColumn, chosen.sort[1]] : options.sort ?? null;
  let query = chosen?.find.toLowerCase() ?? '';
  let sorted = chosenColumn >= 0 ? chosen.sort : null;  // by the reader: heading and direction
  const keep = () => chosen?.keep({find: query, sort: sorted});
  let all = rows;
  let shown = [];
  let first = -1;
  let last = -1;

  const cellText = (column, row) => {
    const value = column.value(row);
    if (value === null || value === undefined || value === '') return '–';
    return column.text ? column.text(value, row) : column.number ? text(value) : String(value);
  };
  const searchText = memo((row) => columns.map((column) => (column.number ? '' : cellText(column, row))).join(' ').toLowerCase());

  const count = el('span', {class: 'count', role: 'status'});
  const search = el('input', {type: 'search', placeholder: 'Filter', 'aria-label': `Filter ${options.caption ?? 'the table'}`, value: query || null,
                              input: () => { query = search.value.trim().toLowerCase(); arrange(); keep(); }});
  const headings = columns.map((column, i) => {
    const arrow = el('span', {class: 'arrow', 'aria-hidden': 'true'});
    const heading = el('th', {scope: 'col', class: column.number ? 'number' : null, title: column.title ?? (column.label.length > kShortName ? column.label : null)},
                       el('button', {type: 'button', click: () => {
                         const descending = order?.[0] === i ? !order[1] : Boolean(column.number);
                         order = [i, descending];
                         sorted = [column.label, descending];
                         arrange();
                         keep();
                       }}, column.number ? [arrow, column.label] : [column.label, arrow]));
    heading.arrow = arrow;
    return heading;
  });
  const body = el('tbody');
  const sheet = el('table', {class: options.wrap ? 'wrapped' : null},
                   options.caption ? el('caption', {class: 'hidden'}, options.caption) : null,
                   el('thead', {}, el('tr', {}, headings)), body);
  const scroll = el('div', {class: 'scroll tall', tabindex: 0, role: 'region', 'aria-label': options.caption ?? 'Table', scroll: () => { draw(); scroll.classList.toggle('aside', scroll.scrollLeft > 0); }}, sheet);
  const save = el('button', {type: 'button', class: 'quiet', click: () => {
    const lines = [columns.map((column) => csvCell(column.label)), ...shown.map((row) => columns.map((column) => csvCell(column.value(row))))];
    download(`${options.name ?? 'table'}.csv`, new Blob([lines.map((line) => line.join(',')).join('\n') + '\n'], {type: 'text/csv'}));
  }}, 'CSV');
  save.setAttribute('aria-label', `Save ${options.caption ?? 'the table'} as CSV`);

  function arrange() {
    shown = query ? all.filter((row) => query.split(/\s+/).every((word) => searchText(row).includes(word))) : [...all];
    headings.forEach((heading, i) => {
      const by = order?.[0] === i;
      heading.arrow.textContent = by ? (order[1] ? '↓' : '↑') : '';
      if (by) heading.setAttribute('aria-sort', order[1] ? 'descending' : 'ascending');
      else heading.removeAttribute('aria-sort');
    });
    if (order) {
      const {value, number, order: compare} = columns[order[0]];
      const sign = order[1] ? -1 : 1;
      const keys = new Map(shown.map((row) => [row, value(row)]));
      const missing = (key) => key === null || key === undefined || key === '';
      shown.sort((a, b) => {
        const x = keys.get(a);
        const y = keys.get(b);
        if (missing(x) || missing(y)) return missing(x) - missing(y);  // last in either direction
        return sign * (compare ? compare(x, y) : number ? x - y : natural(String(x), String(y)));
      });
    }
    count.textContent = shown.length === all.length ? plural(all.length, 'row') : `${whole(shown.length)} of ${plural(all.length, 'row')}`;
    sheet.setAttribute('aria-rowcount', shown.length + 1);
    first = last = -1;
    draw();
  }

  function draw() {
    let from = 0;
    let to = shown.length;
    if (shown.length > kDrawAll && !options.wrap) {
      const height = scroll.clientHeight || 720;
      from = Math.max(0, Math.floor(scroll.scrollTop / kRowHeight) - 15);
      from -= from % 2;
      to = Math.min(shown.length, from + Math.ceil(height / kRowHeight) + 32);
      from = Math.max(0, Math.min(from, to - 1));
    }
    if (from === first && to === last) return;
    first = from;
    last = to;
    const space = (height) => {
      const cell = el('td', {colspan: columns.length});
      cell.style.height = `${height}px`;
      return el('tr', {class: 'space', 'aria-hidden': 'true'}, cell);
    };
    const lines = shown.slice(from, to).map((row, i) => el('tr', {'aria-rowindex': from + i + 2}, columns.map((column, c) => {
      const content = cellText(column, row);
      return el(c === 0 ? 'th' : 'td', {scope: c === 0 ? 'row' : null, class: column.number ? 'number' : column.long ? 'long' : null,
                                        title: !column.number && content.length > kShortName ? content : null},
                column.cell ? column.cell(row) : content);
    })));
    body.replaceChildren(...(from ? [space(from * kRowHeight)] : []), ...lines,
                         ...(to < shown.length ? [space((shown.length - to) * kRowHeight)] : []));
  }

  const bar = el('div', {class: 'table-bar'}, options.search === false ? null : search, count, save);
  const node = el('div', {class: 'table'}, bar, scroll);
  node.show = (next) => { all = next; scroll.scrollTop = 0; arrange(); };
  node.rows = () => shown;
  arrange();
  return node;
}
