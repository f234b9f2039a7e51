"use strict";
// The page asks only the server that it came from. All text of others is put in as text, never as HTML.
// CMake puts ranks.js and curves.js behind this file; the three are one script.
const here = new URL(location.href);
const job = here.searchParams.get("job");
const token = here.searchParams.get("token");
// The output of the chosen rank that is shown, and the last status.
let stream = "err", last = null;

function address(path, more = {}) {
  const url = new URL(path, here.origin);
  if (token) url.searchParams.set("token", token);
  if (job) url.searchParams.set("job", job);
  for (const [name, value] of Object.entries(more)) url.searchParams.set(name, value);
  return url;
}
const byId = (id) => document.getElementById(id);
const on = (element, kind, act) => element.addEventListener(kind, act);
function make(tag, classes = "", text = "") {
  const element = document.createElement(tag);
  if (classes) element.className = classes;
  if (text !== "") element.textContent = text;
  return element;
}
function button(text, act) {
  const element = make("button", "", text);
  on(element, "click", act);
  return element;
}
// An element that has the focus is replaced with the others, and gets it again: dataset.keep names it.
function refill(box, ...children) {
  const focused = document.activeElement;
  const keep = box.contains(focused) ? focused.dataset.keep : undefined;
  box.replaceChildren(...children);
  if (keep !== undefined) box.querySelector('[data-keep="' + CSS.escape(keep) + '"]')?.focus({ preventScroll: true });
}
function duration(s) {
  if (s < 0) return "–";
  if (s < 120) return Math.round(s) + " s";
  if (s < 7200) return Math.floor(s / 60) + " min";
  if (s < 36000) return Math.floor(s / 3600) + " h " + Math.floor((s / 60) % 60) + " min";
  if (s < 172800) return Math.floor(s / 3600) + " h";
  return Math.floor(s / 86400) + " d " + Math.floor((s / 3600) % 24) + " h";
}
function amount(value, digits = 4) {
  if (!Number.isFinite(value)) return "not a number";
  if (Math.abs(value) >= 1e9) return value.toExponential(digits - 2);
  if (Math.abs(value) >= 1000) return whole(value);
  return String(Number(value.toPrecision(digits)));
}
const grouped = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const whole = (number) => grouped.format(number);
const count = (number, thing) => whole(number) + " " + thing + (number === 1 ? "" : "s");
const clock = (ms) => new Date(ms).toLocaleTimeString();
// A time that is not today has its day.
function moment(ms, now) {
  const date = new Date(ms);
  const time = date.toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", hourCycle: "h23" });
  if (date.toDateString() === new Date(now).toDateString()) return time;
  return date.toLocaleDateString([], { month: "short", day: "numeric" }) + " " + time;
}
const isNamed = (status) => Boolean(status.run_id) && status.run_id !== "none";
const nameOf = (status) => status.title || (isNamed(status) ? "job " + status.run_id : "a job without a name");

function show(status) {
  last = status;
  const state = status.state_word;
  document.title = state + " · " + nameOf(status) + " · ddprun";
  byId("title").textContent = nameOf(status);
  byId("run").textContent = status.title && isNamed(status) ? "job " + status.run_id : "";
  byId("state").textContent = state.replaceAll("_", " ");
  byId("state").className = "badge " + state;
  byId("why").textContent = status.why;
  byId("list").hidden = true;
  byId("job").hidden = false;
  showNumbers(status);
  showTrouble(status);
  showNodes(status);
  showTimeline(status);
  showCurves(status);
}

