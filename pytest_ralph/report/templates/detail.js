/* Everything about one task. */
function copyButton(text) {
  const done = (button) => {
    button.textContent = "Copied";
    setTimeout(() => (button.textContent = "Copy"), 1200);
  };
  const copy = async ({ currentTarget: button }) => {
    try {
      await navigator.clipboard.writeText(text);
      done(button);
    } catch {
      getSelection().selectAllChildren(button.previousSibling);
      if (document.execCommand("copy")) done(button);
    }
  };
  return h("button", { class: "copy", onclick: copy, "aria-label": "Copy the command" }, "Copy");
}

const list = (name, lines) =>
  h(
    "ul",
    { class: name },
    lines.map((line) => h("li", {}, prose(line))),
  );
const shell = (command) => h("div", { class: "shell" }, h("code", {}, command), copyButton(command));
const section = (title, ...children) => [h("h3", {}, title), ...children];

function facts(pairs) {
  const known = pairs.filter(([, value]) => value && String(value) !== "");
  return known.length
    ? h(
        "dl",
        { class: "facts" },
        known.map(([name, value]) => [h("dt", {}, name), h("dd", {}, value)]),
      )
    : "";
}

function evidence(attempt) {
  return facts([
    ["Expected", attempt.expected],
    ["Got", attempt.got],
    ["Missing", attempt.missing],
    ["Failed tests", (attempt.failed_tests || []).join(", ")],
    ["Files", (attempt.files || []).join(", ")],
    ["Exit status", attempt.exit_code && String(attempt.exit_code) !== attempt.got ? String(attempt.exit_code) : ""],
    ["Timed out", attempt.timed_out && "yes"],
  ]);
}

function quote(task, failure) {
  const eased = !NEEDS_YOU.has(task.outcome);
  const known = failure.kind && failure.kind !== "unknown";
  return h(
    "div",
    { class: `quote${eased ? " is-eased" : ""}` },
    eased ? h("p", { class: "muted" }, "Failed at first") : "",
    h("p", {}, failure.error || task.reason || "Failed"),
    failure.error && task.reason && task.reason !== failure.error ? h("p", { class: "muted" }, prose(task.reason)) : "",
    known ? h("div", { class: "chips" }, h("span", { class: "chip" }, results.kinds[failure.kind])) : "",
  );
}

function headlineOf(task, failure) {
  if (failure) return quote(task, failure);
  return task.reason ? h("div", { class: "quote is-calm" }, h("p", {}, prose(task.reason))) : "";
}

const DIFF_LINE = { "+": "add", "-": "del", "@": "hunk", d: "file" };

function diffLines(diff) {
  return diff.split("\n").map((line) => {
    const name = /^(\+\+\+|---) /.test(line) ? "file" : DIFF_LINE[line[0]];
    return name ? h("span", { class: `diff-${name}` }, `${line}\n`) : `${line}\n`;
  });
}

/** What every fix changed: the first thing a reader looks for. */
function changes(task) {
  const made = attemptsOf(task).filter((attempt) => attempt.diff || attempt.changed);
  if (!made.length) return "";
  const one = (attempt) => {
    const who = [attempt.fix_id, attempt.executor && `by ${attempt.executor}`].filter(Boolean).join(" ");
    const files = (attempt.changed || []).join(", ");
    if (!attempt.diff) return h("p", { class: "step-text" }, `${who}: ${files}`);
    return h(
      "details",
      { class: "change", open: true },
      h("summary", {}, h("b", {}, who), ` ${files}`),
      h("pre", { class: "diff", tabindex: "0" }, diffLines(attempt.diff.trimEnd())),
    );
  };
  return section("What the fixes changed", made.map(one));
}

function folded(title, text, open = false) {
  if (!text) return "";
  return h("details", { open }, h("summary", {}, title), h("pre", { tabindex: "0" }, text));
}

const dollars = (cost) => `$${cost.toFixed(2)}`;

const spent = ({ cost, tokens }) =>
  [cost !== undefined && dollars(cost), tokens && plural(tokens, "token")].filter(Boolean).join(", ");

const STEP = { verify: "Verify", retry: "Verify again", fix: "Fix", repair: "Repair", execute: "Execute" };

