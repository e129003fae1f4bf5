// Vectors, and 4×4 matrices column by column.

const subtract = (a, b) => [a[0] - b[0], a[1] - b[1], a[2] - b[2]];
const plus = (a, b, s = 1) => [a[0] + s * b[0], a[1] + s * b[1], a[2] + s * b[2]];
const dot = (a, b) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
const cross = (a, b) => [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
const scaled = (a, s) => [a[0] * s, a[1] * s, a[2] * s];
const unit = (a) => scaled(a, 1 / (Math.hypot(...a) || 1));

/** The corners of a box. */
function corners(low, high) {
  return [0, 1, 2, 3, 4, 5, 6, 7].map((k) => [0, 1, 2].map((i) => ((k >> i) & 1 ? high[i] : low[i])));
}

function product(a, b) {
  const c = new Float32Array(16);
  for (let i = 0; i < 4; i++)
    for (let j = 0; j < 4; j++) for (let k = 0; k < 4; k++) c[4 * j + i] += a[4 * k + i] * b[4 * j + k];
  return c;
}

function perspective(angle, aspect, near, far) {
  const f = 1 / Math.tan(angle / 2);
  const d = 1 / (near - far);
  return new Float32Array([f / aspect, 0, 0, 0, 0, f, 0, 0, 0, 0, (far + near) * d, -1, 0, 0, 2 * far * near * d, 0]);
}

function lookAt(eye, target, up) {
  const z = unit(subtract(eye, target));
  const x = unit(cross(up, z));
  const y = cross(z, x);
  const at = [-dot(x, eye), -dot(y, eye), -dot(z, eye)];
  return new Float32Array([x[0], y[0], z[0], 0, x[1], y[1], z[1], 0, x[2], y[2], z[2], 0, ...at, 1]);
}

/** The product of two unit quaternions, scalar first. */
function composed([a, b, c, d], [w, x, y, z]) {
  return [
    a * w - b * x - c * y - d * z,
    a * x + b * w + c * z - d * y,
    a * y - b * z + c * w + d * x,
    a * z + b * y - c * x + d * w,
  ];
}

/** The quaternion that turns z into the direction of a vector. */
function towards(v) {
  const u = unit(v);
  if (u[2] < -0.999999) return [0, 1, 0, 0];
  const q = [1 + u[2], -u[1], u[0], 0];
  const norm = Math.hypot(...q);
  return q.map((x) => x / norm);
}
