// Tables and code that are wider than the page are scrolled by the keyboard, too.
document$.subscribe(() => requestAnimationFrame(() => {
  for (const part of document.querySelectorAll(".md-typeset__scrollwrap")) part.tabIndex = 0;
}));
