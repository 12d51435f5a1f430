"use strict";
// The only script of a report. Texts of models reach the page by textContent alone.
(() => {
  const PAGE = 25, BEGIN = 140, ALIKE = 0.3, MOST_WORDS = 1500;
  const COLOURS = {wrong: "recuse", flips: "recuse", right: "fit"};

  for (const box of document.querySelectorAll(".copy")) {
    const code = box.nextElementSibling.querySelector("code");
    box.hidden = false;
    box.querySelector("button").addEventListener("click", async () => {
      const told = box.querySelector("[role=status]");
      try {
        await navigator.clipboard.writeText(code.textContent);
        told.textContent = "Copied.";
      } catch {
        getSelection().selectAllChildren(code);
        told.textContent = "Selected: copy it with the keyboard.";
      }
    });
  }

  const source = document.getElementById("case-data");
  if (!source) return;
  const {cases, texts, arms, domains} = JSON.parse(source.textContent);
  const find = (name) => document.getElementById("case-" + name);
  const list = find("list"), count = find("count"), pages = find("pages"), filters = find("filters");
  const [back, next] = pages.querySelectorAll("button");
  let shown = cases, from = 0, lower = null;

  const text = (i) => (i < 0 ? "" : texts[i]);

  const make = (tag, kind, content) => {
    const node = document.createElement(tag);
    if (kind) node.className = kind;
    if (typeof content === "string") node.textContent = content;
    else if (content) node.append(...content);
    return node;
  };

  const named = (row) => ({
    pair: row[0], arm: arms[row[1]], domain: domains[row[2]], outcome: row[3], label: row[4], turned: row[5], gold: row[6],
    question: row[7], chosen: row[8], rejected: row[9], untouched: row[10], said: row[11],
  });

  // Words that only one of two texts has, by their longest common subsequence; null where they are too long.
  function differing(one, two) {
    const split = (whole) => whole.match(/\S+|\s+/g) || [];
    const tokens = [split(one), split(two)];
    const words = tokens.map((side) => side.filter((t) => /\S/.test(t)));
    const [a, b] = words;
    const flags = [new Uint8Array(a.length).fill(1), new Uint8Array(b.length).fill(1)];
    let start = 0, endA = a.length, endB = b.length;
    while (start < endA && start < endB && a[start] === b[start]) { flags[0][start] = flags[1][start] = 0; start++; }
    while (endA > start && endB > start && a[endA - 1] === b[endB - 1]) { flags[0][--endA] = 0; flags[1][--endB] = 0; }
    const n = endA - start, m = endB - start;
    if (n > MOST_WORDS || m > MOST_WORDS) return null;
    const width = m + 1, longest = new Uint16Array((n + 1) * width);
    for (let i = n - 1; i >= 0; i--) {
      for (let j = m - 1; j >= 0; j--) {
        const at = i * width + j;
        longest[at] = a[start + i] === b[start + j] ? longest[at + width + 1] + 1
          : Math.max(longest[at + width], longest[at + 1]);
      }
    }
    for (let i = 0, j = 0; i < n && j < m;) {
      if (a[start + i] === b[start + j]) { flags[0][start + i++] = 0; flags[1][start + j++] = 0; }
      else if (longest[(i + 1) * width + j] >= longest[i * width + j + 1]) i++;
      else j++;
    }
    const total = a.length + b.length;
    const common = flags.reduce((sum, side) => sum + side.reduce((s, f) => s + 1 - f, 0), 0);
    return {tokens, flags, alike: total ? common / total : 1};
  }

  // One text with its differing words marked; neighbours share a mark.
  function marked(tokens, flags) {
    const parts = [];
    let word = 0, kind = 0, run = "";
    const flush = () => { if (run) parts.push(kind ? make("mark", "", run) : run); run = ""; };
    for (const token of tokens) {
      const blank = /^\s/.test(token);
      const differs = blank ? (word > 0 && word < flags.length && flags[word - 1] && flags[word] ? 1 : 0) : flags[word++];
      if (differs !== kind) { flush(); kind = differs; }
      run += token;
    }
    flush();
    return parts;
  }

  function block(heading, content) {
    const body = make("p", "text", content);
    body.dir = "auto";
    return make("div", "", [make("h3", "", heading), body]);
  }

  function answers(c) {
    const changed = c.untouched >= 0;
    const names = c.gold ? ["Better answer", "Worse answer"] : ["Answer A", "Answer B"];
    const chosen = text(c.chosen), rejected = text(c.rejected);
    const found = rejected ? differing(changed ? text(c.untouched) : chosen, rejected) : null;
    let left = chosen, right = rejected, note = "";
    if (found && found.alike >= ALIKE) {
      right = marked(found.tokens[1], found.flags[1]);
      if (changed) note = "Marked: what was changed in the worse answer.";
      else left = marked(found.tokens[0], found.flags[0]);
    } else if (chosen && rejected) {
      note = found ? "The answers have few words in common: what differs is not marked."
        : "The answers are too long to mark what differs.";
    }
    const parts = [make("div", "beside", [block(names[0], left), block(names[1], right)])];
    return note ? [...parts, make("p", "note", note)] : parts;
  }

  function verdicts(c) {
    const repeats = c.said.some((s) => s[1] > 0), p = c.said.some((s) => s[3] !== null);
    const before = c.said.some((s) => text(s[4]));
    const head = ["Order", repeats && "Call", "Prefers", p && "P(better answer)", before && "Untouched"];
    const column = (name) => { const cell = make("th", "", name); cell.scope = "col"; return cell; };
    const rows = c.said.map(([order, repeat, says, chance, untouched]) => {
      const first = make("th", "", text(order));
      first.scope = "row";
      const cells = [repeats && String(repeat + 1), text(says), p && (chance || ""), before && text(untouched)];
      return make("tr", "", [first, ...cells.filter((cell) => cell !== false).map((cell) => make("td", "short", cell))]);
    });
    const table = make("table", "", [
      make("caption", "", "What the judge said"),
      make("thead", "", [make("tr", "", head.filter(Boolean).map(column))]),
      make("tbody", "", rows),
    ]);
    const box = make("div", "scroll", [table]);
    box.tabIndex = 0;
    box.setAttribute("role", "region");
    box.setAttribute("aria-label", "What the judge said");
    return box;
  }

  function replies(c) {
    const shown = c.said.flatMap(([order, , , , , words]) => words.map((i) => {
      const body = make("pre", "text", text(i));
      body.dir = "auto";
      return [make("h4", "", text(order)), body];
    })).flat();
    return shown.length ? [make("details", "reply", [make("summary", "", "Raw replies"), ...shown])] : [];
  }

  function fill(details) {
    if (details.childElementCount > 1) return;
    const c = named(cases[Number(details.dataset.case)]);
    if (c.question >= 0) details.append(block("Question", text(c.question)));
    if (c.chosen >= 0 || c.rejected >= 0) details.append(...answers(c));
    details.append(verdicts(c), ...replies(c));
  }

  function line(row) {
    const c = named(row);
    const about = [c.pair, c.domain, c.arm].filter(Boolean).join(" · ");
    const begin = make("span", "begin", text(c.question).slice(0, BEGIN).replaceAll("\n", " "));
    begin.dir = "auto";
    const summary = make("summary", "", [
      make("span", "badge " + (COLOURS[c.outcome] || "inconclusive"), c.label), " ", make("span", "about", about), " ",
      begin,
    ]);
    const details = make("details", "case", [summary]);
    details.dataset.case = cases.indexOf(row);
    return make("li", "", [details]);
  }

  function render() {
    const rows = shown.slice(from, from + PAGE);
    list.start = from + 1;
    list.replaceChildren(...rows.map(line));
    const number = (n) => n.toLocaleString("en-US");
    const range = rows.length ? `${number(from + 1)} to ${number(from + rows.length)} of ` : "";
    const told = shown.length === cases.length ? `${number(cases.length)} cases, worst first`
      : `${number(shown.length)} matching cases (${number(cases.length)} in all)`;
    count.textContent = `${shown.length ? "Showing " + range : ""}${told}.`;
    pages.hidden = shown.length <= PAGE;
    back.disabled = from === 0;
    next.disabled = from + PAGE >= shown.length;
  }

  const chosen = (name) => (find(name) ? find(name).value : "*");

  // Lower case for the search, made once: 0.2 s for 12 MB, so that it is done before anybody searches.
  function prepare() {
    lower ??= texts.map((t) => t.toLowerCase());
  }

  const holds = (i, word) => i >= 0 && lower[i].includes(word);

  function has(row, word) {
    return row[0].toLowerCase().includes(word) || holds(row[7], word) || holds(row[8], word) || holds(row[9], word)
      || row[11].some((said) => said[5].some((i) => holds(i, word)));
  }

  function filter() {
    const outcome = chosen("outcome"), arm = chosen("arm"), domain = chosen("domain");
    const words = find("text").value.toLowerCase().split(/\s+/).filter(Boolean);
    if (words.length) prepare();
    shown = cases.filter((row) =>
      (outcome === "*" || (outcome === "turned" ? row[5] : row[3] === outcome))
      && (arm === "*" || row[1] === Number(arm))
      && (domain === "*" || row[2] === Number(domain))
      && words.every((word) => has(row, word)));
    from = 0;
    render();
  }

  function turn(step) {
    from += step;
    render();
    list.querySelector("summary").focus();
  }

  for (const name of ["outcome", "arm", "domain"]) if (find(name)) find(name).addEventListener("change", filter);
  find("text").addEventListener("input", filter);
  find("reset").addEventListener("click", () => {
    for (const name of ["outcome", "arm", "domain"]) if (find(name)) find(name).value = "*";
    find("text").value = "";
    filter();
  });
  back.addEventListener("click", () => turn(-PAGE));
  next.addEventListener("click", () => turn(PAGE));
  list.addEventListener("toggle", (event) => {
    if (event.target.className === "case" && event.target.open) fill(event.target);
  }, true);

  // Paper shows everything that is on the screen's list, unfolded.
  let opened = [];
  addEventListener("beforeprint", () => {
    list.querySelectorAll("details.case").forEach(fill);
    opened = [...document.querySelectorAll("details:not([open])")];
    opened.forEach((details) => { details.open = true; });
  });
  addEventListener("afterprint", () => opened.forEach((details) => { details.open = false; }));

  filters.hidden = false;
  render();
  setTimeout(prepare);
})();
