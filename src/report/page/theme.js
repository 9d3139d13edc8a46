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
const seriesColour = (index) => theme().series[index % theme().series.length];
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

// --- colours of a scale -------------------------------------------------------------------------------------

const rgb = memo((hex) => [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16)));
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
