// Make tables and code that are wider than the page scrollable with the keyboard too.
document$.subscribe(() => requestAnimationFrame(() => {
  for (const part of document.querySelectorAll(".md-typeset__scrollwrap")) part.tabIndex = 0;
}));
