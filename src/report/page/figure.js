// The frame of every chart: title, what it shows, its values as a table, the picture as SVG or PNG; values under the
// pointer, and one after another with the arrow keys.

const tip = by('tip');
const live = by('live');

function showTip(label, x, y) {
  tip.textContent = label;
  tip.hidden = false;
  const box = tip.getBoundingClientRect();
  tip.style.left = `${Math.max(6, Math.min(x + 14, innerWidth - box.width - 6))}px`;
  tip.style.top = `${Math.max(6, y + 18 + box.height > innerHeight ? y - box.height - 10 : y + 18)}px`;
}
const hideTip = () => { tip.hidden = true; };

let figures = [];  // what ends those of the page that is shown
function leaveFigures() {
  for (const leave of figures) leave();
  figures = [];
  hideTip();
}

/** Text of a chart in this page's font, for measuring; the average of its letters is not enough for axes. */
const measure = (() => {
  const context = document.createElement('canvas').getContext('2d');
  return (label, size = 12, weight = 400) => {
    context.font = `${weight} ${size}px ${getComputedStyle(document.body).fontFamily}`;
    return context.measureText(label).width;
  };
})();

function chartText(x, y, label, attributes = {}) {
  return svg('text', {x, y, fill: theme().soft, 'font-size': 12, ...attributes}, label);
}

/** Names with their colours in lines of `width`; {node, height}. */
function legend(entries, width, mark = 'square') {
  const node = svg('g');
  let x = 0;
  let y = 0;
  for (const {label: whole, colour} of entries) {
    const label = fitted(whole, width - 20);
    const length = measure(label) + 34;
    if (x > 0 && x + length > width) {
      x = 0;
      y += 19;
    }
    node.append(mark === 'line' ? svg('line', {x1: x, x2: x + 14, y1: y + 7, y2: y + 7, stroke: colour, 'stroke-width': 2.5})
                                : svg('rect', {x, y: y + 2, width: 11, height: 11, fill: colour, rx: 1.5}),
                chartText(x + 19, y + 12, label, {fill: theme().ink}));
    x += length;
  }
  return {node, height: entries.length ? y + 28 : 0};
}

/** As a document of its own, with its title above it. */
function standalone(picture, title, note) {
  const copy = picture.cloneNode(true);
  const width = Number(picture.getAttribute('width'));
  const height = Number(picture.getAttribute('height')) + 64;
  const inside = svg('g', {transform: 'translate(16 50)'});
  inside.append(...copy.childNodes);
  const whole = svg('svg', {xmlns: 'http://www.w3.org/2000/svg', width: width + 32, height: height, viewBox: `0 0 ${width + 32} ${height}`,
                            'font-family': 'Inter, "Segoe UI", Helvetica, Arial, sans-serif', role: 'img'},
                    svg('title', {}, note ? `${title}. ${note}` : title), svg('rect', {width: '100%', height: '100%', fill: theme().page}),
                    chartText(16, 28, title, {'font-size': 15, 'font-weight': 600, fill: theme().ink}), inside);
  return {source: new XMLSerializer().serializeToString(whole), width: width + 32, height};
}

