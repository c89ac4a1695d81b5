// Conformations of a molecule on a canvas, balls and sticks, the farthest painted
// first. What it returns takes other conformations for a layer.
const moleculeScene = data => {
  "use strict";
  const canvas = document.getElementById("molecule"), ctx = canvas.getContext("2d");
  const { elements, names, bonds, layers } = data;
  const find = id => document.getElementById("molecule-" + id);
  const layerBoxes = [...document.querySelectorAll("[data-molecule-layer]")];
  const slider = find("frame"), told = find("label"), play = find("play"), ghosts = find("ghosts"), labels = find("names");
  const dark = matchMedia("(prefers-color-scheme: dark)"), rad = Math.PI / 180, atoms = elements.length;

  // Colours as chemists use them; what is not known is plain.
  const colours = {
    H: "#e3e7ea", C: "#5f6b76", N: "#3a6fd8", O: "#d8412f", S: "#d9a91b", P: "#e2801f", F: "#55a868", Cl: "#2f9e4f",
    Br: "#94412c", I: "#7a4fa8", B: "#e0a08f", Si: "#c2a184", Na: "#7d5bd0", K: "#7d5bd0", Mg: "#3d8a52", Ca: "#3d8a52",
    Fe: "#c4682b", Zn: "#7c84b5", Cu: "#b87333",
  };
  const colour = e => colours[e] || "#8b929c";
  const ball = elements.map(e => e === "H" || e === "D" ? 0.22 : 0.36); // Å
  const stick = 0.13;
  const shade = (hex, f) => { // f < 0 to black, f > 0 to white
    const to = f < 0 ? 0 : 255, part = Math.abs(f);
    return "rgb(" + [1, 3, 5].map(i => { const v = parseInt(hex.slice(i, i + 2), 16); return Math.round(v + (to - v) * part); }).join(",") + ")";
  };

  // All frames about their common centre, in a ball of radius reach.
  const centre = [0, 0, 0];
  let count = 0;
  for (const l of layers) for (const f of l.frames) for (let k = 0; k < f.length; k += 3) {
    for (let j = 0; j < 3; j++) centre[j] += f[k + j];
    count++;
  }
  for (let j = 0; j < 3; j++) centre[j] /= count;
  const radii = [];
  for (const l of layers) for (const f of l.frames) for (let k = 0; k < f.length; k += 3) {
    radii.push(Math.hypot(f[k] - centre[0], f[k + 1] - centre[1], f[k + 2] - centre[2]));
  }
  radii.sort((a, b) => a - b);
  const reach = radii[Math.floor(0.995 * (radii.length - 1))] + 0.4; // a stray frame may leave the picture

  let layer = layers.length - 1, frame = 0, size = 0, ratio = 1, zoom = 1;
  let r = [1, 0, 0, 0, 1, 0, 0, 0, 1]; // rotation by rows
  const rotate = (axis, angle) => { // about an axis of the screen: 0 across, 1 up
    const c = Math.cos(angle), s = Math.sin(angle), a = axis ? 0 : 1, b = 2, sign = axis ? 1 : -1;
    const next = r.slice();
    for (let j = 0; j < 3; j++) {
      next[3 * a + j] = c * r[3 * a + j] + sign * s * r[3 * b + j];
      next[3 * b + j] = c * r[3 * b + j] - sign * s * r[3 * a + j];
    }
    r = next;
  };
  // The widest side across, the thinnest in depth: principal axes of the first frame, by power iteration.
  const lay = () => {
    const f = layers[layer].frames[0], m = [0, 0, 0, 0, 0, 0, 0, 0, 0], mean = [0, 0, 0];
    for (let k = 0; k < f.length; k++) mean[k % 3] += f[k] / atoms;
    for (let k = 0; k < f.length; k += 3) for (let i = 0; i < 3; i++) for (let j = 0; j < 3; j++) m[3 * i + j] += (f[k + i] - mean[i]) * (f[k + j] - mean[j]);
    const dot = (a, b) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
    const found = [];
    for (let n = 0; n < 2; n++) {
      let v = [0.61, 0.53, 0.59];
      for (let step = 0; step < 200; step++) {
        v = [0, 1, 2].map(i => m[3 * i] * v[0] + m[3 * i + 1] * v[1] + m[3 * i + 2] * v[2]);
        for (const u of found) { const d = dot(u, v); v = v.map((x, i) => x - d * u[i]); }
        const len = Math.hypot(...v);
        if (!(len > 1e-9)) return; // atoms on a line, or one atom
        v = v.map(x => x / len);
      }
      found.push(v);
    }
    const [a, b] = found;
    r = [...a, ...b, a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
    rotate(1, 20 * rad);
    rotate(0, 15 * rad);
  };

  const at = new Float64Array(3 * atoms); // in the view: x right, y up, z to the reader
  const place = f => {
    for (let k = 0; k < f.length; k += 3) {
      const x = f[k] - centre[0], y = f[k + 1] - centre[1], z = f[k + 2] - centre[2];
      for (let j = 0; j < 3; j++) at[k + j] = r[3 * j] * x + r[3 * j + 1] * y + r[3 * j + 2] * z;
    }
  };
  const distance = () => 6 * reach; // of the eye
  const project = (x, y, z) => {
    const s = 0.48 * size * zoom / reach * distance() / (distance() - z);
    return [size / 2 + s * x, size / 2 - s * y, s];
  };
  const screen = k => project(at[k], at[k + 1], at[k + 2]);
  // The place on the way from atom i to atom j that is part of the way.
  const between = (i, j, part) => [0, 1, 2].map(k => at[3 * i + k] + part * (at[3 * j + k] - at[3 * i + k]));
  const line = (x0, y0, x1, y1, width, style) => {
    ctx.strokeStyle = style;
    ctx.lineWidth = width;
    ctx.beginPath();
    ctx.moveTo(x0, y0);
    ctx.lineTo(x1, y1);
    ctx.stroke();
  };

  const overlay = () => {
    ctx.globalAlpha = Math.min(0.5, Math.max(0.08, 6 / layers[layer].frames.length));
    const style = dark.matches ? layers[layer].dark : layers[layer].light;
    for (const f of layers[layer].frames) {
      place(f);
      for (const [i, j] of bonds) {
        const [x0, y0] = screen(3 * i), [x1, y1] = screen(3 * j);
        line(x0, y0, x1, y1, 1.2 * ratio, style);
      }
    }
    ctx.globalAlpha = 1;
  };

  const draw = () => {
    size = canvas.width;
    ratio = devicePixelRatio || 1;
    ctx.clearRect(0, 0, size, size);
    ctx.lineCap = "round";
    if (ghosts.checked) overlay();
    place(layers[layer].frames[frame]);
    const parts = []; // depth, and how to paint
    for (const bond of bonds) for (const [i, j] of [bond, [bond[1], bond[0]]]) { // half of it at each end
      const d = Math.hypot(...between(i, j, 1).map((v, k) => v - at[3 * i + k])) || 1;
      const from = between(i, j, Math.min(0.5, 0.92 * ball[i] / d)), to = between(i, j, 0.5); // from inside the ball
      const [x0, y0, s] = project(...from), [x1, y1] = project(...to), z = (from[2] + to[2]) / 2;
      parts.push([z, () => {
        const w = 2 * stick * s, c = fog(colour(elements[i]), z);
        ctx.lineCap = "butt";
        line(x0, y0, x1, y1, w, shade(c, -0.28));
        line(x0, y0, x1, y1, w * 0.62, c);
        line(x0, y0, x1, y1, w * 0.2, shade(c, 0.3));
      }]);
    }
    for (let i = 0; i < atoms; i++) {
      const [x, y, s] = screen(3 * i), z = at[3 * i + 2], c = fog(colour(elements[i]), z), radius = ball[i] * s;
      parts.push([z, () => {
        const g = ctx.createRadialGradient(x - 0.35 * radius, y - 0.4 * radius, 0.1 * radius, x, y, radius);
        g.addColorStop(0, shade(c, 0.65));
        g.addColorStop(0.45, c);
        g.addColorStop(1, shade(c, -0.42));
        ctx.fillStyle = g;
        ctx.beginPath();
        ctx.arc(x, y, radius, 0, 2 * Math.PI);
        ctx.fill();
      }]);
    }
    parts.sort((a, b) => a[0] - b[0]).forEach(p => p[1]());
    if (labels.checked) {
      const css = getComputedStyle(canvas);
      ctx.font = `600 ${12 * ratio}px system-ui, sans-serif`;
      ctx.textBaseline = "middle";
      ctx.lineJoin = "round";
      for (let i = 0; i < atoms; i++) {
        const [x, y, s] = screen(3 * i), off = ball[i] * s + 3 * ratio, wide = ctx.measureText(names[i]).width;
        const left = x + off + wide < size ? x + off : x - off - wide;
        ctx.strokeStyle = css.getPropertyValue("--paper");
        ctx.lineWidth = 3 * ratio;
        ctx.strokeText(names[i], left, y);
        ctx.fillStyle = css.getPropertyValue("--text");
        ctx.fillText(names[i], left, y);
      }
    }
  };
  // What is far is paler, a cue of depth.
  const fog = (hex, z) => {
    const far = Math.min(0.45, Math.max(0, 0.2 - 0.25 * z / reach)), paper = dark.matches ? [23, 27, 33] : [255, 255, 255];
    return "#" + [1, 3, 5].map((i, k) => { const v = parseInt(hex.slice(i, i + 2), 16); return Math.round(v + (paper[k] - v) * far).toString(16).padStart(2, "0"); }).join("");
  };

  const ask = turnable(canvas, {
    draw, span: 180, arrows: 5,
    turn: (across, down) => { rotate(1, across * rad); rotate(0, down * rad); },
    zoom: by => { zoom = Math.min(6, Math.max(0.3, zoom * by)); },
    key: e => {
      const step = { PageUp: -1, PageDown: 1 }[e.key];
      if (step) show(frame + step);
      else return false;
      return true;
    },
  });
  const show = i => {
    const l = layers[layer];
    frame = (i + l.frames.length) % l.frames.length;
    slider.max = l.frames.length - 1;
    slider.value = frame;
    slider.setAttribute("aria-valuetext", l.labels[frame]);
    told.textContent = l.labels[frame];
    ask();
  };
  let timer = 0;
  play.addEventListener("change", () => {
    clearInterval(timer);
    if (play.checked) timer = setInterval(() => { if (canvas.isConnected) show(frame + 1); else clearInterval(timer); }, 400);
  });
  slider.addEventListener("input", () => { play.checked = false; clearInterval(timer); show(+slider.value); });
  find("back").addEventListener("click", () => show(frame - 1));
  find("on").addEventListener("click", () => show(frame + 1));
  layerBoxes.forEach((box, i) => box.addEventListener("change", () => { if (box.checked) { layer = i; show(0); } }));
  [ghosts, labels, dark].forEach(x => x.addEventListener("change", ask));
  layerBoxes.forEach((box, i) => { box.checked = i === layer; });
  lay();
  show(0);
  return { show: (i, l) => { Object.assign(layers[i], { frames: l.frames, labels: l.labels }); if (i === layer) show(Math.min(frame, l.frames.length - 1)); } };
};
