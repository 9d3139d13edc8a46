// The timeline of a run: spans in rows on a canvas that zooms and pans; a hundred thousand of them stay fluid because a
// row's spans are found by bisection and those that share a pixel are drawn once.

function unpack(packed, Kind) {
  const bytes = Uint8Array.from(atob(packed), (c) => c.charCodeAt(0));
  return new Kind(bytes.buffer);
}

function unpackTimeline(data) {
  const {spans} = data;
  const row = unpack(spans.row, Uint32Array);
  const begin = new Uint32Array(data.rows.length + 1);  // of each row's spans
  for (const r of row) ++begin[r + 1];
  for (let r = 0; r < data.rows.length; ++r) begin[r + 1] += begin[r];
  return {
    rows: data.rows, names: data.names, categories: data.categories, arguments: data.arguments, begin, count: spans.count, row,
    start: unpack(spans.start, Float64Array), duration: unpack(spans.duration, Float64Array), name: unpack(spans.name, Uint32Array),
    category: unpack(spans.category, Uint32Array), argument: unpack(spans.arguments, Uint32Array),
    counters: data.counters.map(({name, start, value}) => ({name, start: unpack(start, Float64Array), value: unpack(value, Float64Array)})),
  };
}

const kTimelineRow = 18;
const kTimelineHead = 26;

/** Draws what is in view; `surface` is a canvas or an SVG. view: {from, to (time), top (pixels)}. */
function drawTimeline(surface, data, view, width, height, left) {
  const colours = theme();
  const scale = (width - left) / (view.to - view.from);
  surface.rect(0, 0, width, height, colours.page);
  const firstRow = Math.max(0, Math.floor(view.top / kTimelineRow));
  const lastRow = Math.min(data.rows.length, Math.ceil((view.top + height - kTimelineHead) / kTimelineRow));
  for (const time of ticks(view.from, view.to, Math.max(2, Math.floor(width / 130)))) {
    const x = left + (time - view.from) * scale;
    if (x >= left && x <= width) surface.rect(x, kTimelineHead - 5, 1, height, colours.rule);
  }
  for (let r = firstRow; r < lastRow; ++r) {
    const y = kTimelineHead + r * kTimelineRow - view.top;
    let painted = left;
    for (let i = firstVisible(data, r, view.from); i < data.begin[r + 1] && data.start[i] <= view.to; ++i) {
      const from = Math.max(left, left + (data.start[i] - view.from) * scale);
      const to = Math.min(width, left + (data.start[i] + data.duration[i] - view.from) * scale);
      if (to <= painted && i > data.begin[r] && data.duration[i] > 0) continue;
      const length = Math.max(data.duration[i] > 0 ? 1 : 2, to - from - (to - from > 4 ? 1 : 0));
      const colour = seriesColour(data.name[i]);
      surface.rect(from, y + 1, length, kTimelineRow - 2, colour);
      if (length > 40) {
        const label = data.names[data.name[i]];
        surface.text(from + 4, y + 13, fitted(label, length - 8, 11), 11, inkOn(colour));
      }
      painted = Math.ceil(from + length);
    }
  }
  surface.rect(0, 0, left - 1, height, colours.page);
  for (let r = firstRow; r < lastRow; ++r) {
    const y = kTimelineHead + r * kTimelineRow - view.top;
    const {process, thread, level} = data.rows[r];
    const first = r === 0 || data.rows[r - 1].process !== process;
    if (first && r > 0) surface.rect(0, y, width, 1, colours.axis);
    if (level === 0) surface.text(8, y + 13, fitted(first ? `${process}: ${thread}` : thread, left - 16, 11), 11, first ? colours.ink : colours.soft);
  }
  surface.rect(0, 0, width, kTimelineHead - 5, colours.page);
  surface.rect(left - 1, 0, 1, height, colours.rule);
  for (const time of ticks(view.from, view.to, Math.max(2, Math.floor(width / 130)))) {
    const x = left + (time - view.from) * scale;
    if (x >= left - 1 && x < width - 30) surface.text(x + 3, 14, text(time), 11, colours.soft);
  }
}

