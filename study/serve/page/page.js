// The page of the service: it asks for samples on their way back from noise, and plays them. What is turned by hand
// is what reports show (scenes.js); this shows new layers in it, the violation beside it, and what is observed.
(() => {
  "use strict";
  const find = id => document.getElementById(id);
  const select = find("run"), time = find("time"), play = find("play"), status = find("status"), fault = find("fault");
  let runs = [], scene = null, about = null, frames = [], shown = 0, asked = 0, drawing = null;

  const headers = more => {
    const token = find("token").value.trim();
    return token ? { ...more, Authorization: "Bearer " + token } : more;
  };
  // What the service refuses it says in words: application/problem+json.
  const get = async (path, options = {}) => {
    const answer = await fetch(path, { ...options, headers: headers(options.headers || {}) });
    if (answer.ok) return answer;
    if (answer.status === 401) { find("token-field").hidden = false; find("token").focus(); }
    let told = answer.status + " " + answer.statusText;
    try { const p = await answer.json(); told = p.detail || p.title; } catch { /* no problem+json: the status says it */ }
    const wait = answer.headers.get("Retry-After");
    throw Object.assign(new Error(told + (wait ? `; again in ${wait} s` : "")), { status: answer.status, wait: +wait });
  };
  const say = text => { status.textContent = text; };
  const complain = e => { fault.hidden = !e; fault.textContent = e ? e.message : ""; if (e) say("Nothing was drawn."); };
  const number = v => v === 0 ? "0" : Math.abs(v) >= 0.01 && Math.abs(v) < 1e4 ? String(+v.toPrecision(3)) : v.toExponential(1);

  const make = (name, attributes, text) => {
    const e = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const k in attributes) e.setAttribute(k, attributes[k]);
    if (text !== undefined) e.textContent = text;
    return e;
  };

  // The violation of each frame, by powers of ten.
  // Charts are as wide as their place, so that their text is as large on any screen.
  const H = 220, left = 52, top = 12, right = 12, bottom = 30;
  const place = id => Math.max(220, find(id).clientWidth || 460);
  const violation = () => {
    const W = place("violation"), svg = make("svg", { viewBox: `0 0 ${W} ${H}`, role: "img", "aria-labelledby": "violation-text" });
    const at = f => left + (W - left - right) * (frames.length > 1 ? f / (frames.length - 1) : 0);
    const logs = frames.flatMap(f => [f.mean, f.worst]).filter(v => v > 0).map(Math.log10);
    const lo = Math.floor(Math.min(-16, ...logs)), hi = Math.ceil(Math.max(lo + 1, ...logs));
    const y = v => top + (H - top - bottom) * (hi - Math.max(lo, v > 0 ? Math.log10(v) : lo)) / (hi - lo);
    const each = Math.max(1, Math.ceil((hi - lo) / 5));
    for (let p = hi; p >= lo; p -= each) {
      svg.append(make("line", { class: "axis", x1: left, x2: W - right, y1: y(10 ** p), y2: y(10 ** p), "stroke-opacity": 0.3 }));
      svg.append(make("text", { x: left - 6, y: y(10 ** p) + 4, "text-anchor": "end" }, p === 0 ? "1" : "1e" + p));
    }
    for (const key of ["worst", "mean"]) {
      svg.append(make("polyline", { class: key, points: frames.map((f, i) => `${at(i)},${y(f[key])}`).join(" ") }));
    }
    svg.append(make("line", { class: "now", x1: at(shown), x2: at(shown), y1: top, y2: H - bottom }));
    svg.append(make("text", { x: left, y: H - 8 }, "noise"), make("text", { x: W - right, y: H - 8, "text-anchor": "end" }, "samples"));
    find("violation").replaceChildren(svg);
    const f = frames[shown];
    find("violation-text").textContent = `How far the samples are from the set: mean over components (solid), worst (dashed). At this step mean ${number(f.mean ?? 0)}, worst ${number(f.worst ?? 0)}.`;
  };

  // A histogram of each observable, samples over data.
  const observables = () => {
    const box = document.createElement("div"), f = frames[shown], W = place("observables");
    about.observables.forEach((o, k) => {
      const h = 96, samples = f.histograms[k], data = o.data || [];
      const svg = make("svg", { viewBox: `0 0 ${W} ${h}`, role: "img", "aria-label": `${o.name}: histogram from ${number(o.lo)} to ${number(o.hi)} ${o.unit || ""}` });
      const high = Math.max(1e-9, ...samples, ...data), base = h - 22, width = W / samples.length;
      samples.forEach((v, i) => {
        if (v > 0) svg.append(make("rect", { class: "bar", x: i * width, y: base - (base - 14) * v / high, width: width - 1, height: (base - 14) * v / high }));
      });
      if (data.length) {
        svg.append(make("polyline", { class: "data", points: data.flatMap((v, i) => [0, 1].map(e => `${(i + e) * width},${base - (base - 14) * v / high}`)).join(" ") }));
      }
      svg.append(make("line", { class: "axis", x1: 0, x2: W, y1: base, y2: base }));
      svg.append(make("text", { x: 2, y: h - 6 }, number(o.lo)), make("text", { x: W - 2, y: h - 6, "text-anchor": "end" }, number(o.hi)));
      svg.append(make("text", { x: W / 2, y: h - 6, "text-anchor": "middle" }, o.name + (o.unit ? ", " + o.unit : "")));
      box.append(svg);
    });
    find("observables").replaceChildren(box);
  };

  // Points of a set that has no view of its own: up to three coordinates, turned by hand.
  const pointsScene = () => {
    const section = document.createElement("section"), canvas = document.createElement("canvas"), words = document.createElement("div");
    section.className = "globe";
    canvas.id = "points";
    canvas.className = "plain";
    canvas.tabIndex = 0;
    canvas.setAttribute("role", "img");
    canvas.setAttribute("aria-label", "Samples by their first coordinates. Arrow keys turn them.");
    const title = document.createElement("h2"), text = document.createElement("p");
    title.textContent = "Samples";
    text.textContent = "The first coordinates of each sample. Drag, or use the arrow keys, to turn them.";
    words.append(title, text);
    section.append(canvas, words);
    find("scene").replaceChildren(section);
    const ctx = canvas.getContext("2d"), rad = Math.PI / 180;
    let points = [], azimuth = 30, elevation = 20, centre = [0, 0, 0], reach = 1;
    const draw = () => {
      const size = canvas.width, ratio = devicePixelRatio || 1, css = getComputedStyle(canvas);
      const flat = !points.some(p => p.length > 2);
      const sa = flat ? 0 : Math.sin(azimuth * rad), ca = flat ? 1 : Math.cos(azimuth * rad), se = flat ? 0 : Math.sin(elevation * rad), ce = flat ? 1 : Math.cos(elevation * rad);
      ctx.clearRect(0, 0, size, size);
      ctx.strokeStyle = css.getPropertyValue("--line");
      ctx.lineWidth = ratio;
      ctx.strokeRect(ratio / 2, ratio / 2, size - ratio, size - ratio);
      ctx.fillStyle = css.getPropertyValue("--accent");
      for (const p of points) {
        const [x, y, z] = [0, 1, 2].map(k => ((p[k] ?? 0) - centre[k]) / reach), forward = sa * x + ca * z;
        const depth = flat ? 1 : se * y + ce * forward;
        ctx.globalAlpha = 0.35 + 0.6 * Math.min(1, Math.max(0, (depth + 1) / 2));
        ctx.beginPath();
        ctx.arc(size / 2 + 0.46 * size * (ca * x - sa * z), size / 2 - 0.46 * size * (ce * y - se * forward), 2.6 * ratio, 0, 2 * Math.PI);
        ctx.fill();
      }
      ctx.globalAlpha = 1;
    };
    const ask = turnable(canvas, { draw, span: 120, arrows: -5, turn: (across, down) => { azimuth -= across; elevation = Math.max(-90, Math.min(90, elevation + down)); } });
    return { show: (_, p) => { points = p; ask(); }, fit: last => { // the box of the samples, with room
      centre = [0, 1, 2].map(k => { const v = last.map(p => p[k] ?? 0); return (Math.min(...v) + Math.max(...v)) / 2; });
      reach = 1.25 * Math.max(1e-9, ...last.map(p => Math.hypot(...[0, 1, 2].map(k => (p[k] ?? 0) - centre[k]))));
    } };
  };

  const show = i => {
    if (!frames.length) return;
    shown = Math.max(0, Math.min(i, frames.length - 1));
    const f = frames[shown];
    time.max = frames.length - 1;
    time.value = shown;
    const told = f.last ? "samples" : `step ${f.step} of ${f.of}`;
    time.setAttribute("aria-valuetext", told);
    find("frame").textContent = told;
    if (scene) {
      if (f.layer) scene.show(about.live.kind === "surface" ? 0 : about.live.data.layers.length - 1, f.layer);
      else if (f.points) { if (frames.at(-1).points) scene.fit(frames.at(-1).points); scene.show(0, f.points); }
    }
    violation();
    observables();
  };

  // Playing: a frame each 70 ms, from the beginning if it has ended.
  let timer = 0;
  const stop = () => { clearInterval(timer); timer = 0; play.textContent = "▶"; play.setAttribute("aria-pressed", "false"); play.setAttribute("aria-label", "play"); };
  const start = () => {
    stop();
    if (shown >= frames.length - 1) shown = 0;
    play.textContent = "❚❚";
    play.setAttribute("aria-pressed", "true");
    play.setAttribute("aria-label", "pause");
    timer = setInterval(() => { if (shown >= frames.length - 1) { if (!drawing) stop(); } else show(shown + 1); }, 70);
  };
  play.addEventListener("click", () => { if (timer) stop(); else if (frames.length) start(); });
  time.addEventListener("input", () => { stop(); show(+time.value); });
  addEventListener("resize", () => show(shown));

  const current = () => runs.find(r => r.name === select.value);
  const body = given => {
    const ask = { n: +find("n").value, seed: +find("seed").value, first: +find("first").value };
    const c = current()?.condition;
    if (c) ask.condition = Object.fromEntries(c.names.map((name, k) => [name, +find("given-" + k).value]));
    if (given) ask.given = given;
    return JSON.stringify(ask);
  };
  const path = what => `/v1/runs/${encodeURIComponent(select.value)}/${what}`;

  // How good the run is, in words: its verdict, what that found, and whether its training is done.
  const standing = r => {
    const verdict = r.verdict || "none; landing report RUN judges its samples";
    const words = [`Verdict: ${verdict}`, ...(r.wrong || []), ...(r.cautions || []), ...(r.warning ? [r.warning] : [])];
    const place = find("standing");
    place.hidden = false;
    place.className = r.grade === "not good" || r.cautions ? "fault" : "told";
    place.textContent = words.map(w => w.replace(/\.$/, "")).join(". ") + ".";
  };

  // A run was chosen: its words, its condition, its scene.
  const choose = async () => {
    const mine = ++asked, r = current();
    drawing?.abort();
    stop();
    frames = [];
    about = scene = null;
    if (!r) return;
    standing(r);
    find("seed").value = r.seed;
    find("n").value = r.kind === "trajectory" || r.kind === "molecule" || r.dim > 60 ? 24 : 200;
    find("condition").replaceChildren(...(r.condition ? r.condition.names.map((name, k) => {
      const label = document.createElement("label"), input = document.createElement("input");
      label.append(`${name} (${number(r.condition.lo[k])} to ${number(r.condition.hi[k])}) `, input);
      Object.assign(input, { id: "given-" + k, type: "number", step: "any", required: true, value: +((r.condition.lo[k] + r.condition.hi[k]) / 2).toPrecision(4) });
      return label;
    }) : []));
    say(`${r.title}: ${r.method} on ${r.set}, ${r.dim} numbers a sample. Looking at it …`);
    try {
      const told = await (await get(path("scene"))).json();
      if (mine !== asked) return;
      about = told;
      if (told.live) {
        find("scene").innerHTML = told.live.html; // of this service's own templates; its policy runs no script in it
        scene = { globe: globeScene, surface: surfaceScene, molecule: moleculeScene, arm: armScene }[told.live.kind](told.live.data);
      } else scene = pointsScene();
      await draw();
    } catch (e) { if (mine === asked) complain(e); }
  };

  // Frames come as lines while they are drawn.
  const draw = async () => {
    if (!about) return;
    drawing?.abort();
    const mine = drawing = new AbortController(), begun = performance.now();
    complain(null);
    stop();
    frames = [];
    shown = 0;
    say("Drawing …");
    try {
      const answer = await get(path("paths"), { method: "POST", body: body(), headers: { "Content-Type": "application/json" }, signal: mine.signal });
      const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
      let text = "";
      for (;;) {
        const { done, value } = await reader.read();
        if (drawing !== mine) return;
        const lines = (text += value ?? "").split("\n");
        text = lines.pop();
        for (const line of lines) {
          const f = JSON.parse(line);
          if (f.problem) throw new Error(f.problem.detail);
          frames.push(f);
          if (frames.length === 1) { show(0); start(); }
        }
        if (done) break;
      }
      const last = frames.at(-1);
      if (!last?.last) throw new Error("the answer broke off");
      drawing = null;
      time.max = frames.length - 1;
      if (matchMedia("(prefers-reduced-motion: reduce)").matches) { stop(); show(frames.length - 1); }
      say(`${current().title}: ${find("n").value} samples in ${((performance.now() - begun) / 1000).toFixed(2)} s, ${frames.length} frames; worst violation of a sample ${number(last.worst ?? 0)}.`);
    } catch (e) { if (e.name !== "AbortError") { drawing = null; stop(); complain(e); } }
  };
  find("ask").addEventListener("submit", e => { e.preventDefault(); if (runs.length) draw(); else list(); });
  select.addEventListener("change", choose);

  // The same request for samples gets the very samples that are shown.
  find("save").addEventListener("click", async () => {
    if (!find("ask").reportValidity()) return;
    try {
      const answer = await get(path("samples"), { method: "POST", body: body(find("given").value.trim()), headers: { "Content-Type": "application/json", Accept: "application/x-npy" } });
      const blob = await answer.blob(), link = document.createElement("a");
      link.href = URL.createObjectURL(blob);
      link.download = `${select.value}-${find("seed").value}-${find("first").value}.npy`;
      link.click();
      setTimeout(() => URL.revokeObjectURL(link.href), 1000);
      complain(null);
      say(`${link.download}: ${blob.size} bytes.`);
    } catch (e) { complain(e); }
  });

  const list = async () => {
    try {
      runs = (await (await get("/v1/runs")).json()).runs;
      complain(null);
      select.replaceChildren(...runs.map(r => new Option(`${r.name}: ${r.title}`, r.name)));
      await choose();
    } catch (e) {
      complain(e);
      say(e.status === 503 ? "The service is reading its runs." : "The runs cannot be read.");
      if (e.status === 503) setTimeout(list, 1000 * (e.wait || 5));
    }
  };
  find("token").addEventListener("change", list);
  list();
})();
