// Scenes in the plane, on a 2-D canvas.

class PlanarView {
  constructor(canvas, scene, moment) {
    Object.assign(this, { canvas, scene, moment });
    this.context = canvas.getContext('2d');
    this.crowded = scene.bodies.length + scene.items.length > 600;
    this.chart = scene.items.some((item) => item.kind === 'columns');
    this.poses = scene.bodies.map(() => [0, 0, 0]);
    this.order();
    this.resize();
    this.fit();
  }

  /** What lies behind everything, then parts as they were given, then joints, arrows and texts on top. */
  order() {
    const isJoint = (item) => item.kind === 'pin' || (item.kind === 'dot' && !item.radius);
    const layer = (item) => ({ fixed: 0, trace: 1, arrow: 4, label: 5 })[item.kind] ?? (isJoint(item) ? 3 : 2);
    this.items = [...this.scene.items].sort((a, b) => layer(a) - layer(b));
  }

  resize() {
    const { canvas } = this;
    this.ratio = devicePixelRatio || 1;
    this.width = canvas.clientWidth || 1;
    this.height = canvas.clientHeight || 1;
    canvas.width = Math.round(this.width * this.ratio);
    canvas.height = Math.round(this.height * this.ratio);
    if (this.fitted) this.fit();
  }

  /** The camera sees everything, or the mechanism where it is, if it goes far. */
  fit() {
    const { scene, width, height } = this;
    const [low, high] = scene.box;
    const margin = 1.16;
    this.center = this.follow ? [0, 0] : [(low[0] + high[0]) / 2, (low[1] + high[1]) / 2];
    const [across, up] = this.follow ? scene.reach.map((x) => 2.6 * x) : [0, 1].map((i) => (high[i] - low[i]) * margin);
    const least = scene.size * 0.1 || 1;
    this.scale = Math.min(width / Math.max(across, least), height / Math.max(up, least));
    this.fitted = true;
  }

  zoom(factor, x = this.width / 2, y = this.height / 2) {
    const before = this.world(x, y);
    const whole = Math.min(this.width, this.height) / this.scene.size;
    this.scale = Math.min(Math.max(this.scale * factor, 0.01 * whole), 1e4 * whole);
    const after = this.world(x, y);
    this.center = [this.center[0] + before[0] - after[0], this.center[1] + before[1] - after[1]];
    this.fitted = false;
  }

  pan(dx, dy) {
    this.center = [this.center[0] - dx / this.scale, this.center[1] + dy / this.scale];
    this.fitted = false;
  }

  orbit(dx, dy) {
    this.pan(dx, dy);
  }

  /** Middle of the picture in the world: what is followed, and how far somebody has moved away from it. */
  middle() {
    if (!this.follow) return this.center;
    const [x, y] = this.scene.centre.map((c) => this.moment.value(c));
    return [this.center[0] + x, this.center[1] + y];
  }

  world(x, y) {
    const [cx, cy] = this.middle();
    return [cx + (x - this.width / 2) / this.scale, cy - (y - this.height / 2) / this.scale];
  }

  screen([x, y]) {
    return [this.width / 2 + (x - this.at[0]) * this.scale, this.height / 2 - (y - this.at[1]) * this.scale];
  }

  draw(theme, layers) {
    const { context, scene, moment } = this;
    this.at = this.middle();
    this.theme = theme;
    scene.bodies.forEach((body, i) => moment.pose(body, this.poses[i]));
    context.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    const back = context.createLinearGradient(0, 0, 0, this.height);
    back.addColorStop(0, theme.stage);
    back.addColorStop(1, theme.far);
    context.fillStyle = back;
    context.fillRect(0, 0, this.width, this.height);
    context.lineJoin = context.lineCap = 'round';
    if (layers.grid) this.grid();
    for (const item of this.items) this.item(item, layers);
    if (!this.chart) this.scaleBar();
  }

  item(item, layers) {
    const { theme } = this;
    if (item.kind === 'fixed') for (const shape of item.shapes) this.shape(shape, null, shape.color || theme.ground, true);
    else if (item.kind === 'body') for (const shape of this.scene.bodies[item.b].shapes) this.shape(shape, this.poses[item.b], shape.color, false);
    else if (item.kind === 'trace') layers.traces && this.trace(item);
    else if (item.kind === 'label') layers.labels && this.label(item);
    else if (item.kind === 'arrow') layers[item.of] && this.arrow(item);
    else if (item.kind === 'pin') this.pin(this.point(item.at));
    else this[item.kind](item);
  }

  point(place) {
    return this.screen(this.moment.place(place, this.poses));
  }

  /** Width of bars and springs in pixels where nobody gave one. */
  get stroke() {
    return Math.min(11, Math.max(4, this.scene.size * this.scale * 0.016));
  }

