"use strict";
// The page asks only the server that it came from. All text of others is put in as text, never as HTML.
const here = new URL(location.href);
const job = here.searchParams.get("job");
const token = here.searchParams.get("token");
let chosen = null; // the rank whose log is shown
let stream = "err";
let last = null; // the status that is shown

function address(path, more = {}) {
  const url = new URL(path, here.origin);
  if (token) url.searchParams.set("token", token);
  if (job) url.searchParams.set("job", job);
  for (const [name, value] of Object.entries(more)) url.searchParams.set(name, value);
  return url;
}
const byId = (id) => document.getElementById(id);
function make(tag, classes = "", text = "") {
  const element = document.createElement(tag);
  if (classes) element.className = classes;
  if (text !== "") element.textContent = text;
  return element;
}
function svg(tag, attributes, text = "") {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  if (text) element.textContent = text;
  return element;
}
function duration(s) {
  if (s < 0) return "–";
  if (s < 120) return Math.round(s) + " s";
  if (s < 7200) return Math.floor(s / 60) + " min";
  if (s < 172800) return Math.floor(s / 3600) + " h " + Math.floor((s / 60) % 60) + " min";
  return Math.floor(s / 86400) + " d";
}
function amount(value) {
  if (Math.abs(value) >= 1000) return Math.round(value).toLocaleString("en");
  return String(Number(value.toPrecision(4)));
}
const count = (number, thing) => number + " " + thing + (number === 1 ? "" : "s");
const clock = (ms) => new Date(ms).toLocaleTimeString();

function show(status) {
  last = status;
  const hangs = Boolean(status.hang);
  const state = hangs ? "hangs" : status.state === "ended" ? status.outcome : status.state;
  document.title = state + " · " + (status.title || status.run_id) + " · ddprun";
  byId("title").textContent = status.title || "job " + status.run_id;
  byId("run").textContent = status.run_id;
  byId("state").textContent = state;
  byId("state").className = "badge " + (hangs ? "hangs" : status.state);
  byId("why").textContent = status.why;
  showNumbers(status);
  showTrouble(status);
  showNodes(status);
  showTimeline(status);
  showCurve("loss", status.history.filter((p) => p.has_loss).map((p) => [p, p.loss]));
  showCurve("speed", status.history.map((p) => [p, p.samples_per_second]).filter((p) => p[1] > 0));
  byId("list").hidden = true;
  byId("job").hidden = false;
}

function tile(name, value) {
  const element = make("div", "tile");
  element.append(make("span", "soft", name), make("b", "", value));
  return element;
}
function showNumbers(status) {
  const there = status.nodes.filter((n) => ["running", "finished", "stopping"].includes(n.state)).length;
  const tiles = [];
  if (status.step >= 0) tiles.push(tile("step", status.steps > 0 ? status.step + " / " + status.steps : status.step));
  if (status.has_loss) tiles.push(tile("loss", amount(status.loss)));
  if (status.samples_per_second > 0) tiles.push(tile("samples/s", amount(status.samples_per_second)));
  else if (status.steps_per_second > 0) tiles.push(tile("steps/s", amount(status.steps_per_second)));
  if (status.left_s >= 0) tiles.push(tile("left", duration(status.left_s)));
  tiles.push(tile("nodes", there + " / " + status.nodes_max), tile("ranks", status.ranks.length + status.ranks_left_out));
  tiles.push(tile("round", status.round), tile("restarts left", status.restarts_left));
  tiles.push(tile("for", duration((status.now_unix_ms - status.began_unix_ms) / 1000)));
  byId("numbers").replaceChildren(...tiles);
  byId("progress").hidden = status.progress_percent < 0;
  byId("done").style.width = Math.max(0, Math.min(100, status.progress_percent)) + "%";
  byId("progress").setAttribute("aria-valuenow", Math.floor(Math.max(0, status.progress_percent)));
  byId("progress").title = Math.floor(status.progress_percent) + " %";
}

