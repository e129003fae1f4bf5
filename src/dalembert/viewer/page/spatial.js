// Scenes in space, with WebGL 2: solid shapes in instances, lines with a width in pixels, a floor with a grid.

class SpatialView {
  constructor(canvas, scene, moment, arrays, overlay) {
    Object.assign(this, { canvas, scene, moment, overlay });
    const gl = canvas.getContext('webgl2', { antialias: true, stencil: true, alpha: false, preserveDrawingBuffer: true });
    if (!gl) throw new Error('no WebGL 2');
    this.gl = gl;
    this.solid = program(gl, SOLID);
    this.lines = program(gl, LINES);
    this.plane = program(gl, PLANE);
    this.axes();
    this.meshes = scene.meshes.map((mesh) => this.mesh(mesh, arrays));
    this.buildInstances();
    this.buildLines();
    const corners = new Float32Array([0, -0.5, 1, -0.5, 0, 0.5, 1, 0.5]);
    this.corners = buffer(gl, corners);
    this.square = buffer(gl, new Float32Array([-1, -1, 1, -1, -1, 1, 1, 1]));
    this.azimuth = 0.9;
    this.elevation = 0.38;
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
    return { array, count: faces.length, list: [] };
  }

  /** Everything solid, by the mesh that it is made of; where it is follows from the moment. */
  buildInstances() {
    const { scene, gl } = this;
    const id = (name) => scene.meshNames.indexOf(name);
    const thin = 0.0085 * scene.size;
    const add = (mesh, instance) => this.meshes[mesh].list.push(instance);
    const shapes = (list, body, fallback) => {
      for (const shape of list)
        if ('mesh' in shape) add(shape.mesh, { body, ...shape, tint: rgba(shape.color || fallback), clear: shape.hollow ? 0.16 : 1 });
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
        add(id('ball'), { at: item.at, place: true, radius: item.radius || 1.55 * thin, color: item.color || (item.kind === 'pin' ? '#5b6b7e' : '#e8edf3') });
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
        attribute(gl, this.solid, name, mesh.buffer, n, 56, offset, 1));
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

  fit(keepAngles = false) {
    const { scene } = this;
    const [low, high] = scene.box;
    this.target = this.follow ? [0, 0, 0] : scaled(plus(low, high), 0.5);
    const diagonal = this.follow ? 1.25 * scene.size : Math.hypot(...subtract(high, low));
    const narrow = Math.min(1, this.width / this.height);
    this.distance = (0.42 * diagonal) / Math.sin(0.31) / Math.max(narrow, 0.4) || 1;
    if (!keepAngles) [this.azimuth, this.elevation] = [0.9, 0.38];
    this.fitted = true;
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
    const s = (1.1 * this.distance) / this.height;
    this.target = plus(plus(this.target, right, -dx * s * 0.62), above, dy * s * 0.62);
    this.fitted = false;
  }

  /** Where the camera is. */
  frame() {
    const flat = plus(scaled(this.along[0], Math.cos(this.azimuth)), this.along[1], -Math.sin(this.azimuth));
    const back = plus(scaled(flat, Math.cos(this.elevation)), this.up, Math.sin(this.elevation));
    const target = this.follow ? plus(this.target, this.scene.centre.map((c) => this.moment.value(c))) : this.target;
    const right = unit(cross(this.up, back));
    return { eye: plus(target, back, this.distance), target, right, above: cross(back, right) };
  }

  draw(theme, layers) {
    const { gl, scene, moment } = this;
    this.poses = scene.bodies.map((body) => moment.pose(body));
    const { eye, target } = this.frame();
    const near = Math.max(0.02 * this.distance, 1e-6);
    const camera = product(
      perspective(0.62, this.width / this.height, near, this.distance * 4 + 40 * scene.size),
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
    this.drawSolids(0);
    gl.enable(gl.BLEND);
    if (layers.grid) this.drawShadows(theme);
    if (layers.traces) for (const trace of this.traces) this.drawTrace(trace);
    this.drawWires(theme);
    gl.depthMask(false);
    this.drawWalls(theme);
    this.drawSolids(0, true);
    gl.depthMask(true);
    gl.disable(gl.BLEND);
    this.drawLabels(theme, layers);
  }

  /** Poses, sizes and colours of all instances at this moment. */
  fill(layers, theme) {
    const { gl, moment, poses } = this;
    for (const mesh of this.meshes) {
      mesh.list.forEach((one, k) => {
        let [place, turn, scale, tint] = [[0, 0, 0], [1, 0, 0, 0], [0, 0, 0], one.tint];
        if (!tint) tint = rgba(one.color || theme.bar);
        if (one.arrow) [place, turn, scale] = this.arrow(one, layers);
        else if (one.place) {
          place = moment.place(one.at, poses);
          scale = [one.radius, one.radius, one.radius];
        } else if (one.a) [place, turn, scale] = this.rod(one);
        else if (one.body < 0) [place, turn, scale] = [one.at, one.q, one.scale];
        else {
          const pose = poses[one.body];
          place = onBody(pose, one.at);
          turn = composed(pose.slice(3), one.q);
          scale = one.scale;
        }
        mesh.data.set([...place, ...turn, ...scale, tint[0], tint[1], tint[2], tint[3] * (one.clear || 1)], 14 * k);
      });
      gl.bindBuffer(gl.ARRAY_BUFFER, mesh.buffer);
      gl.bufferSubData(gl.ARRAY_BUFFER, 0, mesh.data);
    }
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

  drawSolids(flatten, clear = false) {
    const { gl } = this;
    const floorPlane = [...this.up, this.floor + 0.001 * this.scene.size];
    const shade = this.theme.shadow;
    this.use(this.solid, { camera: this.camera, light: this.light, eye: this.eye, up: this.up, flatten, floorPlane, shade });
    for (const mesh of this.meshes) {
      if (!mesh.list.length || mesh.list.some((one) => one.clear < 1) !== clear) continue;
      gl.bindVertexArray(mesh.array);
      gl.drawElementsInstanced(gl.TRIANGLES, mesh.count, gl.UNSIGNED_INT, 0, mesh.list.length);
    }
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