  edge(color) {
    return shaded(color, this.theme.name === 'dark' ? 0.25 : -0.35);
  }

  grid() {
    const { context, theme } = this;
    const step = niceStep(70 / this.scale);
    const [left, top] = this.world(0, 0);
    const [right, bottom] = this.world(this.width, this.height);
    context.lineWidth = 1;
    context.beginPath();
    for (const x of this.chart ? [] : multiples(left, right, step)) {
      const px = Math.round(this.screen([x, 0])[0]) + 0.5;
      context.moveTo(px, 0);
      context.lineTo(px, this.height);
    }
    for (const y of multiples(bottom, top, step)) {
      const py = Math.round(this.screen([0, y])[1]) + 0.5;
      context.moveTo(0, py);
      context.lineTo(this.width, py);
    }
    context.strokeStyle = theme.grid;
    context.stroke();
  }

  scaleBar() {
    const { context, theme } = this;
    const step = niceStep(80 / this.scale);
    const length = step * this.scale;
    const y = this.height - 14;
    context.strokeStyle = context.fillStyle = theme.soft;
    context.lineWidth = 1.5;
    this.line([[14, y - 4], [14, y], [14 + length, y], [14 + length, y - 4]]);
    context.stroke();
    this.text(shown(step, step), 14 + length / 2, y - 4, { size: 11, align: 'center', color: theme.soft });
  }

  line(points) {
    const { context } = this;
    context.beginPath();
    points.forEach(([x, y], k) => (k ? context.lineTo(x, y) : context.moveTo(x, y)));
  }

  /** A text with a rim in the colour of the background, so that it can be read over anything. */
  text(words, x, y, { size = 12, align = 'left', base = 'bottom', color = this.theme.ink } = {}) {
    const { context } = this;
    context.font = `${size}px system-ui, sans-serif`;
    context.textAlign = align;
    context.textBaseline = base;
    context.lineWidth = 3;
    context.strokeStyle = this.theme.stage;
    context.strokeText(words, x, y);
    context.fillStyle = color;
    context.fillText(words, x, y);
  }

  /** One shape of a body at a pose, or of the ground. */
  shape(shape, pose, color, ground) {
    const { context } = this;
    const place = (at) => this.screen(pose ? onBody(pose, at) : at);
    const own = shape.color || !ground ? 'e6' : '88'; // the ground is pale where nobody gave it a colour
    context.strokeStyle = this.edge(color);
    context.fillStyle = color + (color.length > 7 ? '' : own);
    context.lineWidth = 1.5;
    if ('half' in shape) return this.half(shape, place, color);
    if ('line' in shape) {
      this.bar(shape.line.map(place), Math.max(2.5, ground ? 1.5 * shape.width : 0.6 * this.stroke + shape.width), color);
      return;
    }
    if ('polygon' in shape) {
      this.line(shape.polygon.map(place));
      context.closePath();
      context.fill();
      context.stroke();
      return;
    }
    const [x, y] = place(shape.at);
    const radius = Math.max(1, (shape.circle || shape.ring) * this.scale);
    if (radius > 1e6) return;
    context.beginPath();
    context.arc(x, y, radius, 0, 2 * Math.PI);
    if ('ring' in shape) {
      context.lineWidth = 4;
      context.strokeStyle = color;
      context.stroke();
      return;
    }
    context.fill();
    if (!ground) this.gloss(x, y, radius);
    context.stroke();
    if (shape.turns && radius > 5) this.spoke(x, y, radius, pose[2]);
  }

  /** Light from above on a disc that has just been filled, so that it looks round. */
  gloss(x, y, radius) {
    if (radius < 5 || this.crowded) return;
    const { context } = this;
    const light = context.createRadialGradient(x - 0.35 * radius, y - 0.4 * radius, 0.05 * radius, x, y, radius);
    light.addColorStop(0, 'rgb(255 255 255 / 0.28)');
    light.addColorStop(0.6, 'rgb(255 255 255 / 0)');
    light.addColorStop(1, 'rgb(0 0 0 / 0.12)');
    context.fillStyle = light;
    context.fill();
  }

  /** A radius shows that a disc turns. */
  spoke(x, y, radius, angle) {
    const { context } = this;
    this.line([[x, y], [x + 0.8 * radius * Math.cos(angle), y - 0.8 * radius * Math.sin(angle)]]);
    context.lineWidth = Math.min(3, Math.max(1.5, radius * 0.07));
    context.stroke();
  }

