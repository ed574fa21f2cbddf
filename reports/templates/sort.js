"use strict";
// Sorts a table's rows when its head is pressed. Without it everything is readable all the same.
for (const table of document.querySelectorAll("table[data-table]")) {
  const body = table.tBodies[0];
  if (!body || body.rows.length < 3) continue;
  table.querySelectorAll("thead th").forEach((head, at) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const down = head.getAttribute("aria-sort") !== "descending";
      const numeric = head.classList.contains("n");
      const key = (row) => {
        const text = row.cells[at].textContent.trim();
        return numeric ? (text === "–" || text === "" ? -Infinity : parseFloat(text.replace(/,/g, ""))) : text;
      };
      const rows = [...body.rows].map((row) => [key(row), row]);
      rows.sort((a, b) => (a[0] < b[0] ? -1 : a[0] > b[0] ? 1 : 0) * (down ? -1 : 1));
      body.append(...rows.map((pair) => pair[1]));
      table.querySelectorAll("thead th").forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
    });
  });
}
