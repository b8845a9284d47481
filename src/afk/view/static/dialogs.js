// The gallery of good episodes, by short names on the page and by whole ones in a dialog, and the help.
import { find, make } from "afk/dom.js";

export function listGallery(gallery, tasks, open) {
  const known = Object.fromEntries(tasks.map((task) => [task.name, task]));
  const list = (place, name) => find(place).append(...gallery.map((source) => make("button", {
    type: "button",
    title: known[source.task].title,
    value: source.task,
    onclick: () => {
      find("gallery").close();
      open({ mode: "watch", ...source });
    },
  }, known[source.task][name])));
  find("strip").append("Good episodes: ");
  list("strip", "short");
  list("gallery-list", "title");
}

// Which of the gallery is shown, if any.
export function markShown(task) {
  for (const button of find("strip").querySelectorAll("button")) button.ariaPressed = String(button.value === task);
}

export function setUpDialogs() {
  for (const name of ["gallery", "help"]) find(`${name}-open`).onclick = () => show(name);
}

// From its first line on: the button that takes the keys may be below what a phone shows.
function show(name) {
  find(name).showModal();
  find(name).scrollTop = 0;
}

// Whether a key belongs to a dialog that is open, or opens one.
export function takesKey(event, isLive) {
  if (document.querySelector("dialog[open]")) return true;
  const name = { "?": "help", g: isLive ? "gallery" : undefined }[event.key];
  if (!name) return false;
  event.preventDefault();
  show(name);
  return true;
}
