// Creates elements from plain values; strings become text nodes, never markup.

// h("p", { class: "note", onclick: act, "--share": 0.5 }, "text", child): names that begin with "on" are listeners,
// names that begin with "--" are style properties, and true and false set and remove attributes.
export function h(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) setAttribute(element, name, value);
  element.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return element;
}

function setAttribute(element, name, value) {
  if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
  else if (name.startsWith("--")) element.style.setProperty(name, value);
  else if (name === "value" && "value" in element && element.tagName !== "LI") element.value = value;
  else if (value === true) element.setAttribute(name, "");
  else if (value !== false && value !== null && value !== undefined) element.setAttribute(name, value);
}

let numbered = 0;

// Returns an element id that is unique on the page.
export function freshId(stem) {
  numbered += 1;
  return `${stem}-${numbered}`;
}

// A labelled control: field("Filter", input).
export function field(name, control) {
  return h("label", { class: "field" }, h("span", {}, name), control);
}

// Buttons for examples; each example is a pair of a name and a value, which is passed to `choose`.
export function exampleChips(title, examples, choose) {
  const buttons = examples.map(([name, value]) => h("button", { type: "button", onclick: () => choose(value) }, name));
  return h("div", { class: "chips" }, h("span", { class: "note" }, title), buttons);
}

// Radio buttons that look like a single switch: `act` is called with the value that the user selects.
export function segments(legend, options, chosen, act) {
  const group = freshId("segments");
  const inputs = options.map(([value]) => h("input", { type: "radio", name: group, value, onchange: () => act(value) }));
  const labels = options.map(([, name], at) => h("label", {}, inputs[at], h("span", {}, name)));
  const choose = (value) => inputs.forEach((input) => (input.checked = input.value === value));
  choose(chosen);
  const element = h("div", { class: "segments", role: "radiogroup", "aria-label": legend }, labels);
  showEdges(element);
  return { element, choose };
}

// A check box with a label.
export function checkBox(name, checked, change) {
  const input = h("input", { type: "checkbox", onchange: () => change(input.checked) });
  input.checked = checked;
  return h("label", { class: "check" }, input, name);
}

// A message to show when there is no content yet or when something went wrong.
export function notice(text, ...more) {
  return h("div", { class: "notice" }, h("p", {}, text), ...more);
}

export function failureNotice(failure, again) {
  const retry = again ? h("button", { type: "button", onclick: again }, "Try again") : null;
  return h("div", { class: "notice bad", role: "alert" }, h("p", {}, failure.message), retry);
}

// Fade the sides of an element beyond which it can be scrolled.
export function showEdges(element) {
  const mark = () => {
    const left = Math.abs(element.scrollLeft);
    element.classList.toggle("more-before", left > 1);
    element.classList.toggle("more-after", left + element.clientWidth < element.scrollWidth - 1);
  };
  element.addEventListener("scroll", mark, { passive: true });
  const observer = new ResizeObserver(mark);
  [element, ...element.children].forEach((one) => observer.observe(one));
}

// Call `act` once this many milliseconds have passed without another call (debounce).
export function debounced(act, milliseconds) {
  let timer = 0;
  return (...values) => {
    clearTimeout(timer);
    timer = setTimeout(() => act(...values), milliseconds);
  };
}

// Call `act` at once; if it is called again while it is running, call it once more afterwards.
export function paced(act) {
  let isBusy = false;
  let isWanted = false;
  return async () => {
    isWanted = true;
    if (isBusy) return;
    isBusy = true;
    try {
      while (isWanted) {
        isWanted = false;
        await act();
      }
    } finally {
      isBusy = false;
    }
  };
}

export function counted(count, one, many = `${one}s`) {
  return `${count.toLocaleString("en")} ${count === 1 ? one : many}`;
}
