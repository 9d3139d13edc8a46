'use strict';
// Elements, numbers as text, and the statistics that charts share.

function add(node, children) {
  for (const child of children.flat(Infinity)) {
    if (child !== null && child !== undefined && child !== false) node.append(child);
  }
  return node;
}

/** An element; attributes that are null or false are left out, functions are listeners. */
function el(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === 'function') node.addEventListener(key, value);
    else node.setAttribute(key, value === true ? '' : value);
  }
  return add(node, children);
}

function svg(tag, attributes = {}, ...children) {
  const node = document.createElementNS('http://www.w3.org/2000/svg', tag);
  for (const key in attributes) {
    const value = attributes[key];
    if (value !== null && value !== undefined) node.setAttribute(key, typeof value === 'number' ? Math.round(value * 100) / 100 : value);
  }
  return add(node, children);
}

const by = (id) => document.getElementById(id);

/** Keeps what `make` gave for a key. */
function memo(make) {
  const kept = new Map();
  return (key) => {
    if (!kept.has(key)) kept.set(key, make(key));
    return kept.get(key);
  };
}

const isNumber = (value) => typeof value === 'number' && Number.isFinite(value);
const plural = (count, one, many = one + 's') => `${whole(count)} ${count === 1 ? one : many}`;
const capital = (text) => text.charAt(0).toUpperCase() + text.slice(1);

const groups = new Intl.NumberFormat('en-US', {maximumFractionDigits: 0});
function whole(value) { return isNumber(value) ? groups.format(value).replace(/,/g, ' ') : '–'; }

/** A number for reading: whole numbers in groups, others with about four digits. */
function text(value) {
  if (!isNumber(value)) return '–';
  const size = Math.abs(value);
  if (Number.isInteger(value) || size >= 10000) return whole(value);
  if (size >= 100) return value.toFixed(1);
  if (size >= 1) return value.toFixed(3 - Math.floor(Math.log10(size)));
  if (size >= 0.001) return value.toFixed(3);
  return value.toExponential(1);
}

/** The same with decimals even for 1, so that a column of measurements reads evenly. */
function decimal(value) {
  if (!isNumber(value) || Math.abs(value) >= 10000) return text(value);
  const size = Math.abs(value);
  if (size > 0 && size < 0.0005) return value.toExponential(1);
  return value.toFixed(size >= 1000 ? 0 : size >= 100 ? 1 : size >= 10 ? 2 : 3);
}

/** Short, for axes and cells: 1.2M, 45k, 0.85. */
function short(value, digits = 3) {
  if (!isNumber(value)) return '–';
  const size = Math.abs(value);
  for (const [limit, suffix] of [[1e12, 'T'], [1e9, 'G'], [1e6, 'M'], [1e3, 'k']]) {
    if (size >= limit * (suffix === 'k' ? 10 : 1)) return `${Number((value / limit).toPrecision(digits))}${suffix}`;
  }
  return `${Number(value.toPrecision(size >= 1000 ? Math.max(4, digits) : digits))}`;
}

const percent = (value) => (isNumber(value) ? `${(100 * value).toFixed(1)}%` : '–');

function seconds(value) {
  if (!isNumber(value)) return '–';
  if (value < 120) return `${value.toFixed(value < 10 ? 1 : 0)} s`;
  if (value < 7200) return `${(value / 60).toFixed(0)} min`;
  return `${(value / 3600).toFixed(1)} h`;
}

// --- statistics ---------------------------------------------------------------------------------------------

function arithmeticMean(values) { return values.length ? values.reduce((a, b) => a + b, 0) / values.length : null; }
function geometricMean(values) {
  return values.length && values.every((value) => value > 0) ? Math.exp(arithmeticMean(values.map(Math.log))) : null;
}
/** Of sorted values, between neighbours in proportion. */
function quantile(sorted, share) {
  if (!sorted.length) return null;
  const at = share * (sorted.length - 1);
  const low = Math.floor(at);
  const high = Math.min(low + 1, sorted.length - 1);
  return sorted[low] + (at - low) * (sorted[high] - sorted[low]);
}
const ascending = (values) => Float64Array.from(values).sort();
const median = (values) => quantile(ascending(values), 0.5);
const kMeans = [['arithmetic', 'Arithmetic mean', arithmeticMean], ['geometric', 'Geometric mean', geometricMean], ['median', 'Median', median]];

/** Texts with numbers in them in the order that people expect. */
const natural = new Intl.Collator('en', {numeric: true}).compare;

function download(name, blob) {
  const link = el('a', {href: URL.createObjectURL(blob), download: name});
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

/** A labelled choice. `options`: [value, label] or [group, [[value, label], ...]]. */
function choice(label, options, value, change) {
  const option = ([key, name]) => el('option', {value: key, selected: String(key) === String(value)}, name);
  const select = el('select', {change: () => change(select.value)},
                    options.map((o) => (Array.isArray(o[1]) ? el('optgroup', {label: o[0]}, o[1].map(option)) : option(o))));
  return el('label', {}, label, select);
}

function tick(label, checked, change) {
  const box = el('input', {type: 'checkbox', checked, change: () => change(box.checked)});
  return el('label', {class: 'tick'}, box, label);
}