function frames(stack) {
  return stack.split("\n").filter(Boolean).map((frame) => {
    const [name, file, line] = frame.split("\t");
    return file ? name + "  " + file + ":" + line : frame;
  }).join("\n");
}
function showTrouble(status) {
  const panel = byId("trouble");
  const parts = [];
  if (status.hang) {
    parts.push(make("h2", "", "The job hangs"), make("div", "", status.hang.sentence));
    for (const group of status.hang.stacks) {
      parts.push(make("div", "", "ranks " + group.ranks + ": " + group.doing));
      if (group.stack) parts.push(make("pre", "", frames(group.stack)));
    }
  }
  const verdict = status.verdict;
  if (verdict && verdict.cause) {
    parts.push(make("h2", "", "Why it ended"), make("div", "", verdict.cause.sentence || verdict.cause.kind || ""));
    if (verdict.cause.hint) parts.push(make("div", "soft", verdict.cause.hint));
    if (verdict.cause.stack) parts.push(make("pre", "", frames(verdict.cause.stack)));
  }
  const key = JSON.stringify([status.hang, verdict]);
  if (panel.dataset.key === key) return;
  panel.dataset.key = key;
  panel.hidden = parts.length === 0;
  panel.replaceChildren(...parts);
}

function rankButton(rank, slow) {
  const state = rank.state === "running" && slow > 0 && rank.lag >= slow ? "slow" : rank.state;
  const button = make("button", "rank " + state + (rank.rank === chosen ? " chosen" : ""), String(rank.rank));
  button.append(make("small", "", rank.step >= 0 ? String(rank.step) : rank.collectives >= 0 ? String(rank.collectives) : "·"));
  const facts = ["rank " + rank.rank, rank.state];
  if (rank.step >= 0) facts.push("step " + rank.step);
  if (rank.lag > 0) facts.push(rank.lag + " behind");
  if (rank.has_loss) facts.push("loss " + amount(rank.loss));
  if (rank.samples_per_second > 0) facts.push(amount(rank.samples_per_second) + " samples/s");
  if (rank.waits_in) facts.push("waits in " + rank.waits_in);
  if (rank.still_ms > 2000) facts.push("still for " + duration(rank.still_ms / 1000));
  button.title = facts.join(", ");
  button.setAttribute("aria-label", button.title);
  button.dataset.rank = rank.rank;
  button.dataset.state = rank.state;
  button.addEventListener("click", () => choose(rank.rank));
  return button;
}
function showNodes(status) {
  const lags = status.ranks.map((r) => r.lag).sort((a, b) => a - b);
  const slow = Math.max(5, 4 * (lags[Math.floor(lags.length / 2)] || 0)); // far beyond what is usual here
  const cards = status.nodes.map((node) => {
    const card = make("div", "node " + node.state);
    card.dataset.host = node.host;
    card.dataset.state = node.state;
    const head = make("div", "node-head");
    head.append(make("b", "", node.host), make("span", "badge " + node.state, node.state));
    card.append(head);
    if (node.state === "lost") card.append(make("div", "soft", duration(node.silent_ms / 1000) + " ago: " + node.reason));
    const own = status.ranks.filter((r) => node.first_rank >= 0 && r.rank >= node.first_rank && r.rank < node.first_rank + node.workers);
    const ranks = make("div", "ranks");
    if (node.state !== "lost" || own.every((r) => r.state === "lost")) ranks.append(...own.map((r) => rankButton(r, slow)));
    card.append(ranks);
    return card;
  });
  byId("nodes").replaceChildren(...cards);
  byId("more").textContent = status.ranks_left_out > 0 ? "and " + status.ranks_left_out + " ranks that do not stand out" : "";
}

