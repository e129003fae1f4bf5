// Scenes in the plane, on a 2-D canvas.

class PlanarView {
  constructor(canvas, scene, moment) {
    Object.assign(this, { canvas, scene, moment });
    this.context = canvas.getContext('2d');
    this.traces = scene.items.filter((item) => item.kind === 'trace');
    this.resize();
    this.fit();
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
    if (this.follow) {
      const size = scene.size * 1.35;
      this.center = [0, 0];
      this.scale = Math.min(width, height) / size;
    } else {
      this.center = [(low[0] + high[0]) / 2, (low[1] + high[1]) / 2];
      const across = Math.max((high[0] - low[0]) * margin, scene.size * 0.1);
      const up = Math.max((high[1] - low[1]) * margin, scene.size * 0.1);
      this.scale = Math.min(width / across, height / up);
    }
    this.fitted = true;
  }

  zoom(factor, x = this.width / 2, y = this.height / 2) {
    const before = this.world(x, y);
    this.scale *= factor;
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
    this.poses = scene.bodies.map((body) => moment.pose(body));
    context.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    const back = context.createLinearGradient(0, 0, 0, this.height);
    back.addColorStop(0, theme.stage);
    back.addColorStop(1, theme.far);
    context.fillStyle = back;
    context.fillRect(0, 0, this.width, this.height);
    context.lineJoin = context.lineCap = 'round';
    if (layers.grid) this.grid();
    const of = (kind) => scene.items.filter((item) => item.kind === kind);
    for (const item of of('fixed')) for (const shape of item.shapes) this.shape(shape, null, shape.color || theme.ground, true);
    if (layers.traces) for (const item of this.traces) this.trace(item);
    for (const item of of('path')) this.path(item);
    scene.bodies.forEach((body, i) => body.shapes.forEach((shape) => this.shape(shape, this.poses[i], shape.color, false)));
    for (const item of of('spring')) this.spring(item);
    for (const item of of('link')) this.link(item);
    for (const item of of('pin')) this.pin(this.point(item.at));
    for (const item of of('dot')) this.dot(item);
    for (const item of of('arrow')) if (layers[item.of]) this.arrow(item);
    if (layers.labels) for (const item of of('label')) this.label(item);
    this.scaleBar();
  }

  point(place) {
    return this.screen(this.moment.place(place, this.poses));
  }

  /** Width of bars and springs in pixels where nobody gave one. */
  get stroke() {
    return Math.min(11, Math.max(4, this.scene.size * this.scale * 0.016));
  }

