// Before the first paint: light or dark, as chosen on any page of the site; and whether the demo or its picture is shown.
"use strict";

const PALETTE = `${new URL(".", location).pathname}.__palette`; // where the theme of the other pages keeps the choice
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
