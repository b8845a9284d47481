// The grid world on a canvas: cells, the agent, and what it sees.

const COLOURS = ["red", "green", "blue", "purple", "yellow", "grey"];
const WALL = 2, TILE = 3, OPEN_DOOR = 4, KEY = 5, BALL = 6, BOX = 7, SQUARE = 8, CLOSED_DOOR = 11, LOCKED_DOOR = 12;

// A variable of the style sheet as a colour that a canvas takes, in the theme of now.
function paint(name) {
  const probe = paint.probe ?? (paint.probe = document.body.appendChild(document.createElement("i")));
  probe.hidden = true;
  probe.style.color = `var(--${name})`;
  return getComputedStyle(probe).color;
}

export function drawWorld(canvas, frame, asks) {
  const { width, height } = canvas.getBoundingClientRect();
  const ratio = window.devicePixelRatio || 1;
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  const columns = frame.width, rows = frame.cells.length / 2 / columns;
  const side = Math.max(1, Math.floor(Math.min(canvas.width / columns, canvas.height / rows)));
  const pen = canvas.getContext("2d");
  // Whole pixels, so that every edge is sharp.
  pen.translate(Math.floor((canvas.width - side * columns) / 2), Math.floor((canvas.height - side * rows) / 2));
  const colours = Object.fromEntries(
    [...COLOURS, "floor", "grout", "wall", "wall-edge", "veil", "agent", "agent-edge", "ask", "card"].map((name) => [name, paint(name)]),
  );
  for (let row = 0; row < rows; row++) {
    for (let column = 0; column < columns; column++) {
      const index = row * columns + column;
      const code = parseInt(frame.cells.slice(2 * index, 2 * index + 2), 16);
      pen.save();
      pen.translate(column * side, row * side);
      drawCell(pen, side, code >> 3, colours[COLOURS[code & 7]], colours);
      if (frame.seen[index] === "0") {
        pen.fillStyle = colours.veil;
        pen.fillRect(0, 0, side, side);
      }
      pen.restore();
    }
  }
  outlineView(pen, frame, columns, rows, side, colours);
  const [x, y] = frame.position;
  pen.save();
  pen.translate((x + 0.5) * side, (y + 0.5) * side);
  drawAgent(pen, side, frame.direction, colours);
  pen.restore();
  if (asks) drawBubble(pen, x, y, side, columns, colours);
}

function outlineView(pen, frame, columns, rows, side, colours) {
  const sees = (column, row) =>
    column >= 0 && row >= 0 && column < columns && row < rows && frame.seen[row * columns + column] === "1";
  pen.beginPath();
  for (let row = 0; row < rows; row++) {
    for (let column = 0; column < columns; column++) {
      if (!sees(column, row)) continue;
      const left = column * side, top = row * side;
      if (!sees(column, row - 1)) edge(pen, left, top, left + side, top);
      if (!sees(column, row + 1)) edge(pen, left, top + side, left + side, top + side);
      if (!sees(column - 1, row)) edge(pen, left, top, left, top + side);
      if (!sees(column + 1, row)) edge(pen, left + side, top, left + side, top + side);
    }
  }
  pen.strokeStyle = colours.ask;
  pen.lineWidth = Math.max(2, side / 28);
  pen.lineCap = "square";
  pen.stroke();
}

function edge(pen, fromX, fromY, toX, toY) {
  pen.moveTo(fromX, fromY);
  pen.lineTo(toX, toY);
}

function drawCell(pen, side, kind, colour, colours) {
  pen.fillStyle = kind === WALL ? colours["wall-edge"] : colours.grout;
  pen.fillRect(0, 0, side, side);
  const line = Math.max(1, Math.round(side / 48));
  pen.fillStyle = kind === WALL ? colours.wall : colours.floor;
  pen.fillRect(line, line, side - 2 * line, side - 2 * line);
  pen.fillStyle = pen.strokeStyle = colour;
  pen.lineWidth = side * 0.07;
  pen.lineJoin = pen.lineCap = "round";
  const draw = { [TILE]: drawTile, [KEY]: drawKey, [BALL]: drawBall, [BOX]: drawBox, [SQUARE]: drawSquare }[kind];
  if (draw) draw(pen, side, colours);
  if ([OPEN_DOOR, CLOSED_DOOR, LOCKED_DOOR].includes(kind)) drawDoor(pen, side, kind, colours);
}

function rounded(pen, x, y, width, height, radius) {
  pen.beginPath();
  pen.roundRect(x, y, width, height, radius);
}

