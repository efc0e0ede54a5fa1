// SPDX-License-Identifier: Apache-2.0
// The script of the pages of page.py: adds sorting, filtering, and a line that says what is under the pointer. A page is
// complete without it.
"use strict";

const DOWN = "descending", UP = "ascending";
const FEW = 5; // a table with fewer rows needs no filter

function keyOf(cell, isNumber) {
  if (!isNumber) return cell.textContent;
  return cell.dataset.v === undefined ? null : Number(cell.dataset.v);
}

// Sorts unknown values last, in both directions.
function compare(a, b, direction) {
  if (a === null || b === null) return (a === null) - (b === null);
  const order = typeof a === "number" ? a - b : a.localeCompare(b, "en", { numeric: true });
  return direction === DOWN ? -order : order;
}

function sortBy(table, column) {
  const head = table.tHead.rows[0].cells[column];
  const isNumber = head.classList.contains("number");
  const first = isNumber ? DOWN : UP, other = isNumber ? UP : DOWN;
  const direction = head.getAttribute("aria-sort") === first ? other : first;
  for (const cell of table.tHead.rows[0].cells) cell.removeAttribute("aria-sort");
  head.setAttribute("aria-sort", direction);
  const rows = Array.from(table.tBodies[0].rows, (row) => ({ row, key: keyOf(row.cells[column], isNumber) }));
  rows.sort((a, b) => compare(a.key, b.key, direction));
  table.tBodies[0].append(...rows.map((each) => each.row));
}

function makeSortable(table) {
  Array.from(table.tHead.rows[0].cells).forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = head.textContent;
    button.addEventListener("click", () => sortBy(table, column));
    head.replaceChildren(button);
  });
}

// Adds a field to the table. Only the rows that contain all words typed there are shown.
function makeFilterable(table) {
  const rows = Array.from(table.tBodies[0].rows);
  if (rows.length < FEW) return;
  const tools = document.createElement("div"), input = document.createElement("input");
  const count = document.createElement("output");
  tools.className = "tools";
  input.type = "search";
  input.placeholder = "Filter";
  input.setAttribute("aria-label", `Filter: ${table.caption.textContent}`);
  const show = () => {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const row of rows) {
      const text = Array.from(row.cells, (cell) => cell.textContent).join(" ").toLowerCase();
      row.hidden = !words.every((word) => text.includes(word));
      shown += !row.hidden;
    }
    count.textContent = shown === rows.length ? `${rows.length} rows` : `${shown} of ${rows.length} rows`;
  };
  input.addEventListener("input", show);
  show();
  tools.append(input, count);
  table.parentElement.before(tools);
}

// Shows below the plot what the shape under the pointer stands for (its data-tip).
function addTips(plot) {
  const tip = document.createElement("div");
  tip.className = "tip";
  plot.append(tip);
  plot.addEventListener("pointerover", (event) => { tip.textContent = event.target.dataset.tip || ""; });
  plot.addEventListener("pointerleave", () => { tip.textContent = ""; });
}

document.querySelectorAll("table.data").forEach((table) => { makeFilterable(table); makeSortable(table); });
document.querySelectorAll(".plot").forEach(addTips);
