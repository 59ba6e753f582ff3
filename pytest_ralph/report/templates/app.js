/* The page: what is shown, and what a key or a click changes. */
const $ = (id) => document.getElementById(id);
const filter = { words: [], outcomes: new Set(), spec: "", kind: "" };
const VIEWS = ["tasks", "timeline", "fixes", "history"];
let view = "tasks";
let ready = false;
let scale = null;
let chosen = null;
/** The task that a person picked, as opposed to the one shown at first. */
let picked = null;

const rowList = new RowList($("rows"), (row, at) => {
  if (row.group) return groupRow(row);
  const selected = row.task === chosen && !row.fix;
  if (row.fix) return fixRow(row, at);
  return view === "timeline" ? timelineRow(row.task, at, selected, scale) : taskRow(row.task, at, selected);
});

function refresh() {
  const found = tasks.filter((task) => matches(task, filter) && (view !== "fixes" || task.fixes));
  if (view === "timeline") {
    scale = span(found);
    axis($("axis"), $("rows"), scale);
  }
  rowList.set(rowsOf(found, view));
  tally(found);
  mark();
}

function tally(found) {
  const narrowed = filter.words.length || filter.outcomes.size || filter.spec || filter.kind;
  const all = plural(tasks.length, "task");
  $("tally").textContent = found.length < tasks.length ? `${found.length.toLocaleString("en")} of ${all}` : all;
  $("clear").hidden = !narrowed;
  $("empty").hidden = found.length > 0;
  $("empty").textContent = view === "fixes" && !narrowed ? "Nothing needed a fix." : "No task matches.";
}

/** Show which row is chosen without drawing the others again. */
function mark() {
  for (const [at, element] of rowList.shown) {
    const row = rowList.rows[at];
    if (row.task && !row.fix) element.setAttribute("aria-selected", String(row.task === chosen));
  }
  const at = chosenAt();
  if (at < 0) $("rows").removeAttribute("aria-activedescendant");
  else $("rows").setAttribute("aria-activedescendant", `row-${at}`);
}

const chosenAt = () => rowList.rows.findIndex((row) => row.task === chosen && row.task && !row.fix);

function choose(task) {
  chosen = task;
  mark();
  $("detail").replaceChildren(detailOf(task, { close: closeDetail }));
  $("detail").scrollTop = 0;
}

/** Keep the address a link to what is shown: the task, the view and the filters. */
function address() {
  const shown = new URLSearchParams();
  if (picked) shown.set("task", nodeId(picked));
  if (view !== "tasks") shown.set("view", view);
  if (filter.words.length) shown.set("search", filter.words.join(" "));
  if (filter.outcomes.size) shown.set("outcome", [...filter.outcomes].join(","));
  for (const name of ["spec", "kind"]) if (filter[name]) shown.set(name, filter[name]);
  try {
    history.replaceState(null, "", `#${shown}`);
  } catch {
    /* Some viewers forbid it; the report works without. */
  }
}

/** Set the filters that the address asks for, and return the view and the task that it names. */
function addressed() {
  const asked = new URLSearchParams(location.hash.slice(1));
  $("search").value = asked.get("search") || "";
  filter.words = words();
  for (const name of ["spec", "kind"]) {
    const value = asked.get(name) || "";
    if ($(name) && [...$(name).options].some((option) => option.value === value)) $(name).value = filter[name] = value;
  }
  for (const button of document.querySelectorAll(".legend button")) {
    if (!(asked.get("outcome") || "").split(",").includes(button.dataset.outcome)) continue;
    button.setAttribute("aria-pressed", "true");
    filter.outcomes.add(button.dataset.outcome);
  }
  return { view: asked.get("view"), task: asked.get("task") };
}

const words = () => $("search").value.toLowerCase().split(/\s+/).filter(Boolean);

function pick(task) {
  picked = task;
  address();
}

function openDetail() {
  $("detail").classList.add("open");
  $("detail").focus({ preventScroll: true });
}

function closeDetail() {
  $("detail").classList.remove("open");
  $("rows").focus({ preventScroll: true });
}

/** Choose the next row in a direction that satisfies a wish. */
function move(direction, wish = () => true) {
  let at = chosenAt();
  if (at < 0 && direction < 0) at = rowList.rows.length;
  for (at += direction; at >= 0 && at < rowList.rows.length; at += direction) {
    const row = rowList.rows[at];
    if (!row.task || row.fix || !wish(row.task)) continue;
    choose(row.task);
    pick(row.task);
    rowList.reveal(at);
    mark();
    return;
  }
}

function show(name) {
  view = name;
  for (const tab of document.querySelectorAll("[role=tab]")) {
    const mine = tab.dataset.view === name;
    tab.setAttribute("aria-selected", String(mine));
    tab.tabIndex = mine ? 0 : -1;
  }
  $("work").hidden = name === "history";
  $("history").hidden = name !== "history";
  $("axis").hidden = name !== "timeline";
  $("keys").replaceChildren(...(name === "timeline" ? timelineKeys() : []));
  $("work").dataset.view = $("bar").dataset.view = name;
  $("work").setAttribute("aria-labelledby", `tab-${name}`);
  if (name !== "history") refresh();
  if (ready) address();
}

