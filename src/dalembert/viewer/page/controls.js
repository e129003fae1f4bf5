// What the player is operated with: buttons, the scrubber, the menus, keys.

const ICONS = {
  play: 'M7 4.5v15l12-7.5z',
  pause: 'M6.5 4.5h4v15h-4zM13.5 4.5h4v15h-4z',
  back: 'M18 5v14l-9-7zM6 5h2.4v14H6z',
  forth: 'M6 5v14l9-7zM15.6 5H18v14h-2.4z',
  loop: 'M7 7h8.5a3.5 3.5 0 0 1 0 7H14v-2l-3.5 3 3.5 3v-2h1.5a5.5 5.5 0 0 0 0-11H7V3L3.5 6 7 9z',
  fit: 'M4 4h6v2H6v4H4zM14 4h6v6h-2V6h-4zM4 14h2v4h4v2H4zM18 14h2v6h-6v-2h4z',
  follow: 'M11 2h2v3.100A7 7 0 0 1 18.900 11H22v2h-3.100A7 7 0 0 1 13 18.900V22h-2v-3.100A7 7 0 0 1 5.100 13H2v-2h3.100A7 7 0 0 1 11 5.100zM12 7a5 5 0 1 0 0 10 5 5 0 0 0 0-10zM12 10a2 2 0 1 0 0 4 2 2 0 0 0 0-4z',
  layers: 'M12 3 2 8.5 12 14l10-5.5zM4.500 12 2 13.500 12 19l10-5.500-2.500-1.500L12 16.500z',
  theme: 'M12 3a9 9 0 1 0 0 18zM12 3v0a9 9 0 0 1 0 18v-2.200a6.800 6.800 0 0 0 0-13.600z',
  help: 'M12 2.500a9.500 9.500 0 1 0 0 19 9.500 9.500 0 0 0 0-19zm0 2a7.500 7.500 0 1 1 0 15 7.500 7.500 0 0 1 0-15zM11 15.500h2v2h-2zM12 6.500a3.500 3.500 0 0 0-3.500 3.500h2a1.500 1.500 0 1 1 2.400 1.200C11.700 12.100 11 12.800 11 14.300h2c0-.800.300-1.100 1.100-1.700A3.500 3.500 0 0 0 12 6.500z',
};
const SPEEDS = [0.05, 0.1, 0.25, 0.5, 1, 2, 4, 8];
const LAYERS = { traces: 'traces', force: 'forces', contact: 'contact forces', velocity: 'velocities', labels: 'labels', grid: 'grid' };

/** An element with attributes and children. */
function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

function icon(name) {
  const svg = document.createElementNS('http://www.w3.org/2000/svg', 'svg');
  svg.setAttribute('viewBox', '0 0 24 24');
  svg.setAttribute('aria-hidden', 'true');
  const path = document.createElementNS('http://www.w3.org/2000/svg', 'path');
  path.setAttribute('d', ICONS[name]);
  path.setAttribute('fill-rule', 'evenodd');
  svg.append(path);
  return svg;
}

/** How much faster than the model's own time. */
function shownSpeed(rate) {
  return rate >= 1e-4 && rate < 1e5 ? String(Number(rate.toPrecision(2))) : rate.toExponential(0).replace('e+', 'e');
}

class Controls {
  constructor(player) {
    this.player = player;
    this.play = this.button('play', 'Play (space)', () => player.toggle());
    this.loop = this.button('loop', 'Repeat (L)', () => player.loop(!player.looping));
    this.follow = this.button('follow', 'Follow the motion (C)', () => player.follow(!player.view.follow));
    this.scrubber = this.range();
    this.speed = this.speeds();
    this.root = element(
      'div', { class: 'da-controls', role: 'group', 'aria-label': 'Controls' },
      element('div', { class: 'da-time' }, this.ticks(), this.scrubber),
      this.play,
      this.button('back', 'One frame back (←)', () => player.step(-1)),
      this.button('forth', 'One frame on (→)', () => player.step(1)),
      this.loop, this.speed, element('span', { class: 'da-gap' }),
      this.button('fit', 'Show everything (0)', () => player.fit()), this.follow,
      this.layerMenu(), this.button('theme', 'Dark or light (D)', toggleTheme), this.help(),
    );
  }

  button(name, label, action) {
    const made = element('button', { type: 'button', class: `da-button da-${name}`, 'aria-label': label, title: label }, icon(name));
    made.addEventListener('click', action);
    return made;
  }

  range() {
    const { player } = this;
    const duration = player.moment.duration || 1;
    const made = element('input', { type: 'range', class: 'da-scrub', min: '0', max: String(duration), step: 'any', value: '0', 'aria-label': 'Time' });
    made.addEventListener('input', () => player.seek(Number(made.value)));
    return made;
  }

