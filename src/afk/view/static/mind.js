// What was done, what it was chosen from, and how the chance of asking and the value went.
import { find, make, makeSvg, percent } from "afk/dom.js";

const WITHOUT = {
  expert: "The expert knows the level and plans ahead: there are no probabilities to show.",
  random: "Every word and every action is equally likely.",
};

export function showNow(episode, index) {
  const { step, frame } = episode.moments[index];
  const isLast = index === episode.moments.length - 1 && episode.ending;
  const did = find("did"), answer = find("answer");
  const tone = isLast ? { success: "success", failure: "failure" }[episode.ending.how] ?? "out" : "";
  did.className = `did${step?.asks ? " asks" : ""}`;
  answer.className = "answer";
  if (!step) {
    did.textContent = episode.agent ? "It reads its instruction." : "Your turn.";
    answer.textContent = "Nothing has been asked yet.";
    answer.classList.add("quiet");
    return;
  }
  did.replaceChildren(make("span", { className: "number" }, `${step.number}`), step.said);
  if (step.asks) {
    answer.textContent = `“${step.answer}”`;
    answer.classList.add("answered");
  } else {
    const said = [step.news, frame.carries ? `Carries a ${frame.carries}.` : ""].filter(Boolean);
    if (!isLast && step.reward) said.push(`Reward ${step.reward.toFixed(2)}.`);
    if (!step.news) said.push(lastAnswer(episode, index));
    answer.textContent = said.filter(Boolean).join(" ");
    answer.classList.add(step.news ? "news" : "quiet");
  }
  if (isLast) {
    did.append(make("span", { className: `did ${tone}` }, ` · ${episode.ending.how}`));
    answer.textContent = `${step.asks ? `“${step.answer}” ` : step.news ? `${step.news} ` : ""}${episode.ending.summary}.`;
    answer.className = "answer quiet";
  }
}

function lastAnswer(episode, index) {
  const asked = episode.moments.slice(1, index + 1).findLast(({ step }) => step.asks);
  return asked ? `Answered before: “${asked.step.answer}”` : "";
}

// Where nothing was weighed there is room for all that was asked.
const weighs = (episode) => episode.moments.some(({ step }) => step?.heads.length);

export function showAsked(episode, index, mode) {
  const asked = find("asked");
  asked.hidden = mode === "watch" && weighs(episode);
  asked.classList.toggle("alone", mode === "watch");
  const entries = episode.moments.slice(1, index + 1).filter(({ step }) => step.asks)
    .flatMap(({ step }) => [make("dt", {}, step.said), make("dd", {}, step.answer)]);
  const list = find("asked-list");
  list.replaceChildren(...(entries.length ? entries : [make("dd", { className: "nothing" }, "Nothing yet.")]));
  list.scrollTop = list.scrollHeight;
}

export function showMind(episode, index, seek) {
  const { step } = episode.moments[index];
  const isWeighed = weighs(episode);
  find("switch").hidden = find("charts").hidden = !isWeighed;
  find("mind").classList.toggle("small", !isWeighed);
  const how = step?.asks && episode.points ? "it points at words of A0" : "likelier is longer";
  find("chose-hint").textContent = `${how}, blue was taken`;
  showSwitch(step);
  const heads = find("heads");
  heads.className = "heads";
  if (step?.heads.length) {
    heads.classList.toggle("three", step.heads.length === 3);
    heads.replaceChildren(...step.heads.map(makeHead));
  } else {
    heads.classList.add("none");
    heads.replaceChildren(isWeighed ? "" : WITHOUT[episode.agent] ?? "There are no probabilities to show.");
  }
  const steps = episode.moments.slice(1).map((moment) => moment.step);
  const asking = steps.map((each) => each.asking), values = steps.map((each) => each.value);
  drawChart(find("asking-chart"), asking, index, seek, { low: 0, high: 1, bars: true, show: percent });
  const known = values.filter((value) => value !== null);
  const low = Math.min(0, ...known), high = Math.max(low + 1e-6, ...known);
  drawChart(find("value-chart"), values, index, seek, { low, high, bars: false, show: (value) => value.toFixed(1) });
}

function showSwitch(step) {
  const box = find("switch");
  if (step?.asking == null) {
    box.replaceChildren(make("span", {}, step?.heads.length ? "It cannot ask." : ""));
    return;
  }
  const fill = make("i", { className: "fill" });
  fill.style.width = percent(step.asking);
  box.replaceChildren(
    fill,
    make("span", { className: step.asks ? "taken" : "" }, `ask ${percent(step.asking)}`),
    make("span", { className: step.asks ? "" : "taken" }, `act ${percent(1 - step.asking)}`),
  );
}

function makeHead({ title, choices }) {
  const rows = choices.map(([word, probability, taken]) => {
    const fill = make("i", { className: "fill" });
    fill.style.width = percent(probability);
    const share = probability > 0 && probability < 0.005 ? "<1%" : percent(probability);
    return make("div", { className: taken ? "choice taken" : "choice" }, fill, make("span", {}, word), make("span", { className: "share" }, share));
  });
  return make("div", { className: "head" }, make("h3", {}, title), ...rows);
}

function drawChart(svg, values, index, seek, { low, high, bars, show }) {
  const caption = svg.previousElementSibling;
  const title = caption.firstChild.textContent;
  const now = index ? values[index - 1] : null;
  caption.replaceChildren(title, make("b", {}, now == null ? "" : show(now)));
  svg.setAttribute("viewBox", `0 0 ${Math.max(values.length, 1)} 1`);
  svg.setAttribute("preserveAspectRatio", "none");
  const height = (value) => 0.9 * ((value - low) / (high - low)) + 0.02;
  const drawn = [];
  if (values.some((value) => value != null)) {
    if (bars) {
      const path = values.map((value, step) => `M${step + 0.12} 1h.76v${-height(value ?? low)}h-.76z`).join("");
      drawn.push(makeSvg("path", { class: "bars", d: path }));
    } else {
      const path = values.map((value, step) => `${step ? "L" : "M"}${step + 0.5} ${0.97 - height(value ?? low)}`).join("");
      drawn.push(makeSvg("path", { class: "path", d: path }));
    }
  }
  if (index) drawn.push(makeSvg("line", { class: "cursor", x1: index - 0.5, x2: index - 0.5, y1: 0, y2: 1 }));
  svg.replaceChildren(...drawn);
  svg.onclick = (event) => {
    const box = svg.getBoundingClientRect();
    seek(1 + Math.floor(((event.clientX - box.left) / box.width) * values.length));
  };
}
