// Small helpers over the document.

export const find = (id) => document.getElementById(id);

// An element with properties and children; text is never read as markup.
export function make(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name in element) element[name] = value;
    else element.setAttribute(name, value);
  }
  element.append(...children);
  return element;
}

export function makeSvg(tag, attributes = {}, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

export const percent = (share) => `${Math.round(100 * share)}%`;

// Whether somebody is writing, so that keys are letters and nothing else.
export function isWriting(event) {
  return event.target.closest("input:not([type=range]), select, textarea") !== null;
}

// Keys that a focused button or slider needs for itself.
export function isUsedBy(event, ...selectors) {
  return event.target.closest(selectors.join(", ")) !== null;
}
