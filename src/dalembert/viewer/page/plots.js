// Curves over time, with a cursor at the moment that is shown.

const DECADES = 20; // of a logarithmic diagram: what is smaller is as good as nothing
const PLOT = { left: 48, right: 8, top: 6, bottom: 18 };

/** Powers of ten between two logarithms, as logarithms; also 2 and 5 times them where there are few. */
function decades(low, high, most) {
  const by = Math.max(1, Math.ceil((high - low) / most));
  if (high - low > 2) return multiples(low, high, by);
  const all = multiples(Math.floor(low), high, 1).flatMap((x) => [0, Math.log10(2), Math.log10(5)].map((d) => x + d));
  return all.filter((x) => x >= low && x <= high);
}

/** A logarithm as the number that it is of. */
function power(value) {
  const [digit, exponent] = (10 ** value).toExponential(0).split('e');
  return Number(exponent) > -3 && Number(exponent) < 3 ? String(Number(`${digit}e${exponent}`)) : `${digit}e${Number(exponent)}`;
}

const signed = (text) => (text.startsWith('-') || text === '0' ? text : `+${text}`);

class Plot {
  /** `plot` says which curves are drawn, and where they stand in the tables; `jump(t)` is called for clicks. */
  constructor(parent, plot, tables, jump) {
    Object.assign(this, { plot, jump });
    this.hidden = new Set();
    this.curves = plot.curves.map(({ name, table, c }) => ({ name, t: tables[table].t, values: tables[table].channels[c] }));
    this.canvas = element('canvas', { class: 'da-plot', role: 'img', 'aria-label': this.described() });
    this.legend = element('div', { class: 'da-legend' });
    const longest = Math.max(...this.curves.map((curve) => curve.name.length), 3);
    this.legend.style.setProperty('--entry', `${Math.min(longest, 24) + 10}ch`);
    this.curves.forEach((curve, k) => this.legend.append(this.entry(curve, k)));
    parent.append(element('figure', { class: 'da-figure' }, element('figcaption', {}, plot.title), this.canvas, this.legend));
    if (jump) this.listen();
    const ends = this.curves.flatMap(({ t }) => [t[0], t[t.length - 1]]);
    this.low = Math.min(...ends);
    this.high = Math.max(...ends);
    if (!(this.high > this.low)) this.high = this.low + (Math.abs(this.low) || 1);
  }

  described() {
    const names = this.curves.map((curve) => curve.name).join(', ');
    return `${this.plot.title}: ${names} over time${this.jump ? '; click to go to a time' : ''}`;
  }

  entry(curve, k) {
    const color = PALETTE[k % PALETTE.length];
    const value = element('span', { class: 'da-value' });
    const button = element('button', { type: 'button', 'aria-pressed': 'true', title: `Show or hide ${curve.name}` });
    button.append(element('i', { style: `background:${color}` }), element('span', { class: 'da-name' }, curve.name), value);
    button.addEventListener('click', () => {
      if (!this.hidden.delete(k)) this.hidden.add(k);
      button.setAttribute('aria-pressed', String(!this.hidden.has(k)));
      this.base = null;
      this.draw(this.lastTheme, this.cursor);
    });
    curve.shown = value;
    return button;
  }

