// Curves of what the job has told since it began, with axes and with the values at the pointer.
// The room around a plot, in pixels.
const kFoot = 34, kTop = 16, kRight = 14;
// Distances of ticks, in seconds.
const kTimes = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400];
// The axis at the bottom shows the "step" or the "time".
let bottom = "step";

function svg(tag, attributes, text = "") {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  if (text) element.textContent = text;
  return element;
}
const line = (x1, y1, x2, y2, classes = "") => svg("line", { x1, y1, x2, y2, class: classes });
const word = (x, y, anchor, classes, text) => svg("text", { x, y, "text-anchor": anchor, class: classes }, text);

// The least round distance of ticks that makes at most so many parts.
function roundDistance(span, parts) {
  const power = 10 ** Math.floor(Math.log10(span / parts));
  return power * [1, 2, 5, 10].find((factor) => factor * power * parts >= span * 0.999);
}
function timeDistance(span, parts) {
  return kTimes.find((distance) => distance * parts >= span) || 86400 * Math.ceil(roundDistance(span / 86400, parts));
}
function ticksOf(low, high, distance) {
  const first = Math.ceil(low / distance - 1e-6), number = Math.floor(high / distance + 1e-6) - first + 1;
  return Array.from({ length: Math.max(0, Math.min(999, number)) }, (_, i) => (first + i) * distance);
}
// Powers of ten; where there are few, their doubles and fivefolds as well; within a small span, linear ones.
function logTicks(low, high) {
  const powers = ticksOf(Math.log10(low), Math.log10(high), 1).map((power) => 10 ** power);
  if (powers.length > 3) return powers.filter((_, i) => i % Math.ceil(powers.length / 6) === 0);
  const all = [low, ...powers].flatMap((power) => [1, 2, 5].map((factor) => factor * 10 ** Math.floor(Math.log10(power) + 1e-9)));
  const inside = [...new Set(all)].filter((tick) => tick >= low && tick <= high).sort((a, b) => a - b);
  return inside.length > 2 ? inside : ticksOf(low, high, roundDistance(high - low, 4));
}
function tickText(value, distance) {
  if (Math.abs(value) < distance * 1e-6) return "0";
  const size = Math.floor(Math.log10(Math.abs(value)) + 1e-9), fine = Math.floor(Math.log10(distance) + 1e-9);
  if (size < -4 || size > 7) return value.toExponential(Math.min(6, Math.max(0, size - fine)));
  const digits = Math.max(0, Math.min(20, -fine));
  return value.toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits });
}
function exactTime(s) {
  const units = [[86400, Infinity, " d"], [3600, 24, " h"], [60, 60, " min"], [1, 60, " s"]];
  const parts = units.map(([unit, wrap, name]) => [Math.floor(s / unit) % wrap, name]).filter(([number]) => number > 0);
  return parts.slice(0, 3).map((part) => part.join("")).join(" ") || "0 s";
}

// A few absurd values, as the first one of a speed, would leave nothing of the rest to see. They are outside the
// bounds when the next value is less than a third as far from the usual ones.
function boundsOf(values, isAll) {
  const few = values.length < 8 ? 0 : Math.max(1, Math.floor(0.03 * values.length));
  const edge = (sorted) => {
    const far = (i) => Math.max(Math.abs(sorted[i] - sorted.at(-1 - few)), Math.abs(sorted[i]) * 0.05);
    let kept = 0;
    for (let i = 1; i <= few && !isAll; ++i) if (far(i - 1) > 3 * far(i)) kept = i;
    return sorted[kept];
  };
  const sorted = values.sort((a, b) => a - b), low = edge(sorted);
  return { low, high: edge([...sorted].reverse()) };
}

// Buttons of which one is chosen.
function choice(labels, act) {
  const box = make("div", "tabs");
  box.append(...labels.map((label) => button(label, () => act(label))));
  const choose = (label) => {
    for (const one of box.children) {
      one.className = one.textContent === label ? "chosen" : "";
      one.setAttribute("aria-pressed", one.textContent === label);
    }
  };
  return { box, choose };
}

