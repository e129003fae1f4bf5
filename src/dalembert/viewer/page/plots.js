// Curves over time, with a cursor at the moment that is shown.

class Plot {
  /** `table` has times and channels, `plot` says which of them are drawn; `jump(t)` is called for clicks. */
  constructor(parent, plot, table, jump) {
    Object.assign(this, { plot, table, jump });
    this.hidden = new Set();
    this.canvas = element('canvas', { class: 'da-plot', role: 'img', tabindex: '0' });
    this.canvas.setAttribute('aria-label', `${plot.title} over time; click to go to a time`);
    this.legend = element('div', { class: 'da-legend' });
    plot.curves.forEach((curve, k) => this.legend.append(this.entry(curve, k)));
    this.values = [];
    const figure = element('figure', { class: 'da-figure' }, element('figcaption', {}, plot.title), this.canvas, this.legend);
    parent.append(figure);
    if (jump) this.listen();
    const first = table.t[0];
    const last = table.t[table.t.length - 1];
    this.low = Math.min(first, last);
    this.high = Math.max(first, last, this.low + 1e-300);
  }

  entry(curve, k) {
    const color = PALETTE[k % PALETTE.length];
    const value = element('span', { class: 'da-value' });
    const button = element('button', { type: 'button', 'aria-pressed': 'true', title: `show or hide ${curve.name}` });
    button.append(element('i', { style: `background:${color}` }), element('span', { class: 'da-name' }, curve.name), value);
    button.addEventListener('click', () => {
      if (!this.hidden.delete(k)) this.hidden.add(k);
      button.setAttribute('aria-pressed', String(!this.hidden.has(k)));
      this.base = null;
      this.draw(this.lastTheme, this.cursor);
    });
    curve.value = value;
    return button;
  }

  listen() {
    const at = (event) => {
      const box = this.canvas.getBoundingClientRect();
      const share = (event.clientX - box.left - this.left) / (this.width - this.left - 8);
      this.jump(this.low + Math.min(1, Math.max(0, share)) * (this.high - this.low));
    };
    this.canvas.addEventListener('pointerdown', (event) => {
      this.canvas.setPointerCapture(event.pointerId);
      this.dragging = true;
      at(event);
    });
    this.canvas.addEventListener('pointermove', (event) => this.dragging && at(event));
    for (const name of ['pointerup', 'pointercancel']) this.canvas.addEventListener(name, () => (this.dragging = false));
  }

  resize() {
    this.ratio = devicePixelRatio || 1;
    this.width = this.canvas.clientWidth || 1;
    this.height = this.canvas.clientHeight || 1;
    this.canvas.width = Math.round(this.width * this.ratio);
    this.canvas.height = Math.round(this.height * this.ratio);
    this.left = 46;
    this.base = null;
  }

  value(curve, k) {
    const x = this.table.channels[curve.c][k];
    return this.plot.log && x < -290 ? NaN : x; // logarithms are stored as such
  }

  /** The smallest and the largest value that is shown. */
  range() {
    let low = Infinity;
    let high = -Infinity;
    this.plot.curves.forEach((curve, c) => {
      if (this.hidden.has(c)) return;
      for (let k = 0; k < this.table.t.length; k++) {
        const x = this.value(curve, k);
        if (x < low) low = x;
        if (x > high) high = x;
      }
    });
    if (!(low <= high)) return [0, 1];
    // a constant is drawn in the middle, and rounding errors of it are not blown up
    const least = 1e-9 * Math.max(Math.abs(low), Math.abs(high)) || 1e-12;
    const margin = high - low > least ? 0.06 * (high - low) : Math.max(Math.abs(high) * 0.1, 1e-12);
    return [low - margin, high + margin];
  }

  /** Axes and curves are drawn once, and the cursor over them. */
  paint(theme) {
    if (!this.width) this.resize();
    const base = document.createElement('canvas');
    base.width = this.canvas.width;
    base.height = this.canvas.height;
    const context = base.getContext('2d');
    context.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    const [low, high] = this.range();
    const bottom = this.height - 18;
    const right = this.width - 8;
    const x = (t) => this.left + ((t - this.low) / (this.high - this.low)) * (right - this.left);
    const y = (v) => bottom - ((v - low) / (high - low)) * (bottom - 6);
    context.font = '10.5px system-ui, sans-serif';
    context.fillStyle = theme.soft;
    context.strokeStyle = theme.grid;
    context.lineWidth = 1;
    const rows = this.plot.log ? Math.max(1, Math.ceil((high - low) / 4)) : niceStep((high - low) / 4);
    context.textAlign = 'right';
    context.textBaseline = 'middle';
    for (let v = Math.ceil(low / rows) * rows; v <= high + 1e-12; v += rows) {
      context.beginPath();
      context.moveTo(this.left, Math.round(y(v)) + 0.5);
      context.lineTo(right, Math.round(y(v)) + 0.5);
      context.stroke();
      context.fillText(this.plot.log ? `1e${Math.round(v)}` : shown(Math.abs(v) < 1e-9 * rows ? 0 : v, rows), this.left - 5, y(v));
    }
    const columns = niceStep((this.high - this.low) / Math.max(2, this.width / 80));
    context.textAlign = 'center';
    context.textBaseline = 'top';
    for (let t = Math.ceil(this.low / columns - 1e-9) * columns; t <= this.high + 1e-9 * columns; t += columns)
      context.fillText(shown(Math.abs(t) < 1e-9 * columns ? 0 : t, columns), Math.min(Math.max(x(t), this.left + 6), right - 8), bottom + 4);
    context.strokeStyle = theme.line;
    context.strokeRect(this.left + 0.5, 6.5, right - this.left - 1, bottom - 7);
    context.save();
    context.beginPath();
    context.rect(this.left, 4, right - this.left, bottom - 2);
    context.clip();
    context.lineWidth = 1.6;
    context.lineJoin = 'round';
    this.plot.curves.forEach((curve, c) => {
      if (this.hidden.has(c)) return;
      context.strokeStyle = PALETTE[c % PALETTE.length];
      context.beginPath();
      let pen = false;
      for (let k = 0; k < this.table.t.length; k++) {
        const v = this.value(curve, k);
        if (!Number.isFinite(v)) pen = false;
        else if (pen) context.lineTo(x(this.table.t[k]), y(v));
        else context.moveTo(x(this.table.t[k]), y(v), (pen = true));
      }
      context.stroke();
    });
    context.restore();
    Object.assign(this, { base, x, y, bottom });
  }

  draw(theme, cursor = null) {
    if (!this.base || this.lastTheme !== theme) this.paint(theme);
    this.lastTheme = theme;
    this.cursor = cursor;
    const context = this.canvas.getContext('2d');
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.clearRect(0, 0, this.canvas.width, this.canvas.height);
    context.drawImage(this.base, 0, 0);
    if (!cursor) return;
    context.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    const px = this.x(cursor.t);
    context.strokeStyle = theme.soft;
    context.lineWidth = 1;
    context.beginPath();
    context.moveTo(px, 6);
    context.lineTo(px, this.bottom);
    context.stroke();
    this.plot.curves.forEach((curve, c) => {
      const value = cursor.value(curve.c);
      curve.value.textContent = Number.isFinite(value) ? value.toPrecision(4) : '';
      if (this.hidden.has(c) || !Number.isFinite(value)) return;
      context.beginPath();
      context.arc(px, this.y(value), 3, 0, 2 * Math.PI);
      context.fillStyle = PALETTE[c % PALETTE.length];
      context.fill();
    });
  }
}