  speeds() {
    const { player } = this;
    const made = element('select', { class: 'da-speed', 'aria-label': 'Speed', title: 'Speed: time of the model in a second ([ and ])' });
    for (const rate of SPEEDS) made.append(element('option', { value: String(rate) }, `${shownSpeed(rate * player.scene.speed)} ×`));
    made.value = '1';
    made.addEventListener('change', () => (player.rate = Number(made.value)));
    return made;
  }

  /** Marks of events and impacts over the scrubber. */
  ticks() {
    const { scene, moment } = this.player;
    const row = element('div', { class: 'da-ticks', 'aria-hidden': 'true' });
    for (const [t, kind, name] of scene.marks) {
      const share = ((t - moment.first) * moment.direction) / (moment.duration || 1);
      row.append(element('i', { class: `da-${kind}`, style: `left:${(100 * share).toFixed(2)}%`, title: `${kind} ${name}, t = ${shown(t)}` }));
    }
    return row;
  }

  layerMenu() {
    const { player } = this;
    const { items, quiet } = player.scene;
    const present = { grid: true };
    for (const [name, kind] of [['traces', 'trace'], ['labels', 'label']]) present[name] = items.some((item) => item.kind === kind);
    for (const kind of ['force', 'contact', 'velocity']) present[kind] = items.some((item) => item.of === kind);
    const list = [];
    for (const [name, label] of Object.entries(LAYERS)) {
      player.layers[name] = !quiet.includes(name);
      if (!present[name]) continue;
      const box = element('input', { type: 'checkbox', 'data-layer': name });
      box.checked = player.layers[name];
      box.addEventListener('change', () => {
        player.layers[name] = box.checked;
        player.draw();
      });
      list.push(element('label', {}, box, ` ${label}`));
    }
    return this.menu('layers', 'What is shown', ...list);
  }

  help() {
    const rows = Object.entries(KEYS).map(([keys, what]) => element('tr', {}, element('th', {}, keys), element('td', {}, what)));
    return this.menu('help', 'Keys', element('table', {}, ...rows));
  }

  /** A button that opens a panel; it closes when somebody clicks elsewhere, or by Escape. */
  menu(name, label, ...content) {
    const summary = element('summary', { class: 'da-button', 'aria-label': label, title: label }, icon(name));
    const menu = element('details', { class: `da-details da-${name}-menu` }, summary, element('div', { class: 'da-menu' }, ...content));
    document.addEventListener('pointerdown', (event) => menu.contains(event.target) || (menu.open = false));
    menu.addEventListener('keydown', (event) => {
      if (event.key !== 'Escape' || !menu.open) return;
      menu.open = false;
      summary.focus();
    });
    return menu;
  }

  show() {
    const { player } = this;
    const label = player.playing ? 'Pause (space)' : 'Play (space)';
    this.play.replaceChildren(icon(player.playing ? 'pause' : 'play'));
    this.play.setAttribute('aria-label', label);
    this.play.title = label;
    this.loop.setAttribute('aria-pressed', String(player.looping));
    this.follow.setAttribute('aria-pressed', String(!!player.view.follow));
    this.speed.value = String(player.rate);
  }
}

const KEYS = {
  'space, K': 'play, pause',
  '← →': 'one frame (shift: ten)',
  'Home, End': 'start, end',
  '[ ]': 'slower, faster',
  L: 'repeat',
  '+ − 0': 'zoom, show everything',
  'Q E ↑ ↓': 'turn or move (shift: move)',
  C: 'follow the motion',
  D: 'dark, light',
};

/** Keys of a player; `where` they are listened to. */
function listenToKeys(player, where) {
  const speed = (by) => player.setRate(SPEEDS[Math.min(Math.max(SPEEDS.indexOf(player.rate) + by, 0), SPEEDS.length - 1)]);
  const plain = {
    ' ': () => player.toggle(),
    k: () => player.toggle(),
    Home: () => player.seek(0),
    End: () => player.seek(player.moment.duration),
    '+': () => player.zoom(1.2),
    '=': () => player.zoom(1.2),
    '-': () => player.zoom(1 / 1.2),
    0: () => player.fit(),
    l: () => player.loop(!player.looping),
    c: () => player.follow(!player.view.follow),
    d: () => toggleTheme(),
    ']': () => speed(1),
    '[': () => speed(-1),
  };
  const moves = { q: [30, 0], e: [-30, 0], ArrowUp: [0, 30], ArrowDown: [0, -30] };
  where.addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
    const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
    const control = event.target.closest?.('button, select, summary, input, a');
    const isSelect = control?.matches('select');
    if (key === 'ArrowLeft' || key === 'ArrowRight') {
      if (isSelect) return;
      player.step((key === 'ArrowLeft' ? -1 : 1) * (event.shiftKey ? 10 : 1));
    } else if (moves[key]) {
      if (control && key.startsWith('Arrow')) return;
      player.move(event.shiftKey ? 'pan' : 'orbit', ...moves[key]);
    } else if (plain[key] && !(control && key === ' ') && !isSelect) plain[key]();
    else return;
    event.preventDefault();
  });
}