class Curve {
  constructor(id, hasLog) {
    Object.assign(this, { hasLog, isLog: false, isAll: false, at: null });
    this.part = make("section", "curve");
    this.part.hidden = true;
    this.title = make("h2");
    this.scales = choice(["linear", "log"], (label) => this.set({ isLog: label !== "linear" }));
    this.scales.box.hidden = !hasLog;
    this.bottoms = choice(["by step", "by time"], (label) => {
      bottom = label.slice(3);
      for (const curve of curves) curve.draw();
    });
    const head = make("div", "head"), plot = make("div", "plot");
    head.append(this.title, this.scales.box, this.bottoms.box);
    this.box = svg("svg", { id, role: "img", tabindex: 0 });
    this.tip = make("div", "tip");
    this.tip.id = id + "-tip";
    this.tip.setAttribute("aria-live", "polite");
    plot.append(this.box, this.tip);
    this.note = make("div", "note");
    this.note.id = id + "-note";
    this.part.append(head, plot, this.note);
    this.listen();
  }
  listen() {
    const { box } = this, leave = () => this.set({ at: null });
    for (const kind of ["pointermove", "pointerdown"])
      on(box, kind, (event) => this.pointAt(event.clientX - box.getBoundingClientRect().left));
    on(box, "pointerleave", leave);
    on(box, "blur", leave);
    on(box, "keydown", (event) => {
      const steps = { ArrowLeft: -1, ArrowRight: 1, Home: -1e9, End: 1e9 }[event.key];
      if (event.key === "Escape") leave();
      if (!steps || !this.shown.length) return;
      event.preventDefault();
      const last = this.shown.length - 1, from = this.at === null ? last : this.shown.indexOf(this.pointed()) + steps;
      this.set({ at: this.shown[Math.max(0, Math.min(last, from))].ms });
    });
  }
  set(changes) {
    Object.assign(this, changes);
    this.draw();
  }
  show(name, points, rounds, began) {
    this.title.textContent = name;
    this.part.hidden = points.length < 2;
    this.set({ name, points, rounds, began });
  }

  isShown(point) {
    return Number.isFinite(point.value) && (!this.isLog || point.value > 0);
  }
  across(point) {
    return bottom === "step" ? point.step : (point.ms - this.began) / 1000;
  }
  // The room for what can be shown, the ticks of its values, and functions from values to pixels.
  measure() {
    const scale = this.isLog ? Math.log10 : (value) => value, back = this.isLog ? (value) => 10 ** value : scale;
    let { low, high } = boundsOf(this.shown.map((p) => scale(p.value)), this.isAll);
    // The axis of a speed begins at 0, so a dip looks as deep as it is.
    if (!this.hasLog && low > 0) low = 0;
    const margin = (high - low || Math.abs(high) || 1) * 0.04;
    if (low !== 0) low -= margin;
    high += margin;
    const [floor, ceiling] = [back(low), back(high)];
    this.ticks = this.isLog ? logTicks(floor, ceiling) : ticksOf(low, high, roundDistance(high - low, 7));
    const distance = this.ticks[1] - this.ticks[0] || ceiling - floor;
    this.labels = this.ticks.map((tick) => tickText(tick, this.isLog ? Math.min(distance, tick) : distance));
    const width = this.box.clientWidth || 600, base = (this.box.clientHeight || 220) - kFoot, right = width - kRight;
    const left = 12 + 6.4 * Math.max(...this.labels.map((label) => label.length));
    const xs = this.shown.map((p) => this.across(p)), last = Math.max(...xs);
    const first = Math.min(...xs) < 0.1 * last ? 0 : Math.min(...xs);
    this.x = (value) => left + ((value - first) / (last - first || 1)) * (right - left);
    this.y = (value) => base - Math.max(0, Math.min(1, (scale(value) - low) / (high - low))) * (base - kTop);
    Object.assign(this, { floor, ceiling, width, base, left, right, first, last });
  }

  draw() {
    this.bottoms.choose("by " + bottom);
    this.scales.choose(this.isLog ? "log" : "linear");
    if (this.part.hidden) return;
    this.shown = this.points.filter((p) => this.isShown(p));
    this.tip.hidden = this.at === null || !this.shown.length;
    this.box.replaceChildren();
    if (!this.shown.length) return void (this.note.textContent = "No value can be drawn.");
    this.measure();
    this.box.setAttribute("viewBox", "0 0 " + this.width + " " + (this.base + kFoot));
    this.box.append(...this.axes(), ...this.marks(), ...this.lines(), ...this.pointer());
    this.say();
  }
  axes() {
    const { left, right, base, first, last } = this, parts = [line(left, base, right, base)];
    this.ticks.forEach((tick, i) => {
      const y = this.y(tick);
      parts.push(line(left, y, right, y), word(left - 6, y + 4, "end", "y-tick", this.labels[i]));
    });
    const most = Math.max(2, Math.floor((right - left) / 72)), span = last - first || 1, bySteps = bottom === "step";
    const distance = bySteps ? Math.max(1, roundDistance(span, most)) : timeDistance(span, most);
    for (const tick of ticksOf(first, last, distance)) {
      const x = this.x(tick), text = bySteps ? tickText(tick, distance) : exactTime(tick), half = 3.2 * text.length;
      parts.push(line(x, base, x, base + 4), word(Math.min(x, this.width - half), base + 15, "middle", "x-tick", text));
    }
    parts.push(word((left + right) / 2, base + 30, "middle", "x-name", bySteps ? "step" : "elapsed"));
    return parts;
  }
  // A line where a new round began.
  marks() {
    const parts = [];
    // `before` is where the last line is, and a label has room from `free` on.
    let before = -Infinity, free = 0;
    for (const round of this.rounds.slice(1)) {
      const first = this.shown.find((p) => p.round === round.round);
      const at = bottom === "time" ? (round.began_unix_ms - this.began) / 1000 : first?.step;
      if (!(at >= this.first && at <= this.last) || first === this.shown[0] || Math.abs(this.x(at) - before) < 8) continue;
      const x = this.x(at), text = "round " + round.round, long = 6 * text.length, turns = x + long > this.width;
      parts.push(line(x, kTop - 4, x, this.base, "round"));
      before = x;
      if ((turns ? x - long : x) < free) continue;
      parts.push(word(x, kTop - 6, turns ? "end" : "start", "", text));
      free = x + long + 4;
    }
    return parts;
  }
  // One line for each round: between rounds, and where a value is no number, there is a gap.
  lines() {
    const parts = [];
    let run = [], before = null;
    const end = () => {
      if (run.length) parts.push(svg("polyline", { points: (run.length > 1 ? run : [run[0], run[0]]).join(" ") }));
      run = [];
    };
    for (const p of this.points) {
      if (!this.isShown(p) || p.round !== before?.round) end();
      before = p;
      if (!this.isShown(p)) continue;
      const x = this.x(this.across(p)).toFixed(1), y = this.y(p.value).toFixed(1);
      run.push(x + "," + y);
      if (this.isOutside(p)) parts.push(svg("path", { d: "M" + (x - 5) + "," + y + "h10l-5," + (p.value > this.ceiling ? -8 : 8) + "z" }));
    }
    end();
    return parts;
  }
  isOutside(point) {
    return point.value > this.ceiling || point.value < this.floor;
  }

