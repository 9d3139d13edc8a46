// Scales and axes.

/** Round values that cover low to high, about `count` of them. */
function ticks(low, high, count = 5) {
  if (!(high > low)) high = low + 1;
  const rough = (high - low) / count;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 2.5, 5, 10].find((s) => s * power >= rough * 0.999) * power;
  const values = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + step * 1e-9; ++i) values.push(Number((i * step).toPrecision(12)));
  return values;
}

/** A scale from zero, or near the values where zero says nothing, whose ends are ticks. */
function valueScale(values, {zero = true, include = []} = {}) {
  let low = Infinity;
  let high = -Infinity;
  for (const value of values) {
    if (value < low) low = value;
    if (value > high) high = value;
  }
  for (const value of include) {
    low = Math.min(low, value);
    high = Math.max(high, value);
  }
  if (!Number.isFinite(low)) [low, high] = [0, 1];
  if (zero) [low, high] = [Math.min(0, low), Math.max(0, high)];
  if (low === high) [low, high] = zero ? [low, low + 1] : [low - Math.abs(low || 1) * 0.05, high + Math.abs(high || 1) * 0.05];
  const marks = ticks(low, high);
  const step = marks.length > 1 ? marks[1] - marks[0] : high - low;
  if (marks[0] > low + step * 1e-6) marks.unshift(Number((marks[0] - step).toPrecision(12)));
  if (marks[marks.length - 1] < high - step * 1e-6) marks.push(Number((marks[marks.length - 1] + step).toPrecision(12)));
  return {low: marks[0], high: marks[marks.length - 1], marks};
}

/** Digits with which no two ticks read the same. */
function tickDigits(marks) {
  if (marks.length < 2) return 3;
  const largest = Math.max(Math.abs(marks[0]), Math.abs(marks[marks.length - 1]));
  const step = marks[1] - marks[0];
  const place = Math.floor(Math.log10(step) + 1e-9);
  const half = Math.abs(step / 10 ** place - 2.5) < 1e-6 ? 1 : 0;
  return Math.min(15, Math.max(3, Math.floor(Math.log10(largest)) - place + 1 + half));
}

const position = (scale, value, from, to) => from + ((value - scale.low) / (scale.high - scale.low)) * (to - from);

/** Rules and values of a vertical axis between y = top (high) and bottom (low); what is its name above it. */
function valueAxis(parent, scale, {left, right, top, bottom, label, format = short}) {
  const colours = theme();
  for (const mark of scale.marks) {
    const y = position(scale, mark, bottom, top);
    parent.append(svg('line', {x1: left, x2: right, y1: y, y2: y, stroke: mark === 0 ? colours.axis : colours.rule, 'stroke-width': 1}),
                  chartText(left - 8, y + 4, format(mark), {'text-anchor': 'end'}));
  }
  if (label) parent.append(chartText(0, top - 22, label));
}

/** Room that the values of an axis need. */
const axisWidth = (scale, format = short) => Math.max(...scale.marks.map((mark) => measure(format(mark)))) + 10;

/** As much of a text as fits. */
function fitted(label, width, size = 12) {
  if (measure(label, size) <= width) return label;
  let end = label.length;
  while (end > 1 && measure(label.slice(0, end) + '…', size) > width) --end;
  return label.slice(0, end) + '…';
}
