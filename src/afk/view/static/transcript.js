// The text world: what was said and heard until now, and the room below it.
import { find, make } from "afk/dom.js";

export function showTranscript(episode, index) {
  const lines = [];
  for (const { step } of episode.moments.slice(1, index + 1)) {
    const isNow = step.number === index ? "" : " then";
    lines.push(make("p", { className: `spoken${step.asks ? " asks" : ""}${isNow}` }, step.said));
    const heard = step.asks ? step.answer : step.news;
    lines.push(make("p", { className: `heard${step.asks ? " answered" : ""}${isNow}` }, heard));
  }
  if (!lines.length) lines.push(make("p", { className: "heard then" }, "Nothing has been said yet."));
  const box = find("lines");
  box.replaceChildren(...lines);
  box.scrollTop = box.scrollHeight;
  find("room").textContent = episode.moments[index].frame.room;
}