function tile(name, value, more = "") {
  const element = make("div", "tile");
  element.append(make("span", "soft", name), make("b", "", value));
  if (more) element.append(make("small", "", more));
  return element;
}
// A stock program tells no step; then it is as far as the slowest rank with its collectives.
function progressTile(status) {
  if (status.step >= 0) return tile("step", whole(status.step), status.steps > 0 ? "of " + whole(status.steps) : "");
  let done = Infinity;
  for (const rank of status.ranks) if (rank.collectives >= 0) done = Math.min(done, rank.collectives);
  return done < Infinity ? tile("collectives", whole(done), "no rank tells a step") : null;
}
function showNumbers(status) {
  const there = status.nodes.filter((n) => ["running", "finished", "stopping"].includes(n.state)).length;
  const now = status.now_unix_ms;
  const tiles = [progressTile(status)];
  if (status.has_loss) tiles.push(tile("loss", amount(status.loss)));
  if (status.samples_per_second > 0) tiles.push(tile("samples/s", amount(status.samples_per_second)));
  else if (status.steps_per_second > 0) tiles.push(tile("steps/s", amount(status.steps_per_second)));
  tiles.push(tile("elapsed", duration((now - status.began_unix_ms) / 1000), "since " + moment(status.began_unix_ms, now)));
  if (status.left_s >= 0 && status.state !== "ended")
    tiles.push(tile("time left", duration(status.left_s), "ETA " + moment(now + status.left_s * 1000, now)));
  tiles.push(tile("nodes", there + " / " + status.nodes_max, count(status.ranks.length + status.ranks_left_out, "rank")));
  tiles.push(tile("round", status.round, count(status.restarts_left, "more restart")));
  byId("numbers").replaceChildren(...tiles.filter(Boolean));
  const percent = Math.max(0, Math.min(100, status.progress_percent));
  byId("progress").hidden = status.progress_percent < 0;
  byId("done").style.width = percent + "%";
  byId("progress").setAttribute("aria-valuenow", Math.floor(percent));
  byId("progress").title = Math.floor(percent) + " %";
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
      parts.push(make("div", "", (/\D/.test(group.ranks) ? "ranks " : "rank ") + group.ranks + ": " + group.doing));
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

function showTimeline(status) {
  const now = status.now_unix_ms;
  byId("timeline").replaceChildren(...status.rounds.map((round) => {
    const end = !round.reason ? "" : round.in_place ? "left" : "stopped";
    const bar = make("div", end, String(round.round));
    bar.style.flexGrow = Math.max(1, (round.ended_unix_ms || now) - round.began_unix_ms);
    bar.title = "round " + round.round + " at " + clock(round.began_unix_ms) + (round.reason ? ": " + round.reason : "");
    return bar;
  }));
  const lines = status.rounds.slice(-8).reverse().map((round) => {
    const lasted = duration(((round.ended_unix_ms || now) - round.began_unix_ms) / 1000);
    const stopped = round.in_place ? round.reason + "; the other workers stayed" : round.reason;
    const end = round.ended_unix_ms ? stopped || "it ended well" : "it runs";
    const size = count(round.world_size, "rank") + " on " + count(round.nodes, "node");
    return make("li", "", "round " + round.round + ", " + clock(round.began_unix_ms) + ", " + size + ", " + lasted + ": " + end);
  });
  const earlier = status.rounds.length - lines.length;
  if (earlier > 0) lines.push(make("li", "soft", "and " + count(earlier, "earlier round")));
  byId("rounds").replaceChildren(...lines);
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
  } catch { /* The notice above says that ddprun does not answer. */ }
}
for (const name of ["out", "err"]) {
  on(byId("tab-" + name), "click", () => {
    stream = name;
    for (const other of ["out", "err"]) byId("tab-" + other).className = other === name ? "chosen" : "";
    readLog();
  });
}
setInterval(readLog, 2000);

function showList(jobs) {
  refill(byId("jobs"), ...jobs.map((status) => {
    const item = make("li");
    const link = make("a", "", isNamed(status) ? status.run_id : nameOf(status));
    const url = new URL(here);
    url.searchParams.set("job", status.run_id);
    link.href = url;
    link.dataset.keep = status.run_id;
    const facts = [status.step >= 0 ? "step " + whole(status.step) : "", status.why].filter(Boolean).join(", ");
    item.append(link, " ", make("span", "badge " + status.state_word, status.state_word.replaceAll("_", " ")), " " + facts);
    return item;
  }));
  byId("list").hidden = false;
  byId("job").hidden = true;
}

const events = new EventSource(address("/events"));
on(events, "status", (event) => {
  byId("offline").hidden = true;
  const status = JSON.parse(event.data);
  if (status.jobs) showList(status.jobs);
  else show(status);
});
on(events, "error", () => {
  byId("offline").hidden = false;
  byId("offline").textContent = last && last.state === "ended" ? "The job has ended."
    : "No answer since " + clock(Date.now()) + ": the job has ended, or its coordinator is gone.";
});