function showTimeline(status) {
  const now = status.now_unix_ms;
  byId("timeline").replaceChildren(...status.rounds.map((round) => {
    const end = !round.reason ? "" : round.in_place ? "left" : "stopped";
    const bar = make("div", end, String(round.round));
    bar.style.flexGrow = Math.max(1, (round.ended_unix_ms || now) - round.began_unix_ms);
    bar.title = "round " + round.round + " at " + clock(round.began_unix_ms) + (round.reason ? ": " + round.reason : "");
    return bar;
  }));
  byId("rounds").replaceChildren(...status.rounds.slice(-8).reverse().map((round) => {
    const lasted = duration(((round.ended_unix_ms || now) - round.began_unix_ms) / 1000);
    const stopped = round.in_place ? round.reason + "; the other workers stayed" : round.reason;
    const end = round.ended_unix_ms ? stopped || "it ended well" : "it runs";
    return make("li", "", "round " + round.round + ", " + clock(round.began_unix_ms) + ", " + count(round.world_size, "rank") + " on " + count(round.nodes, "node") + ", " + lasted + ": " + end);
  }));
}

function showCurve(id, points) {
  const box = byId(id);
  box.parentElement.hidden = points.length < 2;
  if (points.length < 2) return;
  const [width, height, foot] = [600, 160, 16];
  const xs = points.map((p) => p[0].unix_ms), ys = points.map((p) => p[1]);
  // A single point far above all others, as the first one of a speed, leaves nothing of the rest to see.
  const sorted = [...ys].sort((a, b) => a - b);
  const [x0, x1] = [xs[0], xs[xs.length - 1]], [low, high] = [sorted[0], sorted[Math.floor(0.97 * (sorted.length - 1))]];
  const x = (v) => ((v - x0) / Math.max(1, x1 - x0)) * width;
  const y = (v) => 6 + (1 - Math.min(1, (v - low) / (high - low || 1))) * (height - foot - 12);
  const line = points.map((p) => x(p[0].unix_ms).toFixed(1) + "," + y(p[1]).toFixed(1)).join(" ");
  box.replaceChildren(
    svg("line", { x1: 0, x2: width, y1: height - foot, y2: height - foot }),
    svg("polyline", { points: line }));
  byId(id + "-range").textContent = amount(ys[ys.length - 1]) + " now, " + amount(low) + " to " + amount(high) +
    ", step " + points[0][0].step + " to " + points[points.length - 1][0].step;
}

function choose(rank) {
  chosen = rank;
  byId("log").hidden = false;
  byId("log-title").textContent = "Log of rank " + rank;
  showNodes(last);
  readLog();
}
async function readLog() {
  if (chosen === null) return;
  const wanted = chosen + stream;
  try {
    const answer = await fetch(address("/log", { rank: chosen, stream, bytes: 16384 }));
    const text = await answer.text();
    if (wanted !== chosen + stream) return;
    const box = byId("log-text");
    const atEnd = box.scrollTop + box.clientHeight >= box.scrollHeight - 4;
    box.textContent = text || "(nothing)";
    if (atEnd) box.scrollTop = box.scrollHeight;
  } catch { /* the notice above says that nobody answers */ }
}
for (const name of ["out", "err"]) {
  byId("tab-" + name).addEventListener("click", () => {
    stream = name;
    for (const other of ["out", "err"]) byId("tab-" + other).className = "tab" + (other === name ? " chosen" : "");
    readLog();
  });
}
setInterval(readLog, 2000);

function showList(jobs) {
  byId("jobs").replaceChildren(...jobs.map((status) => {
    const item = make("li");
    const link = make("a", "", status.run_id);
    const url = new URL(here);
    url.searchParams.set("job", status.run_id);
    link.href = url;
    item.append(link, " ", make("span", "badge " + status.state, status.state), " " + status.why);
    return item;
  }));
  byId("list").hidden = false;
  byId("job").hidden = true;
}

const events = new EventSource(address("/events"));
events.addEventListener("status", (event) => {
  byId("offline").hidden = true;
  const status = JSON.parse(event.data);
  if (status.jobs) showList(status.jobs);
  else show(status);
});
events.addEventListener("error", () => {
  byId("offline").hidden = false;
  byId("offline").textContent = last && last.state === "ended" ? "The job has ended."
    : "Nobody answers since " + clock(Date.now()) + ": the job has ended, or its coordinator is gone.";
});
