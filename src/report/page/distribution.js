// How values spread: boxes with the values themselves, or histograms on a common scale.

/** A number in [0, 1) that looks random and is always the same. */
const scatter = (i) => ((i * 0.6180339887498949) % 1);

/** sets: [{label, colour, values: [[value, what]]}]; kind: boxes or histogram. */
function distribution({sets, metric, kind}) {
  return (available) => {
    const colours = theme();
    const numbers = sets.map(({values}) => ascending(values.map(([v]) => v)));
    const scale = valueScale(numbers.flatMap((sorted) => (sorted.length ? [sorted[0], sorted[sorted.length - 1]] : [])), {zero: false});
    const left = Math.min(available * 0.35, Math.max(...sets.map(({label}) => measure(label))) + 16);
    const right = available - 14;
    const top = 34;
    const rowHeight = kind === 'histogram' ? 64 : 54;
    const bottom = top + rowHeight * sets.length;
    const node = svg('svg', {width: available, height: bottom + 44});
    const marks = [];
    const place = (v) => position(scale, v, left, right);
    for (const mark of scale.marks) {
      node.append(svg('line', {x1: place(mark), x2: place(mark), y1: top - 6, y2: bottom, stroke: colours.rule}),
                  chartText(place(mark), bottom + 17, metricShort(metric, mark, tickDigits(scale.marks)), {'text-anchor': 'middle'}));
    }
    node.append(chartText((left + right) / 2, bottom + 37, axisLabel(metric), {'text-anchor': 'middle'}));
    const bins = Math.max(8, Math.min(40, Math.floor((right - left) / 14)));
    const counts = numbers.map((sorted) => {
      const count = new Array(bins).fill(0);
      for (const v of sorted) ++count[Math.min(bins - 1, Math.floor(((v - scale.low) / (scale.high - scale.low)) * bins))];
      return count;
    });
    const most = Math.max(1, ...counts.flat());
    if (kind === 'histogram') node.append(chartText(left, 14, `Runs per bar; the highest stands for ${most}`));
    sets.forEach(({label, colour, values}, s) => {
      const sorted = numbers[s];
      const y = top + rowHeight * s;
      node.append(chartText(left - 14, y + rowHeight / 2, fitted(label, left - 16), {'text-anchor': 'end', fill: colours.ink}),
                  chartText(left - 14, y + rowHeight / 2 + 15, `n = ${whole(sorted.length)}`, {'text-anchor': 'end', 'font-size': 11}));
      if (!sorted.length) return;
      if (kind === 'histogram') {
        const step = (right - left) / bins;
        counts[s].forEach((count, b) => {
          if (!count) return;
          const height = (count / most) * (rowHeight - 12);
          node.append(svg('rect', {x: left + b * step + 0.5, y: y + rowHeight - 4 - height, width: step - 1, height, fill: colour}));
          const edge = (i) => scale.low + ((scale.high - scale.low) * i) / bins;
          marks.push({x: left + b * step, y: y + rowHeight - 4 - height, width: step, height,
                      label: `${label}\n${metricText(metric, edge(b))} to ${metricText(metric, edge(b + 1))}: ${plural(count, 'run')}`});
        });
        node.append(svg('line', {x1: left, x2: right, y1: y + rowHeight - 4, y2: y + rowHeight - 4, stroke: colours.axis}));
        return;
      }
      const [low, lowQuarter, middle, highQuarter, high] = [0.05, 0.25, 0.5, 0.75, 0.95].map((q) => quantile(sorted, q));
      const centre = y + 15;
      node.append(svg('line', {x1: place(low), x2: place(high), y1: centre, y2: centre, stroke: colours.soft, 'stroke-width': 1.2}),
                  svg('rect', {x: place(lowQuarter), y: centre - 9, width: Math.max(1.5, place(highQuarter) - place(lowQuarter)), height: 18, fill: colour, rx: 1.5}),
                  svg('line', {x1: place(middle), x2: place(middle), y1: centre - 11, y2: centre + 11, stroke: colours.ink, 'stroke-width': 2}));
      marks.push({x: place(lowQuarter), y: centre - 9, width: place(highQuarter) - place(lowQuarter), height: 18,
                  label: `${label}\nMedian ${metricText(metric, middle)}, quartiles ${metricText(metric, lowQuarter)} and ${metricText(metric, highQuarter)}\n5% to 95%: ${metricText(metric, low)} to ${metricText(metric, high)}, ${plural(sorted.length, 'run')}`});
      const step = Math.ceil(values.length / 600);  // more dots than that are a bar
      values.forEach(([v, what], i) => {
        if (i % step) return;
        const cy = y + 32 + 12 * scatter(i + 1);
        node.append(svg('circle', {cx: place(v), cy, r: 2.2, fill: colour, opacity: 0.55}));
        marks.push({x: place(v) - 2, y: cy - 2, width: 4, height: 4, label: `${what}\n${label}: ${metricText(metric, v)}`});
      });
    });
    return {node, marks};
  };
}
