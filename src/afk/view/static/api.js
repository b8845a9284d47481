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
  if (!response.ok) throw new Refusal(await explain(response), response.status);
  return response;
}

async function explain(response) {
  try {
    return sentence((await response.json()).error);
  } catch {
    return "The viewer has too much to do; try again in a moment.";
  }
}

function sentence(text) {
  const said = String(text);
  return said.charAt(0).toUpperCase() + said.slice(1) + (/[.!?]$/.test(said) ? "" : ".");
}

const ask = async (address, options) => (await request(address, options)).json();
const send = (address, content) =>
  ask(address, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(content) });

const asQuery = ({ task, agent, seed, level }) => new URLSearchParams({ task, agent, seed, level });

export const about = () => ask("api/about");
export const episode = (source) => ask(`api/episode?${asQuery(source)}`);
export const start = ({ task, seed, level }, lines) => send("api/play", { task, seed, level, lines });
export const say = (session, line) => send(`api/play/${encodeURIComponent(session)}`, { line });

// An episode or a game as a file: its content and its name.
export async function save(source, session, kind) {
  const game = `play/${encodeURIComponent(session)}/episode.${kind}`;
  const response = await request(session ? game : `episode.${kind}?${asQuery(source)}`);
  const [, name] = /filename="([^"]+)"/.exec(response.headers.get("content-disposition"));
  return { name, content: await response.blob() };
}
