// The notebook: sets of notes, A0 set apart, with arcs between notes that share an n-gram.
import { find, make, makeSvg } from "afk/dom.js";

export function showNotebook(episode, index) {
  const { notebook, links } = episode.moments[index];
  const fresh = new Set(index > 0 ? newNotes(episode.moments[index - 1].notebook, notebook) : []);
  find("notes-hint").textContent = episode.reads_notes ? "" : "which this agent does not read";
  let first = 0;
  const sets = notebook.map((notes, number) => {
    const rows = notes.map((note, row) => makeNote(note, first + row, links, fresh.has(note)));
    const inside = links
      .filter(([one]) => one >= first && one < first + notes.length)
      .map(([one, two]) => [one - first, two - first]);
    first += notes.length;
    return makeSet(number, rows, inside);
  });
  const box = find("notebook");
  box.replaceChildren(...sets.map(({ set }) => set));
  for (const { set, rows, inside } of sets) drawArcs(set, rows, inside);
  const newest = box.querySelector(".note.new");
  if (!newest) return;
  const hidden = newest.getBoundingClientRect().bottom - box.getBoundingClientRect().bottom;
  if (hidden > 0) box.scrollTop += hidden + 12;
}

function newNotes(before, after) {
  const known = new Set(before.flat());
  return after.flat().filter((note) => !known.has(note));
}

function makeSet(number, rows, inside) {
  const title = make("h3", {}, make("b", {}, `A${number}`), number ? " unrelated so far" : " what the instruction leads to");
  const set = make("div", { className: number ? "set" : "set focus", role: "group", ariaLabel: `A${number}` }, title, ...rows);
  return { set, rows, inside };
}

// A note with the words underlined that relate it to others.
function makeNote(note, place, links, isNew) {
  const shared = links.filter(([one, two]) => one === place || two === place).flatMap(([, , grams]) => grams);
  const row = make("p", { className: isNew ? "note new" : "note" });
  const words = note.split(" ");
  const marked = words.map(() => false);
  for (const gram of shared.map((each) => each.split(" "))) {
    for (let start = 0; start + gram.length <= words.length; start++) {
      if (gram.every((word, offset) => words[start + offset] === word)) marked.fill(true, start, start + gram.length);
    }
  }
  for (let start = 0; start < words.length; ) {
    let end = start + 1;
    while (end < words.length && marked[end] === marked[start]) end++;
    const text = words.slice(start, end).join(" ");
    row.append(marked[start] ? make("mark", {}, text) : text, end < words.length ? " " : "");
    start = end;
  }
  return row;
}

function drawArcs(set, rows, inside) {
  const middles = rows.map((row) => row.offsetTop + Math.min(row.offsetHeight / 2, 18));
  const svg = makeSvg("svg", { "aria-hidden": "true" });
  for (const [one, two] of inside) {
    const [from, to] = [middles[one], middles[two]];
    const reach = 30 - Math.min(26, 8 + 5 * (two - one));
    svg.append(makeSvg("path", { d: `M30 ${from} C${reach} ${from} ${reach} ${to} 30 ${to}` }));
  }
  for (const middle of middles) svg.append(makeSvg("circle", { cx: 30, cy: middle, r: 3.2 }));
  set.append(svg);
}
