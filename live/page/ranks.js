// Nodes and ranks: cards with a button for each rank, or a map of small cells when there are many of them.
// Elements stay while the job has the same shape, so that the pointer and the focus stay where they are.

// More nodes than the first are a map themselves. More ranks than the second have no text, more than the third are
// tiny. The fourth is how many ranks the table has.
const [kCardsMax, kButtonsMax, kCellsMax, kRowsMax] = [16, 64, 1024, 12];
const kBad = ["failed", "missing", "lost"];
const kKinds = ["running", "lags", "slow", "waiting", "stopping", "finished", ...kBad];
const map = byId("nodes");
// The button of each rank, and the shape of the job that they were made for.
const cells = new Map();
let shape = "";
// What survey() says of the status that is shown.
let view = null;
// The rank whose log is shown, and the one that has the pointer or the focus.
let chosen = null, pointed = null;

const isSmall = () => view.ranks.length > kButtonsMax;
const middle = (numbers) => numbers.sort((a, b) => a - b)[Math.floor(numbers.length / 2)] || 0;
// Of two nodes that claim a rank, the one that was not lost has it now.
function ownersOf(nodes) {
  const owners = new Map();
  const placed = nodes.filter((n) => n.first_rank >= 0 && !["spare", "starting"].includes(n.state));
  const isLost = (node) => node.state === "lost";
  for (const node of [...placed.filter((n) => !isLost(n)), ...placed.filter(isLost)])
    for (let rank = node.first_rank; rank < node.first_rank + Math.min(node.workers, 4096); ++rank)
      if (!owners.has(rank)) owners.set(rank, node);
  return owners;
}
// Says where the ranks of a status are, and what is usual among them.
function survey(status) {
  const ranks = [...new Map(status.ranks.map((r) => [r.rank, r])).values()].sort((a, b) => a.rank - b.rank);
  // Slow and still are far beyond what is usual here.
  const slow = Math.max(5, 4 * middle(ranks.map((r) => r.lag)));
  const still = Math.max(10000, 4 * middle(ranks.map((r) => r.still_ms)));
  const fewWait = ranks.filter((r) => r.waits_in).length * 2 < ranks.length;
  return { ranks, owners: ownersOf(status.nodes), slow, still, fewWait, done: status.step >= 0 ? "step" : "collectives" };
}
// A kind is a state, and of running ranks how far they are behind.
function kindOf(rank) {
  const late = last.straggler && rank.late_percent > 5;
  if (rank.state !== "running" || (!late && rank.lag * 2 < view.slow)) return rank.state;
  return late || rank.lag >= view.slow ? "slow" : "lags";
}
const hostOf = (rank) => view.owners.get(rank.rank)?.host || "";
// The ranks of a lost node do not stand out by themselves: the node does.
function oddness(rank) {
  if (rank.state === "lost") return view.owners.get(rank.rank)?.state === "lost" ? 0 : 3;
  if (kBad.includes(rank.state)) return 4;
  if (kindOf(rank) === "slow") return 2;
  return (rank.state === "running" && rank.still_ms >= view.still) || (view.fewWait && rank.waits_in) ? 1 : 0;
}
// What is known of a rank, by name. An empty text is not shown.
function factsOf(rank) {
  const done = rank[view.done];
  return {
    node: hostOf(rank), state: kindOf(rank), [view.done]: done >= 0 ? whole(done) : "", behind: rank.lag > 0 ? whole(rank.lag) : "",
    late: rank.late_percent > 1 ? amount(rank.late_percent, 2) + " %" : "",
    loss: rank.has_loss ? amount(rank.loss) : "", "samples/s": rank.samples_per_second > 0 ? amount(rank.samples_per_second) : "",
    "still for": rank.still_ms > 2000 ? duration(rank.still_ms / 1000) : "", "waits in": rank.waits_in,
  };
}
function sentenceOf(rank) {
  const facts = Object.entries(factsOf(rank)).filter((fact) => fact[1]);
  return "rank " + rank.rank + ": " + facts.map((fact) => fact.join(" ")).join(", ");
}

