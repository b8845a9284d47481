// The gallery of good episodes, and the help.
import { find, make } from "afk/dom.js";

export function listGallery(gallery, tasks, open) {
  const titles = Object.fromEntries(tasks.map(({ name, title }) => [name, title]));
  find("gallery-list").replaceChildren(...gallery.map((source) => make("button", {
    type: "button",
    onclick: () => {
      find("gallery").close();
      open({ mode: "watch", ...source });
    },
  }, titles[source.task])));
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
