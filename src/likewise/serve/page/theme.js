// Light or dark theme, set before the first paint: the user's last choice, or else the system preference.
"use strict";

const THEME_KEY = "likewise-theme";

function storedTheme() {
  try {
    return localStorage.getItem(THEME_KEY);
  } catch {
    return null; // storage is disabled
  }
}

function showTheme() {
  const prefersDark = matchMedia("(prefers-color-scheme: dark)").matches;
  document.documentElement.dataset.theme = storedTheme() ?? (prefersDark ? "dark" : "light");
}

function switchTheme() {
  const next = document.documentElement.dataset.theme === "dark" ? "light" : "dark";
  try {
    localStorage.setItem(THEME_KEY, next);
  } catch {
    // the choice lasts until the page is closed
  }
  document.documentElement.dataset.theme = next;
}

showTheme();
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", showTheme);
document.addEventListener("click", (event) => {
  if (event.target.closest?.("#theme")) switchTheme();
});