// "12-40, h3 slow": a comma is "or", a space is "and"; a number is a rank, a word is a node or a kind.
function wanted() {
  const choices = byId("find").value.toLowerCase().split(",").map((choice) => choice.match(/\S+/g)).filter(Boolean);
  const hosts = new Set([...view.owners.values()].map((node) => node.host.toLowerCase()));
  const fits = (word, rank) => {
    const host = hostOf(rank).toLowerCase();
    // "h1" is not "h10", if both are there.
    if (hosts.has(word)) return host === word;
    const range = /^(\d+)(?:-(\d+))?$/.exec(word);
    if (range) return rank.rank >= Number(range[1]) && rank.rank <= Number(range[2] ?? range[1]);
    return host.includes(word) || kindOf(rank).startsWith(word);
  };
  return choices.length ? (rank) => choices.some((words) => words.every((word) => fits(word, rank))) : null;
}
function find(text) {
  byId("find").value = byId("find").value === text ? "" : text;
  showNodes(last);
}

function ranksBox(ranks) {
  const box = make("div", "ranks");
  box.append(...ranks.map((rank) => {
    const cell = make("button", "rank");
    cell.dataset.rank = rank.rank;
    cell.setAttribute("aria-label", "rank " + rank.rank);
    cell.tabIndex = -1;
    cells.set(rank.rank, cell);
    return cell;
  }));
  return box;
}
function nodeCard(node, own) {
  const card = make("div"), head = make("div", "node-head");
  head.append(make("b", "", node.host), make("span"));
  card.append(head, make("div", "soft"), ranksBox(own), make("div", "loads"), make("div", "kept"));
  card.dataset.host = node.host;
  return card;
}
function hostsBox(nodes) {
  const box = make("div", "ranks");
  box.append(...nodes.map((node) => button("", () => find(node.host.toLowerCase()))));
  for (const cell of box.children) cell.tabIndex = -1;
  return box;
}
function build(status) {
  const focused = Number(document.activeElement?.dataset.rank ?? NaN);
  const many = status.nodes.length > kCardsMax, number = view.ranks.length;
  const ownOf = (node) => view.ranks.filter((rank) => view.owners.get(rank.rank) === node);
  cells.clear();
  map.className = (isSmall() ? "compact " : "") + (number > kCellsMax ? "tiny " : "") + (many ? "many" : "");
  if (many) map.replaceChildren(hostsBox(status.nodes), make("div", "soft"), ranksBox(view.ranks));
  else map.replaceChildren(...status.nodes.map((node) => nodeCard(node, ownOf(node))), ranksBox(ownOf(undefined)));
  const first = cells.get(focused) || map.querySelector(".rank");
  if (first) first.tabIndex = 0;
  cells.get(focused)?.focus({ preventScroll: true });
}

// Says which nodes keep the job from going on: the ranks that others wait for are there, or all wait.
function stateOf(node) {
  if (!last.hang || node.state !== "running") return node.state;
  const own = view.ranks.filter((rank) => view.owners.get(rank.rank) === node), isAny = (state) => own.some((rank) => rank.state === state);
  const isHere = isAny("missing") || (isAny("waiting") && !view.ranks.some((rank) => rank.state === "missing"));
  return isHere ? "hangs" : isAny("waiting") ? "waiting" : node.state;
}
const inGiB = (bytes) => amount(bytes / 2 ** 30, 3);
// How busy a node's machine is: [name, percent, text] of what is known.
function loadsOf({ load }) {
  const loads = [];
  const use = (number, thing, percent) => percent >= 0 && loads.push([count(number, thing), percent, percent + " %"]);
  const memory = (name, used, all) => all > 0 && loads.push([name, (100 * used) / all, inGiB(used) + " / " + inGiB(all) + " GiB"]);
  if (!load) return loads;
  use(load.cpus, "CPU", load.cpu_percent);
  memory("memory", load.memory_used_bytes, load.memory_bytes);
  use(load.gpus, "GPU", load.gpu_percent);
  memory("GPU memory", load.gpu_memory_used_bytes, load.gpu_memory_bytes);
  return loads;
}
function loadParts([name, percent, text]) {
  const bar = make("div", "bar"), full = make("div", name === "memory" && percent >= 95 ? "full" : "");
  full.style.width = Math.min(100, percent) + "%";
  bar.append(full);
  return [make("span", "soft", name), bar, make("span", "", text)];
}

