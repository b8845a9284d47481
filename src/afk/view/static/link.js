// What is shown, as the part of the address after the #: a link shows the same again.

const SEPARATOR = "_"; // stands in no word, and stays readable in an address

export function read(hash) {
  const fields = new URLSearchParams(hash.replace(/^#/, ""));
  if (!fields.get("task")) return null;
  return {
    mode: fields.get("mode") === "play" ? "play" : "watch",
    task: fields.get("task"),
    agent: fields.get("agent") ?? "",
    seed: fields.get("seed") ?? "0",
    level: fields.get("level") ?? "0",
    step: Number(fields.get("step") ?? 0) || 0,
    lines: (fields.get("say") ?? "").split(SEPARATOR).filter(Boolean),
  };
}

export function write(mode, episode, step) {
  const fields = new URLSearchParams({ mode, task: episode.task });
  if (mode === "watch") fields.set("agent", episode.agent);
  fields.set("seed", episode.seed);
  fields.set("level", episode.level);
  if (mode === "watch") fields.set("step", step);
  else fields.set("say", linesOf(episode).join(SEPARATOR));
  return `#${fields}`;
}

// All that was said in an episode, so that it can be said again.
export function linesOf(episode) {
  return episode.moments.slice(1).map(({ step }) => step.said.replace(/^ask "(.*)"$/, "$1"));
}
