// Pointer and keyboard controls of a map.

export class MapControls {
  constructor(map) {
    this.map = map;
    this.pointers = new Map();
    this.travelled = 0;
    const { canvas } = map;
    canvas.addEventListener("pointerdown", (event) => this.press(event));
    canvas.addEventListener("pointermove", (event) => this.move(event));
    canvas.addEventListener("pointerup", (event) => this.release(event));
    canvas.addEventListener("pointercancel", (event) => this.pointers.delete(event.pointerId));
    canvas.addEventListener("pointerleave", () => this.pointers.size || map.show(-1));
    canvas.addEventListener("wheel", (event) => this.turnWheel(event), { passive: false });
    new ResizeObserver(() => map.fit()).observe(canvas);
  }

  placeOf(event) {
    const box = this.map.canvas.getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - box.top };
  }

  rowAt({ x, y }) {
    const { view, size, scale, dotRadius, points, isShown } = this.map;
    return points.nearestRow(view.x + (x - size.width / 2) / scale, view.y - (y - size.height / 2) / scale, (dotRadius + 4) / scale, isShown);
  }

  press(event) {
    this.map.canvas.setPointerCapture(event.pointerId);
    this.pointers.set(event.pointerId, this.placeOf(event));
    if (this.pointers.size === 1) this.travelled = 0;
  }

  move(event) {
    const now = this.placeOf(event);
    const before = this.pointers.get(event.pointerId);
    if (before) this.drag(event, before, now);
    else this.hover(now);
  }

  hover(now) {
    const row = this.rowAt(now);
    this.map.canvas.classList.toggle("over", row >= 0);
    this.map.show(row);
  }

  drag(event, before, now) {
    const other = [...this.pointers].find(([id]) => id !== event.pointerId)?.[1];
    if (other) this.pinch(other, before, now);
    else this.map.moveBy(now.x - before.x, now.y - before.y);
    this.travelled += Math.hypot(now.x - before.x, now.y - before.y);
    this.map.canvas.classList.toggle("moving", this.travelled > 4);
    this.pointers.set(event.pointerId, now);
  }

  // Pinch: zoom by the change in distance, centred on the finger that did not move.
  pinch(other, before, now) {
    const apart = (point) => Math.max(1, Math.hypot(point.x - other.x, point.y - other.y));
    this.map.zoomAt(apart(now) / apart(before), other.x, other.y);
  }

  release(event) {
    const { map, pointers } = this;
    const alone = pointers.size === 1;
    pointers.delete(event.pointerId);
    map.canvas.classList.remove("moving");
    if (!alone || this.travelled > 4) return;
    const row = this.rowAt(this.placeOf(event));
    map.isolate(row < 0 || map.chosen.only !== null ? null : map.points.groupOf[row]);
    map.show(row);
  }

  turnWheel(event) {
    event.preventDefault();
    const lines = event.deltaMode === 1 ? 16 : 1;
    const { x, y } = this.placeOf(event);
    this.map.zoomAt(Math.exp(-Math.max(-120, Math.min(120, event.deltaY * lines)) * 0.003), x, y);
  }
}

// The action of each key on a map; other keys do nothing.
export const MAP_KEYS = {
  ArrowLeft: (map) => map.moveBy(60, 0),
  ArrowRight: (map) => map.moveBy(-60, 0),
  ArrowUp: (map) => map.moveBy(0, 60),
  ArrowDown: (map) => map.moveBy(0, -60),
  "+": (map) => map.zoomAt(1.4),
  "=": (map) => map.zoomAt(1.4),
  "-": (map) => map.zoomAt(1 / 1.4),
  0: (map) => map.showWhole(),
  n: (map) => map.step(1),
  p: (map) => map.step(-1),
};