function sizeOf(bytes) {
  const units = ["KiB", "MiB", "GiB"];
  let unit = "B";
  for (; bytes >= 1024 && units.length; bytes /= 1024) unit = units.shift();
  return (bytes < 10 && bytes % 1 ? bytes.toFixed(1) : Math.round(bytes)) + " " + unit;
}
// Which checkpoints a node keeps, in the words of `ddprun status`.
function keptOf({ checkpoints: kept }) {
  if (!kept) return "";
  if (!kept.newest) return "no checkpoint is complete yet";
  return kept.newest + " (" + sizeOf(kept.bytes) + ") in memory for " + duration(kept.age_ms / 1000) + ", on disk " + (kept.written || "none");
}

const lossOf = (node) => duration(node.silent_ms / 1000) + " ago: " + node.reason;
function paintNodes(nodes) {
  const [hosts, odd] = map.children;
  const lost = nodes.filter((node) => node.state === "lost");
  if (!map.classList.contains("many")) {
    nodes.forEach((node, i) => {
      const card = map.children[i], [head, why, , loads, kept] = card.children, state = stateOf(node);
      card.className = "node " + state;
      card.dataset.state = state;
      head.lastChild.className = "badge " + state;
      head.lastChild.textContent = state;
      loads.replaceChildren(...loadsOf(node).flatMap(loadParts));
      kept.textContent = keptOf(node);
      why.textContent = lost.includes(node) ? lossOf(node) : "";
    });
    return;
  }
  nodes.forEach((node, i) => {
    const loads = loadsOf(node).map(([name, , text]) => name + " " + text);
    hosts.children[i].className = "host " + stateOf(node);
    hosts.children[i].title = [node.host + ": " + stateOf(node), ...loads, keptOf(node)].filter(Boolean).join(", ");
  });
  odd.replaceChildren(...lost.slice(0, 6).map((node) => make("div", "", node.host + " was lost " + lossOf(node))),
    lost.length > 6 ? "and " + count(lost.length - 6, "more lost node") : "");
}
function paintRanks(isWanted) {
  for (const rank of view.ranks) {
    const cell = cells.get(rank.rank), done = rank[view.done];
    const look = "rank " + kindOf(rank) + (rank.rank === chosen ? " chosen" : "") + (isWanted && !isWanted(rank) ? " dim" : "");
    if (cell.className !== look) cell.className = look;
    if (!isSmall()) cell.replaceChildren(String(rank.rank), make("small", "", done >= 0 ? whole(done) : "·"));
  }
}
// The buttons put their word into the field, so the map shows where these ranks are.
function showLegend() {
  const numbers = new Map();
  for (const rank of view.ranks) numbers.set(kindOf(rank), (numbers.get(kindOf(rank)) || 0) + 1);
  refill(byId("legend"), ...kKinds.filter((kind) => numbers.has(kind)).map((kind) => {
    const entry = button("", () => find(kind));
    entry.dataset.keep = kind;
    entry.append(make("i", kind), kind + " " + whole(numbers.get(kind)));
    return entry;
  }));
}

