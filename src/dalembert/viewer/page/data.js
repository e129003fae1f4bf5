// Numbers of the page: deflated int16 differences, see encode.py of the package.

/** Bytes from base64 text, inflated. */
async function inflated(text) {
  const binary = atob(text);
  const bytes = Uint8Array.from(binary, (c) => c.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('deflate'));
  return new Response(stream).arrayBuffer();
}

/** Tables of channels over time, and plain arrays. */
async function unpacked(described) {
  const buffer = await inflated(described.bytes);
  let at = 0;
  const take = (Type, n) => {
    const part = new Type(buffer.slice(at, at + n * Type.BYTES_PER_ELEMENT));
    at += n * Type.BYTES_PER_ELEMENT;
    return part;
  };
  const channel = (n, [offset, step, flags]) => {
    const [wide, gaps] = [flags & 1, flags & 2];
    const values = new Float64Array(n).fill(step || !gaps ? offset : NaN);
    if (!step) return values;
    const low = take(Uint16Array, n);
    const high = wide ? take(Uint16Array, n) : null;
    const gap = wide ? -(2 ** 31) : -32768;
    let sum = 0;
    for (let k = 0; k < n; k++) {
      sum = wide ? (sum + ((high[k] << 16) | low[k])) | 0 : ((sum + low[k]) << 16) >> 16;
      values[k] = gaps && sum === gap ? NaN : offset + step * sum;
    }
    return values;
  };
  const tables = described.tables.map(({ n, time, channels }) => {
    const t = time ? channel(n, time) : take(Float64Array, n);
    return { t, channels: channels.map((one) => channel(n, one)) };
  });
  const arrays = described.arrays.map((n) => take(Int16Array, n));
  const text = new TextDecoder().decode(take(Uint8Array, described.text || 0));
  return { tables, arrays, text };
}

/** The moving numbers of a scene at one moment: linear between the frames. */
class Moment {
  constructor(table) {
    this.channels = table.channels;
    this.n = table.t.length;
    this.first = table.t[0];
    this.last = table.t[this.n - 1];
    this.direction = this.last < this.first ? -1 : 1;
    // time since the start, which increases also where the model's time runs backwards
    this.times = Float64Array.from(table.t, (t) => (t - this.first) * this.direction);
    this.duration = this.times[this.n - 1] || 0;
    this.seek(0);
  }

  seek(time) {
    const { times, n } = this;
    this.time = Math.min(Math.max(time, 0), this.duration);
    let low = 0;
    let high = n - 1;
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if (times[middle] <= this.time) low = middle;
      else high = middle;
    }
    this.k = low;
    this.next = Math.min(low + 1, n - 1);
    const step = times[this.next] - times[low];
    this.weight = step > 0 ? Math.min(1, (this.time - times[low]) / step) : 0;
  }

  /** Time of the model. */
  get t() {
    return this.first + this.direction * this.time;
  }

  value(c) {
    const values = this.channels[c];
    return values[this.k] * (1 - this.weight) + values[this.next] * this.weight;
  }

  /** The pose of a body, written into an array: x, y, angle in the plane, x, y, z and a unit quaternion in space. */
  pose({ c }, into) {
    const { channels, k, next, weight } = this;
    for (let i = 0; i < c.length; i++) into[i] = channels[c[i]][k] * (1 - weight) + channels[c[i]][next] * weight;
    if (c.length === 7) {
      const norm = Math.hypot(into[3], into[4], into[5], into[6]) || 1;
      for (let i = 3; i < 7; i++) into[i] /= norm;
    }
  }

  /** A place, see scene.py; poses of bodies are those of this moment. */
  place(place, poses) {
    if (place.x) return place.x;
    if (place.c) return place.c.map((c) => this.value(c));
    return place.b < 0 ? place.at : onBody(poses[place.b], place.at);
  }

  /** A place in frame k, for traces. */
  placeAt(k, place, bodies) {
    if (place.x) return place.x;
    if (place.c) return place.c.map((c) => this.channels[c][k]);
    return place.b < 0 ? place.at : onBody(bodies[place.b].c.map((c) => this.channels[c][k]), place.at);
  }
}

/** A point of a body in the world. */
function onBody(pose, at) {
  if (pose.length === 3) {
    const c = Math.cos(pose[2]);
    const s = Math.sin(pose[2]);
    return [pose[0] + c * at[0] - s * at[1], pose[1] + s * at[0] + c * at[1]];
  }
  const v = turned(pose.slice(3), at);
  return [pose[0] + v[0], pose[1] + v[1], pose[2] + v[2]];
}

/** A vector turned by a unit quaternion, scalar first. */
function turned([w, x, y, z], v) {
  const tx = 2 * (y * v[2] - z * v[1]);
  const ty = 2 * (z * v[0] - x * v[2]);
  const tz = 2 * (x * v[1] - y * v[0]);
  return [
    v[0] + w * tx + y * tz - z * ty,
    v[1] + w * ty + z * tx - x * tz,
    v[2] + w * tz + x * ty - y * tx,
  ];
}

/** A step of 1, 2 or 5 times a power of ten, near the given one. */
function niceStep(rough) {
  const power = 10 ** Math.floor(Math.log10(rough));
  const digit = rough / power;
  return power * (digit < 1.5 ? 1 : digit < 3.5 ? 2 : digit < 7.5 ? 5 : 10);
}

/** Multiples of a step between two numbers; never more than can be seen. */
function multiples(low, high, step) {
  const first = Math.ceil(low / step - 1e-9);
  const count = Math.min(Math.floor(high / step + 1e-9) - first + 1, 200);
  return count > 0 ? Array.from({ length: count }, (_, k) => (first + k) * step) : [];
}

/** A curve at time t, linear between its points; right after it where it jumps. Times may run backwards. */
function valueAt(times, values, t) {
  const last = times.length - 1;
  const forward = times[last] >= times[0];
  let low = 0;
  let high = last;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (forward ? times[middle] <= t : times[middle] >= t) low = middle;
    else high = middle;
  }
  const step = times[high] - times[low];
  const weight = step ? Math.min(1, Math.max(0, (t - times[low]) / step)) : 1;
  return weight === 0 ? values[low] : weight === 1 ? values[high] : values[low] * (1 - weight) + values[high] * weight;
}

/** A number for people: as many digits as the step between neighbours needs. */
function shown(x, step) {
  if (Math.abs(x) < 0.5 * (step || 0) || x === 0) return '0';
  const size = Math.max(Math.abs(x), step || 0);
  const digits = step ? Math.ceil(-Math.log10(step) - 1e-9) : 3;
  const places = step ? Math.ceil(Math.log10(Math.abs(x) / step) - 1e-9) : 3; // behind the first digit
  if (size >= 1e6 || size < 1e-4 || (digits > 6 && places < 5))
    return x.toExponential(Math.max(0, Math.min(4, places))).replace('e+', 'e');
  return x.toFixed(Math.max(0, Math.min(digits, 9))).replace(/^-(0\.?0*)$/, '$1');
}
