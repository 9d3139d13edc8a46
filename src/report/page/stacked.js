// Parts of a whole: a bar for each row, or areas over time.

/** rows: [{label, values: one per part, open}], parts: [{label, colour}]. Each row is scaled to 100%. */
function stackedBars({rows, parts}) {
  return (available) => {
    const colours = theme();
    const used = parts.filter((_, p) => rows.some(({values}) => values[p] > 0));
    const key = legend(used, available);
    const left = Math.min(available * 0.35, Math.max(...rows.map(({label}) => measure(label))) + 12);
    const right = available - 20;
    const top = key.height + 8;
    const rowHeight = 30;
    const bottom = top + rowHeight * rows.length;
    const node = svg('svg', {width: available, height: bottom + 26}, key.node);
    const marks = [];
    for (let i = 0; i <= 4; ++i) {
      const x = left + ((right - left) * i) / 4;
      node.append(svg('line', {x1: x, x2: x, y1: top, y2: bottom + 2, stroke: colours.rule}), chartText(x, bottom + 17, `${25 * i}%`, {'text-anchor': 'middle', 'font-size': 11}));
    }
    rows.forEach(({label, values, open}, r) => {
      const y = top + rowHeight * r + 4;
      const total = values.reduce((a, b) => a + (b ?? 0), 0);
      node.append(chartText(left - 10, y + 15, fitted(label, left - 12), {'text-anchor': 'end', fill: colours.ink}));
      let x = left;
      values.forEach((value, p) => {
        if (!value || !total) return;
        const length = (value / total) * (right - left);
        node.append(svg('rect', {x, y, width: Math.max(0.5, length - 0.6), height: rowHeight - 8, fill: parts[p].colour}));
        if (length > 44) node.append(chartText(x + length / 2, y + 15, percent(value / total), {'text-anchor': 'middle', 'font-size': 11, fill: inkOn(parts[p].colour)}));
        marks.push({x, y, width: length, height: rowHeight - 8, label: `${label}\n${parts[p].label}: ${percent(value / total)} (${whole(value)})`, open});
        x += length;
      });
    });
    return {node, marks};
  };
}

/** parts: [{label, colour, samples}] over x = i * interval, as shares of their sum. */
function stackedAreas({parts, interval, xLabel, most}) {
  return (available) => {
    const colours = theme();
    const count = Math.max(...parts.map(({samples}) => samples.length));
    const key = legend(parts, available);
    const [left, right, top] = [44, available - 16, key.height + 12];
    const bottom = top + 220;
    const node = svg('svg', {width: available, height: bottom + 44}, key.node);
    const columns = Math.min(count, Math.max(1, Math.floor(right - left)));  // several samples per pixel are summed
    const sums = parts.map(({samples}) => {
      const sum = new Float64Array(columns);
      samples.forEach((value, i) => { sum[Math.floor((i * columns) / count)] += value ?? 0; });
      return sum;
    });
    const totals = Float64Array.from({length: columns}, (_, c) => sums.reduce((total, sum) => total + sum[c], 0));
    // Shares of each column's sum, or parts of `most` in each interval.
    const intervals = new Float64Array(columns);
    for (let i = 0; i < count; ++i) ++intervals[Math.floor((i * columns) / count)];
    const heights = (c) => (most ? most * intervals[c] : totals[c]);
    const x = (c) => left + ((right - left) * c) / columns;
    const base = new Float64Array(columns);
    const marks = [];
    parts.forEach(({label, colour}, p) => {
      let up = '';
      let down = '';
      for (let c = 0; c < columns; ++c) {
        const from = bottom - (bottom - top) * base[c];
        base[c] += heights(c) ? sums[p][c] / heights(c) : 0;
        const to = bottom - (bottom - top) * base[c];
        up += `${c ? 'L' : 'M'}${x(c).toFixed(1)} ${to.toFixed(1)}L${x(c + 1).toFixed(1)} ${to.toFixed(1)}`;
        down = `L${x(c + 1).toFixed(1)} ${from.toFixed(1)}L${x(c).toFixed(1)} ${from.toFixed(1)}` + down;
        if (from - to > 1 && columns <= 400) {
          marks.push({x: x(c), y: to, width: x(c + 1) - x(c), height: from - to,
                      label: `Cycle ${whole(Math.round((c * count * interval) / columns))}\n${label}: ${most ? short((sums[p][c] / heights(c)) * (most / interval)) : percent(sums[p][c] / totals[c])}`});
        }
      }
      node.append(svg('path', {d: `${up}${down}Z`, fill: colour}));
    });
    for (const share of [0, 0.25, 0.5, 0.75, 1]) {
      const y = bottom - (bottom - top) * share;
      node.append(chartText(left - 8, y + 4, most ? short(share * (most / interval)) : `${100 * share}%`, {'text-anchor': 'end', 'font-size': 11}), svg('line', {x1: left, x2: right, y1: y, y2: y, stroke: colours.page, 'stroke-width': 0.5, opacity: 0.6}));
    }
    const cycles = ticks(0, count * interval, Math.max(2, Math.floor(available / 110)));
    for (const cycle of cycles) {
      const at = left + ((right - left) * cycle) / (count * interval);
      if (at <= right + 1) node.append(chartText(at, bottom + 18, short(cycle, tickDigits(cycles)), {'text-anchor': 'middle'}));
    }
    node.append(chartText((left + right) / 2, bottom + 38, xLabel, {'text-anchor': 'middle'}));
    return {node, marks};
  };
}
