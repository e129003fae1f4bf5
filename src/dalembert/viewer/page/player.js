// The player: stage, controls and plots.

const ICONS = {
  play: 'M7 4.5v15l12-7.5z',
  pause: 'M6.5 4.5h4v15h-4zM13.5 4.5h4v15h-4z',
  back: 'M18 5v14l-9-7zM6 5h2.4v14H6z',
  forth: 'M6 5v14l9-7zM15.6 5H18v14h-2.4z',
  loop: 'M7 7h8.5a3.5 3.5 0 0 1 0 7H14v-2l-3.5 3 3.5 3v-2h1.5a5.5 5.5 0 0 0 0-11H7V3L3.5 6 7 9z',
  fit: 'M4 4h6v2H6v4H4zM14 4h6v6h-2V6h-4zM4 14h2v4h4v2H4zM18 14h2v6h-6v-2h4z',
  follow: 'M12 2v3a7 7 0 0 1 7 7h3v0h-3a7 7 0 0 1-7 7v3-3a7 7 0 0 1-7-7H2h3a7 7 0 0 1 7-7zM12 8a4 4 0 1 0 0 8 4 4 0 0 0 0-8z',
  layers: 'M12 3 2 8.5 12 14l10-5.5zM4.5 12 2 13.5 12 19l10-5.5-2.500-1.500L12 16.500z',
  theme: 'M12 3a9 9 0 1 0 0 18zM12 3v0a9 9 0 0 1 0 18v-2.200a6.800 6.800 0 0 0 0-13.600z',
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

class Player {
  constructor(root, scene, { tables, arrays }, autoplay) {
    Object.assign(this, { root, scene, playing: false, looping: true, rate: 1, fps: 0, drawn: 0 });
    this.table = tables[0];
    this.moment = new Moment(this.table);
    assignColors(scene);
    this.build();
    this.openStage(arrays);
    this.plots = scene.plots.map((plot) => new Plot(this.side, plot, this.table, (t) => this.seekModel(t)));
    this.listen();
    this.observe();
    if (autoplay && !matchMedia('(prefers-reduced-motion: reduce)').matches && this.moment.duration > 0) this.play();
    this.draw();
  }

  // -- what it consists of ---------------------------------------------------------------------------------------

  build() {
    const { scene, root } = this;
    this.canvas = element('canvas', { class: 'da-canvas', tabindex: '0', role: 'img' });
    this.canvas.setAttribute('aria-label', `${scene.title}: moving picture; arrow keys step in time, space plays and pauses`);
    this.overlay = element('canvas', { class: 'da-overlay', 'aria-hidden': 'true' });
    this.clock = element('output', { class: 'da-clock', 'aria-live': 'off' });
    this.stage = element('div', { class: 'da-stage' }, this.canvas, this.overlay, this.clock);
    const heading = element('h1', {}, scene.title);
    const header = element('header', { class: 'da-header' }, heading, element('p', {}, scene.subtitle || ''));
    this.side = element('div', { class: 'da-side' });
    if (!scene.plots.length) root.classList.add('da-alone');
    root.append(header, this.stage, this.controls(), this.side);
  }

  button(name, label, action) {
    const made = element('button', { type: 'button', class: `da-button da-${name}`, 'aria-label': label, title: label }, icon(name));
    made.addEventListener('click', action);
    return made;
  }

  controls() {
    const { scene, moment } = this;
    this.playButton = this.button('play', 'Play (space)', () => this.toggle());
    this.loopButton = this.button('loop', 'Repeat (L)', () => this.loop(!this.looping));
    this.loopButton.setAttribute('aria-pressed', 'true');
    this.followButton = this.button('follow', 'Follow the motion (C)', () => this.follow(!this.view.follow));
    this.scrubber = element('input', { type: 'range', class: 'da-scrub', min: '0', max: String(moment.duration || 1), step: 'any', value: '0' });
    this.scrubber.setAttribute('aria-label', 'Time');
    this.scrubber.addEventListener('input', () => this.seek(Number(this.scrubber.value)));
    this.speed = element('select', { class: 'da-speed', 'aria-label': 'Speed', title: 'Speed ([ and ])' });
    for (const rate of SPEEDS) this.speed.append(element('option', { value: String(rate) }, `× ${shownSpeed(rate * scene.speed)}`));
    this.speed.value = '1';
    this.speed.addEventListener('change', () => (this.rate = Number(this.speed.value)));
    return element(
      'div', { class: 'da-controls', role: 'group', 'aria-label': 'Controls' },
      element('div', { class: 'da-time' }, this.ticks(), this.scrubber),
      this.playButton,
      this.button('back', 'One frame back (←)', () => this.step(-1)),
      this.button('forth', 'One frame on (→)', () => this.step(1)),
      this.loopButton, this.speed, element('span', { class: 'da-gap' }),
      this.button('fit', 'Show everything (0)', () => this.fit()), this.followButton,
      this.layerMenu(), this.button('theme', 'Dark or light (D)', toggleTheme),
    );
  }

  /** Marks of events and impacts over the scrubber. */
  ticks() {
    const { scene, moment } = this;
    const row = element('div', { class: 'da-ticks', 'aria-hidden': 'true' });
    for (const [t, kind, name] of scene.marks) {
      const share = ((t - moment.first) * moment.direction) / (moment.duration || 1);
      row.append(element('i', { class: `da-${kind}`, style: `left:${(100 * share).toFixed(2)}%`, title: `${kind} ${name}, t = ${shown(t)}` }));
    }
    return row;
  }

  layerMenu() {
    const { scene } = this;
    const present = {
      traces: scene.items.some((item) => item.kind === 'trace'),
      labels: scene.items.some((item) => item.kind === 'label'),
      grid: true,
    };
    for (const kind of ['force', 'contact', 'velocity']) present[kind] = scene.items.some((item) => item.of === kind);
    this.layers = {};
    const list = element('div', { class: 'da-menu' });
    for (const [name, label] of Object.entries(LAYERS)) {
      this.layers[name] = !scene.quiet.includes(name);
      if (!present[name]) continue;
      const box = element('input', { type: 'checkbox', 'data-layer': name });
      box.checked = this.layers[name];
      box.addEventListener('change', () => {
        this.layers[name] = box.checked;
        this.draw();
      });
      list.append(element('label', {}, box, ` ${label}`));
    }
    const summary = element('summary', { class: 'da-button', 'aria-label': 'What is shown', title: 'What is shown' }, icon('layers'));
    this.menu = element('details', { class: 'da-layers' }, summary, list);
    document.addEventListener('pointerdown', (event) => this.menu.contains(event.target) || (this.menu.open = false));
    return this.menu;
  }

  openStage(arrays) {
    const { scene } = this;
    try {
      this.view = scene.planar
        ? new PlanarView(this.canvas, scene, this.moment)
        : new SpatialView(this.canvas, scene, this.moment, arrays, this.overlay);
    } catch (error) {
      this.view = new NoView();
      const why = 'This browser cannot draw in three dimensions (no WebGL 2), so the scene is missing. Plots and times are there.';
      this.stage.append(element('p', { class: 'da-message' }, why));
    }
    this.follow(scene.follow);
    this.followButton.hidden = !scene.bodies.length && !scene.items.length;
  }

  // -- what it does ----------------------------------------------------------------------------------------------

  play() {
    if (this.playing) return;
    if (this.moment.time >= this.moment.duration) this.moment.seek(0);
    this.playing = true;
    this.showPlaying();
    this.before = null;
    requestAnimationFrame((now) => this.tick(now));
  }

  pause() {
    this.playing = false;
    this.showPlaying();
  }

  toggle() {
    if (this.playing) this.pause();
    else this.play();
  }

  showPlaying() {
    this.playButton.replaceChildren(icon(this.playing ? 'pause' : 'play'));
    const label = this.playing ? 'Pause (space)' : 'Play (space)';
    this.playButton.setAttribute('aria-label', label);
    this.playButton.title = label;
  }

  tick(now) {
    if (!this.playing) return;
    if (this.before !== null) {
      const passed = Math.min(now - this.before, 250);
      this.fps = this.fps ? 0.95 * this.fps + 0.05 * (1000 / Math.max(passed, 1)) : 1000 / Math.max(passed, 1);
      let time = this.moment.time + (passed / 1000) * this.rate * this.scene.speed;
      if (time > this.moment.duration) {
        if (this.looping) time = this.moment.duration ? time % this.moment.duration : 0;
        else this.pause();
      }
      this.moment.seek(time);
      this.draw();
    }
    this.before = now;
    requestAnimationFrame((next) => this.tick(next));
  }

  /** Go to a time since the start. */
  seek(time) {
    this.moment.seek(time);
    this.draw();
  }

  /** Go to a time of the model. */
  seekModel(t) {
    this.seek((t - this.moment.first) * this.moment.direction);
  }

  step(by) {
    this.pause();
    const { times, n, k, weight } = this.moment;
    const from = by < 0 && weight > 0 ? k + 1 : k;
    let next = Math.min(Math.max(from + by, 0), n - 1);
    // frames right before and after a jump look the same
    while (next > 0 && next < n - 1 && Math.abs(times[next] - times[from]) < 1e-12 * this.moment.duration) next += Math.sign(by);
    this.seek(times[next]);
  }

  loop(on) {
    this.looping = on;
    this.loopButton.setAttribute('aria-pressed', String(on));
  }

  follow(on) {
    this.view.follow = on;
    this.followButton.setAttribute('aria-pressed', String(on));
    this.view.fit(true);
    this.draw();
  }

  fit() {
    this.view.fit();
    this.draw();
  }

  setRate(rate) {
    this.rate = rate;
    this.speed.value = String(rate);
  }

  draw() {
    if (!this.view || !this.plots) return;
    const theme = currentTheme();
    this.view.draw(theme, this.layers);
    for (const plot of this.plots) plot.draw(theme, this.moment);
    this.scrubber.value = String(this.moment.time);
    this.clock.textContent = `t = ${shown(this.moment.t, this.moment.duration / 1000)}`;
    this.drawn += 1;
  }

  // -- keys, fingers, sizes --------------------------------------------------------------------------------------

  listen() {
    const keys = {
      ' ': () => this.toggle(),
      k: () => this.toggle(),
      Home: () => this.seek(0),
      End: () => this.seek(this.moment.duration),
      '+': () => this.zoom(1.2),
      '=': () => this.zoom(1.2),
      '-': () => this.zoom(1 / 1.2),
      0: () => this.fit(),
      l: () => this.loop(!this.looping),
      c: () => this.follow(!this.view.follow),
      d: () => toggleTheme(),
      ']': () => this.setRate(SPEEDS[Math.min(SPEEDS.indexOf(this.rate) + 1, SPEEDS.length - 1)]),
      '[': () => this.setRate(SPEEDS[Math.max(SPEEDS.indexOf(this.rate) - 1, 0)]),
    };
    this.root.addEventListener('keydown', (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      const inControl = event.target.closest('button, select, summary, input');
      if (event.key.startsWith('Arrow')) {
        if (event.target.closest('select')) return;
        const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
        if (by) this.step(by * (event.shiftKey ? 10 : 1));
        else if (!inControl && event.target === this.canvas) this.view.orbit(0, event.key === 'ArrowUp' ? 20 : -20);
        else return;
      } else if (keys[event.key] && !(event.key === ' ' && inControl)) keys[event.key]();
      else return;
      event.preventDefault();
      this.draw();
    });
    this.fingers();
    addEventListener('da-theme', () => this.draw());
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => this.draw());
  }

  zoom(factor, x, y) {
    this.view.zoom(factor, x, y);
    this.draw();
  }

  /** One pointer moves (or orbits, in space), two zoom and move; the wheel zooms. */
  fingers() {
    const { canvas } = this;
    const down = new Map();
    const place = (event) => {
      const box = canvas.getBoundingClientRect();
      return [event.clientX - box.left, event.clientY - box.top];
    };
    canvas.addEventListener('pointerdown', (event) => {
      canvas.setPointerCapture(event.pointerId);
      down.set(event.pointerId, place(event));
      canvas.focus({ preventScroll: true });
    });
    canvas.addEventListener('pointermove', (event) => {
      if (!down.has(event.pointerId)) return;
      const [x, y] = place(event);
      const [oldX, oldY] = down.get(event.pointerId);
      if (down.size === 1) {
        const move = event.shiftKey || event.buttons & 6 ? 'pan' : 'orbit';
        this.view[move](x - oldX, y - oldY);
      } else {
        const other = [...down].find(([id]) => id !== event.pointerId)[1];
        const before = Math.hypot(oldX - other[0], oldY - other[1]) || 1;
        this.view.zoom(Math.hypot(x - other[0], y - other[1]) / before, (x + other[0]) / 2, (y + other[1]) / 2);
        this.view.pan((x - oldX) / 2, (y - oldY) / 2);
      }
      down.set(event.pointerId, [x, y]);
      this.draw();
    });
    for (const name of ['pointerup', 'pointercancel']) canvas.addEventListener(name, (event) => down.delete(event.pointerId));
    canvas.addEventListener('contextmenu', (event) => event.preventDefault());
    canvas.addEventListener('wheel', (event) => {
      event.preventDefault();
      this.zoom(Math.exp(-event.deltaY * (event.deltaMode ? 0.03 : 0.0012)), ...place(event));
    }, { passive: false });
    canvas.addEventListener('dblclick', () => this.fit());
  }

  observe() {
    const resize = () => {
      this.view.resize();
      for (const plot of this.plots) plot.resize();
      this.draw();
    };
    new ResizeObserver(resize).observe(this.stage);
    new ResizeObserver(resize).observe(this.side);
  }
}

/** In place of a stage that cannot be drawn. */
class NoView {
  draw() {}
  fit() {}
  zoom() {}
  pan() {}
  orbit() {}
  resize() {}
}

/** How much faster than the model's own time. */
function shownSpeed(rate) {
  return rate >= 0.01 && rate < 1000 ? String(Number(rate.toPrecision(3))) : rate.toExponential(0);
}