function drawTile(pen, side) {
  pen.globalAlpha = 0.34;
  pen.fillRect(0, 0, side, side);
  pen.globalAlpha = 0.9;
  pen.lineWidth = Math.max(1.5, side * 0.05);
  for (const height of [0.3, 0.55, 0.8]) {
    pen.beginPath();
    pen.moveTo(side * 0.14, side * height);
    pen.bezierCurveTo(side * 0.32, side * (height - 0.15), side * 0.44, side * (height + 0.1), side * 0.56, side * (height - 0.03));
    pen.quadraticCurveTo(side * 0.72, side * (height - 0.16), side * 0.86, side * (height - 0.03));
    pen.stroke();
  }
  pen.globalAlpha = 1;
}

function drawKey(pen, side) {
  pen.lineWidth = side * 0.09;
  pen.beginPath();
  pen.arc(side * 0.34, side * 0.5, side * 0.14, 0, 7);
  pen.moveTo(side * 0.48, side * 0.5);
  pen.lineTo(side * 0.82, side * 0.5);
  pen.lineTo(side * 0.82, side * 0.66);
  pen.moveTo(side * 0.67, side * 0.5);
  pen.lineTo(side * 0.67, side * 0.62);
  pen.stroke();
}

function drawBall(pen, side) {
  pen.beginPath();
  pen.arc(side / 2, side / 2, side * 0.3, 0, 7);
  pen.fill();
  pen.globalAlpha = 0.35;
  pen.fillStyle = "#ffffff";
  pen.beginPath();
  pen.arc(side * 0.41, side * 0.4, side * 0.09, 0, 7);
  pen.fill();
  pen.globalAlpha = 1;
}

function drawBox(pen, side) {
  pen.globalAlpha = 0.22;
  rounded(pen, side * 0.17, side * 0.2, side * 0.66, side * 0.62, side * 0.07);
  pen.fill();
  pen.globalAlpha = 1;
  pen.stroke();
  edge(pen, side * 0.17, side * 0.42, side * 0.83, side * 0.42);
  pen.stroke();
  rounded(pen, side * 0.43, side * 0.36, side * 0.14, side * 0.15, side * 0.03);
  pen.fill();
}

function drawSquare(pen, side) {
  rounded(pen, side * 0.1, side * 0.1, side * 0.8, side * 0.8, side * 0.1);
  pen.fill();
}

function drawDoor(pen, side, kind, colours) {
  pen.lineWidth = side * 0.08;
  if (kind === OPEN_DOOR) {
    rounded(pen, side * 0.06, side * 0.06, side * 0.14, side * 0.88, side * 0.05);
    pen.fill();
    return;
  }
  rounded(pen, side * 0.08, side * 0.08, side * 0.84, side * 0.84, side * 0.08);
  pen.globalAlpha = kind === LOCKED_DOOR ? 0.55 : 0.22;
  pen.fill();
  pen.globalAlpha = 1;
  pen.stroke();
  if (kind === CLOSED_DOOR) {
    pen.beginPath();
    pen.arc(side * 0.73, side * 0.5, side * 0.07, 0, 7);
    pen.fill();
    return;
  }
  pen.fillStyle = colours.card;
  pen.beginPath();
  pen.arc(side * 0.5, side * 0.42, side * 0.12, 0, 7);
  pen.fill();
  pen.beginPath();
  pen.moveTo(side * 0.5, side * 0.42);
  pen.lineTo(side * 0.6, side * 0.72);
  pen.lineTo(side * 0.4, side * 0.72);
  pen.fill();
}

function drawAgent(pen, side, direction, colours) {
  pen.rotate((direction * Math.PI) / 2);
  pen.beginPath();
  pen.moveTo(side * 0.36, 0);
  pen.lineTo(-side * 0.28, side * 0.29);
  pen.lineTo(-side * 0.15, 0);
  pen.lineTo(-side * 0.28, -side * 0.29);
  pen.closePath();
  pen.fillStyle = colours.agent;
  pen.strokeStyle = colours["agent-edge"];
  pen.lineWidth = side * 0.06;
  pen.lineJoin = "round";
  pen.stroke();
  pen.fill();
}

function drawBubble(pen, x, y, side, columns, colours) {
  const toLeft = x > columns - 3;
  const centre = (x + (toLeft ? -0.15 : 1.15)) * side, top = (y - 0.15) * side, radius = side * 0.32;
  pen.fillStyle = colours.ask;
  pen.strokeStyle = colours.card;
  pen.lineWidth = side * 0.05;
  pen.beginPath();
  pen.arc(centre, top, radius, 0, 7);
  pen.stroke();
  pen.fill();
  pen.fillStyle = colours.card;
  pen.font = `700 ${side * 0.42}px system-ui, "DejaVu Sans", sans-serif`;
  pen.textAlign = "center";
  pen.textBaseline = "middle";
  pen.fillText("?", centre, top + side * 0.02);
}