  /** A half plane: its edge, and hatching in the solid, which stays where it is when the camera moves. */
  half(shape, place, color) {
    const { context } = this;
    const foot = place(shape.at);
    const tip = place([shape.at[0] + shape.half[0], shape.at[1] + shape.half[1]]);
    const norm = Math.hypot(tip[0] - foot[0], tip[1] - foot[1]) || 1;
    const n = [(tip[0] - foot[0]) / norm, (tip[1] - foot[1]) / norm];
    const along = [-n[1], n[0]];
    const shift = (this.width / 2 - foot[0]) * along[0] + (this.height / 2 - foot[1]) * along[1];
    const far = this.width + this.height;
    const corner = (s, d) => [foot[0] + along[0] * s + n[0] * d, foot[1] + along[1] * s + n[1] * d];
    this.line([[-far, 0], [far, 0], [far, -2 * far], [-far, -2 * far]].map(([s, d]) => corner(shift + s, d)));
    context.closePath();
    context.fillStyle = color + '55';
    context.fill();
    context.beginPath();
    const first = Math.ceil((shift - far / 2) / 14) * 14;
    for (let s = first; s < shift + far / 2; s += 14) {
      context.moveTo(...corner(s, -1));
      context.lineTo(...corner(s - 8, -10));
    }
    context.strokeStyle = this.theme.soft + '70';
    context.lineWidth = 1.2;
    context.stroke();
    this.line([corner(shift - far, 0), corner(shift + far, 0)]);
    context.strokeStyle = this.theme.soft;
    context.lineWidth = 2;
    context.stroke();
  }

  link(item) {
    const width = item.width ? Math.max(2, item.width * this.scale) : this.stroke;
    this.bar([this.point(item.a), this.point(item.b)], width, item.color || this.theme.bar);
  }

  /** A line with a darker rim. */
  bar(points, width, color) {
    const { context } = this;
    this.line(points);
    if (!this.crowded) {
      context.strokeStyle = this.edge(color);
      context.lineWidth = width;
      context.stroke();
    }
    context.strokeStyle = color;
    context.lineWidth = Math.max(1, width - 2.4);
    context.stroke();
  }

  path(item) {
    const { context } = this;
    const points = item.through.map((place) => this.point(place));
    const color = item.color || this.theme.bar;
    if (!item.filled) {
      const width = item.width ? Math.max(1.5, item.width * this.scale) : Math.max(2, this.stroke / 2);
      if (item.closed) points.push(points[0]);
      if (width > 3) return this.bar(points, width, color);
    }
    this.line(points);
    if (item.closed || item.filled) context.closePath();
    if (item.filled) {
      context.fillStyle = color + (color.length > 7 ? '' : 'b3');
      context.fill();
    }
    context.strokeStyle = item.filled ? this.edge(color) : color;
    context.lineWidth = item.filled ? Math.min(2.5, Math.max(1.5, this.stroke / 3)) : 2.5;
    context.stroke();
  }

  spring(item) {
    const { context } = this;
    const [a, b] = [this.point(item.a), this.point(item.b)];
    const [dx, dy] = [b[0] - a[0], b[1] - a[1]];
    const length = Math.hypot(dx, dy) || 1;
    const half = item.width ? (item.width * this.scale) / 2 : this.stroke * 1.15;
    const n = [-dy / length, dx / length];
    const turns = 2 * item.coils;
    const points = [a];
    for (let k = 0; k <= turns + 1; k++) {
      const s = 0.1 + (0.8 * k) / (turns + 1);
      const d = k === 0 || k === turns + 1 ? 0 : k % 2 ? half : -half;
      points.push([a[0] + s * dx + d * n[0], a[1] + s * dy + d * n[1]]);
    }
    this.line([...points, b]);
    context.strokeStyle = item.color || this.theme.soft;
    context.lineWidth = 2;
    context.stroke();
  }

  pin([x, y]) {
    const { context, theme } = this;
    const size = 1.5 * this.stroke + 3;
    context.fillStyle = theme.ground;
    context.strokeStyle = theme.soft;
    context.lineWidth = 1.5;
    this.line([[x, y], [x - size * 0.75, y + size * 1.15], [x + size * 0.75, y + size * 1.15]]);
    context.closePath();
    context.fill();
    context.stroke();
    this.line([[x - size * 1.15, y + size * 1.15], [x + size * 1.15, y + size * 1.15]]);
    context.stroke();
    this.knob(x, y);
  }

  knob(x, y) {
    const { context, theme } = this;
    if (this.crowded) return; // joints of a thousand bodies would hide them
    context.beginPath();
    context.arc(x, y, Math.max(2.5, this.stroke * 0.42), 0, 2 * Math.PI);
    context.fillStyle = theme.joint;
    context.fill();
    context.strokeStyle = theme.ink;
    context.lineWidth = 1.5;
    context.stroke();
  }

