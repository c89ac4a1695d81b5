// An orthographic globe on a canvas. What it returns takes other points for a layer.
const globeScene = data => {
  "use strict";
  const canvas = document.getElementById("globe"), ctx = canvas.getContext("2d");
  const spinBox = document.getElementById("globe-spin");
  const layerBoxes = [...document.querySelectorAll("[data-layer]")];
  const dark = matchMedia("(prefers-color-scheme: dark)"), rad = Math.PI / 180;

  // Unit vectors (x, y, z), three per place: x to (0, 0), z to the north pole.
  const vectors = lonLat => {
    const out = new Float64Array(lonLat.length / 2 * 3);
    for (let i = 0; i < lonLat.length; i += 2) {
      const lon = lonLat[i] * rad, lat = lonLat[i + 1] * rad;
      out.set([Math.cos(lat) * Math.cos(lon), Math.cos(lat) * Math.sin(lon), Math.sin(lat)], i / 2 * 3);
    }
    return out;
  };
  const land = data.land.map(vectors), layers = data.layers.map(l => ({ ...l, at: vectors(l.points) }));
  const graticule = [];
  for (let lon = -180; lon < 180; lon += 30) graticule.push(vectors(Array.from({ length: 61 }, (_, i) => [lon, 3 * i - 90]).flat()));
  for (let lat = -60; lat <= 60; lat += 30) graticule.push(vectors(Array.from({ length: 121 }, (_, i) => [3 * i - 180, lat]).flat()));

  // The view's centre in degrees, and the disc on the canvas in device pixels.
  let lon0 = -100, lat0 = 22, size = 0, radius = 0, ratio = 1;
  let cl, sl, cb, sb; // cosines and sines of lon0 and lat0
  const p = { x: 0, y: 0, z: 0 }; // the last projected place; z > 0 is in sight
  const project = (v, k) => {
    const forward = cl * v[k] + sl * v[k + 1];
    p.x = size / 2 + radius * (cl * v[k + 1] - sl * v[k]);
    p.y = size / 2 - radius * (cb * v[k + 2] - sb * forward);
    p.z = sb * v[k + 2] + cb * forward;
  };

  // Whether a place is on land, by crossings of its meridian north of it.
  const onLand = (lon, lat) => {
    let inside = false;
    for (const ring of data.land) {
      for (let i = 2; i < ring.length; i += 2) {
        const a = ring[i - 2], b = ring[i - 1], c = ring[i], d = ring[i + 1];
        if ((a > lon) !== (c > lon) && lat < b + (d - b) * (lon - a) / (c - a)) inside = !inside;
      }
    }
    return inside;
  };

  // Places out of sight are moved to the limb. That leaves the winding number of
  // every place in sight unchanged unless the antipode of the centre is on land;
  // then it is one too small everywhere, and the limb itself makes up for it.
  const fillLand = () => {
    ctx.beginPath();
    for (const ring of land) {
      for (let k = 0; k < ring.length; k += 3) {
        project(ring, k);
        const x = p.x - size / 2, y = p.y - size / 2, s = p.z < 0 ? radius / (Math.hypot(x, y) || 1) : 1;
        ctx[k ? "lineTo" : "moveTo"](size / 2 + s * x, size / 2 + s * y);
      }
    }
    if (onLand((lon0 % 360 + 360) % 360 - 180, -lat0)) {
      ctx.moveTo(size / 2 + radius, size / 2);
      ctx.arc(size / 2, size / 2, radius, 0, 2 * Math.PI, true);
    }
    ctx.fill();
  };
  const disc = (x, y, r) => { ctx.beginPath(); ctx.arc(x, y, r, 0, 2 * Math.PI); };
  const strokeLine = (line, skip) => {
    let pen = false;
    for (let k = 0; k < line.length; k += 3) {
      project(line, k);
      ctx[pen && p.z > 0 && !skip?.(k / 3) ? "lineTo" : "moveTo"](p.x, p.y);
      pen = p.z > 0;
    }
  };
  // An edge along the antimeridian or at the pole is a cut of the map, no coast.
  const cuts = ring => i => i > 0 && (Math.abs(ring[2 * i - 2]) === 180 && Math.abs(ring[2 * i]) === 180 || ring[2 * i + 1] === -90);

  const draw = () => {
    size = canvas.width;
    ratio = devicePixelRatio || 1;
    radius = size / 2 - 2 * ratio;
    const css = getComputedStyle(canvas), colour = name => css.getPropertyValue(name);
    [cl, sl, cb, sb] = [Math.cos(lon0 * rad), Math.sin(lon0 * rad), Math.cos(lat0 * rad), Math.sin(lat0 * rad)];
    ctx.clearRect(0, 0, size, size);
    disc(size / 2, size / 2, radius);
    ctx.fillStyle = colour("--ocean");
    ctx.fill();
    ctx.strokeStyle = colour("--graticule");
    ctx.lineWidth = 0.7 * ratio;
    ctx.beginPath();
    graticule.forEach(line => strokeLine(line));
    ctx.stroke();
    ctx.fillStyle = colour("--land");
    fillLand();
    ctx.beginPath();
    ctx.strokeStyle = colour("--coast");
    land.forEach((ring, i) => strokeLine(ring, cuts(data.land[i])));
    ctx.stroke();
    // In turns, as in the figures: where layers crowd, all of them show.
    for (let turn = 0; turn < 64; turn++) layers.forEach((layer, i) => {
      if (!layerBoxes[i].checked) return;
      ctx.fillStyle = dark.matches ? layer.dark : layer.light;
      ctx.globalAlpha = layer.alpha;
      const n = layer.at.length / 3, end = Math.floor((turn + 1) * n / 64);
      for (let j = Math.floor(turn * n / 64); j < end; j++) {
        project(layer.at, 3 * j);
        if (p.z <= 0) continue;
        disc(p.x, p.y, layer.radius * ratio);
        ctx.fill();
      }
    });
    ctx.globalAlpha = 1;
    ctx.strokeStyle = colour("--rule");
    ctx.lineWidth = ratio;
    disc(size / 2, size / 2, radius);
    ctx.stroke();
  };

  let last = 0, visible = true;
  const frame = now => {
    if (spinBox.checked && visible) { lon0 += 5e-3 * Math.min(now - last, 50); ask(); }
    last = now;
    draw();
  };
  const ask = turnable(canvas, {
    draw: frame, span: 120, arrows: -5,
    turn: (across, down) => { spinBox.checked = false; lon0 -= across; lat0 = Math.max(-90, Math.min(90, lat0 + down)); },
  });
  canvas.addEventListener("pointerdown", () => { spinBox.checked = false; });
  [spinBox, dark, ...layerBoxes].forEach(x => x.addEventListener("change", ask));
  new IntersectionObserver(entries => { visible = entries.at(-1).isIntersecting; ask(); }).observe(canvas);
  spinBox.checked = !matchMedia("(prefers-reduced-motion: reduce)").matches;
  return { show: (i, layer) => { layers[i].at = vectors(layer.points); ask(); } };
};