/** First span of a row that ends after `time`. */
function firstVisible(data, row, time) {
  let low = data.begin[row];
  let high = data.begin[row + 1];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (data.start[middle] + data.duration[middle] < time) low = middle + 1;
    else high = middle;
  }
  return low;
}

function timelineFigure(packed, name) {
  const data = unpackTimeline(packed);
  let end = 0;
  for (let i = 0; i < data.count; ++i) end = Math.max(end, data.start[i] + data.duration[i]);
  end = end || 1;
  const view = {from: 0, to: end, top: 0};
  let paint = () => {};
  let left = 180;
  const rowsHeight = data.rows.length * kTimelineRow;
  const height = kTimelineHead + Math.min(rowsHeight, 560) + 4;

  const zoom = (factor, share = 0.5) => {
    const span = Math.min(end, Math.max((view.to - view.from) * factor, end / 1e7, 1e-3));
    const at = view.from + (view.to - view.from) * share;
    view.from = Math.max(0, Math.min(at - span * share, end - span));
    view.to = view.from + span;
    paint();
  };
  const pan = (share) => {
    const span = view.to - view.from;
    view.from = Math.max(0, Math.min(view.from + share * span, end - span));
    view.to = view.from + span;
    paint();
  };
  const scrollBy = (pixels) => {
    view.top = Math.max(0, Math.min(view.top + pixels, rowsHeight + kTimelineHead + 4 - height));
    paint();
  };
  const fit = () => { Object.assign(view, {from: 0, to: end, top: 0}); paint(); };
  const describe = (i) => {
    const row = data.rows[data.row[i]];
    const lines = [data.names[data.name[i]], `${row.process}: ${row.thread}`,
                   data.duration[i] > 0 ? `${text(data.start[i])} to ${text(data.start[i] + data.duration[i])}: ${text(data.duration[i])} ${packed.unit}` : `at ${text(data.start[i])}`];
    if (data.argument[i]) {
      for (const [key, value] of Object.entries(JSON.parse(data.arguments[data.argument[i]]))) lines.push(`${key.replace(/_/g, ' ')}: ${typeof value === 'object' ? JSON.stringify(value) : value}`);
    }
    return lines.join('\n');
  };
  const spanAt = (x, y, width) => {
    const row = Math.floor((y - kTimelineHead + view.top) / kTimelineRow);
    if (x < left || y < kTimelineHead || row < 0 || row >= data.rows.length) return -1;
    const pixel = (view.to - view.from) / (width - left);
    const time = view.from + (x - left) * pixel;
    const i = firstVisible(data, row, time - 2 * pixel);
    return i < data.begin[row + 1] && data.start[i] <= time + 2 * pixel ? i : -1;
  };

  const button = (label, title, click) => el('button', {type: 'button', class: 'quiet', 'aria-label': title, click}, label);
  const controls = el('div', {class: 'tools'}, button('+', 'Zoom in', () => zoom(0.5)), button('−', 'Zoom out', () => zoom(2)),
                      button('←', 'Earlier', () => pan(-0.25)), button('→', 'Later', () => pan(0.25)), button('All', 'Show all of it', fit));

  const draw = (width) => {
    left = Math.min(220, width * 0.3, Math.max(...data.rows.map(({process, thread}) => measure(`${process}: ${thread}`, 11))) + 20);
    const canvas = el('canvas');
    const density = window.devicePixelRatio || 1;
    canvas.width = width * density;
    canvas.height = height * density;
    canvas.style.width = `${width}px`;
    canvas.style.height = `${height}px`;
    const context = canvas.getContext('2d');
    const family = getComputedStyle(document.body).fontFamily;
    const surface = {
      rect(x, y, w, h, colour) { context.fillStyle = colour; context.fillRect(x, y, w, h); },
      text(x, y, label, size, colour) { context.font = `${size}px ${family}`; context.fillStyle = colour; context.fillText(label, x, y); },
    };
    let wanted = false;
    paint = () => {
      if (wanted) return;
      wanted = true;
      requestAnimationFrame(() => {
        wanted = false;
        context.setTransform(density, 0, 0, density, 0, 0);
        drawTimeline(surface, data, view, width, height, left);
      });
    };
    let drag = null;
    canvas.addEventListener('wheel', (event) => {
      if (event.ctrlKey || event.metaKey) zoom(Math.exp(Math.max(-1, Math.min(1, event.deltaY / 200))), Math.max(0, (event.offsetX - left) / (width - left)));
      else if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) pan((event.deltaX || event.deltaY) / width);
      else {
        const before = view.top;
        scrollBy(event.deltaY);
        if (view.top === before) return;  // the page goes on scrolling
      }
      event.preventDefault();
    }, {passive: false});
    canvas.addEventListener('pointerdown', (event) => { drag = {x: event.clientX, y: event.clientY}; canvas.setPointerCapture(event.pointerId); });
    canvas.addEventListener('pointerup', () => { drag = null; });
    canvas.addEventListener('pointermove', (event) => {
      event.stopPropagation();
      if (drag) {
        pan((drag.x - event.clientX) / (width - left));
        scrollBy(drag.y - event.clientY);
        drag = {x: event.clientX, y: event.clientY};
        return hideTip();
      }
      const i = spanAt(event.offsetX, event.offsetY, width);
      if (i >= 0) showTip(describe(i), event.clientX, event.clientY);
      else hideTip();
    });
    canvas.addEventListener('dblclick', (event) => zoom(0.33, Math.max(0, (event.offsetX - left) / (width - left))));
    paint();
    const keys = {'+': () => zoom(0.5), '=': () => zoom(0.5), '-': () => zoom(2), ArrowLeft: () => pan(-0.2), ArrowRight: () => pan(0.2),
                  ArrowUp: () => scrollBy(-3 * kTimelineRow), ArrowDown: () => scrollBy(3 * kTimelineRow), 0: fit, Home: fit,
                  w: () => zoom(0.5), s: () => zoom(2), a: () => pan(-0.2), d: () => pan(0.2)};
    return {node: canvas, marks: [], key: (event) => { if (keys[event.key]) { event.preventDefault(); keys[event.key](); } }};
  };

  const node = figure({
    title: 'Timeline', name, height, draw, controls,
    note: `${plural(data.count, 'span')}; time in ${packed.unit}.${packed.left_out ? ` ${plural(packed.left_out, 'thread block')} left out of the timeline when it was written.` : ''} Drag, or use the arrow keys, to move; Ctrl and the wheel, or + and −, to zoom.`,
    whole() {
      const width = 1200;
      const picture = svg('svg', {width, height});
      const kept = left;
      left = 200;
      drawTimeline({rect: (x, y, w, h, fill) => picture.append(svg('rect', {x, y, width: w, height: h, fill})),
                    text: (x, y, label, size, fill) => picture.append(svg('text', {x, y, 'font-size': size, fill}, label))}, data, view, width, height, left);
      left = kept;
      return picture;
    },
    values: () => ({
      rows: Array.from({length: data.count}, (_, i) => i),
      columns: [{label: 'Span', value: (i) => data.names[data.name[i]]}, {label: 'Kind', value: (i) => data.categories[data.category[i]]},
                {label: 'Row', value: (i) => `${data.rows[data.row[i]].process}: ${data.rows[data.row[i]].thread}`},
                {label: 'Start', number: true, value: (i) => data.start[i]}, {label: 'Duration', number: true, value: (i) => data.duration[i]}],
    }),
  });
  node.timeline = {view, data, zoom, pan, fit};
  const counters = () => data.counters.map(({name: counter, start, value}, i) => figure({
    title: counter, name: `${name}-counter-${i}`,
    draw: lineChart({series: [{label: '', colour: seriesColour(i), points: Array.from(start, (x, k) => [x, value[k]])}], xLabel: `Time (${packed.unit})`, metric: {label: counter, unit: ''}, zero: true, height: 140}),
    values: () => ({rows: Array.from(start, (_, k) => k), columns: [{label: 'Time', number: true, value: (k) => start[k]}, {label: counter, number: true, value: (k) => value[k]}]}),
  }));
  const more = el('details', {toggle: () => { if (more.open && more.children.length === 1) more.append(el('div', {class: 'pair'}, counters())); }},
                  el('summary', {}, plural(data.counters.length, 'counter') + ' of the timeline'));
  return data.counters.length ? [node, more] : [node];
}
