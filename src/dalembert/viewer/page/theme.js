// Colours. Pages are dark or light as the reader's system is, until somebody chooses.

const PALETTE = ['#3b7dd8', '#f2933b', '#2fa37c', '#c06bb0', '#e2574c', '#27a6b8', '#d9b22f', '#8d6e63'];
const ARROW_COLORS = { force: '#e2574c', contact: '#12a594', velocity: '#3b7dd8' };

const THEMES = {
  light: {
    name: 'light', stage: '#f7f9fc', far: '#e6ecf5', ink: '#1d2733', soft: '#6b7a8c', line: '#d5dde8', grid: '#e3e9f1',
    ground: '#c9d3df', bar: '#64748b', joint: '#ffffff', shadow: 0.2,
  },
  dark: {
    name: 'dark', stage: '#161b22', far: '#0d1117', ink: '#e6edf3', soft: '#8b98a9', line: '#2b3440', grid: '#222b36',
    ground: '#3a4654', bar: '#94a3b8', joint: '#0d1117', shadow: 0.45,
  },
};

/** Whether the page is dark now: as chosen, else as the system says. */
function currentTheme() {
  const chosen = document.documentElement.dataset.theme;
  if (chosen) return THEMES[chosen];
  return THEMES[matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light'];
}

/** Switch between dark and light for the whole page. */
function toggleTheme() {
  setTheme(currentTheme().name === 'dark' ? 'light' : 'dark');
}

/** One of them; as the system is, if it is none. */
function setTheme(name) {
  if (name) document.documentElement.dataset.theme = name;
  else delete document.documentElement.dataset.theme;
  dispatchEvent(new Event('da-theme'));
}

/** '#rrggbb' or '#rrggbbaa' as numbers from 0 to 1. */
function rgba(hex) {
  const part = (k) => parseInt(hex.slice(1 + 2 * k, 3 + 2 * k), 16) / 255;
  return [part(0), part(1), part(2), hex.length > 7 ? part(3) : 1];
}

/** A colour mixed with black (negative) or white. */
function shaded(hex, by) {
  const target = by < 0 ? 0 : 255;
  const mixed = rgba(hex).slice(0, 3).map((x) => Math.round(x * 255 + (target - x * 255) * Math.abs(by)));
  return '#' + mixed.map((x) => x.toString(16).padStart(2, '0')).join('');
}

/** Colours of links and bodies: one after the other; a single one where there are many links or columns. */
function assignColors(scene) {
  const few = scene.items.filter((item) => item.kind === 'link').length <= 12;
  let next = 0;
  const color = () => PALETTE[next++ % PALETTE.length];
  for (const body of scene.bodies) {
    const own = body.shapes.some((shape) => !shape.color) || !body.shapes.length ? color() : null;
    body.color = own;
    for (const shape of body.shapes) shape.color = shape.color || own;
  }
  for (const item of scene.items) {
    const on = item.a && 'b' in item.a && item.a.b >= 0 ? scene.bodies[item.a.b] : null;
    const face = item.kind === 'path' && item.filled && item.through[0].b >= 0 ? scene.bodies[item.through[0].b] : null;
    if (item.kind === 'link' && !item.color) item.color = (on && on.color) || (few ? color() : null);
    if (item.kind === 'path' && item.filled && !item.color) item.color = (face && face.color) || color();
    if (item.kind === 'arrow' && !item.color) item.color = ARROW_COLORS[item.of];
    if (item.kind === 'trace' && !item.color) item.color = '#e2574c';
    if (item.kind === 'dot' && item.radius && !item.color) item.color = color();
    if (item.kind === 'columns') item.colors = item.labels.map((_, k) => PALETTE[item.labels.length > PALETTE.length ? 0 : k]);
  }
}
