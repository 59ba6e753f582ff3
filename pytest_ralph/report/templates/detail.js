/* One task, told whole. */
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

const shell = (command) => h("div", { class: "shell" }, h("code", {}, command), copyButton(command));
const section = (title, ...children) => [h("h3", {}, title), ...children];

function facts(pairs) {
  const told = pairs.filter(([, value]) => value !== undefined && value !== "" && value !== null && value !== false);
  return told.length
    ? h(
        "dl",
        { class: "facts" },
        told.map(([name, value]) => [h("dt", {}, name), h("dd", {}, value)]),
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
    ["Exit status", attempt.exit_code === undefined || attempt.exit_code === 0 ? "" : String(attempt.exit_code)],
    ["Timed out", attempt.timed_out && "yes"],
  ]);
}

function quote(task, failure) {
  const eased = task.outcome === "recovered" || task.outcome === "passed";
  const chips = [failure.kind, failure.type, failure.category, failure.retryable === false && "not retryable"];
  return h(
    "div",
    { class: `quote${eased ? " is-eased" : ""}` },
    eased ? h("p", { class: "muted" }, "Recovered from") : "",
    h("p", {}, failure.error || task.reason || "Failed"),
    failure.error && task.reason && task.reason !== failure.error ? h("p", { class: "muted" }, task.reason) : "",
    h(
      "div",
      { class: "chips" },
      chips.filter(Boolean).map((text) => h("span", { class: "chip" }, text)),
    ),
  );
}

function headlineOf(task, failure) {
  if (failure) return quote(task, failure);
  return task.reason ? h("div", { class: "quote is-calm" }, h("p", {}, task.reason)) : "";
}

function output(attempt, open) {
  if (!attempt.output) return "";
  return h("details", { open }, h("summary", {}, "Output"), h("pre", { tabindex: "0" }, attempt.output));
}

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
    failed && attempt.error ? h("p", { class: "step-text" }, attempt.error) : "",
    attempt.decision ? h("p", { class: "step-text" }, `Decided: ${attempt.decision}`) : "",
    attempt.command ? shell(attempt.command) : "",
    output(attempt, open),
    attempt.log ? h("p", { class: "step-text" }, `Log: ${attempt.log}`) : "",
    attempt.transcript ? h("p", { class: "step-text" }, h("a", { href: attempt.transcript }, "Transcript")) : "",
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
          h("span", {}, fix.title || ""),
          h("span", {}, fix.executor || ""),
        ),
        fix.children ? tree(fix.children) : "",
      ),
    ),
  );
}

function summary(task) {
  return facts([
    [
      "Duration",
      task.estimate ? `${duration(task.duration)}, about ${duration(task.estimate)} expected` : duration(task.duration),
    ],
    ["Marks", (task.markers || []).map((marker) => `[${marker}]`).join(" ")],
    ["Commit", task.commit && h("code", {}, task.commit)],
  ]);
}

function detailOf(task, { close, openOutput = true } = {}) {
  const failure = lastFailure(task);
  const attempts = attemptsOf(task);
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
        h("h2", {}, h("span", { class: "id" }, task.id), ` ${task.title}`),
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
    failure && failure.advice
      ? section(
          task.outcome === "recovered" ? "What was advised" : "What to do next",
          h(
            "ul",
            { class: "advice" },
            failure.advice.map((line) => h("li", {}, line)),
          ),
        )
      : "",
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
    section("Task", summary(task), shell(`pytest --ralph ${nodeId(task)}`)),
  );
}

/** What is printed: every task in one table, then each that was not plainly passed, told whole. */
function paper() {
  const line = (task) =>
    h(
      "tr",
      {},
      h("td", {}, task.outcome),
      h("td", {}, h("b", {}, task.id), ` ${task.title}`),
      h("td", {}, task.spec),
      h("td", {}, duration(task.duration)),
    );
  const told = tasks.filter((task) => NEEDS_YOU.has(task.outcome) || task.outcome === "recovered").slice(0, 200);
  return [h("table", {}, h("tbody", {}, tasks.map(line))), ...told.map((task) => detailOf(task))];
}
