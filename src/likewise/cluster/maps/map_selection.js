// Which texts of a map are highlighted: those in a cluster or those found by a search, and which one is current.

import { fillLegend, pressInLegend } from "./legend.js";
import { MapView } from "./map_view.js";

export class ClusterMap extends MapView {
  // Same arguments as MapView; `legend` is a list, `state` a line of text, and `changed` is called when the set
  // of highlighted texts changes.
  constructor(elements, points) {
    super(elements, points);
    this.legend = elements.legend;
    this.state = elements.state;
    this.changed = elements.changed ?? (() => {});
    fillLegend(this.legend, points, (group) => this.isolate(this.chosen.only === group ? null : group));
    this.report();
  }

  // Show one cluster alone, or all clusters for null.
  isolate(group) {
    pressInLegend(this.legend, group);
    this.choose(group, this.chosen.found, this.chosen.said);
  }

  isolateNamed(name) {
    const group = this.points.groups.findIndex((one) => one.name === name);
    if (group >= 0) this.isolate(group);
  }

  // Highlight the rows found by a search for `said`; null ends the search.
  find(rows, said) {
    this.choose(this.chosen.only, rows, said);
  }

  choose(only, found, said) {
    const { points, chosen } = this;
    Object.assign(chosen, { only, found, said });
    for (let row = 0; row < points.count; row++) {
      this.shown[row] = Number((only === null || points.groupOf[row] === only) && (found === null || found.has(row)));
    }
    if (chosen.at >= 0 && !this.isShown(chosen.at)) this.show(-1);
    this.report();
    this.redraw();
    this.changed();
  }

  // Go to the next or previous visible text, in file order.
  step(by) {
    const { count } = this.points;
    for (let tried = 1; tried <= count; tried++) {
      const from = this.chosen.at < 0 ? (by > 0 ? -1 : count) : this.chosen.at;
      const row = (((from + by * tried) % count) + count) % count;
      if (this.isShown(row)) return this.goTo(row);
    }
  }

  // Centre the map on a text and announce the text.
  goTo(row) {
    const { points } = this;
    Object.assign(this.view, { x: points.x[row], y: points.y[row], zoom: Math.max(this.view.zoom, 3) });
    this.show(row);
    this.placeTip();
    this.redraw();
    this.state.textContent = `${points.groups[points.groupOf[row]].name}: ${points.texts[row]}`;
  }

  report() {
    const { points, chosen } = this;
    const total = this.shown.reduce((sum, one) => sum + one, 0);
    const where = chosen.only === null ? "" : ` in “${points.groups[chosen.only].name}”`;
    const what = chosen.found === null ? "" : ` with “${chosen.said}”`;
    const all = `${points.count.toLocaleString("en")} texts in ${points.none.toLocaleString("en")} clusters`;
    const some = `${total.toLocaleString("en")} of ${points.count.toLocaleString("en")} texts${what}${where}`;
    this.state.textContent = where || what ? some : all;
  }
}
