// The page: what is shown, and what moves it.
import * as api from "afk/api.js";
import { actionOf, setUp as setUpComposer, showComposer } from "afk/composer.js";
import { listGallery, markShown, setUpDialogs, takesKey } from "afk/dialogs.js";
import { find, isUsedBy, isWriting, make } from "afk/dom.js";
import * as link from "afk/link.js";
import { showAsked, showMind, showNow } from "afk/mind.js";
import { showNotebook } from "afk/notebook.js";
import { changeTheme, setUpTheme } from "afk/theme.js";
import { showTimeline } from "afk/timeline.js";
import { showTranscript } from "afk/transcript.js";
import { drawWorld } from "afk/world.js";

const READ = 2200, ACTED = 650; // milliseconds that a moment stays, with something to read and without
let clock = null, addressClock = null; // of what plays by itself, and of the address
const file = document.getElementById("episode"); // there in an episode that was saved as a page
let mode = "watch", episode = null, index = 0, session = null, about = null, asked = 0, saying = Promise.resolve();

function show() {
  if (!episode) return;
  const moment = episode.moments[index];
  const isText = episode.world === "text";
  document.body.classList.toggle("is-text", isText);
  find("canvas").hidden = isText;
  find("transcript").hidden = !isText;
  find("instruction").textContent = episode.instruction;
  if (isText) showTranscript(episode, index);
  else drawWorld(find("canvas"), moment.frame, moment.step?.asks);
  find("canvas").setAttribute("aria-label", `The world after ${index} steps`);
  showNow(episode, index);
  if (mode === "play") showComposer(episode);
  else showMind(episode, index, seek);
  showAsked(episode, index, mode);
  showNotebook(episode, index);
  showTimeline(episode, index, seek);
  const last = episode.moments.length - 1;
  Object.assign(find("scrub"), { max: last, value: index });
  find("count").textContent = `${index} / ${last}`;
  for (const id of ["first", "back"]) find(id).disabled = index === 0;
  for (const id of ["forward", "last"]) find(id).disabled = index === last;
  find("run").setAttribute("aria-label", clock ? "Pause" : "Play");
  // Browsers allow so many changes of the address a second, and a key that is held down makes more.
  clearTimeout(addressClock);
  addressClock = setTimeout(writeAddress, 150);
}

function writeAddress() {
  if (!file && episode) history.replaceState(null, "", link.write(mode, episode, index));
}

function seek(place) {
  index = Math.max(0, Math.min(place, episode.moments.length - 1));
  show();
}

function pause() {
  clearTimeout(clock);
  clock = null;
}

function run() {
  if (!episode) return;
  if (index === episode.moments.length - 1) index = 0;
  const tick = () => {
    if (index >= episode.moments.length - 1) {
      pause();
      show();
      return;
    }
    index += 1;
    const { step } = episode.moments[index];
    clock = setTimeout(tick, (step.asks || step.news ? READ : ACTED) / Number(find("speed").value));
    show();
  };
  clock = setTimeout(tick, 300);
  show();
}

function stepTo(place) {
  pause();
  if (episode) seek(place);
}

function complain(sentence) {
  const message = find("message");
  message.textContent = sentence;
  message.hidden = false;
  clearTimeout(complain.clock);
  complain.clock = setTimeout(() => { message.hidden = true; }, 8000);
}

// Do what takes time, with a sign that something happens; what is no longer wanted then is dropped.
async function wait(sentence, work, isWanted) {
  const turn = ++asked;
  const counts = isWanted ?? (() => turn === asked);
  find("main").ariaBusy = "true";
  const sign = setTimeout(() => {
    find("waiting-for").textContent = sentence;
    find("waiting").hidden = false;
  }, 150);
  try {
    const found = await work();
    return counts() ? found : null;
  } catch (error) {
    if (counts()) complain(error instanceof api.Refusal ? error.message : "Something went wrong in this page.");
    if (!(error instanceof api.Refusal)) console.error(error);
    return null;
  } finally {
    clearTimeout(sign);
    if (turn === asked) {
      find("waiting").hidden = true;
      find("main").ariaBusy = "false";
    }
  }
}

function setMode(next) {
  mode = next;
  find("mode-watch").setAttribute("aria-pressed", String(mode === "watch"));
  find("mode-play").setAttribute("aria-pressed", String(mode === "play"));
  find("agent-label").hidden = mode === "play";
  find("show").textContent = mode === "play" ? "Start" : "Show";
  find("mind").hidden = mode === "play";
  for (const id of ["composer", "free"]) find(id).hidden = mode !== "play";
  if (mode === "watch") for (const id of ["actions", "command"]) find(id).hidden = true;
}

async function open({ mode: next, task, agent, seed, level, step = 0, lines = [] }) {
  pause();
  setMode(next);
  choose(task, agent, seed, level);
  const source = { task, agent, seed, level };
  const found = next === "play"
    ? await wait("Making a level; the first of a task takes some seconds.", () => api.start(source, lines))
    : await wait("The agent plays; its first episode of a task takes some seconds.", () => api.episode(source));
  if (!found) return;
  episode = next === "play" ? found.episode : found;
  session = next === "play" ? found.session : null;
  document.title = `${episode.task} · AFK`;
  markShown(task);
  index = next === "play" ? episode.moments.length - 1 : Math.min(step, episode.moments.length - 1);
  show();
  // Keys are for the game now.
  if (next === "play") find(episode.world === "text" ? "command-line" : "stage").focus();
}

// Say something in the game under way, after all that was said before it; true if it was done.
function say(line) {
  const game = episode;
  saying = saying.then(() => (episode === game ? sayNow(line) : false));
  return saying;
}

