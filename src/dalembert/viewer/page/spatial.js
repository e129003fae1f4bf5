// Scenes in space, with WebGL 2: solid shapes in instances, lines with a width in pixels, a floor with a grid.

const ANGLE = 0.62; // of view, from top to bottom
const START = [0.9, 0.38]; // azimuth and elevation
const NO_TURN = [1, 0, 0, 0];

class SpatialView {
  constructor(canvas, scene, moment, arrays, overlay) {
    Object.assign(this, { canvas, scene, moment, overlay });
    const gl = canvas.getContext('webgl2', { antialias: true, stencil: true, alpha: false, preserveDrawingBuffer: true });
    if (!gl) throw new Error(NO_WEBGL);
    this.gl = gl;
    this.solid = program(gl, SOLID);
    this.ball = program(gl, BALL);
    this.lines = program(gl, LINES);
    this.plane = program(gl, PLANE);
    this.axes();
    this.square = buffer(gl, new Float32Array([-1, -1, 1, -1, -1, 1, 1, 1]));
    this.meshes = scene.meshes.map((mesh) => this.mesh(mesh, arrays));
    [this.balls, this.clearBalls] = [this.roundMesh(), this.roundMesh()];
    this.meshes.push(this.balls, this.clearBalls);
    this.buildInstances();
    this.buildLines();
    this.corners = buffer(gl, new Float32Array([0, -0.5, 1, -0.5, 0, 0.5, 1, 0.5]));
    this.poses = scene.bodies.map(() => [0, 0, 0, 1, 0, 0, 0]);
    this.resize();
    this.fit();
  }

  /** Which way is up, and two directions along the floor. */
  axes() {
    const k = 'xyz'.indexOf(this.scene.up);
    const basis = (i) => [0, 1, 2].map((j) => (j === i % 3 ? 1 : 0));
    this.up = basis(k);
    this.along = [basis(k + 1), basis(k + 2)];
    this.light = unit(plus(plus(scaled(this.up, 1.0), this.along[0], 0.35), this.along[1], -0.45));
    const [low] = this.scene.box;
    this.floor = low[k] - 0.002 * this.scene.size;
    for (const item of this.scene.items)
      for (const shape of item.shapes || [])
        if (shape.half && shape.half[k] > 0.99) {
          this.floor = shape.at[k];
          shape.isFloor = true;
        }
  }

