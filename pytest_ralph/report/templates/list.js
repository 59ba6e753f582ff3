/* Building elements, and a list that holds all rows of a short report, and only the visible ones of a long one. */
const ALL_ROWS_UP_TO = 500;

function h(tag, props = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(props)) {
    if (name === "class") element.className = value;
    else if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value !== undefined && value !== false) element.setAttribute(name, value === true ? "" : value);
  }
  element.append(
    ...children
      .flat(Infinity)
      .filter((child) => child !== undefined && child !== "" && child !== false && child !== null),
  );
  return element;
}

/** Text with its `code spans`, as in Markdown. */
function prose(text) {
  return text.split(/`([^`\n]+)`/).map((part, at) => (at % 2 ? h("code", {}, part) : part));
}

function icon(name, look = name) {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("class", `icon is-${look}`);
  svg.setAttribute("aria-hidden", "true");
  const use = document.createElementNS("http://www.w3.org/2000/svg", "use");
  use.setAttribute("href", `#i-${name}`);
  svg.append(use);
  return svg;
}

const FIX_ENDED = { completed: "passed", verification_mismatch: "failed", open: "skipped" };

/** The icon of how a task or a fix ended; an outcome we do not know looks like something left open. */
function outcomeIcon(outcome) {
  const known = FIX_ENDED[outcome] || outcome;
  return icon(OUTCOMES.includes(known) ? known : "skipped");
}

class RowList {
  constructor(root, draw) {
    this.root = root;
    this.draw = draw;
    this.rows = [];
    this.shown = new Map();
    this.height = parseFloat(getComputedStyle(document.documentElement).getPropertyValue("--row"));
    const later = () => (this.frame ??= requestAnimationFrame(() => this.paint()));
    addEventListener("scroll", later, { passive: true });
    addEventListener("resize", later, { passive: true });
  }

  set(rows) {
    this.rows = rows;
    this.root.style.height = `${rows.length * this.height}px`;
    this.shown.clear();
    this.root.replaceChildren();
    this.paint();
  }

  paint() {
    this.frame = null;
    const top = -this.root.getBoundingClientRect().top;
    const all = this.rows.length <= ALL_ROWS_UP_TO;
    const first = all ? 0 : Math.max(0, Math.floor(top / this.height) - 8);
    const end = all ? this.rows.length : Math.min(this.rows.length, Math.ceil((top + innerHeight) / this.height) + 8);
    for (const [at, element] of this.shown) {
      if (at >= first && at < end) continue;
      element.remove();
      this.shown.delete(at);
    }
    for (let at = first; at < end; at++) if (!this.shown.has(at)) this.show(at);
  }

  show(at) {
    const element = this.draw(this.rows[at], at);
    element.style.transform = `translateY(${at * this.height}px)`;
    this.shown.set(at, element);
    this.root.append(element);
  }

  /** Scroll just far enough to see a row whole below the bar. */
  reveal(at) {
    const { top } = this.root.getBoundingClientRect();
    const [from, to] = [top + at * this.height, top + (at + 1) * this.height];
    const roof = document.getElementById("bar").offsetHeight + 8;
    if (from < roof) scrollBy(0, from - roof - (at < 2 ? 40 : 0));
    else if (to > innerHeight - 8) scrollBy(0, to - innerHeight + 8);
    this.paint();
  }
}