async function sayNow(line) {
  if (mode !== "play" || !session || episode.ending) return false;
  const game = episode;
  const found = await wait("", () => inGame(() => api.say(session, line)), () => episode === game);
  if (!found) return false;
  episode.moments.push(found.moment);
  episode.ending = found.ending;
  seek(episode.moments.length - 1);
  return true;
}

// A game that the server no longer keeps is begun anew with all that was said.
async function inGame(work) {
  try {
    return await work();
  } catch (error) {
    if (error.status !== 404 || !session) throw error;
    session = (await api.start(episode, link.linesOf(episode))).session;
    return work();
  }
}

async function save(kind) {
  if (!episode) return;
  const found = await wait("Every step is drawn.", () => inGame(() => api.save(episode, session, kind)), () => true);
  if (!found) return;
  const address = URL.createObjectURL(found.content);
  make("a", { href: address, download: found.name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
}

// The agents that can play a task: those trained on it first.
function agentsFor(task) {
  const world = (name) => name.split("/")[0];
  const able = about.agents.filter(({ name, tasks }) =>
    tasks === null || tasks.includes(task) || (name !== "pretrained" && tasks.some((each) => world(each) === world(task))));
  const trained = ({ tasks }) => tasks === null || tasks.includes(task);
  return able.map((agent) => [agent.name, trained(agent) ? agent.name : `${agent.name} (trained on other tasks)`]);
}

function choose(task, agent, seed, level) {
  find("task").value = task;
  const agents = agentsFor(task);
  find("agent").replaceChildren(...agents.map(([name, title]) => make("option", { value: name }, title)));
  find("agent").value = agents.some(([name]) => name === agent) ? agent : agents[0][0];
  Object.assign(find("seed"), { value: seed });
  Object.assign(find("level"), { value: level });
}

const chosen = (next = mode) => ({
  mode: next, task: find("task").value, agent: find("agent").value, seed: find("seed").value, level: find("level").value,
});

function listTasks() {
  const worlds = [...new Set(about.tasks.map(({ world }) => world))];
  find("task").replaceChildren(...worlds.map((world) => make("optgroup", { label: world },
    ...about.tasks.filter((task) => task.world === world).map(({ name, title }) => make("option", { value: name }, title)))));
  find("level").max = about.levels - 1;
}

function onKey(event) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (isWriting(event)) {
    if (event.key === "Escape") event.target.blur();
    return;
  }
  if (takesKey(event, !file)) return;
  const action = mode === "play" && episode?.world === "grid" ? actionOf(event) : null;
  if (action) {
    event.preventDefault();
    say(action);
    return;
  }
  if (mode === "play" && (event.key === "/" || event.key === "q")) {
    event.preventDefault();
    find(episode?.world === "text" ? "command-line" : "free-line").focus();
    return;
  }
  if (isUsedBy(event, "[role=radiogroup]", "input[type=range]")) return;
  if (event.key === " " && isUsedBy(event, "button", "a")) return;
  const moves = {
    ArrowLeft: () => stepTo(index - 1),
    ArrowRight: () => stepTo(index + 1),
    Home: () => stepTo(0),
    End: () => stepTo(Infinity),
    " ": toggleRun,
    l: turnLight,
  };
  if (!moves[event.key]) return;
  event.preventDefault();
  moves[event.key]();
}

function toggleRun() {
  if (!clock) return run();
  pause();
  show();
}

function turnLight() {
  changeTheme();
  show();
}

async function copyLink() {
  writeAddress();
  try {
    await navigator.clipboard.writeText(location.href);
    complain("The link is copied: it shows this again.");
  } catch {
    complain(`This is the link: ${location.href}`);
  }
}

function setUp() {
  setUpTheme(show);
  setUpDialogs();
  find("first").onclick = () => stepTo(0);
  find("back").onclick = () => stepTo(index - 1);
  find("forward").onclick = () => stepTo(index + 1);
  find("last").onclick = () => stepTo(Infinity);
  find("run").onclick = toggleRun;
  find("scrub").oninput = (event) => stepTo(Number(event.target.value));
  find("theme").onclick = turnLight;
  document.addEventListener("keydown", onKey);
  new ResizeObserver(show).observe(find("stage"));
  for (const each of document.querySelectorAll("[data-live]")) each.hidden = Boolean(file);
  for (const each of document.querySelectorAll("[data-file]")) each.hidden = !file;
}

async function openLive() {
  find("choose").onsubmit = (event) => {
    event.preventDefault();
    open(chosen());
  };
  find("task").onchange = () => {
    choose(find("task").value, null, find("seed").value, find("level").value);
    if (mode === "watch") open(chosen());
  };
  find("agent").onchange = () => open(chosen());
  find("mode-watch").onclick = () => open(chosen("watch"));
  find("mode-play").onclick = () => open(chosen("play"));
  find("copy").onclick = copyLink;
  for (const kind of ["html", "gif"]) find(`export-${kind}`).onclick = () => save(kind);
  window.addEventListener("hashchange", () => {
    const linked = link.read(location.hash);
    if (linked) open(linked);
  });
  setUpComposer(say);
  about = await wait("Looking around.", api.about);
  if (!about) return;
  listTasks();
  find("asking").textContent = about.asking && `asked: ${about.asking}`;
  listGallery(about.gallery, about.tasks, open);
  await open(link.read(location.hash) ?? { mode: "watch", ...about.first });
}

setUp();
if (file) {
  episode = JSON.parse(file.textContent);
  find("source").textContent = [episode.task, episode.agent || "played by hand", `seed ${episode.seed}`, `level ${episode.level}`].join(" · ");
  show();
} else {
  openLive();
}
