// A surface on a canvas, its faces painted the farthest first. What it returns takes points to show on it.
const surfaceScene = data => {
  "use strict";
  const canvas = document.getElementById("surface"), ctx = canvas.getContext("2d");
  const { vertices, faces, ramp, layers } = data;
  const boxes = [...document.querySelectorAll("[data-surface-layer]")];
  const rad = Math.PI / 180, count = faces.length / 3;
  const turned = new Float64Array(vertices.length), depth = new Float64Array(count);
  const order = Array.from({ length: count }, (_, f) => f);
  let azimuth = 30, elevation = 15, layer = 0, points = [];

  // The colour of a value in [0, 1] in a light, as in the figures.
  const tint = (value, light) => {
    const at = Math.min(Math.max(value, 0), 1) * 3, i = Math.min(Math.floor(at), 2);
    return "rgb(" + ramp[i].map((a, j) => Math.round((a + (at - i) * (ramp[i + 1][j] - a)) * light)).join(",") + ")";
  };

  const draw = () => {
    const size = canvas.width, ratio = devicePixelRatio || 1;
    const sa = Math.sin(azimuth * rad), ca = Math.cos(azimuth * rad), se = Math.sin(elevation * rad), ce = Math.cos(elevation * rad);
    for (let k = 0; k < vertices.length; k += 3) {
      const x = vertices[k], y = vertices[k + 1], z = vertices[k + 2], forward = sa * x + ca * z;
      turned[k] = ca * x - sa * z;
      turned[k + 1] = ce * y - se * forward;
      turned[k + 2] = se * y + ce * forward;
    }
    for (let f = 0; f < count; f++) depth[f] = turned[3 * faces[3 * f] + 2] + turned[3 * faces[3 * f + 1] + 2] + turned[3 * faces[3 * f + 2] + 2];
    order.sort((a, b) => depth[a] - depth[b]);
    ctx.clearRect(0, 0, size, size);
    ctx.lineWidth = 0.5 * ratio;
    ctx.lineJoin = "round";
    const scale = 0.49 * size, half = size / 2, values = layers[layer];
    for (const f of order) {
      const i = 3 * faces[3 * f], j = 3 * faces[3 * f + 1], k = 3 * faces[3 * f + 2];
      const ux = turned[j] - turned[i], uy = turned[j + 1] - turned[i + 1], uz = turned[j + 2] - turned[i + 2];
      const vx = turned[k] - turned[i], vy = turned[k + 1] - turned[i + 1], vz = turned[k + 2] - turned[i + 2];
      const nz = ux * vy - uy * vx;
      if (nz <= 0) continue; // turned away
      const nx = uy * vz - uz * vy, ny = uz * vx - ux * vz;
      const light = 0.5 + 0.5 * Math.max(0, (-0.4 * nx + 0.5 * ny + 0.77 * nz) / (Math.hypot(nx, ny, nz) || 1));
      ctx.beginPath();
      ctx.moveTo(half + scale * turned[i], half - scale * turned[i + 1]);
      ctx.lineTo(half + scale * turned[j], half - scale * turned[j + 1]);
      ctx.lineTo(half + scale * turned[k], half - scale * turned[k + 1]);
      ctx.closePath();
      ctx.fillStyle = ctx.strokeStyle = tint((values[i / 3] + values[j / 3] + values[k / 3]) / 3, light);
      ctx.fill();
      ctx.stroke();
    }
    ctx.fillStyle = getComputedStyle(canvas).getPropertyValue("--text");
    for (let k = 0; k < points.length; k += 3) { // those behind the middle are paler
      const x = points[k], y = points[k + 1], z = points[k + 2], forward = sa * x + ca * z;
      ctx.globalAlpha = se * y + ce * forward > 0 ? 0.9 : 0.15;
      ctx.beginPath();
      ctx.arc(half + scale * (ca * x - sa * z), half - scale * (ce * y - se * forward), 2.2 * ratio, 0, 2 * Math.PI);
      ctx.fill();
    }
    ctx.globalAlpha = 1;
  };

  const ask = turnable(canvas, {
    draw, span: 120, arrows: -5,
    turn: (across, down) => { azimuth -= across; elevation = Math.max(-90, Math.min(90, elevation + down)); },
  });
  boxes.forEach((box, i) => box.addEventListener("change", () => { if (box.checked) { layer = i; ask(); } }));
  return { show: (_, layer) => { points = layer.points; ask(); } };
};
