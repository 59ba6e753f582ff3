/* How a row looks in each view. */
function pips(task) {
  const tried = verifications(task);
  if (tried.length < 2) return "";
  const marks = tried
    .slice(-6)
    .map((attempt) => h("i", { class: `is-${attempt.outcome === "failed" ? "failed" : "passed"}` }));
  return h("span", { class: "pips", title: plural(tried.length, "attempt"), "aria-hidden": "true" }, marks);
}

function spoken(task) {
  const tried = verifications(task).length;
  const fixes = flatten(task.fixes).length;
  return [
    task.outcome,
    `${task.id} ${task.title}`,
    tried > 1 && plural(tried, "attempt"),
    fixes && plural(fixes, "fix", "fixes"),
  ]
    .filter(Boolean)
    .join(", ");
}

function groupRow({ group, failed }) {
  const phase = group.phase && !failed ? h("span", { class: "title" }, group.phase) : "";
  return h("div", { class: "row group", role: "presentation" }, h("b", {}, failed ? `Failed: ${group.spec}` : group.spec), phase);
}

function optionRow(label, at, selected, ...children) {
  return h(
    "div",
    {
      class: "row",
      role: "option",
      id: `row-${at}`,
      "data-at": at,
      "aria-selected": String(selected),
    },
    // What a screen reader says in place of the cells.
    h("span", { class: "sr" }, label),
    h("span", { class: "cells", "aria-hidden": "true" }, children),
  );
}

const QUIET = new Set(["manual", "skipped"]);

const taskLabel = (task) => [
  outcomeIcon(task.outcome),
  h("span", { class: "id" }, task.id),
  h("span", { class: QUIET.has(task.outcome) ? "title muted" : "title", title: task.title }, prose(task.title)),
];

function taskRow(task, at, selected) {
  const failure = NEEDS_YOU.has(task.outcome) ? lastFailure(task) : null;
  const chip = failure && failure.kind ? h("span", { class: "chip" }, results.kinds[failure.kind]) : "";
  const reason =
    !failure && task.reason ? h("span", { class: "chip", title: task.reason }, h("span", {}, prose(task.reason))) : "";
  return optionRow(
    spoken(task),
    at,
    selected,
    taskLabel(task),
    chip,
    reason,
    pips(task),
    h("span", { class: "time" }, duration(task.duration)),
  );
}

function bar(attempt, { first, length }) {
  const failed = attempt.outcome === "failed" ? "failed" : "passed";
  const kind = VERIFYING.has(attempt.what) ? `is-${failed}` : `what-${attempt.what}`;
  const mark = h("i", { class: kind, title: `${attempt.what} ${failed}, ${duration(attempt.duration) || "0 ms"}` });
  const left = ((attempt.started - first) / length) * 100;
  mark.style.left = `min(${left.toFixed(3)}%, calc(100% - 4px))`;
  mark.style.width = `${((attempt.duration / length) * 100).toFixed(3)}%`;
  return mark;
}

function timelineRow(task, at, selected, scale) {
  const track = h(
    "span",
    { class: "track", "aria-hidden": "true" },
    attemptsOf(task).map((attempt) => bar(attempt, scale)),
  );
  return optionRow(spoken(task), at, selected, h("span", { class: "label" }, taskLabel(task)), track);
}

function branch(rails) {
  const elbow = rails.length - 1;
  const part = (last, depth) => (depth === elbow ? `elbow${last ? " last" : ""}` : last ? "gap" : "");
  return h(
    "span",
    { class: "branch", "aria-hidden": "true" },
    rails.map((last, depth) => h("i", { class: part(last, depth) })),
  );
}

const FIX_WORDS = { completed: "carried out", verification_mismatch: "did not help", open: "waits" };

const fixWords = (fix) =>
  [
    fix.words || FIX_WORDS[fix.outcome] || fix.outcome,
    fix.executor && `by ${fix.executor}`,
  ]
    .filter(Boolean)
    .join(" ");

function fixRow({ fix, rails }, at) {
  return optionRow(
    `${fix.id} ${fix.title}, ${fixWords(fix)}`,
    at,
    false,
    branch(rails),
    outcomeIcon(fix.outcome),
    h("span", { class: "id" }, fix.id),
    h("span", { class: "title", title: `${fix.title}\n${fixWords(fix)}` }, prose(fix.title || "")),
    fix.executor ? h("span", { class: "chip" }, fix.executor) : "",
  );
}

const STEPS = [
  0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200,
  21600, 86400,
];

/** Round moments, at most six, and a grid of them behind every row. */
function axis(root, rows, { length }) {
  const step = STEPS.find((candidate) => length / candidate <= 6) || length / 4;
  const ticks = [];
  for (let at = 0; at <= length * 0.97; at += step) {
    const tick = h("span", {}, at ? duration(at).replace(/ 00 [sm]$|\.0(?= s)/, "") : "start");
    tick.style.left = `${(at / length) * 100}%`;
    ticks.push(tick);
  }
  rows.style.setProperty("--tick", `${(step / length) * 100}%`);
  root.replaceChildren(...ticks);
}

const timelineKeys = () =>
  [
    ["is-failed", "failed"],
    ["is-passed", "passed"],
    ["what-fix", "fix"],
  ].map(([name, text]) => h("span", {}, h("i", { class: name }), text));
