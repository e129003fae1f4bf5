// The player: stage, controls and plots.

class Player {
  constructor(root, scene, { tables, arrays }, alone) {
    Object.assign(this, { root, scene, arrays, alone: alone && window === window.parent, playing: false, looping: true, rate: 1, fps: 0, drawn: 0, layers: {} });
    this.table = tables[0];
    this.moment = new Moment(this.table);
    this.visible = true;
    this.view = new NoView();
    assignColors(scene);
    this.build();
    this.openStage();
    this.plots = scene.plots.map((plot) => new Plot(this.side, plot, tables, (t) => this.seekModel(t)));
    listenToKeys(this, alone ? document : root);
    addEventListener('da-theme', () => this.draw());
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => this.draw());
    this.observe();
    if (alone && !matchMedia('(prefers-reduced-motion: reduce)').matches && this.moment.duration > 0) this.play();
    this.draw();
  }

  // -- what it consists of ---------------------------------------------------------------------------------------

  build() {
    const { scene, root } = this;
    this.overlay = element('canvas', { class: 'da-overlay', 'aria-hidden': 'true' });
    this.clock = element('output', { class: 'da-clock', 'aria-live': 'off' });
    this.stage = element('div', { class: 'da-stage' }, this.overlay, this.clock);
    if (scene.note) this.stage.append(element('p', { class: 'da-note' }, scene.note));
    this.controls = new Controls(this);
    const header = element('header', { class: 'da-header' }, element('h1', {}, scene.title), element('p', {}, scene.subtitle || ''));
    this.side = element('div', { class: 'da-side' });
    if (!scene.plots.length) root.classList.add('da-alone');
    root.append(header, this.stage, this.controls.root, this.side);
  }

  /** A canvas and what draws on it; a new one after a browser has taken the old one's context away. */
  openStage() {
    const { scene } = this;
    const old = this.view;
    const label = `${scene.title}: moving picture; space plays and pauses, arrow keys step in time`;
    const canvas = element('canvas', { class: 'da-canvas', tabindex: '0', role: 'img', 'aria-label': label });
    if (this.canvas) this.canvas.replaceWith(canvas);
    else this.stage.prepend(canvas);
    this.canvas = canvas;
    this.lost = false;
    try {
      this.view = scene.planar
        ? new PlanarView(canvas, scene, this.moment)
        : new SpatialView(canvas, scene, this.moment, this.arrays, this.overlay);
    } catch (error) {
      this.view = new NoView();
      if (error.message !== NO_WEBGL) console.error(error);
      const why = 'This browser cannot draw in three dimensions (no WebGL 2), so the scene is missing. Plots and times are there.';
      this.stage.append(element('p', { class: 'da-message', role: 'alert' }, why));
    }
    canvas.addEventListener('webglcontextlost', (event) => {
      event.preventDefault();
      this.lost = true;
    });
    canvas.addEventListener('webglcontextrestored', () => this.reopen());
    listenToPointers(this, canvas);
    if (old instanceof NoView) this.follow(scene.follow);
    else this.view.look(old);
  }

  reopen() {
    if (!this.lost) return;
    this.openStage();
    this.draw();
  }

  /** Sizes change, and nothing is drawn that nobody can see. */
  observe() {
    const resize = () => {
      this.view.resize();
      for (const plot of this.plots) plot.resize();
      this.draw();
    };
    for (const part of [this.stage, this.side]) new ResizeObserver(resize).observe(part);
    new IntersectionObserver(([seen]) => {
      this.visible = seen.isIntersecting;
      if (!this.visible) return;
      this.reopen();
      if (this.playing) this.run();
      else this.draw();
    }).observe(this.root);
  }

  // -- what it does ----------------------------------------------------------------------------------------------

  play() {
    if (this.playing) return;
    if (this.moment.time >= this.moment.duration) this.moment.seek(0);
    this.playing = true;
    this.controls.show();
    this.reopen();
    this.run();
  }

  /** Start to draw frames; at most one chain of them goes on. */
  run() {
    this.before = null;
    cancelAnimationFrame(this.next);
    this.next = requestAnimationFrame((now) => this.tick(now));
  }

  pause() {
    this.playing = false;
    this.controls.show();
  }

  toggle() {
    if (this.playing) this.pause();
    else this.play();
  }

  tick(now) {
    if (!this.playing || !this.visible) return;
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
    this.next = requestAnimationFrame((next) => this.tick(next));
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
    this.controls.show();
  }

  follow(on) {
    this.view.follow = on;
    this.view.fit(true);
    this.controls.show();
    this.draw();
  }

  fit() {
    this.view.fit();
    this.draw();
  }

  zoom(factor, x, y) {
    this.view.zoom(factor, x, y);
    this.draw();
  }

  /** Turn or move the camera by so many pixels. */
  move(how, dx, dy) {
    this.view[how](dx, dy);
    this.draw();
  }

  setRate(rate) {
    this.rate = rate;
    this.controls.show();
  }

  draw() {
    if (!this.plots) return;
    const theme = currentTheme();
    if (!this.lost) this.view.draw(theme, this.layers);
    for (const plot of this.plots) plot.draw(theme, this.moment);
    this.controls.scrubber.value = String(this.moment.time);
    this.clock.textContent = `t = ${shown(this.moment.t, this.moment.duration / 1000)}`;
    if (!this.playing) this.controls.scrubber.setAttribute('aria-valuetext', this.clock.textContent);
    this.drawn += 1;
    this.root.dispatchEvent(new CustomEvent('da-moment', { detail: this.moment.t }));
  }
}

/** One pointer moves (or orbits, in space), two zoom and move; the wheel zooms, and scrolls what is around first. */
function listenToPointers(player, canvas) {
  const down = new Map();
  const place = (event) => {
    const box = canvas.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  };
  canvas.addEventListener('pointerdown', (event) => {
    canvas.setPointerCapture(event.pointerId);
    down.set(event.pointerId, place(event));
    canvas.focus({ preventScroll: true });
    player.reopen();
  });
  canvas.addEventListener('pointermove', (event) => {
    if (!down.has(event.pointerId)) return;
    const { view } = player;
    const [x, y] = place(event);
    const [oldX, oldY] = down.get(event.pointerId);
    if (down.size === 1) view[event.shiftKey || event.buttons & 6 ? 'pan' : 'orbit'](x - oldX, y - oldY);
    else {
      const other = [...down].find(([id]) => id !== event.pointerId)[1];
      const before = Math.hypot(oldX - other[0], oldY - other[1]) || 1;
      view.zoom(Math.hypot(x - other[0], y - other[1]) / before, (x + other[0]) / 2, (y + other[1]) / 2);
      view.pan((x - oldX) / 2, (y - oldY) / 2);
    }
    down.set(event.pointerId, [x, y]);
    player.draw();
  });
  for (const name of ['pointerup', 'pointercancel']) canvas.addEventListener(name, (event) => down.delete(event.pointerId));
  canvas.addEventListener('contextmenu', (event) => event.preventDefault());
  canvas.addEventListener('dblclick', () => player.fit());
  canvas.addEventListener('wheel', (event) => {
    if (!player.alone && document.activeElement !== canvas && !event.ctrlKey) return;
    event.preventDefault();
    player.zoom(Math.exp(-event.deltaY * (event.deltaMode === 1 ? 0.05 : 0.0015)), ...place(event));
  }, { passive: false });
}

/** In place of a stage that cannot be drawn. */
class NoView {
  draw() {}
  fit() {}
  zoom() {}
  pan() {}
  orbit() {}
  resize() {}
  look() {}
}
