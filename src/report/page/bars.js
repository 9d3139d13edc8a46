// Grouped bars, and dots on a common scale for many groups.

/** groups: [{label, note}], series: [{label, colour}], value(group index, series index) -> number or null. */
function groupedBars({groups: bands, series, value, metric, reference, describe}) {
  return (available) => {
    const colours = theme();
    const all = bands.flatMap((_, g) => series.map((_, s) => value(g, s))).filter(isNumber);
    const scale = valueScale(all, {include: reference === undefined ? [] : [reference]});
    const format = (v) => metricShort(metric, v, tickDigits(scale.marks));
    const left = axisWidth(scale, format);
    const barWidth = Math.max(9, Math.min(46, (available - left) / (bands.length * (series.length + 0.9))));
    const bandWidth = barWidth * (series.length + 0.9);
    const width = Math.max(available, left + bandWidth * bands.length);
    const step = (width - left) / bands.length;
    const key = legend(series, available);
    const top = key.height + 38;
    const bottom = top + 220;
    const cellText = evenly(metric, all);
    const node = svg('svg', {width, height: bottom + 40, 'font-variant-numeric': 'tabular-nums'}, key.node);
    const marks = [];
    valueAxis(node, scale, {left, right: width, top, bottom, label: axisLabel(metric), format});
    bands.forEach((band, g) => {
      const centre = left + step * (g + 0.5);
      const start = centre - (barWidth * series.length) / 2;
      series.forEach(({label, colour}, s) => {
        const v = value(g, s);
        const x = start + s * barWidth;
        if (!isNumber(v)) {
          node.append(chartText(x + barWidth / 2, position(scale, 0, bottom, top) - 5, '–', {'text-anchor': 'middle', fill: colours.faint}));
          return;
        }
        const y = position(scale, v, bottom, top);
        const zero = position(scale, 0, bottom, top);
        const height = Math.max(1, Math.abs(zero - y));  // zero is seen, too
        node.append(svg('rect', {x: x + 1, y: v < 0 ? zero : zero - height, width: barWidth - 2, height, fill: colour}));
        if (barWidth >= 30) node.append(chartText(x + barWidth / 2, y - 5, cellText(v), {'text-anchor': 'middle', 'font-size': 11, fill: colours.ink}));
        marks.push({x, y: Math.min(y, zero), width: barWidth, height: Math.abs(zero - y), label: describe ? describe(g, s) : `${band.label}, ${label}: ${metricText(metric, v)}`});
      });
      node.append(chartText(centre, bottom + 18, fitted(band.label, step - 4), {'text-anchor': 'middle', fill: colours.ink}));
      if (band.note) node.append(chartText(centre, bottom + 34, fitted(band.note, step - 4, 11), {'text-anchor': 'middle', 'font-size': 11}));
    });
    if (reference !== undefined) {
      const y = position(scale, reference, bottom, top);
      node.append(svg('line', {x1: left, x2: width, y1: y, y2: y, stroke: colours.ink, 'stroke-width': 1, 'stroke-dasharray': '3 3'}));
    }
    return {node, marks};
  };
}

/** A row for each group with a dot for each series: many groups stay readable. open(group, series) on a click. */
function dotRows({groups: bands, series, value, metric, reference, open}) {
  return (available) => {
    const colours = theme();
    const all = bands.flatMap((_, g) => series.map((_, s) => value(g, s))).filter(isNumber);
    const scale = valueScale(all, {zero: false, include: reference === undefined ? [] : [reference]});
    const above = available < 560;  // names above their dots where there is no room beside them
    const rowHeight = above ? 36 : 21;
    const left = above ? 12 : Math.min(available * 0.42, Math.max(60, ...bands.map((band) => measure(band.label))) + 14);
    const right = available - 16;
    const key = legend(series, available);
    const top = key.height + 40;
    const bottom = top + rowHeight * bands.length;
    const node = svg('svg', {width: available, height: bottom + 8}, key.node);
    node.append(chartText(left, top - 24, axisLabel(metric)));
    for (const mark of scale.marks) {
      const x = position(scale, mark, left, right);
      node.append(svg('line', {x1: x, x2: x, y1: top - 2, y2: bottom, stroke: colours.rule}),
                  chartText(x, top - 8, metricShort(metric, mark, tickDigits(scale.marks)), {'text-anchor': 'middle', 'font-size': 11}));
    }
    if (reference !== undefined) {
      const x = position(scale, reference, left, right);
      node.append(svg('line', {x1: x, x2: x, y1: top - 2, y2: bottom, stroke: colours.axis, 'stroke-dasharray': '3 3'}));
    }
    const marks = [];
    bands.forEach((band, g) => {
      const y = top + rowHeight * (g + (above ? 0.72 : 0.5));
      const values = series.map((_, s) => value(g, s));
      const known = values.filter(isNumber);
      node.append(above ? chartText(0, y - 11, fitted(band.label, available - 4), {fill: colours.ink})
                        : chartText(left - 12, y + 4, fitted(band.label, left - 14), {'text-anchor': 'end', fill: colours.ink}));
      if (known.length > 1) {
        node.append(svg('line', {x1: position(scale, Math.min(...known), left, right), x2: position(scale, Math.max(...known), left, right),
                                 y1: y, y2: y, stroke: colours.axis, 'stroke-width': 1, opacity: 0.6}));
      }
      values.forEach((v, s) => {
        if (!isNumber(v)) return;
        const x = position(scale, v, left, right);
        const cy = y + (s - (series.length - 1) / 2) * Math.min(2.4, 9 / series.length);  // equal values stay apart
        node.append(svg('circle', {cx: x, cy, r: 4.5, fill: series[s].colour, stroke: colours.page, 'stroke-width': 1}));
        marks.push({x: x - 4, y: cy - 4, width: 8, height: 8, label: `${band.label}\n${series[s].label}: ${metricText(metric, v)}`,
                    open: open ? () => open(g, s) : undefined});
      });
    });
    return {node, marks};
  };
}