  grid() {
    const { context, theme } = this;
    const step = niceStep(70 / this.scale);
    const [left, top] = this.world(0, 0);
    const [right, bottom] = this.world(this.width, this.height);
    context.lineWidth = 1;
    context.beginPath();
    for (let x = Math.ceil(left / step) * step; x < right; x += step) {
      const px = Math.round(this.screen([x, 0])[0]) + 0.5;
      context.moveTo(px, 0);
      context.lineTo(px, this.height);
    }
    for (let y = Math.ceil(bottom / step) * step; y < top; y += step) {
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
    const y = this.height - 16;
    context.strokeStyle = context.fillStyle = theme.soft;
    context.lineWidth = 1.5;
    context.beginPath();
    context.moveTo(14, y - 4);
    context.lineTo(14, y);
    context.lineTo(14 + length, y);
    context.lineTo(14 + length, y - 4);
    context.stroke();
    context.font = '11px system-ui, sans-serif';
    context.textAlign = 'left';
    context.textBaseline = 'bottom';
    context.fillText(shown(step, step), 18, y - 2);
  }

  /** One shape of a body at a pose, or of the ground. */
  shape(shape, pose, color, ground) {
    const { context } = this;
    const place = (at) => this.screen(pose ? onBody(pose, at) : at);
    const fill = ground ? color + (color.length > 7 ? '' : '88') : color + (color.length > 7 ? '' : 'd9');
    context.strokeStyle = shaded(color, this.theme.name === 'dark' ? 0.25 : -0.35);
    context.fillStyle = fill;
    context.lineWidth = 1.5;
    context.beginPath();
    if ('half' in shape) return this.half(shape, pose, place, color);
    if ('line' in shape) {
      this.bar(shape.line.map(place), Math.max(2.5, ground ? 1.5 * shape.width : 0.6 * this.stroke + shape.width), color);
      return;
    }
    if ('polygon' in shape) {
      shape.polygon.forEach((at, k) => (k ? context.lineTo(...place(at)) : context.moveTo(...place(at))));
      context.closePath();
      context.fill();
      context.stroke();
      return;
    }
    const [x, y] = place(shape.at);
    const radius = Math.max(1, (shape.circle || shape.ring) * this.scale);
    context.arc(x, y, radius, 0, 2 * Math.PI);
    if ('ring' in shape) {
      context.lineWidth = 4;
      context.strokeStyle = color;
      context.stroke();
      return;
    }
    context.fill();
    context.stroke();
    if (pose && radius > 6) {
      // a radius shows that it turns
      context.beginPath();
      context.moveTo(x, y);
      context.lineTo(x + 0.86 * radius * Math.cos(pose[2]), y - 0.86 * radius * Math.sin(pose[2]));
      context.lineWidth = Math.max(1, radius * 0.05);
      context.stroke();
    }
  }

  /** A half plane: its edge, and hatching in the solid. */
  half(shape, pose, place, color) {
    const { context } = this;
    const foot = place(shape.at);
    const tip = place([shape.at[0] + shape.half[0], shape.at[1] + shape.half[1]]);
    const norm = Math.hypot(tip[0] - foot[0], tip[1] - foot[1]) || 1;
    const n = [(tip[0] - foot[0]) / norm, (tip[1] - foot[1]) / norm];
    const along = [-n[1], n[0]];
    const middle = [this.width / 2, this.height / 2];
    const shift = (middle[0] - foot[0]) * along[0] + (middle[1] - foot[1]) * along[1];
    const far = this.width + this.height;
    const corner = (s, d) => [foot[0] + along[0] * (shift + s) + n[0] * d, foot[1] + along[1] * (shift + s) + n[1] * d];
    context.moveTo(...corner(-far, 0));
    for (const [s, d] of [[far, 0], [far, -2 * far], [-far, -2 * far]]) context.lineTo(...corner(s, d));
    context.closePath();
    context.fillStyle = color + '55';
    context.fill();
    context.beginPath();
    context.moveTo(...corner(-far, 0));
    context.lineTo(...corner(far, 0));
    context.strokeStyle = this.theme.soft;
    context.lineWidth = 2;
    context.stroke();
  }

  link(item) {
    const a = this.point(item.a);
    const b = this.point(item.b);
    const width = item.width ? Math.max(2, item.width * this.scale) : this.stroke;
    if (item.flat) this.context.lineCap = 'butt';
    this.bar([a, b], width, item.color || this.theme.bar);
    this.context.lineCap = 'round';
  }

  /** A line with a darker rim. */
  bar(points, width, color) {
    const { context } = this;
    context.beginPath();
    points.forEach((p, k) => (k ? context.lineTo(...p) : context.moveTo(...p)));
    context.strokeStyle = shaded(color, this.theme.name === 'dark' ? 0.25 : -0.35);
    context.lineWidth = width;
    context.stroke();
    context.strokeStyle = color;
    context.lineWidth = Math.max(1, width - 2);
    context.stroke();
  }

  path(item) {
    const { context } = this;
    const points = item.through.map((place) => this.point(place));
    const color = item.color || this.theme.bar;
    if (!item.filled) {
      const width = item.thin ? 1.5 : item.width ? Math.max(1.5, item.width * this.scale) : Math.max(2, this.stroke / 2);
      if (item.closed) points.push(points[0]);
      if (width > 3) return this.bar(points, width, color);
    }
    context.beginPath();
    points.forEach((p, k) => (k ? context.lineTo(...p) : context.moveTo(...p)));
    if (item.closed || item.filled) context.closePath();
    if (item.filled) {
      context.fillStyle = color + 'a6';
      context.fill();
    }
    context.strokeStyle = item.filled ? shaded(color, this.theme.name === 'dark' ? 0.25 : -0.3) : color;
    context.lineWidth = item.thin ? 1.5 : item.filled ? Math.max(2, this.stroke / 2.5) : 2.5;
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
    context.beginPath();
    context.moveTo(...a);
    for (let k = 0; k <= turns + 1; k++) {
      const s = 0.1 + (0.8 * k) / (turns + 1);
      const d = k === 0 || k === turns + 1 ? 0 : k % 2 ? half : -half;
      context.lineTo(a[0] + s * dx + d * n[0], a[1] + s * dy + d * n[1]);
    }
    context.lineTo(...b);
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
    context.beginPath();
    context.moveTo(x, y);
    context.lineTo(x - size * 0.75, y + size * 1.15);
    context.lineTo(x + size * 0.75, y + size * 1.15);
    context.closePath();
    context.fill();
    context.stroke();
    context.beginPath();
    context.moveTo(x - size * 1.15, y + size * 1.15);
    context.lineTo(x + size * 1.15, y + size * 1.15);
    context.stroke();
    this.knob(x, y);
  }

  knob(x, y) {
    const { context, theme } = this;
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
    context.beginPath();
    context.arc(x, y, Math.max(2, item.radius * this.scale), 0, 2 * Math.PI);
    context.fillStyle = item.color;
    context.fill();
    context.strokeStyle = shaded(item.color, this.theme.name === 'dark' ? 0.25 : -0.35);
    context.lineWidth = 1.5;
    context.stroke();
  }

  trace(item) {
    const { context, moment, scene } = this;
    const n = moment.k + 1;
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
    stroke(0, moment.n, 0.2, false);
    context.lineWidth = 1.8;
    stroke(0, n, 0.75, true);
    context.globalAlpha = 1;
  }

  arrow(item) {
    const at = this.moment.place(item.at, this.poses);
    const vector = item.vector.c.map((c) => this.moment.value(c) * this.scene.scales[item.of]);
    const a = this.screen(at);
    const b = this.screen([at[0] + vector[0], at[1] + vector[1]]);
    const length = Math.hypot(b[0] - a[0], b[1] - a[1]);
    if (length < 1.5) return;
    const u = [(b[0] - a[0]) / length, (b[1] - a[1]) / length];
    const head = Math.min(11, 0.6 * length);
    const { context } = this;
    context.strokeStyle = context.fillStyle = item.color;
    context.lineWidth = 2.5;
    context.beginPath();
    context.moveTo(...a);
    context.lineTo(b[0] - u[0] * head * 0.8, b[1] - u[1] * head * 0.8);
    context.stroke();
    context.beginPath();
    context.moveTo(...b);
    context.lineTo(b[0] - u[0] * head - u[1] * head * 0.45, b[1] - u[1] * head + u[0] * head * 0.45);
    context.lineTo(b[0] - u[0] * head + u[1] * head * 0.45, b[1] - u[1] * head - u[0] * head * 0.45);
    context.closePath();
    context.fill();
  }

  label(item) {
    const { context, theme } = this;
    const [x, y] = this.point(item.at);
    context.font = '12px system-ui, sans-serif';
    context.fillStyle = theme.ink;
    context.textAlign = item.below ? 'center' : 'left';
    context.textBaseline = item.below ? 'top' : 'bottom';
    context.fillText(item.text, item.below ? x : x + 8, item.below ? y + 6 : y - 6);
  }
}
