// Every action and question in order; each is a button that leads there.
import { find, make } from "afk/dom.js";

const MARKS = { left: "↰", right: "↱", forward: "↑", "pick up": "⤒", drop: "⤓", toggle: "⇄", done: "✓" };

export function showTimeline(episode, index, seek) {
  const list = find("timeline");
  if (list.episode !== episode || list.shown > episode.moments.length) {
    list.replaceChildren();
    list.episode = episode;
  }
  list.shown = episode.moments.length;
  // Entries are made once: while an episode is played only new ones are added.
  for (let place = list.querySelectorAll("li:not(.end)").length; place < episode.moments.length; place++) {
    list.append(makeEntry(episode.moments[place].step, place, seek));
  }
  if (episode.ending && !list.querySelector(".end")) {
    const tone = episode.ending.how === "success" ? "success" : "failure";
    const button = make("button", { type: "button" }, episode.ending.how);
    button.onclick = () => seek(episode.moments.length - 1);
    list.append(make("li", { className: `end ${tone}` }, button));
  }
  [...list.querySelectorAll("li:not(.end)")].forEach((entry, place) => {
    entry.classList.toggle("later", place > index);
    const button = entry.firstChild;
    if (place === index) button.setAttribute("aria-current", "step");
    else button.removeAttribute("aria-current");
  });
  const now = list.children[index];
  if (now) list.scrollLeft = now.offsetLeft - list.offsetLeft - list.clientWidth / 2 + now.offsetWidth / 2;
}

function makeEntry(step, place, seek) {
  const words = step ? step.said.replace(/^ask (?:charlie )?"?([^"]*)"?$/i, "$1") : "start";
  const button = make("button", { type: "button", title: step ? `${step.number}. ${step.said}` : "The start" });
  button.append(step?.asks ? `? ${words}` : MARKS[words] ?? words);
  if (MARKS[words]) button.setAttribute("aria-label", `${step.number}. ${words}`);
  button.onclick = () => seek(place);
  return make("li", { className: step?.asks ? "asks" : "" }, button);
}
