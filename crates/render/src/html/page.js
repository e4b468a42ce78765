"use strict";
// The page is complete without this. It sorts and filters the table of all cells, opens what an address names, and opens
// everything for the printer.
(() => {
  const make = (tag, words, attributes = {}) => {
    const element = document.createElement(tag);
    element.textContent = words;
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    return element;
  };

  const opened = [];
  addEventListener("beforeprint", () => {
    for (const fold of document.querySelectorAll("details:not([open])")) {
      fold.open = true;
      opened.push(fold);
    }
  });
  addEventListener("afterprint", () => opened.splice(0).forEach((fold) => { fold.open = false; }));

  const table = document.getElementById("all-rows");
  const body = table?.tBodies[0];
  const rows = body ? [...body.rows] : [];
  let reset = () => {};

  const go = () => {
    let id = "";
    try { id = decodeURIComponent(location.hash.slice(1)); } catch { return; }
    const target = id && document.getElementById(id);
    if (!target) return;
    if (target.hidden) reset();
    for (let up = target; up; up = up.parentElement) if (up.tagName === "DETAILS") up.open = true;
    target.scrollIntoView({ block: target.tagName === "TR" ? "center" : "start" });
  };
  addEventListener("hashchange", go);

  if (body) {
    const texts = rows.map((row) => row.textContent.toLowerCase());
    const find = make("input", "", { type: "search", id: "find", placeholder: "pipe stream same-llc", autocomplete: "off", spellcheck: "false" });
    const count = make("output", "", { for: "find" });
    const filter = () => {
      const words = find.value.toLowerCase().split(/\s+/).filter(Boolean);
      let shown = 0;
      rows.forEach((row, at) => {
        row.hidden = !words.every((word) => texts[at].includes(word));
        if (!row.hidden) shown += 1;
      });
      count.textContent = shown === rows.length ? `${shown} rows` : `${shown} of ${rows.length} rows`;
    };
    reset = () => { find.value = ""; filter(); };
    find.addEventListener("input", filter);
    const tools = document.getElementById("tools");
    tools.append(make("label", "Filter ", { for: "find" }), find, count);
    filter();

    // Without a value a row comes last, whichever way.
    const sort = (at, isDown) => {
      const key = (row) => {
        const cell = row.cells[at];
        if (!cell.classList.contains("n")) return cell.textContent.trim().toLowerCase();
        const value = parseFloat(cell.dataset.v);
        return Number.isNaN(value) ? null : value;
      };
      const keyed = rows.map((row) => [key(row), row]);
      keyed.sort(([a], [b]) => {
        if (a === null || b === null) return (a === null) - (b === null);
        return (a < b ? -1 : a > b ? 1 : 0) * (isDown ? -1 : 1);
      });
      body.append(...keyed.map(([, row]) => row));
    };
    const heads = [...table.tHead.rows[0].cells];
    heads.forEach((head, at) => {
      const button = make("button", head.textContent, { type: "button" });
      head.replaceChildren(button);
      button.addEventListener("click", () => {
        const isDown = head.getAttribute("aria-sort") === "ascending";
        heads.forEach((other) => other.removeAttribute("aria-sort"));
        head.setAttribute("aria-sort", isDown ? "descending" : "ascending");
        sort(at, isDown);
      });
    });
  }
  document.documentElement.classList.add("scripted");
  go();
})();