function changed() {
  refresh();
  address();
}

function setOutcome(button) {
  const on = button.getAttribute("aria-pressed") !== "true";
  button.setAttribute("aria-pressed", String(on));
  filter.outcomes[on ? "add" : "delete"](button.dataset.outcome);
  changed();
}

function clearFilters() {
  Object.assign(filter, { words: [], outcomes: new Set(), spec: "", kind: "" });
  for (const id of ["search", "spec", "kind"]) if ($(id)) $(id).value = "";
  for (const button of document.querySelectorAll(".legend button")) button.setAttribute("aria-pressed", "false");
  changed();
}

function setSearch() {
  filter.words = words();
  changed();
}

function remember(theme) {
  document.documentElement.dataset.theme = theme;
  try {
    localStorage.setItem("ralph-theme", theme);
  } catch {
    /* Opened where nothing may be stored. */
  }
}

function recalled() {
  try {
    return localStorage.getItem("ralph-theme");
  } catch {
    return null;
  }
}

function switchTheme() {
  const dark = getComputedStyle(document.documentElement).colorScheme.includes("light dark")
    ? matchMedia("(prefers-color-scheme: dark)").matches
    : document.documentElement.dataset.theme === "dark";
  remember(dark ? "light" : "dark");
}

function escape() {
  if (document.activeElement === $("search") && $("search").value) {
    $("search").value = "";
    setSearch();
  } else closeDetail();
}

const needsYou = (task) => NEEDS_YOU.has(task.outcome);
const KEYS = {
  "/": () => $("search").focus(),
  j: () => move(1),
  k: () => move(-1),
  ArrowDown: () => move(1),
  ArrowUp: () => move(-1),
  n: () => move(1, needsYou),
  p: () => move(-1, needsYou),
  Enter: openDetail,
  t: switchTheme,
  "?": () => $("help").showModal(),
  ...Object.fromEntries(VIEWS.map((name, at) => [String(at + 1), () => show(name)])),
};

/** Which key means something where the focus is. */
function meant(event) {
  const { key, target } = event;
  if (event.ctrlKey || event.metaKey || event.altKey || $("help").open) return null;
  if (key === "Escape") return escape;
  if (target === $("search"))
    return key === "ArrowDown" || key === "Enter"
      ? () => ($("rows").focus({ preventScroll: true }), chosenAt() < 0 && move(1))
      : null;
  if (target.closest("input, select, textarea")) return null;
  if (target.closest("button, summary, a") && (key === "Enter" || key === " ")) return null;
  if (target.closest("[role=tablist]") && key.startsWith("Arrow")) return null;
  if (target.closest("#detail") && key.startsWith("Arrow")) return null;
  return Object.hasOwn(KEYS, key) ? KEYS[key] : null;
}

document.addEventListener("keydown", (event) => {
  const action = meant(event);
  if (!action) return;
  event.preventDefault();
  action();
});

document.querySelector("[role=tablist]").addEventListener("keydown", (event) => {
  const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
  if (!step) return;
  show(VIEWS[(VIEWS.indexOf(view) + step + VIEWS.length) % VIEWS.length]);
  $(`tab-${view}`).focus();
});

$("rows").addEventListener("click", (event) => {
  const row = event.target.closest("[data-at]");
  if (!row) return;
  choose(rowList.rows[row.dataset.at].task);
  pick(chosen);
  openDetail();
});
document.querySelector(".legend").addEventListener("click", (event) => {
  const button = event.target.closest("button");
  if (button) setOutcome(button);
});
for (const tab of document.querySelectorAll("[role=tab]")) tab.addEventListener("click", () => show(tab.dataset.view));
for (const name of ["spec", "kind"]) {
  $(name)?.addEventListener("change", (event) => {
    filter[name] = event.target.value;
    changed();
  });
}
$("search").addEventListener("input", setSearch);
$("clear").addEventListener("click", clearFilters);
$("theme-button").addEventListener("click", switchTheme);
$("help-button").addEventListener("click", () => $("help").showModal());
$("help").addEventListener("click", (event) => event.target === $("help") && $("help").close());
addEventListener("beforeprint", () => $("paper").replaceChildren(...paper()));
addEventListener("afterprint", () => $("paper").replaceChildren());

const asked = addressed();
if (recalled()) document.documentElement.dataset.theme = recalled();
for (const id of ["bar", "work", "help-button", "theme-button"]) $(id).hidden = false;
show(VIEWS.includes(asked.view) ? asked.view : "tasks");
ready = true;
picked = tasks.find((task) => nodeId(task) === asked.task) || null;
const withOutcome = (outcome) => tasks.find((task) => task.outcome === outcome);
const first = picked || tasks.find(needsYou) || withOutcome("recovered") || withOutcome("flaky") || tasks[0];
if (first) choose(first);
else $("detail").hidden = true;
