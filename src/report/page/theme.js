// Light and dark: that of the system, or what the switch says. Charts are drawn with these colours as attributes, so
// that a saved picture has them too.

const kThemes = {
  light: {
    page: '#ffffff', ink: '#1c1e21', soft: '#5d6269', faint: '#8b9097', rule: '#e4e5e1', axis: '#9a9ea4', band: '#f6f6f3',
    // After Okabe and Ito: told apart with any kind of colour vision, also by lightness.
    series: ['#0b6fb0', '#e39a17', '#149272', '#c4669b', '#58b2e3', '#cc5a12', '#6b5bb3', '#8f8a1d', '#7a7f86', '#7c2d4f'],
    ramp: ['#f5f3ec', '#cfe0e6', '#93c0d6', '#4f96c1', '#22689f', '#0c3d6d'],
  },
  dark: {
    page: '#131518', ink: '#e8e6e1', soft: '#a4a8ad', faint: '#7c8187', rule: '#2b2f34', axis: '#6a7076', band: '#1b1e22',
    series: ['#4f9fd9', '#edb04a', '#3cb894', '#d98bb6', '#9bd3f2', '#e2814a', '#9d90dd', '#bdb84e', '#9aa0a7', '#b8688c'],
    ramp: ['#1c242b', '#1d3d55', '#27618a', '#4590c0', '#8cc1df', '#e4f0f5'],
  },
};

const themeListeners = new Set();
const systemDark = window.matchMedia('(prefers-color-scheme: dark)');
let themeChoice = (() => {
  try { return localStorage.getItem('gpumux-theme') ?? 'auto'; } catch { return 'auto'; }  // forbidden for some files
})();

const isDark = () => (themeChoice === 'auto' ? systemDark.matches : themeChoice === 'dark');
const theme = () => kThemes[isDark() ? 'dark' : 'light'];
const seriesColour = (index) => (index < theme().series.length ? theme().series[index] : furtherColours(isDark()).colour(index));
const policyColour = (policy) => seriesColour(policyRank(policy));

function applyTheme() {
  document.documentElement.dataset.theme = isDark() ? 'dark' : 'light';
  by('theme').textContent = isDark() ? 'Light' : 'Dark';
  by('theme').setAttribute('aria-label', `Change to ${isDark() ? 'light' : 'dark'} colours`);
  for (const listener of themeListeners) listener();
}

function startTheme() {
  systemDark.addEventListener('change', applyTheme);
  by('theme').addEventListener('click', () => {
    themeChoice = isDark() ? 'light' : 'dark';
    try { localStorage.setItem('gpumux-theme', themeChoice); } catch { /* for this visit alone, then */ }
    applyTheme();
  });
  applyTheme();
}

const rgb = memo((hex) => [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16)));

// --- more series than the theme names -----------------------------------------------------------------------

/** Colour of OKLCH as "#rrggbb"; null where a screen has none. Conversion after Ottosson, "A perceptual color space". */
function fromOklch(lightness, chroma, turn) {
  const [a, b] = [chroma * Math.cos(2 * Math.PI * turn), chroma * Math.sin(2 * Math.PI * turn)];
  const [l, m, s] = [lightness + 0.3963377774 * a + 0.2158037573 * b, lightness - 0.1055613458 * a - 0.0638541728 * b,
                     lightness - 0.0894841775 * a - 1.291485548 * b].map((x) => x ** 3);
  const linear = [4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s, -1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s,
                  -0.0041960863 * l - 0.7034186147 * m + 1.707614701 * s];
  if (linear.some((x) => x < 0 || x > 1)) return null;
  return '#' + linear.map((x) => Math.round(255 * (x <= 0.0031308 ? 12.92 * x : 1.055 * x ** (1 / 2.4) - 0.055)).toString(16).padStart(2, '0')).join('');
}
/** "#rrggbb" in OKLab, where distances are about those that eyes see. */
function toOklab(colour) {
  const [r, g, b] = rgb(colour).map((c) => (c / 255 <= 0.04045 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4));
  const [l, m, s] = [0.4122214708 * r + 0.5363325363 * g + 0.0514459929 * b, 0.2119034982 * r + 0.6806995451 * g + 0.1073969566 * b,
                     0.0883024619 * r + 0.2817188376 * g + 0.6299787005 * b].map(Math.cbrt);
  return [0.2104542553 * l + 0.793617785 * m - 0.0040720468 * s, 1.9779984951 * l - 2.428592205 * m + 0.4505937099 * s,
          0.0259040371 * l + 0.7827717662 * m - 0.808675766 * s];
}

/** Colours after those of the theme, each the one that is farthest from all before it, and none of them twice. */
const furtherColours = memo((dark) => {
  const colours = [...kThemes[dark ? 'dark' : 'light'].series];
  let candidates = [];
  let turns = 24;
  const distance = (a, b) => Math.hypot(...a.map((x, i) => x - b[i]));
  const refill = () => {
    turns *= 2;
    const taken = new Set(colours);
    const places = colours.map(toOklab);
    for (const lightness of dark ? [0.6, 0.7, 0.8, 0.88] : [0.4, 0.5, 0.6, 0.7]) {
      for (const chroma of [0.06, 0.11, 0.16, 0.2]) {
        for (let turn = 0; turn < turns; ++turn) {
          const colour = fromOklch(lightness, chroma, turn / turns);
          if (!colour || taken.has(colour)) continue;
          taken.add(colour);
          const at = toOklab(colour);
          candidates.push({colour, at, nearest: places.reduce((least, place) => Math.min(least, distance(at, place)), Infinity)});
        }
      }
    }
  };
  return {colour(index) {
    while (colours.length <= index) {
      if (!candidates.length) refill();
      const next = candidates.reduce((best, candidate) => (candidate.nearest > best.nearest ? candidate : best));
      colours.push(next.colour);
      candidates = candidates.filter((candidate) => candidate !== next);
      for (const candidate of candidates) candidate.nearest = Math.min(candidate.nearest, distance(candidate.at, next.at));
    }
    return colours[index];
  }};
});

// --- colours of a scale -------------------------------------------------------------------------------------

/** `share` from 0 to 1 along the ramp. */
function rampColour(share) {
  const ramp = theme().ramp;
  const at = Math.min(1, Math.max(0, share)) * (ramp.length - 1);
  const low = Math.min(Math.floor(at), ramp.length - 2);
  const [a, b] = [rgb(ramp[low]), rgb(ramp[low + 1])];
  return '#' + a.map((value, i) => Math.round(value + (at - low) * (b[i] - value)).toString(16).padStart(2, '0')).join('');
}
/** Black or white, whichever reads better on a colour. */
function inkOn(colour) {
  const [r, g, b] = [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16) / 255).map((c) => (c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b > 0.19 ? '#14171a' : '#ffffff';
}