function tableOf(ranks) {
  const facts = ranks.map(factsOf), names = Object.keys(facts[0]).filter((name) => facts.some((fact) => fact[name]));
  const table = make("table"), head = make("tr");
  head.append(...["rank", ...names].map((name) => make("th", "", name)));
  table.append(head, ...ranks.map((rank, i) => {
    const row = make("tr"), cell = make("td"), name = button(String(rank.rank), () => choose(rank.rank));
    name.dataset.keep = rank.rank;
    cell.append(name);
    row.append(cell, ...names.map((name) => make("td", "", facts[i][name])));
    // A narrow screen has no line of names, so each cell has its own.
    ["rank", ...names].forEach((name, at) => (row.cells[at].dataset.name = name));
    return row;
  }));
  return table;
}
// Those that are looked for, else those that stand out, the worst first.
function showTable(isWanted) {
  const worst = (a, b) => oddness(b) - oddness(a) || b.lag - a.lag || b.still_ms - a.still_ms;
  const all = isWanted ? view.ranks.filter(isWanted) : view.ranks.filter(oddness).sort(worst);
  const more = all.length - kRowsMax, verb = isWanted ? " found" : all.length === 1 ? " stands out" : " stand out";
  byId("odd").hidden = !isWanted && !all.length;
  refill(byId("odd"), make("h2", "", count(all.length, "rank") + verb), all.length ? tableOf(all.slice(0, kRowsMax)) : "",
    more > 0 ? "and " + whole(more) + " more: search above" : "");
}
function showDetail() {
  const rank = view.ranks.find((r) => r.rank === (pointed ?? chosen));
  const isTold = !isSmall() && view.ranks.some((r) => r[view.done] >= 0);
  const sentence = rank ? sentenceOf(rank) : "";
  if (rank) cells.get(rank.rank).title = sentence;
  byId("detail").textContent = sentence || (isTold ? "Under a rank: its " + view.done + ". " : "") + "Point at a rank for numbers, click for its log.";
}

function showNodes(status) {
  view = survey(status);
  const places = status.nodes.map((n) => [n.host, n.first_rank, n.workers, n.state === "lost"]);
  const next = JSON.stringify([places, view.ranks.map((r) => r.rank)]);
  if (next !== shape) build(status);
  shape = next;
  const isWanted = wanted();
  byId("workers-title").textContent = count(status.nodes.length, "node") + ", " + count(view.ranks.length + status.ranks_left_out, "rank");
  byId("more").textContent = status.ranks_left_out > 0 ? "Left out: " + count(status.ranks_left_out, "rank") + " that do not stand out" : "";
  paintNodes(status.nodes);
  paintRanks(isWanted);
  showLegend();
  showTable(isWanted);
  showDetail();
}

function choose(rank) {
  chosen = rank;
  stream = "";
  byId("log").hidden = false;
  byId("log-title").textContent = "Log of rank " + rank;
  showNodes(last);
  readLog();
}
function point(target) {
  pointed = target?.dataset.rank ? Number(target.dataset.rank) : null;
  showDetail();
}
// The next cell for an arrow key: beside this one, or in the next line above or below.
function neighbour(cell, key) {
  const all = [...cells.values()], at = all.indexOf(cell), isForth = key === "ArrowRight" || key === "ArrowDown";
  const beyond = isForth ? all.slice(at + 1) : all.slice(0, at).reverse();
  if (key === "ArrowLeft" || key === "ArrowRight") return beyond[0];
  const from = cell.getBoundingClientRect();
  const isBelow = (to) => Math.abs(to.left - from.left) < 3 && to.top !== from.top;
  return beyond.find((other) => isBelow(other.getBoundingClientRect()));
}
const rankAt = (event) => event.target.closest(".rank");
on(map, "click", (event) => rankAt(event) && choose(Number(rankAt(event).dataset.rank)));
on(map, "pointerover", (event) => point(rankAt(event)));
on(map, "pointerleave", () => point(document.activeElement));
on(map, "focusin", (event) => {
  if (!rankAt(event)) return;
  for (const other of map.querySelectorAll('.rank[tabindex="0"]')) other.tabIndex = -1;
  event.target.tabIndex = 0;
  point(event.target);
});
on(map, "focusout", () => point(null));
on(map, "keydown", (event) => {
  if (!rankAt(event) || !event.key.startsWith("Arrow")) return;
  event.preventDefault();
  neighbour(event.target, event.key)?.focus();
});
on(byId("find"), "input", () => showNodes(last));
