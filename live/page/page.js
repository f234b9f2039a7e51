"use strict";
// The page asks only the server that it came from. All text of others is put in as text, never as HTML.
// CMake puts story.js, ranks.js and curves.js behind this file; they are one script.
const here = new URL(location.href);
const job = here.searchParams.get("job");
const token = here.searchParams.get("token");
// The last status.
let last = null;

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
// Times of day have 24 hours everywhere. A time that is not today has its day.
function moment(ms, now, isExact = false) {
  const date = new Date(ms), second = isExact ? { second: "2-digit" } : {};
  const time = date.toLocaleTimeString("en", { hour: "2-digit", minute: "2-digit", ...second, hourCycle: "h23" });
  if (date.toDateString() === new Date(now).toDateString()) return time;
  return date.toLocaleDateString("en", { month: "short", day: "numeric" }) + " " + time;
}
const clock = (ms, now = Date.now()) => moment(ms, now, true);
// A word of the status for people: "too few nodes".
const plain = (word) => word.replaceAll("_", " ");
const isNamed = (status) => Boolean(status.run_id) && status.run_id !== "none";
const nameOf = (status) => status.title || (isNamed(status) ? "job " + status.run_id : "a job without a name");

function show(status) {
  last = status;
  const state = status.state_word;
  document.title = state + " · " + nameOf(status) + " · ddprun";
  byId("title").textContent = nameOf(status);
  byId("run").textContent = status.title && isNamed(status) ? "job " + status.run_id : "";
  byId("state").textContent = plain(state);
  byId("state").className = "badge " + state;
  byId("why").textContent = status.why;
  byId("list").hidden = true;
  byId("job").hidden = false;
  showNumbers(status);
  showReport(status);
  showTrouble(status);
  showNodes(status);
  showTimeline(status);
  showEvents(status);
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

function showList(jobs) {
  refill(byId("jobs"), ...jobs.map((status) => {
    const item = make("li");
    const link = make("a", "", isNamed(status) ? status.run_id : nameOf(status));
    const url = new URL(here);
    url.searchParams.set("job", status.run_id);
    link.href = url;
    link.dataset.keep = status.run_id;
    const facts = [status.step >= 0 ? "step " + whole(status.step) : "", status.why].filter(Boolean).join(", ");
    item.append(link, " ", make("span", "badge " + status.state_word, plain(status.state_word)), " " + facts);
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
  byId("offline").textContent = last && last.state === "ended" ? "The job has ended, and its logs are no longer served here."
    : "No answer since " + clock(Date.now()) + ": the job has ended, or its coordinator is gone.";
});
