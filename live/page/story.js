// What has happened: how the job hangs or has ended, its events, and what the chosen rank has written.

function frames(stack) {
  return stack.split("\n").filter(Boolean).map((frame) => {
    const [name, file, line] = frame.split("\t");
    return file ? name + "  " + file + ":" + line : frame;
  }).join("\n");
}
const stackOf = (stack) => (stack ? [make("pre", "", frames(stack))] : []);
const ranksOf = (ranks) => (/\D/.test(ranks) ? "ranks " : "rank ") + ranks;
// Fills a panel only where something is new, so that a reader's selection and place in it stay.
function fillPanel(panel, about, partsOf) {
  const key = JSON.stringify(about);
  if (panel.dataset.key === key) return;
  panel.dataset.key = key;
  const parts = partsOf();
  panel.hidden = !parts.length;
  panel.replaceChildren(...parts);
}
function showTrouble(status) {
  const { hang } = status, halts = status.debugged?.map((one) => one.rank).join();
  const slow = halts ? "debugged, or waiting: " + ranksOf(halts) : status.straggler?.sentence;
  fillPanel(byId("trouble"), hang || slow, () => (hang ? [
    make("h2", "", "The job hangs"), make("div", "", hang.sentence),
    ...hang.stacks.flatMap((group) => [make("div", "", ranksOf(group.ranks) + ": " + group.doing), ...stackOf(group.stack)]),
  ] : slow ? [make("div", "", slow)] : []));
}

function causeParts(cause) {
  return [make("div", "", cause.sentence || cause.kind), cause.hint ? make("div", "soft", cause.hint) : "", ...stackOf(cause.stack)];
}
// Of a job that has ended: how, in numbers, and why it has failed.
function reportParts(status) {
  const { rounds, verdict, outcome, step, steps, why } = status;
  const word = outcome === "finished" ? "The job has finished" : "The job has ended: " + plain(outcome);
  const restarts = rounds.filter((round) => round.reason && round !== rounds.at(-1)).length;
  const facts = ["after " + duration((status.now_unix_ms - status.began_unix_ms) / 1000), count(status.round, "round"), count(restarts, "restart")];
  if (step >= 0) facts.push("step " + whole(step) + (steps > 0 ? " of " + whole(steps) : ""));
  if (status.has_loss) facts.push("loss " + amount(status.loss));
  const parts = [make("h2", "", word), make("div", "", facts.join(", "))];
  if (!verdict?.cause) return why ? [...parts, make("div", "", why)] : parts;
  parts.push(...causeParts(verdict.cause));
  for (const remark of [verdict.history, verdict.no_restart]) if (remark) parts.push(make("div", "", remark));
  for (const cause of verdict.also || []) parts.push(make("div", "soft", "Also:"), ...causeParts(cause));
  const after = (verdict.followers || []).map((one) => ranksOf(one.ranks) + ": " + one.what);
  if (after.length) parts.push(make("div", "soft", "Because of that: " + after.join("; ")));
  return parts;
}
function showReport(status) {
  const hasEnded = status.state === "ended";
  byId("report").className = status.outcome === "finished" ? "" : "trouble";
  fillPanel(byId("report"), hasEnded && [status.outcome, status.why, status.step, status.verdict], () => (hasEnded ? reportParts(status) : []));
}

function showTimeline(status) {
  const now = status.now_unix_ms;
  byId("timeline").replaceChildren(...status.rounds.map((round) => {
    const end = !round.reason ? "" : round.in_place ? "left" : "stopped";
    const bar = make("div", end, String(round.round));
    bar.style.flexGrow = Math.max(1, (round.ended_unix_ms || now) - round.began_unix_ms);
    bar.title = "round " + round.round + " at " + clock(round.began_unix_ms, now) + (round.reason ? ": " + round.reason : "");
    return bar;
  }));
}

// The hang that is shown, and when it began: the time without progress is measured anew each time.
let hang = { sentence: "", began: 0 };
function hangOf(status) {
  const { sentence } = status.hang;
  if (hang.sentence !== sentence) {
    const still = status.ranks.filter((rank) => ["missing", "waiting"].includes(rank.state)).map((rank) => rank.still_ms);
    hang = { sentence, began: status.now_unix_ms - Math.max(0, ...still) };
  }
  return [hang.began, "missing", "the job hangs: " + sentence];
}
// All events as [time, kind, sentence], the last one first. The kind is a state, and has its color.
function eventsOf(status) {
  const now = status.now_unix_ms, events = [[status.began_unix_ms, "", "the job begins"]];
  for (const { round, began_unix_ms: began, ended_unix_ms: end, world_size, nodes, reason, in_place } of status.rounds) {
    const name = "round " + round, lasted = duration((end - began) / 1000);
    events.push([began, "running", name + " begins, " + count(world_size, "rank") + " on " + count(nodes, "node")]);
    if (!end) continue;
    const why = reason ? " is stopped after " + lasted + ": " + reason : " ends after " + lasted;
    const stay = in_place ? "; the other workers stay" : "";
    events.push([end, !reason ? "finished" : in_place ? "waiting" : "failed", name + why + stay]);
  }
  for (const node of status.nodes)
    if (node.state === "lost") events.push([now - node.silent_ms, "lost", "node " + node.host + " is lost: " + node.reason]);
  if (status.hang) events.push(hangOf(status));
  if (status.state === "ended") events.push([now, status.outcome, "the job ends: " + plain(status.outcome)]);
  return events.map((event, i) => [...event, i]).sort((a, b) => b[0] - a[0] || b[3] - a[3]);
}
function showEvents(status) {
  const lines = eventsOf(status).map(([ms, kind, sentence]) => [clock(ms, status.now_unix_ms), kind, sentence]);
  fillPanel(byId("events"), lines, () => lines.map(([time, kind, sentence]) => {
    const item = make("li"), mark = make("i", kind);
    item.append(make("time", "soft", time), mark, make("span", "", sentence));
    return item;
  }));
}

// The output of the chosen rank that is shown. "": that which has text, stderr first.
let stream = "";
const streams = choice(["stderr", "stdout"], (label) => {
  stream = label.slice(3);
  readLog();
});
byId("log").firstElementChild.append(streams.box);
async function readLog() {
  if (chosen === null) return;
  const wanted = chosen + stream;
  try {
    for (const name of stream ? [stream] : ["err", "out"]) {
      const answer = await fetch(address("/log", { rank: chosen, stream: name, bytes: 16384 }));
      const text = await answer.text();
      if (wanted !== chosen + stream) return;
      streams.choose("std" + name);
      const box = byId("log-text"), atEnd = box.scrollTop + box.clientHeight >= box.scrollHeight - 4;
      box.textContent = text || "(nothing)";
      if (atEnd) box.scrollTop = box.scrollHeight;
      if (!text) continue;
      stream = name;
      return;
    }
  } catch { /* The notice above says that ddprun does not answer. */ }
}
setInterval(readLog, 2000);
