// The clusters beside a map, each with its colour, name and size; pressing one shows it alone.

// Fills `list` with a button for each cluster that has texts; `press` is called with the cluster's number.
export function fillLegend(list, points, press) {
  list.replaceChildren();
  points.groups.forEach((group, number) => {
    if (!points.rowsOf[number].length) return;
    const button = document.createElement("button");
    const name = document.createElement("span");
    const total = document.createElement("span");
    Object.assign(button, { value: number, type: "button" });
    Object.assign(name, { className: "name", textContent: group.name });
    Object.assign(total, { className: "count", textContent: points.rowsOf[number].length.toLocaleString("en") });
    button.append(swatch(group), name, total);
    button.setAttribute("aria-pressed", "false");
    button.addEventListener("click", () => press(number));
    list.append(document.createElement("li"));
    list.lastChild.append(button);
  });
}

export function pressInLegend(list, chosen) {
  for (const button of list.querySelectorAll("button")) button.setAttribute("aria-pressed", String(Number(button.value) === chosen));
}

export function swatch(group) {
  const dot = document.createElement("span");
  dot.className = "dot";
  dot.style.background = group.colour;
  return dot;
}
