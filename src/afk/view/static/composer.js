// Playing: buttons and keys for actions, a line for commands, and questions made of the words in A0.
import { find, isUsedBy, isWriting, make } from "afk/dom.js";

const ACTIONS = [
  ["left", "←", ["ArrowLeft"]],
  ["forward", "↑", ["ArrowUp"]],
  ["right", "→", ["ArrowRight"]],
  ["pick up", "P", ["p"]],
  ["drop", "D", ["d"]],
  ["toggle", "T", ["t"]],
  ["done", "X", ["x"]],
];
const NONE = "none";
const chosen = { functions: "", adjectives: "", nouns: "" };

export function setUp(say) {
  find("actions").replaceChildren(
    ...ACTIONS.map(([action, key]) => {
      const button = make("button", { type: "button" }, action, make("kbd", {}, key));
      button.onclick = () => say(action);
      return button;
    }),
  );
  find("composer").onsubmit = (event) => {
    event.preventDefault();
    say(address(find("question").value));
  };
  for (const [form, line] of [["free", "free-line"], ["command", "command-line"]]) {
    find(form).onsubmit = async (event) => {
      event.preventDefault();
      const text = find(line).value.trim();
      if (text && (await say(form === "free" ? address(text) : text))) find(line).value = "";
      offerCommands();
    };
  }
  const line = find("command-line");
  line.oninput = offerCommands;
  line.onkeydown = (event) => {
    const first = find("completions").firstElementChild;
    if (event.key !== "Tab" || event.shiftKey || !first || !line.value || first.textContent === line.value) return;
    event.preventDefault();
    line.value = first.textContent;
    offerCommands();
  };
}

let commands = [], prefix = "";
const address = (text) => (prefix && !text.toLowerCase().startsWith("ask ") ? prefix + text : text);

// The action of a key in the grid world, or nothing.
export function actionOf(event) {
  if (isWriting(event) || event.ctrlKey || event.metaKey || event.altKey) return null;
  if (event.key.startsWith("Arrow") && isUsedBy(event, "input[type=range]", "[role=radiogroup]")) return null;
  return ACTIONS.find(([, , keys]) => keys.includes(event.key.length === 1 ? event.key.toLowerCase() : event.key))?.[0] ?? null;
}

export function showComposer(episode) {
  const { notebook, frame } = episode.moments.at(-1);
  const isOver = episode.ending !== null;
  prefix = episode.address;
  commands = frame.commands ?? [];
  find("actions").hidden = episode.world !== "grid";
  find("command").hidden = episode.world !== "text";
  for (const form of ["actions", "command", "composer", "free"]) {
    for (const control of find(form).querySelectorAll("button, input")) control.disabled = isOver;
  }
  const readable = new Set(notebook[0].join(" ").split(" "));
  const words = {
    functions: episode.words.functions,
    adjectives: [NONE, ...episode.words.adjectives.filter((word) => word !== NONE && readable.has(word))],
    nouns: episode.words.nouns.filter((word) => word !== NONE && readable.has(word)),
  };
  suggest(words, notebook[0].join(" ").split(" "));
  for (const [kind, list] of Object.entries(words)) offer(kind, list, isOver);
  compose();
  offerCommands();
}

// Where nothing fitting is chosen yet, the first name in the notes is.
function suggest(words, read) {
  if (words.adjectives.includes(chosen.adjectives) && words.nouns.includes(chosen.nouns)) return;
  const place = read.findIndex((word, index) => words.adjectives.includes(word) && words.nouns.includes(read[index + 1]));
  if (place >= 0) [chosen.adjectives, chosen.nouns] = read.slice(place, place + 2);
}

function offer(kind, words, isOver) {
  if (!words.includes(chosen[kind])) chosen[kind] = words.find((word) => word !== NONE) ?? words[0] ?? "";
  const buttons = words.map((word) => {
    const button = make("button", { type: "button", role: "radio", disabled: isOver }, word === NONE ? "no adjective" : word);
    button.setAttribute("aria-checked", String(word === chosen[kind]));
    button.tabIndex = word === chosen[kind] ? 0 : -1;
    button.onclick = () => choose(kind, words, word, isOver);
    button.onkeydown = (event) => {
      const move = { ArrowLeft: -1, ArrowUp: -1, ArrowRight: 1, ArrowDown: 1 }[event.key];
      if (!move) return;
      event.preventDefault();
      choose(kind, words, words.at((words.indexOf(word) + move) % words.length), isOver);
    };
    return button;
  });
  find(kind).replaceChildren(...buttons);
}

function choose(kind, words, word, isOver) {
  chosen[kind] = word;
  offer(kind, words, isOver);
  find(kind).querySelector("[aria-checked=true]").focus();
  compose();
}

function compose() {
  const words = [chosen.functions, chosen.adjectives, chosen.nouns].filter((word) => word && word !== NONE);
  find("question").value = words.join(" ");
}

// The commands that begin with what is written, or hold it.
function offerCommands() {
  const line = find("command-line");
  const written = line.value.trim().toLowerCase();
  const fitting = commands
    .filter((command) => command.includes(written))
    .sort((one, two) => two.startsWith(written) - one.startsWith(written));
  find("completions").replaceChildren(
    ...fitting.map((command) => {
      const button = make("button", { type: "button", disabled: line.disabled }, command);
      button.onclick = () => {
        line.value = command;
        line.focus();
        offerCommands();
      };
      return button;
    }),
  );
}