async function savePng(name, {source, width, height}) {
  const image = new Image();
  await new Promise((resolve, reject) => {
    image.onload = resolve;
    image.onerror = reject;
    image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(source)}`;
  });
  const scale = 2;
  const canvas = el('canvas', {width: width * scale, height: height * scale});
  const context = canvas.getContext('2d');
  context.scale(scale, scale);
  context.drawImage(image, 0, 0, width, height);
  download(`${name}.png`, await new Promise((resolve) => { canvas.toBlob(resolve, 'image/png'); }));
}

/**
 * title, note, name (of saved files), draw(width) -> {node, marks: [{x, y, width, height, label, open}], key}, values:
 * () -> {columns, rows, sort} of its table, height: of the empty place before it is drawn, whole: the SVG to save where
 * `node` is none. A mark's `open` is called on a click, `key` with keys that are pressed.
 */
function figure(options) {
  const plot = el('div', {class: 'plot', tabindex: 0, role: 'group'});
  const holder = el('div', {hidden: true});
  const button = (label, title, click) => el('button', {type: 'button', class: 'quiet', 'aria-label': title, click}, label);
  let drawn = null;
  let focus = -1;

  const toggle = button('Table', `Table of: ${options.title}`, () => {
    holder.hidden = !holder.hidden;
    toggle.setAttribute('aria-expanded', String(!holder.hidden));
    if (!holder.hidden && !holder.firstChild) {
      const {columns, rows, sort} = options.values();
      holder.append(table(columns, rows, {caption: options.title, name: options.name, sort, search: rows.length > 12}));
    }
  });
  toggle.setAttribute('aria-expanded', 'false');
  const picture = () => standalone(options.whole ? options.whole() : drawn.node, options.title, options.note);
  const tools = el('div', {class: 'tools'}, options.values ? toggle : null,
                   button('SVG', `Save as SVG: ${options.title}`, () => download(`${options.name}.svg`, new Blob([picture().source], {type: 'image/svg+xml'}))),
                   button('PNG', `Save as PNG: ${options.title}`, () => savePng(options.name, picture())));
  const node = el('figure', {}, el('header', {}, el('div', {}, el('h3', {}, options.title), options.note ? el('p', {class: 'note'}, options.note) : null), tools),
                  options.controls ?? null, plot, holder);

  const draw = () => {
    const width = plot.clientWidth;
    if (!node.isConnected || width === 0) return;
    drawn = options.draw(width);
    drawn.node.setAttribute('aria-hidden', 'true');
    plot.setAttribute('aria-label', `${options.title}. ${options.note ?? ''} ${drawn.marks.length ? 'The arrow keys go through its values.' : ''}`);
    plot.replaceChildren(drawn.node);
    plot.style.minHeight = '';
    focus = -1;
  };
  const markAt = (event) => {
    if (!drawn) return null;
    const box = plot.getBoundingClientRect();
    const x = event.clientX - box.left + plot.scrollLeft;
    const y = event.clientY - box.top + plot.scrollTop;
    let best = null;
    let distance = Infinity;
    for (const mark of drawn.marks) {
      const dx = Math.max(mark.x - x, 0, x - mark.x - mark.width);
      const dy = Math.max(mark.y - y, 0, y - mark.y - mark.height);
      const d = dx * dx + dy * dy;
      if (d < distance) [best, distance] = [mark, d];
    }
    return distance <= 36 ? best : null;
  };
  plot.addEventListener('pointermove', (event) => {
    const mark = markAt(event);
    plot.style.cursor = mark?.open ? 'pointer' : '';
    if (mark) showTip(mark.label, event.clientX, event.clientY);
    else hideTip();
  });
  plot.addEventListener('pointerleave', hideTip);
  plot.addEventListener('blur', hideTip);
  plot.addEventListener('click', (event) => markAt(event)?.open?.());
  plot.addEventListener('keydown', (event) => {
    drawn?.key?.(event);
    if (!drawn?.marks.length) return;
    const step = {ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1}[event.key];
    if (event.key === 'Enter' && focus >= 0) drawn.marks[focus].open?.();
    if (event.key === 'Escape') hideTip();
    if (!step) return;
    event.preventDefault();
    focus = (focus + step + drawn.marks.length) % drawn.marks.length;
    const mark = drawn.marks[focus];
    plot.scrollLeft = Math.max(0, mark.x - plot.clientWidth / 2);
    const box = plot.getBoundingClientRect();
    showTip(mark.label, box.left + mark.x + mark.width / 2 - plot.scrollLeft, box.top + mark.y + mark.height / 2);
    live.textContent = mark.label;
  });
  plot.style.minHeight = `${options.height ?? 260}px`;
  let width = 0;
  const observer = new ResizeObserver(() => {
    if (plot.clientWidth !== width) {
      width = plot.clientWidth;
      draw();
    }
  });
  observer.observe(plot);
  themeListeners.add(draw);
  node.redraw = () => { holder.replaceChildren(); holder.hidden = true; toggle.setAttribute('aria-expanded', 'false'); draw(); };
  figures.push(() => { observer.disconnect(); themeListeners.delete(draw); });
  return node;
}
