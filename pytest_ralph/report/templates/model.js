/* The results, and pure functions over them. */
const results = JSON.parse(document.getElementById("results").textContent);
/* Fields that have their default value are not in the data. */
const ATTEMPT = { number: 1, what: "verify", outcome: "passed", started: 0, duration: 0, retryable: true };
const TASK = { outcome: "passed", line: 1, duration: 0 };
const tasks = results.tasks.map((task) => ({
  ...TASK,
  ...task,
  attempts: (task.attempts || []).map((attempt) => ({ ...ATTEMPT, ...attempt })),
}));
const OUTCOMES = ["failed", "regression", "blocked", "recovered", "flaky", "passed", "manual", "skipped"];
const NEEDS_YOU = new Set(["failed", "regression"]);
const VERIFYING = new Set(["verify", "retry"]);

const nodeId = (task) => `${task.spec_path}::${task.name || task.id}`;
const attemptsOf = (task) => task.attempts || [];
const verifications = (task) => attemptsOf(task).filter((attempt) => VERIFYING.has(attempt.what));
const plural = (count, one, many = `${one}s`) => `${count.toLocaleString("en")} ${count === 1 ? one : many}`;

function lastFailure(task) {
  const failed = attemptsOf(task).filter((attempt) => attempt.outcome === "failed");
  return failed.filter((attempt) => VERIFYING.has(attempt.what)).pop() || failed.pop();
}

/** The failure to quote: the first one of a task that passes now, else the last. */
function quotedFailure(task) {
  if (NEEDS_YOU.has(task.outcome)) return lastFailure(task);
  return verifications(task).find((attempt) => attempt.outcome === "failed") || lastFailure(task);
}

function duration(seconds) {
  if (!seconds) return "";
  if (seconds < 0.9995) return `${Math.max(1, Math.round(seconds * 1000))} ms`;
  if (seconds < 59.95) return `${seconds.toFixed(1)} s`;
  const whole = Math.round(seconds);
  const pad = (number) => String(number).padStart(2, "0");
  if (whole < 3600) return `${Math.floor(whole / 60)} m ${pad(whole % 60)} s`;
  return `${Math.floor(whole / 3600)} h ${pad(Math.floor((whole % 3600) / 60))} m`;
}

/** Every fix of a lineage as one line, with what is needed to draw its branch. */
function flatten(fixes, rails = []) {
  return (fixes || []).flatMap((fix, at) => {
    const last = at === fixes.length - 1;
    return [{ fix, rails: [...rails, last] }, ...flatten(fix.children, [...rails, last])];
  });
}

/** Where a word is looked for: everything a person may remember of a task. */
function haystack(task) {
  const words = [
    task.id,
    task.title,
    task.spec,
    task.spec_path,
    task.phase,
    task.outcome,
    task.reason,
    ...(task.markers || []),
  ];
  for (const attempt of attemptsOf(task)) {
    words.push(
      attempt.kind,
      attempt.type,
      attempt.category,
      attempt.error,
      attempt.command,
      attempt.executor,
      attempt.missing,
      attempt.diff,
    );
    words.push(...(attempt.files || []), ...(attempt.failed_tests || []));
  }
  for (const { fix } of flatten(task.fixes)) words.push(fix.id, fix.title);
  return words.filter(Boolean).join("\n").toLowerCase();
}

function matches(task, filter) {
  if (filter.outcomes.size && !filter.outcomes.has(task.outcome)) return false;
  if (filter.spec && task.spec !== filter.spec) return false;
  if (filter.kind && !attemptsOf(task).some((attempt) => attempt.kind === filter.kind)) return false;
  task.text ??= haystack(task);
  return filter.words.every((word) => task.text.includes(word));
}

/** Rows of a view: tasks below the heading of their spec and phase, failed tasks first; in the fixes view each task with its fixes. */
function rowsOf(found, view) {
  const rows = [];
  let heading = null;
  for (const task of view === "timeline" ? found : failuresFirst(found)) {
    const failed = view !== "timeline" && NEEDS_YOU.has(task.outcome);
    const mine = failed ? `failed\n${task.spec}` : `${task.spec}\n${task.phase || ""}`;
    if (mine !== heading) rows.push({ group: task, failed });
    heading = mine;
    rows.push({ task });
    if (view === "fixes") rows.push(...flatten(task.fixes).map((line) => ({ task, ...line })));
  }
  return rows;
}

function failuresFirst(found) {
  const failed = found.filter((task) => NEEDS_YOU.has(task.outcome));
  return failed.length ? [...failed, ...found.filter((task) => !NEEDS_YOU.has(task.outcome))] : found;
}

/** First and last moment of what is shown, so that a filter zooms in. */
function span(found) {
  let [first, last] = [Infinity, -Infinity];
  for (const task of found) {
    for (const attempt of attemptsOf(task)) {
      first = Math.min(first, attempt.started);
      last = Math.max(last, attempt.started + attempt.duration);
    }
  }
  return first < last ? { first, length: last - first } : { first: Math.min(first, 0), length: 1 };
}
