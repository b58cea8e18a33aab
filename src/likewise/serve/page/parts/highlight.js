// The words of a query, marked where they stand in a text.

const SHORTEST = 3; // letters: shorter words stand everywhere

// The words of a query that are worth marking, the longest first.
export function wordsOf(query) {
  const words = query.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
  return [...new Set(words.filter((word) => word.length >= SHORTEST))].sort((a, b) => b.length - a.length);
}

// A text as pieces, with every word that begins like one of the query's in a <mark>.
export function highlighted(text, words) {
  if (!words.length) return [text];
  const pattern = new RegExp(`(?<![\\p{L}\\p{N}])(?:${words.map(stem).join("|")})[\\p{L}\\p{N}]*`, "giu");
  const pieces = [];
  let from = 0;
  for (const match of text.matchAll(pattern)) {
    const mark = document.createElement("mark");
    mark.textContent = match[0];
    pieces.push(text.slice(from, match.index), mark);
    from = match.index + match[0].length;
  }
  return [...pieces, text.slice(from)];
}

// Without the last letter or two of longer words, so that plurals and other forms are marked too; never an operator of
// regular expressions, since words are letters and digits.
function stem(word) {
  return word.length > 6 ? word.slice(0, -2) : word.length > 4 ? word.slice(0, -1) : word;
}