  listen() {
    const at = (event) => {
      const box = this.canvas.getBoundingClientRect();
      const share = (event.clientX - box.left - PLOT.left) / (this.width - PLOT.left - PLOT.right);
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
    this.base = null;
  }

  /** The smallest and the largest value that is shown. */
  range() {
    let low = Infinity;
    let high = -Infinity;
    this.curves.forEach(({ values }, k) => {
      if (this.hidden.has(k)) return;
      for (const x of values) {
        if (x < low) low = x;
        if (x > high) high = x;
      }
    });
    if (!(low <= high)) return [0, 1];
    if (this.plot.log) low = Math.max(low, high - DECADES);
    // a constant is drawn in the middle, and rounding errors of it, or of zero, are not blown up
    const size = Math.max(Math.abs(low), Math.abs(high));
    const least = this.plot.log ? 0.5 : Math.max(1e-9 * size, 1e-15);
    if (high - low > least) return [low - 0.06 * (high - low), high + 0.06 * (high - low)];
    const margin = this.plot.log ? 1 : size > 1e-15 ? 0.1 * size : 1;
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
    [this.lowest, this.highest] = this.range();
    this.bottom = this.height - PLOT.bottom;
    this.axes(context, theme);
    context.save();
    context.beginPath();
    context.rect(PLOT.left, PLOT.top - 2, this.width - PLOT.left - PLOT.right, this.bottom - PLOT.top + 4);
    context.clip();
    context.lineWidth = 1.6;
    context.lineJoin = 'round';
    this.curves.forEach(({ t, values }, c) => {
      if (this.hidden.has(c)) return;
      context.strokeStyle = PALETTE[c % PALETTE.length];
      context.beginPath();
      let pen = false;
      for (let k = 0; k < t.length; k++) {
        if (!Number.isFinite(values[k])) pen = false;
        else if (pen) context.lineTo(this.x(t[k]), this.y(values[k]));
        else context.moveTo(this.x(t[k]), this.y(values[k]), (pen = true));
      }
      context.stroke();
    });
    context.restore();
    this.base = base;
  }

  x(t) {
    return PLOT.left + ((t - this.low) / (this.high - this.low)) * (this.width - PLOT.left - PLOT.right);
  }

  y(value) {
    return this.bottom - ((value - this.lowest) / (this.highest - this.lowest)) * (this.bottom - PLOT.top);
  }

  axes(context, theme) {
    const right = this.width - PLOT.right;
    context.font = '10.5px system-ui, sans-serif';
    context.fillStyle = theme.soft;
    context.strokeStyle = theme.grid;
    context.lineWidth = 1;
    context.textAlign = 'right';
    context.textBaseline = 'middle';
    const lines = Math.max(2, Math.min(5, Math.floor(this.height / 30)));
    const rows = niceStep((this.highest - this.lowest) / lines);
    // of a value that hardly changes, the ticks show by how much
    const middle = (this.lowest + this.highest) / 2;
    const base = !this.plot.log && Math.abs(middle) > 2000 * rows ? Number(middle.toPrecision(6)) : 0;
    const ticks = this.plot.log ? decades(this.lowest, this.highest, lines) : multiples(this.lowest - base, this.highest - base, rows).map((x) => x + base);
    for (const value of ticks) {
      const y = Math.round(this.y(value)) + 0.5;
      context.beginPath();
      context.moveTo(PLOT.left, y);
      context.lineTo(right, y);
      context.stroke();
      const text = this.plot.log ? power(value) : base ? signed(shown(value - base, rows)) : shown(value, rows);
      context.fillText(text, PLOT.left - 5, this.y(value));
    }
    if (base) {
      context.textAlign = 'left';
      context.textBaseline = 'top';
      context.fillText(`${base} …`, PLOT.left + 4, PLOT.top + 3);
    }
    const columns = niceStep((this.high - this.low) / Math.max(2, this.width / 80));
    context.textBaseline = 'top';
    for (const t of multiples(this.low, this.high, columns)) {
      const text = shown(t, columns);
      const half = context.measureText(text).width / 2;
      context.textAlign = 'center';
      context.fillText(text, Math.min(Math.max(this.x(t), PLOT.left + half), this.width - half - 1), this.bottom + 4);
    }
    context.strokeStyle = theme.line;
    context.strokeRect(PLOT.left + 0.5, PLOT.top + 0.5, right - PLOT.left - 1, this.bottom - PLOT.top - 1);
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
    const x = this.x(cursor.t);
    context.strokeStyle = theme.soft;
    context.lineWidth = 1;
    context.beginPath();
    context.moveTo(x, PLOT.top);
    context.lineTo(x, this.bottom);
    context.stroke();
    const fine = (this.highest - this.lowest) / 2000;
    this.curves.forEach((curve, c) => {
      const value = valueAt(curve.t, curve.values, cursor.t);
      curve.shown.textContent = !Number.isFinite(value) ? '–' : this.plot.log ? (10 ** value).toExponential(1) : shown(value, fine);
      if (this.hidden.has(c) || !Number.isFinite(value)) return;
      context.beginPath();
      context.arc(x, this.y(value), 3, 0, 2 * Math.PI);
      context.fillStyle = PALETTE[c % PALETTE.length];
      context.fill();
    });
  }
}