  dot(item) {
    const [x, y] = this.point(item.at);
    if (!item.radius) return this.knob(x, y);
    const { context } = this;
    const radius = Math.max(2, item.radius * this.scale);
    if (radius > 1e6) return;
    context.beginPath();
    context.arc(x, y, radius, 0, 2 * Math.PI);
    context.fillStyle = item.color;
    context.fill();
    this.gloss(x, y, radius);
    context.strokeStyle = this.edge(item.color);
    context.lineWidth = Math.min(1.5, radius / 2);
    context.stroke();
  }

  trace(item) {
    const { context, moment, scene } = this;
    if (!item.points) {
      item.points = new Float64Array(2 * moment.n);
      for (let k = 0; k < moment.n; k++) item.points.set(moment.placeAt(k, item.at, scene.bodies).slice(0, 2), 2 * k);
    }
    const stroke = (from, to, alpha, tip) => {
      context.beginPath();
      for (let k = from; k < to; k++) context.lineTo(...this.screen([item.points[2 * k], item.points[2 * k + 1]]));
      if (tip) context.lineTo(...this.point(item.at));
      context.globalAlpha = alpha;
      context.stroke();
    };
    context.strokeStyle = item.color;
    context.lineWidth = 1.2;
    stroke(0, moment.n, 0.25, false);
    context.lineWidth = 1.8;
    stroke(0, moment.k + 1, 0.75, true);
    context.globalAlpha = 1;
  }

  /** An arrow with a rim in the colour of the background, so that it is seen on the body that it pulls. */
  arrow(item) {
    const at = this.moment.place(item.at, this.poses);
    const vector = item.vector.c.map((c) => this.moment.value(c) * this.scene.scales[item.of]);
    const a = this.screen(at);
    const b = this.screen([at[0] + vector[0], at[1] + vector[1]]);
    const length = Math.hypot(b[0] - a[0], b[1] - a[1]);
    if (!(length > 2)) return;
    const u = [(b[0] - a[0]) / length, (b[1] - a[1]) / length];
    const head = Math.min(15, 0.7 * length);
    const half = Math.min(1.8, 0.12 * head);
    const at2 = (s, d) => [a[0] + u[0] * s - u[1] * d, a[1] + u[1] * s + u[0] * d];
    const neck = length - head;
    const { context } = this;
    this.line([at2(0, half), at2(neck, half), at2(neck, 0.42 * head), b, at2(neck, -0.42 * head), at2(neck, -half), at2(0, -half)]);
    context.closePath();
    context.strokeStyle = this.theme.stage;
    context.lineWidth = 2.5;
    context.stroke();
    context.fillStyle = item.color;
    context.fill();
  }

  label(item) {
    const [x, y] = this.point(item.at);
    this.text(item.text, x + 8, y - 6);
  }

  /** Columns with numbers beside, names below, and the value at the end of each. */
  columns(item) {
    const { context, theme, moment } = this;
    const [left, right] = [0, item.x[item.x.length - 1] + item.x[0]];
    const step = niceStep(60 / this.scale);
    for (const value of multiples(item.low, item.high, step)) {
      const [x, y] = this.screen([left, value]);
      this.text(shown(value, step), x - 8, y, { size: 11, align: 'right', base: 'middle', color: theme.soft });
    }
    const wide = item.width * this.scale;
    const small = Math.min(12, Math.max(7, wide / 2.6));
    item.x.forEach((x, k) => {
      const value = moment.value(item.c[k]);
      const [px, zero] = this.screen([x, 0]);
      const top = this.screen([x, value])[1];
      context.fillStyle = item.colors[k] + 'd9';
      context.strokeStyle = this.edge(item.colors[k]);
      context.lineWidth = 1.5;
      context.beginPath();
      context.rect(px - wide / 2, Math.min(zero, top), wide, Math.abs(top - zero));
      context.fill();
      context.stroke();
      const above = value >= 0;
      if (wide > 26) this.text(shown(value, (item.high - item.low) / 500), px, above ? top - 4 : top + 4, { size: 11, align: 'center', base: above ? 'bottom' : 'top', color: theme.soft });
      this.name(item.labels[k], px, this.screen([x, item.low])[1] + (item.low < 0 ? 20 : 6), wide / 0.62, small);
    });
    const ends = [left, right].map((x) => this.screen([x, 0]));
    this.line(ends);
    context.strokeStyle = theme.soft;
    context.lineWidth = 1.5;
    context.stroke();
  }

  /** The name below a column: upright if there is room, otherwise aslant. */
  name(words, x, y, room, size) {
    const { context } = this;
    context.font = '12px system-ui, sans-serif';
    const width = context.measureText(words).width;
    if (width < room) return this.text(words, x, y, { align: 'center', base: 'top' });
    context.save();
    context.translate(x, y);
    context.rotate(-Math.PI / 3);
    this.text(words, 2, -4, { size: Math.max(9, size), align: 'right', base: 'top' });
    context.restore();
  }
}
