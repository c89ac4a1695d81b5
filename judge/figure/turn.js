// What canvases share that are turned by hand: dragging and the arrow keys turn the view, and
// it is drawn again when it has changed, at most once a frame. The view has
//   draw(now)          draws it on canvas.width × canvas.height device pixels
//   turn(across, down) turns it as a drag to the right and down does, in degrees
//   span               degrees that a drag over the whole canvas turns it by
//   arrows             degrees of a key, as a drag; below 0 the keys move the eye instead
//   zoom(by)           shows it so many times as large, for + and - (optional)
//   key(e)             takes another key, and says whether it did (optional)
// turnable returns what asks for another drawing.
const turnable = (canvas, view) => {
  "use strict";
  let pending = 0, grip; // grip is the pointer's last event while it drags
  const ask = () => { pending ||= requestAnimationFrame(now => { pending = 0; if (canvas.width) view.draw(now); }); };
  const turn = (across, down) => { view.turn(across, down); ask(); };
  canvas.addEventListener("pointerdown", e => { grip = e; canvas.setPointerCapture(e.pointerId); });
  canvas.addEventListener("pointermove", e => {
    if (!e.buttons || !grip) return;
    const each = view.span / canvas.clientWidth;
    turn((e.clientX - grip.clientX) * each, (e.clientY - grip.clientY) * each);
    grip = e;
  });
  canvas.addEventListener("keydown", e => {
    const by = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[e.key];
    const larger = view.zoom && { "+": 1.1, "-": 1 / 1.1 }[e.key];
    if (by) turn(by[0] * view.arrows, by[1] * view.arrows);
    else if (larger) { view.zoom(larger); ask(); }
    else if (!view.key?.(e)) return;
    e.preventDefault();
  });
  new ResizeObserver(() => {
    canvas.width = canvas.height = Math.round(canvas.clientWidth * (devicePixelRatio || 1));
    if (canvas.width) view.draw(performance.now()); // now: a canvas of another size is empty
  }).observe(canvas);
  return ask;
};