function step(attempt, open) {
  const failed = attempt.outcome === "failed";
  const name = [STEP[attempt.what] || attempt.what, attempt.fix_id].filter(Boolean).join(" ");
  const by = attempt.executor ? h("span", { class: "muted" }, `by ${attempt.executor}`) : "";
  const mark = VERIFYING.has(attempt.what) || failed ? icon(failed ? "failed" : "passed") : icon("fix", "recovered");
  return h(
    "li",
    {},
    mark,
    h("div", { class: "step-head" }, h("b", {}, name), by, h("span", { class: "time" }, duration(attempt.duration))),
    attempt.trouble ? h("p", { class: "step-text" }, `Executor unavailable: ${attempt.trouble}`) : "",
    failed && attempt.error && !attempt.trouble ? h("p", { class: "step-text" }, attempt.error) : "",
    spent(attempt) ? h("p", { class: "step-text" }, spent(attempt)) : "",
    attempt.decision ? h("p", { class: "step-text" }, prose(`Decided: ${attempt.decision}`)) : "",
    attempt.command ? shell(attempt.command) : "",
    folded("Output", attempt.output, open),
    attempt.log ? h("p", { class: "step-text" }, `Log: ${attempt.log}`) : "",
    folded("Transcript", attempt.transcript),
  );
}

function tree(fixes) {
  return h(
    "ul",
    { class: "tree" },
    fixes.map((fix) =>
      h(
        "li",
        {},
        h(
          "div",
          { class: "leaf", title: fixWords(fix) },
          outcomeIcon(fix.outcome),
          h("span", { class: "id" }, fix.id),
          h("span", {}, prose(fix.title || "")),
          h("span", {}, fix.executor || ""),
        ),
        fix.children ? tree(fix.children) : "",
      ),
    ),
  );
}

function summary(task) {
  return facts([
    ["Duration", duration(task.duration)],
    ["Do", prose(task.do || "")],
    ["Done when", prose(task.done_when || "")],
    ["Verify", prose(task.verify || "")],
    ["Marks", (task.markers || []).map((marker) => `[${marker}]`).join(" ")],
    ["Commit", task.commit && h("code", {}, task.commit)],
  ]);
}

function detailOf(task, { close, openOutput = true } = {}) {
  const failure = quotedFailure(task);
  const attempts = attemptsOf(task);
  const findings = attempts.flatMap((attempt) => attempt.findings || []);
  const where = [task.phase, `${task.spec_path}:${task.line}`].filter(Boolean).join(" · ");
  return h(
    "div",
    { class: "detail-body" },
    h(
      "div",
      { class: "detail-head" },
      outcomeIcon(task.outcome),
      h(
        "div",
        {},
        h("h2", {}, h("span", { class: "id" }, task.id), " ", prose(task.title)),
        h("p", { class: "where" }, where),
      ),
      close
        ? h(
            "button",
            { class: "round close", onclick: close, "aria-label": "Back to the list" },
            icon("close", "close"),
          )
        : "",
    ),
    headlineOf(task, failure),
    findings.length ? section("Warnings", list("advice", findings)) : "",
    task.unread
      ? section(
          "Not checked",
          h("p", { class: "step-text" }, "These words of the Verify field were not understood:"),
          list("advice", task.unread),
        )
      : "",
    changes(task),
    task.advice ? section("What to do next", list("advice", task.advice)) : "",
    failure && evidence(failure) ? section("Evidence", evidence(failure)) : "",
    task.fixes ? section("Fixes", tree(task.fixes)) : "",
    attempts.length
      ? section(
          "Attempts",
          h(
            "ol",
            { class: "steps" },
            attempts.map((attempt) => step(attempt, openOutput && attempt === failure)),
          ),
        )
      : "",
    task.notes ? section("Notes", list("advice", task.notes)) : "",
    section("Task", summary(task), shell(`pytest --ralph ${nodeId(task)}`)),
    task.report
      ? h("details", { class: "report" }, h("summary", {}, "Failure report"), h("pre", { tabindex: "0" }, task.report))
      : "",
  );
}

/** What is printed: every task in one table, then the failed and recovered ones in full. */
function paper() {
  const line = (task) => {
    const failure = NEEDS_YOU.has(task.outcome) ? lastFailure(task) : null;
    return h(
      "tr",
      {},
      h("td", {}, task.outcome),
      h("td", {}, task.spec),
      h("td", {}, h("b", {}, task.id), " ", prose(task.title)),
      h("td", {}, failure ? failure.error : prose(task.reason || "")),
      h("td", {}, duration(task.duration)),
    );
  };
  const whole = failuresFirst(tasks).filter((task) => NEEDS_YOU.has(task.outcome) || task.outcome === "recovered").slice(0, 200);
  return [h("table", {}, h("tbody", {}, failuresFirst(tasks).map(line))), ...whole.map((task) => detailOf(task))];
}
