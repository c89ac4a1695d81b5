// An arm on a canvas that goes along its trajectories, among obstacles; the farthest is painted
// first. What it returns takes other trajectories for a layer.
const armScene = data => {
  "use strict";
  const canvas = document.getElementById("arm"), ctx = canvas.getContext("2d");
  const { joints, tip, volume, solids, ends, steps, modes, layers } = data;
  const find = id => document.getElementById("arm-" + id);
  const boxes = [...document.querySelectorAll("[data-arm-layer]")];
  const which = find("which"), clock = find("time"), told = find("label"), play = find("play"), ghosts = find("ghosts"), body = find("body");
  const dark = matchMedia("(prefers-color-scheme: dark)"), rad = Math.PI / 180;
  const moving = joints.filter(j => j.kind !== "fixed" && !j.follow);

  // Where the frames of all links are at joint values q: rotations by rows and origins.
  const product = (a, b) => [0, 3, 6].flatMap(i => [0, 1, 2].map(j => a[i] * b[j] + a[i + 1] * b[j + 3] + a[i + 2] * b[j + 6]));
  const apply = (r, p, v) => [0, 1, 2].map(i => r[3 * i] * v[0] + r[3 * i + 1] * v[1] + r[3 * i + 2] * v[2] + p[i]);
  const turned = ([x, y, z], θ) => { // Rodrigues: I + sin θ K + (1 − cos θ) K²
    const s = Math.sin(θ), c = Math.cos(θ), o = 1 - c;
    return [c + o * x * x, o * x * y - s * z, o * x * z + s * y, o * x * y + s * z, c + o * y * y, o * y * z - s * x,
      o * x * z - s * y, o * y * z + s * x, c + o * z * z];
  };
  const frames = q => {
    let r = [1, 0, 0, 0, 1, 0, 0, 0, 1], p = [0, 0, 0], n = 0;
    return joints.map(j => {
      p = apply(r, p, j.p);
      r = product(r, j.r);
      const d = j.follow ? j.follow[1] * q[j.follow[0]] + j.follow[2] : j.kind === "fixed" ? 0 : q[n++];
      if (j.kind === "turn") r = product(r, turned(j.axis, d));
      if (j.kind === "slide") { p = apply(r, p, j.axis.map(v => d * v)); }
      return { r, p };
    });
  };
  const base = { r: [1, 0, 0, 0, 1, 0, 0, 0, 1], p: [0, 0, 0] };
  const on = (links, link, local) => { const f = link < 0 ? base : links[link]; return apply(f.r, f.p, local); };
  // Joint values at a time: straight between way points, the short way for joints without limits.
  const values = (x, t) => {
    const n = moving.length, l = Math.min(Math.floor(t), steps - 1), f = t - l, at = n * l, next = n * Math.min(l + 1, steps - 1);
    return moving.map((j, i) => {
      let d = x[next + i] - x[at + i];
      if (j.wraps) d -= 2 * Math.PI * Math.round(d / (2 * Math.PI));
      return x[at + i] + f * d;
    });
  };
  // The tip's way, in pieces that are short against the picture.
  const pieces = Math.max(1, Math.ceil(60 / Math.max(1, steps - 1)));
  const trail = x => {
    const out = [];
    for (let k = 0; k <= (steps - 1) * pieces; k++) out.push(on(frames(values(x, k / pieces)), tip.link, tip.local));
    return out;
  };
  for (const l of layers) l.trails = l.values.map(trail);

  // The view: z up, turned about it, in a ball of radius reach about a centre.
  const lo = [0, 0, 0], hi = [0, 0, 0];
  const see = (p, r = 0) => { for (let k = 0; k < 3; k++) { lo[k] = Math.min(lo[k], p[k] - r); hi[k] = Math.max(hi[k], p[k] + r); } };
  for (const l of layers) for (const x of l.values) for (let k = 0; k < steps; k++) for (const f of frames(values(x, k))) see(f.p);
  const corners = s => [-1, 1].flatMap(i => [-1, 1].flatMap(j => [-1, 1].map(k => apply(s.r, s.centre, [i * s.half[0], j * s.half[1], k * s.half[2]]))));
  for (const s of solids) if (s.half) corners(s).forEach(p => see(p)); else { see(s.a, s.radius); see(s.b, s.radius); }
  const centre = [0, 1, 2].map(k => (lo[k] + hi[k]) / 2), reach = Math.hypot(...hi.map((v, k) => v - lo[k])) / 2;
  let azimuth = -50, elevation = 32, zoom = 1.15, layer = layers.length - 1, shown = 0, time = 0, size = 0, ratio = 1;
  let axes; // right, up, to the reader
  const aim = () => {
    const sa = Math.sin(azimuth * rad), ca = Math.cos(azimuth * rad), se = Math.sin(elevation * rad), ce = Math.cos(elevation * rad);
    axes = [[-sa, ca, 0], [-se * ca, -se * sa, ce], [ce * ca, ce * sa, se]];
  };
  const along = (v, k) => v[0] * axes[k][0] + v[1] * axes[k][1] + v[2] * axes[k][2];
  const project = p => {
    const v = p.map((x, k) => x - centre[k]), z = along(v, 2), s = 0.48 * size * zoom / reach * 5 * reach / (5 * reach - z);
    return { x: size / 2 + s * along(v, 0), y: size / 2 - s * along(v, 1), z, s };
  };
  const paper = () => dark.matches ? [23, 27, 33] : [255, 255, 255];
  const mixed = (hex, f, to) => "rgb(" + [1, 3, 5].map((i, k) => { const v = parseInt(hex.slice(i, i + 2), 16); return Math.round(v + (to[k] - v) * f); }).join(",") + ")";
  const shade = (hex, f) => mixed(hex, Math.abs(f), f < 0 ? [0, 0, 0] : [255, 255, 255]);
  const ink = l => dark.matches ? l.dark : l.light;
  const inkOf = (l, i) => l.modes ? ink(modes[l.modes[i]]) : ink(l);
  const line = (a, b, width, style) => {
    ctx.strokeStyle = style;
    ctx.lineWidth = width;
    ctx.beginPath();
    ctx.moveTo(a.x, a.y);
    ctx.lineTo(b.x, b.y);
    ctx.stroke();
  };
  const path = (points, width, style) => {
    ctx.strokeStyle = style;
    ctx.lineWidth = width;
    ctx.beginPath();
    points.forEach((p, i) => { const q = project(p); ctx[i ? "lineTo" : "moveTo"](q.x, q.y); });
    ctx.stroke();
  };
  const ball = (p, r, hex) => {
    const q = project(p), w = r * q.s, g = ctx.createRadialGradient(q.x - 0.35 * w, q.y - 0.4 * w, 0.1 * w, q.x, q.y, w);
    g.addColorStop(0, shade(hex, 0.6));
    g.addColorStop(0.45, hex);
    g.addColorStop(1, shade(hex, -0.35));
    ctx.fillStyle = g;
    ctx.beginPath();
    ctx.arc(q.x, q.y, w, 0, 2 * Math.PI);
    ctx.fill();
  };
  const rod = (a, b, r, hex) => {
    const p = project(a), q = project(b), w = r * (p.s + q.s);
    line(p, q, w, shade(hex, -0.28));
    line(p, q, w * 0.62, hex);
    line(p, q, w * 0.2, shade(hex, 0.35));
  };
  const part = (a, b, f) => a.map((v, k) => v + f * (b[k] - v));
  const depth = p => along(p.map((x, k) => x - centre[k]), 2);

  // What is painted by depth: a number, and how.
  const solid = (parts, s) => {
    const hex = dark.matches ? "#8a6a3c" : "#c9a66b";
    if (!s.half) {
      const n = s.a.every((v, k) => v === s.b[k]) ? 0 : 12;
      for (let k = 0; k <= n; k++) { const p = n ? part(s.a, s.b, k / n) : s.a; parts.push([depth(p), () => ball(p, s.radius, hex)]); }
      return;
    }
    for (let k = 0; k < 3; k++) for (const side of [-1, 1]) {
      const normal = [0, 1, 2].map(i => side * s.r[3 * i + k]);
      if (along(normal, 2) <= 0) continue; // turned away, but for the perspective
      const [u, v] = [(k + 1) % 3, (k + 2) % 3];
      const face = [[-1, -1], [1, -1], [1, 1], [-1, 1]].map(([i, j]) => {
        const local = [0, 0, 0];
        local[k] = side * s.half[k];
        local[u] = i * s.half[u];
        local[v] = j * s.half[v];
        return apply(s.r, s.centre, local);
      });
      const middle = [0, 1, 2].map(i => (face[0][i] + face[2][i]) / 2);
      const light = 0.35 * (-0.4 * along(normal, 0) + 0.5 * along(normal, 1) + 0.77 * along(normal, 2)) - 0.2;
      parts.push([depth(middle), () => {
        ctx.beginPath();
        face.map(project).forEach((q, i) => ctx[i ? "lineTo" : "moveTo"](q.x, q.y));
        ctx.closePath();
        ctx.fillStyle = ctx.strokeStyle = shade(hex, light);
        ctx.lineWidth = ratio / 2;
        ctx.fill();
        ctx.stroke();
      }]);
    }
  };
  const thick = 0.035 * reach; // of links
  const links = (parts, at) => {
    const points = [base.p, ...at.map(f => f.p)], tone = dark.matches ? "#aeb8c2" : "#8795a3", knob = dark.matches ? "#58b4d1" : "#17607a";
    const end = on(at, tip.link, tip.local);
    if (Math.hypot(...end.map((v, k) => v - points[points.length - 1][k])) > 1e-9) points.push(end);
    for (let i = 1; i < points.length; i++) {
      const a = points[i - 1], b = points[i], n = 6;
      if (Math.hypot(...a.map((v, k) => v - b[k])) < 1e-9) continue;
      for (let k = 0; k < n; k++) {
        const from = part(a, b, k / n), to = part(a, b, (k + 1.1) / n);
        parts.push([depth(part(from, to, 0.5)), () => { ctx.lineCap = "butt"; rod(from, to, thick, tone); ctx.lineCap = "round"; }]);
      }
    }
    joints.forEach((j, i) => { if (j.kind !== "fixed") parts.push([depth(at[i].p) + thick / 4, () => ball(at[i].p, 1.35 * thick, knob)]); });
    if (body.checked) for (const [link, x, y, z, r] of volume) {
      const p = on(at, link, [x, y, z]);
      parts.push([depth(p) + r, () => {
        const q = project(p);
        ctx.globalAlpha = 0.25;
        ctx.fillStyle = knob;
        ctx.beginPath();
        ctx.arc(q.x, q.y, r * q.s, 0, 2 * Math.PI);
        ctx.fill();
        ctx.globalAlpha = 1;
      }]);
    }
  };
  const floor = () => {
    const step = 0.2 * 10 ** Math.round(Math.log10(reach)), low = [0, 1].map(k => Math.floor(lo[k] / step) * step), high = [0, 1].map(k => Math.ceil(hi[k] / step) * step);
    const style = getComputedStyle(canvas).getPropertyValue("--line");
    for (let x = low[0]; x <= high[0] + step / 2; x += step) line(project([x, low[1], 0]), project([x, high[1], 0]), ratio, style);
    for (let y = low[1]; y <= high[1] + step / 2; y += step) line(project([low[0], y, 0]), project([high[0], y, 0]), ratio, style);
    find("grid").textContent = `The lines on the floor are ${+step.toPrecision(2)} m apart.`;
  };

  const draw = () => {
    size = canvas.width;
    ratio = devicePixelRatio || 1;
    ctx.clearRect(0, 0, size, size);
    ctx.lineCap = ctx.lineJoin = "round";
    aim();
    floor();
    const l = layers[layer];
    if (ghosts.checked) {
      ctx.globalAlpha = Math.min(0.6, Math.max(0.15, 12 / l.values.length));
      l.trails.forEach((t, i) => path(t, 1.2 * ratio, inkOf(l, i)));
      ctx.globalAlpha = 1;
    }
    const parts = [], way = l.trails[shown];
    for (const s of solids) solid(parts, s);
    for (const p of ends) parts.push([depth(p), () => ball(p, thick / 2, "#3c8548")]);
    for (let k = 1; k < way.length; k++) {
      const a = way[k - 1], b = way[k];
      parts.push([depth(part(a, b, 0.5)), () => line(project(a), project(b), (k <= time * pieces ? 4 : 2) * ratio, inkOf(l, shown))]);
    }
    links(parts, frames(values(l.values[shown], time)));
    parts.sort((a, b) => a[0] - b[0]).forEach(p => p[1]());
  };

  const ask = turnable(canvas, {
    draw, span: 150, arrows: -5,
    turn: (across, down) => { azimuth -= across; elevation = Math.max(-90, Math.min(90, elevation + down)); },
    zoom: by => { zoom = Math.min(8, Math.max(0.3, zoom * by)); },
    key: e => {
      const step = { PageUp: -1, PageDown: 1 }[e.key];
      if (step) pick(shown + step);
      else if (e.key === " ") { play.checked = !play.checked; play.dispatchEvent(new Event("change")); }
      else return false;
      return true;
    },
  });
  const seek = t => {
    time = t;
    clock.value = t;
    clock.setAttribute("aria-valuetext", `way point ${t.toFixed(1)} of 0 to ${steps - 1}`);
    ask();
  };
  const pick = i => {
    const l = layers[layer], n = l.values.length;
    shown = (i + n) % n;
    which.max = n - 1;
    which.value = shown;
    which.setAttribute("aria-valuetext", l.labels[shown]);
    told.textContent = l.labels[shown];
    told.style.borderColor = inkOf(l, shown);
    ask();
  };
  let last = 0, held = 0;
  const go = now => { // a trajectory in three seconds, half a second at its end, then the next
    if (!play.checked || !canvas.isConnected) { last = 0; return; }
    const passed = last ? Math.min(now - last, 100) / 1000 : 0;
    last = now;
    if (time < steps - 1) seek(Math.min(steps - 1, time + passed * Math.max(1, steps - 1) / 3));
    else if ((held += passed) > 0.5) { held = 0; pick(shown + 1); seek(0); }
    requestAnimationFrame(go);
  };
  play.addEventListener("change", () => { if (play.checked) requestAnimationFrame(go); });
  clock.addEventListener("input", () => { play.checked = false; seek(+clock.value); });
  which.addEventListener("input", () => pick(+which.value));
  find("back").addEventListener("click", () => pick(shown - 1));
  find("on").addEventListener("click", () => pick(shown + 1));
  boxes.forEach((box, i) => box.addEventListener("change", () => { if (box.checked) { layer = i; pick(0); } }));
  [ghosts, body, dark].forEach(x => x.addEventListener("change", ask));
  boxes.forEach((box, i) => { box.checked = i === layer; });
  if (!volume.length) body.closest("label").hidden = true;
  clock.max = steps - 1;
  pick(0);
  seek(0);
  if (!matchMedia("(prefers-reduced-motion: reduce)").matches) { play.checked = true; requestAnimationFrame(go); }
  return { show: (i, l) => {
    Object.assign(layers[i], { values: l.values, labels: l.labels, modes: l.modes, trails: l.values.map(trail) });
    if (i === layer) pick(Math.min(shown, l.values.length - 1));
  } };
};
