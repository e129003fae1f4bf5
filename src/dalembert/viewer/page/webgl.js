// WebGL 2: programs for shading, and how they get their data.

const SOLID = [
  `#version 300 es
  in vec3 position; in vec3 normal;
  in vec3 iPlace; in vec4 iTurn; in vec3 iScale; in vec4 iColor;
  uniform mat4 camera; uniform vec3 light; uniform vec4 floorPlane; uniform float flatten;
  out vec3 vNormal; out vec3 vWorld; out vec4 vColor;
  vec3 turn(vec4 q, vec3 v) { vec3 t = 2.0 * cross(q.yzw, v); return v + q.x * t + cross(q.yzw, t); }
  void main() {
    vec3 world = iPlace + turn(iTurn, position * iScale);
    // shadows: along the light onto the floor
    world -= flatten * light * (dot(world, floorPlane.xyz) - floorPlane.w) / dot(light, floorPlane.xyz);
    vNormal = turn(iTurn, normal / max(iScale, vec3(1e-9)));
    vWorld = world; vColor = iColor;
    gl_Position = camera * vec4(world, 1.0);
  }`,
  `#version 300 es
  precision highp float;
  in vec3 vNormal; in vec3 vWorld; in vec4 vColor;
  uniform vec3 light; uniform vec3 eye; uniform vec3 up; uniform float flatten; uniform float shade;
  out vec4 color;
  void main() {
    if (flatten > 0.5) { color = vec4(0.0, 0.0, 0.0, shade); return; }
    vec3 n = normalize(vNormal), toEye = normalize(eye - vWorld);
    if (dot(n, toEye) < 0.0) n = -n;
    float sky = 0.5 + 0.5 * dot(n, up), sun = max(dot(n, light), 0.0);
    float shine = pow(max(dot(n, normalize(light + toEye)), 0.0), 42.0);
    float rim = pow(1.0 - max(dot(n, toEye), 0.0), 3.0);
    vec3 lit = vColor.rgb * (0.34 + 0.30 * sky + 0.52 * sun) + vec3(0.20 * shine + 0.07 * rim);
    color = vec4(lit, vColor.a);
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
