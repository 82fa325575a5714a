"use strict";
// Search, sort and download for tables of a report. Without this the page lacks only these three.
(function () {
  function cell(row, at) { return row.cells[at].textContent.trim(); }

  function guarded(text) {
    // A spreadsheet would read such a cell as a formula; numbers are left alone.
    const formula = /^[=+\-@\t\r]/.test(text) && !/^[-+]?[\d.,]+(e[-+]?\d+)?%?$/i.test(text);
    return '"' + ((formula ? "'" : "") + text).replace(/"/g, '""') + '"';
  }

  function download(table) {
    const lines = Array.from(table.rows).filter((row) => !row.hidden).map(
      (row) => Array.from(row.cells).map((one) => guarded(one.textContent.trim())).join(",")
    );
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob(["\ufeff" + lines.join("\r\n") + "\r\n"], { type: "text/csv" }));
    link.download = table.dataset.name + ".csv";
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  }

  function sort(table, at, button) {
    const body = table.tBodies[0];
    const down = button.getAttribute("aria-sort") === "ascending";
    const value = (row) => {
      const text = cell(row, at);
      const number = parseFloat(text.replace(/,/g, ""));
      return Number.isNaN(number) || !/^[-+\d.]/.test(text) ? text.toLowerCase() : number;
    };
    const keyed = Array.from(body.rows).map((row) => [value(row), row]);
    keyed.sort((a, b) => {
      const [x, y] = [a[0], b[0]];
      if (typeof x !== typeof y) { return typeof x === "number" ? -1 : 1; }
      return (typeof x === "number" ? x - y : x.localeCompare(y)) * (down ? -1 : 1);
    });
    keyed.forEach((pair) => body.appendChild(pair[1]));
    table.querySelectorAll("th").forEach((one) => one.removeAttribute("aria-sort"));
    button.setAttribute("aria-sort", down ? "descending" : "ascending");
  }

  function prepare(table) {
    const bar = document.createElement("div");
    bar.className = "tools";
    const search = document.createElement("input");
    search.type = "search";
    search.placeholder = "Search " + table.tBodies[0].rows.length + " lines";
    search.setAttribute("aria-label", search.placeholder);
    const found = document.createElement("span");
    found.setAttribute("aria-live", "polite");
    search.addEventListener("input", () => {
      const words = search.value.toLowerCase().split(/\s+/);
      let shown = 0;
      Array.from(table.tBodies[0].rows).forEach((row) => {
        const text = row.textContent.toLowerCase();
        row.hidden = !words.every((word) => text.includes(word));
        shown += row.hidden ? 0 : 1;
      });
      found.textContent = search.value ? shown + " found" : "";
    });
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = "Download CSV";
    button.addEventListener("click", () => download(table));
    bar.append(search, button, found);
    table.parentElement.before(bar);
    table.querySelectorAll("th").forEach((head, at) => {
      head.tabIndex = 0;
      head.classList.add("sorts");
      head.addEventListener("click", () => sort(table, at, head));
      head.addEventListener("keydown", (event) => {
        if (event.key === "Enter") { sort(table, at, head); }
      });
    });
  }

  document.querySelectorAll("table[data-name]").forEach(prepare);
})();
