// What the server is asked for. Whatever goes wrong is an Error with a sentence to show.

export class Refusal extends Error {
  constructor(sentence, status) {
    super(sentence);
    this.status = status;
  }
}

async function request(address, options) {
  let response;
  try {
    response = await fetch(address, options);
  } catch {
    throw new Refusal("The viewer does not answer: is it still running in its terminal?", 0);
  }
  let content;
  try {
    content = await response.json();
  } catch {
    throw new Refusal("The viewer's answer cannot be read.", response.status);
  }
  if (!response.ok) throw new Refusal(sentence(content.error), response.status);
  return content;
}

function sentence(text) {
  const said = String(text);
  return said.charAt(0).toUpperCase() + said.slice(1) + (/[.!?]$/.test(said) ? "" : ".");
}

const send = (address, content) =>
  request(address, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(content) });

const asQuery = ({ task, agent, seed, level }) => new URLSearchParams({ task, agent, seed, level });

export const about = () => request("api/about");
export const episode = (source) => request(`api/episode?${asQuery(source)}`);
export const start = ({ task, seed, level }, lines) => send("api/play", { task, seed, level, lines });
export const say = (session, line) => send(`api/play/${encodeURIComponent(session)}`, { line });
export const fileOf = (source, session, kind) =>
  session ? `play/${encodeURIComponent(session)}/episode.${kind}` : `episode.${kind}?${asQuery(source)}`;