  pointAt(x) {
    const far = (p) => Math.abs(this.x(this.across(p)) - x);
    if (this.shown.length) this.set({ at: this.shown.reduce((best, p) => (far(p) <= far(best) ? p : best)).ms });
  }
  pointed() {
    return this.shown.reduce((best, p) => (Math.abs(p.ms - this.at) < Math.abs(best.ms - this.at) ? p : best));
  }
  pointer() {
    if (this.at === null) return [];
    const p = this.pointed(), x = this.x(this.across(p)), elapsed = "elapsed " + exactTime((p.ms - this.began) / 1000);
    const facts = ["step " + whole(p.step), elapsed, "at " + clock(p.ms), this.name.toLowerCase() + " " + amount(p.value, 6), "round " + p.round];
    this.tip.textContent = facts.join("\n");
    const wide = this.tip.offsetWidth + 10;
    this.tip.style.left = Math.max(0, x + wide > this.width ? x - wide : x + 10) + "px";
    return [line(x, kTop, x, this.base, "pointer"), svg("circle", { cx: x, cy: this.y(p.value), r: 4 })];
  }
  say() {
    const values = this.shown.map((p) => p.value), out = this.shown.filter((p) => this.isOutside(p));
    let text = "now " + amount(values.at(-1)) + ", lowest " + amount(Math.min(...values)) + ", highest " + amount(Math.max(...values));
    if (values.length < this.points.length) text += "; " + count(this.points.length - values.length, "value") + " not drawn";
    if (out.length) text += "; " + count(out.length, "point") + " outside";
    this.box.setAttribute("aria-label", this.name + ": " + text);
    const more = button(this.isAll ? "leave out what is far off" : "show all", () => this.set({ isAll: !this.isAll }));
    more.dataset.keep = "all";
    refill(this.note, text + " ", this.isAll || out.length ? more : "");
  }
}

const curves = [new Curve("loss", true), new Curve("speed", false)];
byId("curves").append(...curves.map((curve) => curve.part));
new ResizeObserver(() => curves.forEach((curve) => curve.draw())).observe(byId("curves"));

// The job is as far as its slowest rank that has told a step, so at the beginning of a round it may seem to go back.
// Points that are ahead of later ones of their round are left out.
function onlyForth(points) {
  let later = null;
  return points.reverse().filter((p) => (later?.round === p.round && p.step > later.step ? false : (later = p))).reverse();
}
// Samples per second, or steps per second of a job that tells no samples.
function showCurves(status) {
  const { rounds, began_unix_ms: began } = status;
  const points = onlyForth(status.history.map((p) => ({ ms: p.unix_ms, step: p.step, from: p,
    round: rounds.findLast((round) => round.began_unix_ms <= p.unix_ms)?.round ?? 0 })));
  const losses = points.filter((p) => p.from.has_loss).map((p) => ({ ...p, value: p.from.loss ?? NaN }));
  let speeds = points.map((p) => ({ ...p, value: p.from.samples_per_second })).filter((p) => p.value > 0);
  const hasSamples = speeds.length > 0;
  if (!hasSamples) {
    const rate = (p, before) => (Math.max(0, p.step - before.step) * 1000) / Math.max(1, p.ms - before.ms);
    speeds = points.map((p, i) => ({ ...p, value: p.round === points[i - 1]?.round ? rate(p, points[i - 1]) : -1 })).filter((p) => p.value >= 0);
  }
  curves[0].show("Loss", losses, rounds, began);
  curves[1].show(hasSamples ? "Samples per second" : "Steps per second", speeds, rounds, began);
  byId("curves").hidden = curves.every((curve) => curve.part.hidden);
}
