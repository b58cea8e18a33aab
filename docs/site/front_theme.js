// Runs before the first paint: sets the light or dark theme chosen on any page, and shows either the demo or its picture.
"use strict";

const PALETTE = `${new URL(".", location).pathname}.__palette`; // where the other pages' theme stores the choice
const SCHEMES = ["light", "dark"];
const page = document.documentElement;

function storedScheme() {
  try {
    return SCHEMES[JSON.parse(localStorage.getItem(PALETTE)).index];
  } catch {
    return undefined; // nothing was chosen, or storage is disabled
  }
}

function showTheme() {
  page.dataset.theme = storedScheme() ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
}

function switchTheme() {
  const index = page.dataset.theme === "dark" ? 0 : 1;
  page.dataset.theme = SCHEMES[index];
  const color = { media: `(prefers-color-scheme: ${SCHEMES[index]})`, scheme: ["default", "slate"][index], primary: "custom", accent: "custom" };
  try {
    localStorage.setItem(PALETTE, JSON.stringify({ index, color }));
  } catch {
    // the choice lasts until the page is closed
  }
}

showTheme();
if ("engine" in page.dataset && "WebAssembly" in window) page.dataset.live = "";
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", showTheme);
document.addEventListener("click", (event) => {
  if (event.target.closest?.("#theme")) switchTheme();
});
