// A matrix of values as colours.

/** rows, columns: [{label}]; value(r, c) -> number or null; scale: {low, high} that several maps share; cellLabel. */
function heatMap({rows, columns, value, metric, scale, rowLabel, columnLabel, open}) {
  return (available) => {
    const colours = theme();
    const left = Math.min(available * 0.34, Math.max(24, ...rows.map((row) => measure(row.label))) + 10);
    const cap = Math.max(110, Math.min(220, available * 0.2));  // longer headings are cut off
    // Turned headings lean to the right, out over the last columns.
    const lean = (width) => columns.reduce((most, column, c) => Math.max(most, Math.min(cap, measure(column.label)) * 0.5 + 14 - width * (columns.length - c - 0.5)), 0);
    const longest = Math.max(...columns.map((column) => measure(column.label)));
    const widest = Math.min(64, (available - left - 2) / columns.length);
    const margin = longest > widest - 4 ? lean(widest) : 0;
    const cell = Math.max(13, Math.min(64, (available - left - 2 - margin) / columns.length));
    const high = Math.min(Math.max(15, cell), 34);
    const turned = longest > cell - 4;
    const heading = turned ? Math.min(cap, longest) * 0.87 + 16 : 22;
    const top = 48 + heading + (columnLabel ? 16 : 0);
    const width = Math.max(available, left + cell * columns.length + 2 + (turned ? margin : 0));
    const bottom = top + high * rows.length;
    const node = svg('svg', {width, height: bottom + (rowLabel ? 26 : 8)});
    const share = (v) => (scale.high > scale.low ? (v - scale.low) / (scale.high - scale.low) : 0.5);

    // The colours and what they stand for.
    const rampWidth = Math.min(180, available * 0.45);
    for (let i = 0; i < rampWidth; i += 3) node.append(svg('rect', {x: i, y: 18, width: 3.4, height: 9, fill: rampColour(i / rampWidth)}));
    node.append(chartText(0, 12, axisLabel(metric)), chartText(0, 41, metricShort(metric, scale.low), {'font-size': 11}),
                chartText(rampWidth, 41, metricShort(metric, scale.high), {'font-size': 11, 'text-anchor': 'end'}));
    if (columnLabel) node.append(chartText(left, 62, columnLabel, {'font-size': 11}));

    columns.forEach((column, c) => {
      const x = left + cell * (c + 0.5);
      node.append(turned ? chartText(0, 0, fitted(column.label, cap), {transform: `translate(${(x + 4).toFixed(1)} ${top - 7}) rotate(-60)`, fill: colours.ink, 'font-size': 11.5})
                         : chartText(x, top - 8, column.label, {'text-anchor': 'middle', fill: colours.ink}));
    });
    const marks = [];
    const known = rows.flatMap((_, r) => columns.map((_, c) => value(r, c))).filter(isNumber);
    const cellText = evenly(metric, known);
    const shown = cell >= 22 && known.every((v) => measure(cellText(v), 10.5) <= cell - 3);
    rows.forEach((row, r) => {
      const y = top + high * r;
      node.append(chartText(left - 8, y + high / 2 + 4, fitted(row.label, left - 8), {'text-anchor': 'end', fill: colours.ink, 'font-size': 11.5}));
      columns.forEach((column, c) => {
        const v = value(r, c);
        const x = left + cell * c;
        if (!isNumber(v)) {
          node.append(svg('rect', {x: x + 0.5, y: y + 0.5, width: cell - 1, height: high - 1, fill: colours.band}));
          return;
        }
        const colour = rampColour(share(v));
        node.append(svg('rect', {x: x + 0.5, y: y + 0.5, width: cell - 1, height: high - 1, fill: colour}));
        if (shown) node.append(chartText(x + cell / 2, y + high / 2 + 4, cellText(v), {'text-anchor': 'middle', 'font-size': 10.5, fill: inkOn(colour)}));
        marks.push({x, y, width: cell, height: high, label: `${row.label}, ${column.label}\n${metric.label}: ${metricText(metric, v)}`, open: open ? () => open(r, c) : undefined});
      });
    });
    if (rowLabel) node.append(chartText(left - 8, bottom + 18, rowLabel, {'text-anchor': 'end', 'font-size': 11}));
    return {node, marks};
  };
}
