// WebGL 2: programs for shading, and how they get their data.

const NO_WEBGL = 'no WebGL 2';

/** How a surface looks: light from the sky and the sun, a little shine, and a rim. */
const LIT = `
  uniform vec3 light; uniform vec3 up;
  vec3 lit(vec3 tint, vec3 n, vec3 toEye) {
    float sky = 0.5 + 0.5 * dot(n, up), sun = max(dot(n, light), 0.0);
    float shine = pow(max(dot(n, normalize(light + toEye)), 0.0), 42.0);
    float rim = pow(1.0 - max(dot(n, toEye), 0.0), 3.0);
    return tint * (0.34 + 0.30 * sky + 0.52 * sun) + vec3(0.20 * shine + 0.07 * rim);
  }`;

/** Onto the floor along the light: shadows. */
const ONTO_FLOOR = `
  vec3 ontoFloor(vec3 at) { return at - light * (dot(at, floorPlane.xyz) - floorPlane.w) / dot(light, floorPlane.xyz); }`;

const SOLID = [
  `#version 300 es
  in vec3 position; in vec3 normal;
  in vec3 iPlace; in vec4 iTurn; in vec3 iScale; in vec4 iColor;
  uniform mat4 camera; uniform vec3 light; uniform vec4 floorPlane; uniform float flatten;
  out vec3 vNormal; out vec3 vWorld; out vec4 vColor;
  ${ONTO_FLOOR}
  vec3 turn(vec4 q, vec3 v) { vec3 t = 2.0 * cross(q.yzw, v); return v + q.x * t + cross(q.yzw, t); }
  void main() {
    vec3 world = iPlace + turn(iTurn, position * iScale);
    if (flatten > 0.5) world = ontoFloor(world);
    vNormal = turn(iTurn, normal / max(iScale, vec3(1e-9)));
    vWorld = world; vColor = iColor;
    gl_Position = camera * vec4(world, 1.0);
  }`,
  `#version 300 es
  precision highp float;
  in vec3 vNormal; in vec3 vWorld; in vec4 vColor;
  uniform vec3 eye; uniform float flatten; uniform float shade;
  out vec4 color;
  ${LIT}
  void main() {
    if (flatten > 0.5) { color = vec4(0.0, 0.0, 0.0, shade); return; }
    vec3 n = normalize(vNormal), toEye = normalize(eye - vWorld);
    color = vec4(lit(vColor.rgb, dot(n, toEye) < 0.0 ? -n : n, toEye), vColor.a);
  }`,
];

// A ball is a square that faces the eye; where rays through it hit the ball, it is drawn. So thousands are no effort.
const BALL = [
  `#version 300 es
  in vec2 corner; in vec3 iPlace; in vec4 iTurn; in vec3 iScale; in vec4 iColor;
  uniform mat4 camera; uniform vec3 light; uniform vec3 eye; uniform vec4 floorPlane; uniform float flatten;
  out vec2 vCorner; out vec3 vWorld; out vec3 vCentre; out float vRadius; out vec4 vColor;
  ${ONTO_FLOOR}
  void main() {
    float r = iScale.x, far = length(eye - iPlace);
    vec3 facing = flatten > 0.5 ? light : (eye - iPlace) / far;
    vec3 u = normalize(cross(abs(facing.z) < 0.9 ? vec3(0, 0, 1) : vec3(1, 0, 0), facing)), v = cross(facing, u);
    float size = flatten > 0.5 ? r : 1.02 * r * far / sqrt(max(far * far - r * r, 1e-4 * r * r));
    vWorld = iPlace + size * (corner.x * u + corner.y * v);
    if (flatten > 0.5) vWorld = ontoFloor(vWorld);
    vCorner = corner; vCentre = iPlace; vRadius = r; vColor = iColor;
    gl_Position = camera * vec4(vWorld, 1.0);
  }`,
  `#version 300 es
  precision highp float;
  in vec2 vCorner; in vec3 vWorld; in vec3 vCentre; in float vRadius; in vec4 vColor;
  uniform mat4 camera; uniform vec3 eye; uniform float flatten; uniform float shade; uniform float clear;
  out vec4 color;
  ${LIT}
  void main() {
    gl_FragDepth = gl_FragCoord.z;
    if (flatten > 0.5) {
      if (dot(vCorner, vCorner) > 1.0) discard;
      color = vec4(0.0, 0.0, 0.0, shade);
      return;
    }
    vec3 ray = normalize(vWorld - eye), from = eye - vCentre;
    float b = dot(from, ray), c = dot(from, from) - vRadius * vRadius, under = b * b - c;
    // how much of the pixel is covered: how far the ray misses the ball, in pixels
    float missed = length(from - b * ray) - vRadius, cover = clamp(0.5 - missed / max(fwidth(missed), 1e-9), 0.0, 1.0);
    if (cover <= 0.0) discard;
    vec3 at = eye + ray * (-b - sqrt(max(under, 0.0))), n = normalize(at - vCentre), toEye = -ray;
    vec4 seen = camera * vec4(at, 1.0);
    gl_FragDepth = clamp(0.5 * seen.z / seen.w + 0.5, 0.0, 1.0);
    float alpha = vColor.a;
    if (clear > 0.5) alpha = mix(alpha, min(3.0 * alpha, 1.0), pow(1.0 - max(dot(n, toEye), 0.0), 2.0)) * cover;
    color = vec4(lit(vColor.rgb, n, toEye), clear > 0.5 ? alpha : cover);
  }`,
];

