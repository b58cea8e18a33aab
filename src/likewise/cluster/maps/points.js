// The points of a map, with queries: which point is nearest, which texts contain these words.

export class MapPoints {
  // `texts` with positions `x` and `y`, from 0 to 1, and `labels`; `clusters` have a name, a colour and a position.
  // Points with labels below 0 are in no cluster: they have the colour `other` and the number after the last cluster.
  constructor({ texts, x, y, labels, clusters, other }) {
    Object.assign(this, { texts, x, y, count: texts.length, none: clusters.length });
    this.groups = [...clusters, { name: "in no cluster", colour: other }];
    this.groupOf = Int32Array.from(labels, (label) => (label < 0 ? this.none : label));
    this.rowsOf = this.groups.map(() => []);
    this.groupOf.forEach((group, row) => this.rowsOf[group].push(row));
    this.order = this.rowsOf.flat().reverse(); // unclustered texts first, so that the largest cluster is on top
    this.lowered = texts.map((text) => text.toLowerCase());
    this.side = Math.max(1, Math.min(256, Math.round(Math.sqrt(this.count / 2))));
    this.cells = this.cellLists();
  }

  cellOf(place) {
    return Math.max(0, Math.min(this.side - 1, Math.floor(place * this.side)));
  }

  cellLists() {
    const lists = new Map();
    for (let row = 0; row < this.count; row++) {
      const cell = this.cellOf(this.y[row]) * this.side + this.cellOf(this.x[row]);
      if (lists.has(cell)) lists.get(cell).push(row);
      else lists.set(cell, [row]);
    }
    return lists;
  }

  // The rows in the cells that a rectangle touches.
  *rowsNear(left, low, right, high) {
    for (let down = this.cellOf(low); down <= this.cellOf(high); down++) {
      for (let across = this.cellOf(left); across <= this.cellOf(right); across++) {
        yield* this.cells.get(down * this.side + across) ?? [];
      }
    }
  }

  countWithin(left, low, right, high) {
    let count = 0;
    for (const row of this.rowsNear(left, low, right, high)) {
      count += Number(this.x[row] >= left && this.x[row] <= right && this.y[row] >= low && this.y[row] <= high);
    }
    return count;
  }

  // The visible row nearest to a position, within a radius; -1 if there is none.
  nearestRow(x, y, radius, isShown) {
    let best = -1;
    let least = radius * radius;
    for (const row of this.rowsNear(x - radius, y - radius, x + radius, y + radius)) {
      const distance = (this.x[row] - x) ** 2 + (this.y[row] - y) ** 2;
      if (distance <= least && isShown(row)) {
        best = row;
        least = distance;
      }
    }
    return best;
  }

  // The rows whose texts contain every word of the query, ignoring case; null for an empty query.
  rowsWith(query) {
    const words = query.toLowerCase().split(/\s+/).filter(Boolean);
    if (!words.length) return null;
    const found = new Set();
    this.lowered.forEach((text, row) => {
      if (words.every((word) => text.includes(word))) found.add(row);
    });
    return found;
  }
}