  mesh({ size, v, n, f, fh }, arrays) {
    const { gl } = this;
    const array = gl.createVertexArray();
    gl.bindVertexArray(array);
    const place = Float32Array.from(arrays[v], (x) => (x * size) / 32767);
    const normal = Float32Array.from(arrays[n], (x) => x / 32767);
    attribute(gl, this.solid, 'position', buffer(gl, place), 3, 0, 0, 0);
    attribute(gl, this.solid, 'normal', buffer(gl, normal), 3, 0, 0, 0);
    const faces = Uint32Array.from(arrays[f], (x, k) => x + (fh === undefined ? 0 : arrays[fh][k] << 15));
    gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, gl.createBuffer());
    gl.bufferData(gl.ELEMENT_ARRAY_BUFFER, faces, gl.STATIC_DRAW);
    return { array, count: faces.length, list: [], program: this.solid };
  }

  /** Squares on which balls are drawn. */
  roundMesh() {
    const { gl } = this;
    const array = gl.createVertexArray();
    gl.bindVertexArray(array);
    attribute(gl, this.ball, 'corner', this.square, 2, 0, 0, 0);
    return { array, list: [], program: this.ball };
  }

  /** Everything solid, by the mesh that it is made of; where it is follows from the moment. */
  buildInstances() {
    const { scene, gl } = this;
    const id = (name) => scene.meshNames.indexOf(name);
    const thin = 0.0085 * scene.size;
    const push = (mesh, instance) => mesh.list.push({ moves: true, ...instance });
    const add = (number, instance) => push(this.meshes[number], instance);
    const shapes = (list, body, fallback) => {
      for (const shape of list) {
        if (!('mesh' in shape)) continue;
        const isBall = shape.mesh < 0;
        const mesh = shape.hollow ? this.clearBalls : isBall ? this.balls : this.meshes[shape.mesh];
        const centred = isBall && shape.at.every((x) => x === 0);
        push(mesh, { body, ...shape, centred, moves: body >= 0, tint: rgba(shape.color || fallback), clear: shape.hollow ? 0.16 : 1 });
      }
    };
    scene.bodies.forEach((body, i) => shapes(body.shapes, i));
    for (const item of scene.items) {
      const radius = item.width ? item.width / 2 : thin;
      if (item.kind === 'fixed') shapes(item.shapes, -1, '#9aa7b5');
      if (item.kind === 'link') add(id('rod'), { a: item.a, b: item.b, radius, color: item.color });
      if (item.kind === 'path')
        item.through.forEach((place, k) => {
          const next = item.through[k + 1] || (item.closed ? item.through[0] : null);
          if (next) add(id('rod'), { a: place, b: next, radius: item.width ? radius : 0.6 * thin, color: item.color });
        });
      if (item.kind === 'spring')
        add(id(`helix ${item.coils}`), { a: item.a, b: item.b, radius: item.width ? item.width / 2 : 2.6 * thin, color: item.color || '#8796a8', helix: true });
      if (item.kind === 'dot' || item.kind === 'pin')
        push(this.balls, { at: item.at, place: true, scale: Array(3).fill(item.radius || 1.55 * thin), color: item.color || (item.kind === 'pin' ? '#5b6b7e' : '#e8edf3') });
      if (item.kind === 'arrow')
        for (const part of ['rod', 'cone']) add(id(part), { arrow: item, radius: part === 'rod' ? 0.55 * thin : 1.7 * thin, part, color: item.color });
    }
    for (const mesh of this.meshes) {
      mesh.data = new Float32Array(14 * mesh.list.length);
      mesh.buffer = gl.createBuffer();
      gl.bindVertexArray(mesh.array);
      gl.bindBuffer(gl.ARRAY_BUFFER, mesh.buffer);
      gl.bufferData(gl.ARRAY_BUFFER, mesh.data, gl.DYNAMIC_DRAW);
      [['iPlace', 3, 0], ['iTurn', 4, 12], ['iScale', 3, 28], ['iColor', 4, 40]].forEach(([name, n, offset]) =>
        name in mesh.program.attributes && attribute(gl, mesh.program, name, mesh.buffer, n, 56, offset, 1));
    }
    gl.bindVertexArray(null);
  }

  /** Traces as lines through all frames, and lines that are shapes of bodies. */
  buildLines() {
    const { scene, moment, gl } = this;
    this.traces = scene.items.filter((item) => item.kind === 'trace').map((item) => {
      const points = new Float32Array(3 * moment.n);
      for (let k = 0; k < moment.n; k++) points.set(moment.placeAt(k, item.at, scene.bodies), 3 * k);
      return { item, buffer: buffer(gl, points), n: moment.n };
    });
    const lines = (list, body) => list.filter((shape) => shape.line).map((shape) => ({ shape, body, buffer: gl.createBuffer() }));
    this.wires = scene.bodies.flatMap((body, i) => lines(body.shapes, i));
    for (const item of scene.items) if (item.kind === 'fixed') this.wires.push(...lines(item.shapes, -1));
  }

  resize() {
    this.ratio = Math.min(devicePixelRatio || 1, 2);
    this.width = this.canvas.clientWidth || 1;
    this.height = this.canvas.clientHeight || 1;
    for (const canvas of [this.canvas, this.overlay]) {
      canvas.width = Math.round(this.width * this.ratio);
      canvas.height = Math.round(this.height * this.ratio);
    }
    if (this.fitted) this.fit(true);
  }

  /** So near that the corners of the box are just inside of the picture, which is as good as full. */
  fit(keepAngles = false) {
    const { scene } = this;
    if (!keepAngles || this.azimuth === undefined) [this.azimuth, this.elevation] = START;
    const [low, high] = this.follow ? [scene.reach.map((x) => -x), scene.reach] : scene.box;
    this.target = scaled(plus(low, high), 0.5);
    this.distance = scene.size;
    const tall = Math.tan(ANGLE / 2);
    const wide = (tall * this.width) / this.height;
    for (let round = 0; round < 4; round++) {
      const { right, above, back } = this.frame(true);
      const seen = corners(low, high).map((at) => {
        const from = subtract(at, this.target);
        return [dot(from, right), dot(from, above), dot(from, back)];
      });
      const needed = ([x, y, z]) => z + Math.max(Math.abs(x) / wide, Math.abs(y) / tall);
      this.distance = 1.12 * Math.max(...seen.map(needed), 0.2 * scene.size) || 1;
      // as much room on the left as on the right, above as below
      const share = (i) => seen.map((at) => at[i] / (this.distance - at[2]));
      const off = [0, 1].map((i) => (0.5 * this.distance * (Math.max(...share(i)) + Math.min(...share(i)))));
      this.target = plus(plus(this.target, right, off[0]), above, off[1]);
    }
    this.fitted = true;
  }

  /** As another view did. */
  look({ azimuth, elevation, distance, target, follow, fitted }) {
    Object.assign(this, { azimuth, elevation, distance, target, follow, fitted });
  }

  zoom(factor) {
    this.distance = Math.min(Math.max(this.distance / factor, 0.02 * this.scene.size), 60 * this.scene.size);
    this.fitted = false;
  }

  orbit(dx, dy) {
    this.azimuth -= dx * 0.008;
    this.elevation = Math.min(1.55, Math.max(-1.55, this.elevation + dy * 0.008));
  }

  pan(dx, dy) {
    const { right, above } = this.frame();
    const s = (2 * Math.tan(ANGLE / 2) * this.distance) / this.height; // what is under the pointer stays there
    this.target = plus(plus(this.target, right, -dx * s), above, dy * s);
    this.fitted = false;
  }

  /** Where the camera is; `still`: of what is followed, the place that it goes along with is left out. */
  frame(still = false) {
    const flat = plus(scaled(this.along[0], Math.cos(this.azimuth)), this.along[1], -Math.sin(this.azimuth));
    const back = plus(scaled(flat, Math.cos(this.elevation)), this.up, Math.sin(this.elevation));
    const goes = this.follow && !still;
    const target = goes ? plus(this.target, this.scene.centre.map((c) => this.moment.value(c))) : this.target;
    const right = unit(cross(this.up, back));
    return { eye: plus(target, back, this.distance), target, right, above: cross(back, right), back };
  }

  draw(theme, layers) {
    const { gl, scene, moment } = this;
    scene.bodies.forEach((body, i) => moment.pose(body, this.poses[i]));
    const { eye, target } = this.frame();
    const near = Math.max(0.02 * this.distance, 1e-6);
    const camera = product(
      perspective(ANGLE, this.width / this.height, near, this.distance * 4 + 40 * scene.size),
      lookAt(eye, target, this.up),
    );
    Object.assign(this, { camera, eye, theme });
    gl.viewport(0, 0, this.canvas.width, this.canvas.height);
    gl.clearColor(...rgba(theme.stage));
    gl.enable(gl.DEPTH_TEST);
    gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT | gl.STENCIL_BUFFER_BIT);
    this.fill(layers, theme);
    gl.enable(gl.BLEND);
    gl.blendFunc(gl.SRC_ALPHA, gl.ONE_MINUS_SRC_ALPHA);
    if (layers.grid) this.drawFloor(theme, target);
    gl.disable(gl.BLEND);
    this.drawSolids();
    gl.enable(gl.BLEND);
    if (layers.grid) this.drawShadows(theme);
    if (layers.traces) for (const trace of this.traces) this.drawTrace(trace);
    this.drawWires(theme);
    gl.depthMask(false);
    this.drawWalls(theme);
    this.drawBalls(this.clearBalls, 0);
    gl.depthMask(true);
    gl.disable(gl.BLEND);
    this.drawLabels(theme, layers);
  }

  /** Poses, sizes and colours of all instances at this moment. */
  fill(layers, theme) {
    const { gl } = this;
    for (const mesh of this.meshes) {
      if (!mesh.list.length) continue;
      mesh.list.forEach((one, k) => {
        if (one.moves || !mesh.filled || mesh.theme !== theme) this.place(one, mesh.data, 14 * k, layers, theme);
      });
      [mesh.filled, mesh.theme] = [true, theme];
      gl.bindBuffer(gl.ARRAY_BUFFER, mesh.buffer);
      gl.bufferSubData(gl.ARRAY_BUFFER, 0, mesh.data);
    }
  }

  /** One instance: where it is, how it is turned, how large it is, and its colour, at a place of the data. */
  place(one, data, at, layers, theme) {
    const [place, turn, scale] = this.posed(one, layers);
    const tint = one.tint || rgba(one.color || theme.bar);
    for (let i = 0; i < 3; i++) {
      data[at + i] = place[i];
      data[at + 7 + i] = scale[i];
      data[at + 10 + i] = tint[i];
    }
    for (let i = 0; i < 4; i++) data[at + 3 + i] = turn[i];
    data[at + 13] = tint[3] * (one.clear || 1);
  }

  posed(one, layers) {
    if (one.arrow) return this.arrow(one, layers);
    if (one.place) return [this.moment.place(one.at, this.poses), NO_TURN, one.scale];
    if (one.a) return this.rod(one);
    if (one.body < 0) return [one.at, one.q, one.scale];
    const pose = this.poses[one.body];
    if (one.centred) return [pose, NO_TURN, one.scale]; // thousands of them are the rule
    return [onBody(pose, one.at), composed(pose.slice(3), one.q), one.scale];
  }

  rod(one) {
    const a = this.moment.place(one.a, this.poses);
    const b = this.moment.place(one.b, this.poses);
    const v = subtract(b, a);
    const length = Math.hypot(...v);
    // rods are centred on their origin, springs begin there
    return [one.helix ? a : scaled(plus(a, b), 0.5), towards(v), [one.radius, one.radius, length]];
  }

  arrow(one, layers) {
    const { arrow } = one;
    if (!layers[arrow.of]) return [[0, 0, 0], [1, 0, 0, 0], [0, 0, 0]];
    const at = this.moment.place(arrow.at, this.poses);
    const v = arrow.vector.c.map((c) => this.moment.value(c) * this.scene.scales[arrow.of]);
    const length = Math.hypot(...v);
    if (length < 1e-3 * this.scene.size) return [[0, 0, 0], [1, 0, 0, 0], [0, 0, 0]];
    const head = Math.min(0.05 * this.scene.size, 0.5 * length);
    const u = unit(v);
    if (one.part === 'rod') return [plus(at, u, (length - head) / 2), towards(v), [one.radius, one.radius, length - head]];
    return [plus(at, u, length - head), towards(v), [one.radius, one.radius, head]];
  }

  use({ id, uniforms }, values) {
    const { gl } = this;
    gl.useProgram(id);
    for (const [name, value] of Object.entries(values)) {
      const at = uniforms[name];
      if (typeof value === 'number') gl.uniform1f(at, value);
      else if (value.length === 16) gl.uniformMatrix4fv(at, false, value);
      else gl[`uniform${value.length}fv`](at, value);
    }
  }

  /** What both programs for solid things want to know. */
  shading(flatten) {
    const floorPlane = [...this.up, this.floor + 0.001 * this.scene.size];
    return { camera: this.camera, light: this.light, eye: this.eye, up: this.up, flatten, floorPlane, shade: this.theme.shadow };
  }

  drawSolids(flatten = 0) {
    const { gl } = this;
    this.use(this.solid, this.shading(flatten));
    for (const mesh of this.meshes) {
      if (!mesh.list.length || mesh.program !== this.solid) continue;
      gl.bindVertexArray(mesh.array);
      gl.drawElementsInstanced(gl.TRIANGLES, mesh.count, gl.UNSIGNED_INT, 0, mesh.list.length);
    }
    this.drawBalls(this.balls, flatten);
  }

  drawBalls(mesh, flatten) {
    const { gl } = this;
    if (!mesh.list.length) return;
    const clear = mesh === this.clearBalls ? 1 : 0;
    this.use(this.ball, { ...this.shading(flatten), clear });
    if (!flatten && !clear) gl.enable(gl.SAMPLE_ALPHA_TO_COVERAGE); // smooth edges
    gl.bindVertexArray(mesh.array);
    gl.drawArraysInstanced(gl.TRIANGLE_STRIP, 0, 4, mesh.list.length);
    gl.disable(gl.SAMPLE_ALPHA_TO_COVERAGE);
    gl.bindVertexArray(null);
  }

  /** Everything flat on the floor; the stencil keeps shadows from adding up. */
  drawShadows() {
    const { gl } = this;
    if (dot(this.eye, this.up) < this.floor) return;
    gl.enable(gl.STENCIL_TEST);
    gl.stencilFunc(gl.EQUAL, 0, 255);
    gl.stencilOp(gl.KEEP, gl.KEEP, gl.INCR);
    gl.depthMask(false);
    this.drawSolids(1);
    gl.depthMask(true);
    gl.disable(gl.STENCIL_TEST);
  }

  drawPlane(origin, first, second, fill, line, cells, shift) {
    const { gl } = this;
    this.use(this.plane, { camera: this.camera, origin, first, second, fill, line, cells, shift });
    gl.bindVertexArray(null);
    attribute(gl, this.plane, 'corner', this.square, 2, 0, 0, 0);
    gl.drawArrays(gl.TRIANGLE_STRIP, 0, 4);
  }

  drawFloor(theme, target) {
    const size = 2.2 * Math.max(this.distance, this.scene.size);
    const step = niceStep(this.distance / 9);
    const height = this.floor - dot(target, this.up);
    const origin = plus(target, this.up, height);
    const shift = this.along.map((axis) => dot(target, axis) / size);
    const line = rgba(theme.line);
    this.drawPlane(origin, scaled(this.along[0], size), scaled(this.along[1], size), [...rgba(theme.far).slice(0, 3), 0.9], line, size / step, shift);
  }

  /** Half spaces that are not the floor: a pane through the middle of the scene. */
  drawWalls(theme) {
    const [low, high] = this.scene.box;
    const middle = scaled(plus(low, high), 0.5);
    const size = 0.75 * Math.max(...subtract(high, low), this.scene.size);
    for (const item of this.scene.items)
      for (const shape of item.shapes || []) {
        if (!shape.half || shape.isFloor) continue;
        const n = unit(shape.half);
        const origin = plus(middle, n, dot(subtract(shape.at, middle), n));
        const first = unit(cross(Math.abs(n[2]) < 0.9 ? [0, 0, 1] : [1, 0, 0], n));
        const fill = [...rgba(theme.soft).slice(0, 3), 0.1];
        const line = [...rgba(theme.soft).slice(0, 3), 0.35];
        this.drawPlane(origin, scaled(first, size), scaled(cross(n, first), size), fill, line, 6, [0, 0]);
      }
  }

  drawTrace({ item, buffer: points, n }) {
    const tint = rgba(item.color);
    this.polyline(points, n - 1, 1.2, [tint[0], tint[1], tint[2], 0.25]);
    this.polyline(points, this.moment.k, 2.2, [tint[0], tint[1], tint[2], 0.9]);
  }

  drawWires(theme) {
    const { gl } = this;
    for (const { shape, body, buffer: points } of this.wires) {
      const pose = body < 0 ? null : this.poses[body];
      const list = shape.line.flatMap((at) => (pose ? onBody(pose, at) : at));
      gl.bindBuffer(gl.ARRAY_BUFFER, points);
      gl.bufferData(gl.ARRAY_BUFFER, new Float32Array(list), gl.DYNAMIC_DRAW);
      this.polyline(points, shape.line.length - 1, 3, rgba(shape.color || theme.soft));
    }
  }

  polyline(points, segments, width, tint) {
    const { gl } = this;
    if (segments < 1) return;
    this.use(this.lines, { camera: this.camera, screen: [this.width / 2, this.height / 2], width, tint });
    gl.bindVertexArray(null);
    attribute(gl, this.lines, 'corner', this.corners, 2, 0, 0, 0);
    attribute(gl, this.lines, 'a', points, 3, 12, 0, 1);
    attribute(gl, this.lines, 'b', points, 3, 12, 12, 1);
    gl.drawArraysInstanced(gl.TRIANGLE_STRIP, 0, 4, segments);
    for (const name of ['a', 'b']) gl.vertexAttribDivisor(this.lines.attributes[name], 0);
  }

  drawLabels(theme, layers) {
    const context = this.overlay.getContext('2d');
    context.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    context.clearRect(0, 0, this.width, this.height);
    if (!layers.labels) return;
    context.font = '12px system-ui, sans-serif';
    context.fillStyle = theme.ink;
    for (const item of this.scene.items) {
      if (item.kind !== 'label') continue;
      const at = this.moment.place(item.at, this.poses);
      const m = this.camera;
      const [x, y, w] = [0, 1, 3].map((i) => m[i] * at[0] + m[4 + i] * at[1] + m[8 + i] * at[2] + m[12 + i]);
      if (w > 0) context.fillText(item.text, (this.width / 2) * (1 + x / w) + 8, (this.height / 2) * (1 - y / w) - 6);
    }
  }
}