const LINES = [
  `#version 300 es
  in vec2 corner; in vec3 a; in vec3 b;
  uniform mat4 camera; uniform vec2 screen; uniform float width;
  void main() {
    vec4 p = camera * vec4(a, 1.0), q = camera * vec4(b, 1.0);
    float near = 1e-4;
    if (p.w < near) p = mix(p, q, (near - p.w) / (q.w - p.w));
    if (q.w < near) q = mix(q, p, (near - q.w) / (p.w - q.w));
    vec2 along = (q.xy / q.w - p.xy / p.w) * screen;
    along = length(along) > 0.0 ? normalize(along) : vec2(1.0, 0.0);
    vec4 at = corner.x < 0.5 ? p : q;
    vec2 aside = vec2(-along.y, along.x) * corner.y + along * (corner.x - 0.5) * 0.5;
    gl_Position = at + vec4(aside * width / screen * at.w, -0.0002 * at.w, 0.0);
  }`,
  `#version 300 es
  precision highp float;
  uniform vec4 tint; out vec4 color;
  void main() { color = tint; }`,
];

const PLANE = [
  `#version 300 es
  in vec2 corner;
  uniform mat4 camera; uniform vec3 origin; uniform vec3 first; uniform vec3 second;
  out vec2 at;
  void main() { at = corner; gl_Position = camera * vec4(origin + corner.x * first + corner.y * second, 1.0); }`,
  `#version 300 es
  precision highp float;
  in vec2 at; uniform vec4 fill; uniform vec4 line; uniform float cells; uniform vec2 shift;
  out vec4 color;
  void main() {
    vec2 g = (at + shift) * cells, w = fwidth(g) * 0.75;
    vec2 near = abs(fract(g - 0.5) - 0.5);
    vec2 on = 1.0 - smoothstep(vec2(0.0), w, near);
    float fade = 1.0 - smoothstep(0.55, 1.0, length(at));
    float drawn = max(on.x, on.y) * (1.0 - clamp(max(w.x, w.y) * 2.0 - 0.4, 0.0, 1.0));
    color = mix(fill, line, drawn);
    color.a *= fade;
  }`,
];

function program(gl, [vertex, fragment]) {
  const id = gl.createProgram();
  for (const [type, text] of [[gl.VERTEX_SHADER, vertex], [gl.FRAGMENT_SHADER, fragment]]) {
    const shader = gl.createShader(type);
    gl.shaderSource(shader, text);
    gl.compileShader(shader);
    if (!gl.getShaderParameter(shader, gl.COMPILE_STATUS)) throw new Error(gl.getShaderInfoLog(shader));
    gl.attachShader(id, shader);
  }
  gl.linkProgram(id);
  const [uniforms, attributes] = [{}, {}];
  for (let k = 0; k < gl.getProgramParameter(id, gl.ACTIVE_UNIFORMS); k++) {
    const { name } = gl.getActiveUniform(id, k);
    uniforms[name] = gl.getUniformLocation(id, name);
  }
  for (let k = 0; k < gl.getProgramParameter(id, gl.ACTIVE_ATTRIBUTES); k++) {
    const { name } = gl.getActiveAttrib(id, k);
    attributes[name] = gl.getAttribLocation(id, name);
  }
  return { id, uniforms, attributes };
}

function buffer(gl, data) {
  const made = gl.createBuffer();
  gl.bindBuffer(gl.ARRAY_BUFFER, made);
  gl.bufferData(gl.ARRAY_BUFFER, data, gl.STATIC_DRAW);
  return made;
}

function attribute(gl, { attributes }, name, from, n, stride, offset, divisor) {
  const at = attributes[name];
  gl.bindBuffer(gl.ARRAY_BUFFER, from);
  gl.enableVertexAttribArray(at);
  gl.vertexAttribPointer(at, n, gl.FLOAT, false, stride, offset);
  gl.vertexAttribDivisor(at, divisor);
}
