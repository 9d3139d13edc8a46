// Lines over numbers or over ordered values.

/**
 * series: [{label, colour, points: [[x, y], ...]}] with x ascending; names: of x = 0, 1, 2... where x is no number;
 * xLabel; xFormat; metric of y; zero: the axis of y begins there. Long series are thinned to what a pixel shows.
 */
function lineChart({series, names, xLabel, xFormat = short, metric, zero = false, height = 240}) {
  return (available) => {
    const colours = theme();
    const flatY = function* () { for (const {points} of series) for (const [, y] of points) if (isNumber(y)) yield y; };
    const scale = valueScale(flatY(), {zero});
    const format = (v) => metricShort(metric, v, tickDigits(scale.marks));
    let low = Infinity;
    let high = -Infinity;
    for (const {points} of series) {
      if (points.length) {
        low = Math.min(low, points[0][0]);
        high = Math.max(high, points[points.length - 1][0]);
      }
    }
    if (!(high > low)) [low, high] = Number.isFinite(low) ? [low - 1, low + 1] : [0, 1];
    const key = legend(series.filter(({label}) => label), available, 'line');
    const left = axisWidth(scale, format) + 2;
    const right = available - 18;
    const inset = names ? Math.min(60, (right - left) / names.length / 2) : 6;
    const top = key.height + 38;
    const bottom = top + height;
    const node = svg('svg', {width: available, height: bottom + 46}, key.node);
    valueAxis(node, scale, {left, right, top, bottom, label: axisLabel(metric), format});
    const place = (x) => left + inset + ((x - low) / (high - low)) * (right - left - 2 * inset);
    const marksX = names ? names.map((_, i) => i) : ticks(low, high, Math.max(2, Math.min(8, Math.floor(available / 90)))).filter((x) => x >= low && x <= high);
    let lastEnd = -Infinity;
    for (const x of marksX) {
      const label = names ? fitted(names[x], Math.max(30, (right - left) / names.length - 6)) : xFormat(x, tickDigits(marksX));
      const half = measure(label) / 2;
      if (place(x) - half < lastEnd + 6) continue;
      lastEnd = place(x) + half;
      node.append(svg('line', {x1: place(x), x2: place(x), y1: bottom, y2: bottom + 4, stroke: colours.axis}),
                  chartText(place(x), bottom + 18, label, {'text-anchor': 'middle'}));
    }
    if (xLabel) node.append(chartText((left + right) / 2, bottom + 38, xLabel, {'text-anchor': 'middle'}));
    const marks = [];
    for (const {label, colour, points} of series) {
      const thin = points.length > 2 * (right - left);
      let path = '';
      let pen = false;
      const visible = thin ? thinned(points, place) : points;
      for (const [x, y] of visible) {
        if (!isNumber(y)) {
          pen = false;
          continue;
        }
        path += `${pen ? 'L' : 'M'}${place(x).toFixed(1)} ${position(scale, y, bottom, top).toFixed(1)}`;
        pen = true;
      }
      node.append(svg('path', {d: path, fill: 'none', stroke: colour, 'stroke-width': points.length > 100 ? 1.3 : 2, 'stroke-linejoin': 'round'}));
      for (const [x, y] of visible) {
        if (!isNumber(y)) continue;
        const cx = place(x);
        const cy = position(scale, y, bottom, top);
        if (points.length <= 60) node.append(svg('circle', {cx, cy, r: 3.5, fill: colour, stroke: colours.page, 'stroke-width': 1}));
        marks.push({x: cx - 3, y: cy - 3, width: 6, height: 6, label: `${label ? label + '\n' : ''}${xLabel ? xLabel + ' ' : ''}${names ? names[x] : xFormat(x)}: ${metricText(metric, y)}`});
      }
    }
    return {node, marks};
  };
}

/** Smallest and largest of the points that fall on each pixel. */
function thinned(points, place) {
  const kept = [];
  for (let i = 0; i < points.length;) {
    const pixel = Math.floor(place(points[i][0]));
    let low = null;
    let high = null;
    for (; i < points.length && Math.floor(place(points[i][0])) === pixel; ++i) {
      const point = points[i];
      if (!isNumber(point[1])) continue;
      if (!low || point[1] < low[1]) low = point;
      if (!high || point[1] > high[1]) high = point;
    }
    if (low) kept.push(...(low === high ? [low] : low[0] < high[0] ? [low, high] : [high, low]));
  }
  return kept;
}
