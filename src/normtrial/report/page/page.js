"use strict";
// Sorts and filters the table of arms, and opens the arm that a link points at. Without it the page is whole.
const table = document.getElementById("table");
const body = table.tBodies[0];
const rows = [...body.rows];
const heads = [...table.tHead.querySelectorAll("th")];

function key(row, column) {
  const cell = row.cells[column];
  if (!("value" in cell.dataset)) return cell.textContent.trim();
  return cell.dataset.value === "" ? NaN : Number(cell.dataset.value);
}

// What has no value stays last whichever way the rest is turned.
function compare(a, b, sign) {
  if (typeof a === "string") return sign * a.localeCompare(b, "en", { numeric: true });
  if (Number.isNaN(a) || Number.isNaN(b)) return Number.isNaN(a) - Number.isNaN(b);
  return sign * (a < b ? -1 : a > b ? 1 : 0);
}

heads.forEach((head) => {
  head.querySelector("button").addEventListener("click", () => {
    const before = head.getAttribute("aria-sort");
    const first = head.classList.contains("text") ? "ascending" : "descending";
    const other = first === "ascending" ? "descending" : "ascending";
    const order = before === first ? other : first;
    heads.forEach((one) => one.setAttribute("aria-sort", one === head ? order : "none"));
    const sign = order === "ascending" ? 1 : -1;
    const keyed = rows.map((row) => [key(row, head.cellIndex), row]);
    keyed.sort((a, b) => compare(a[0], b[0], sign));
    body.append(...keyed.map(([, row]) => row));
  });
});

const filter = document.getElementById("filter");
const count = document.getElementById("count");
const nothing = document.getElementById("nothing");
const sections = [...document.querySelectorAll(".arm")];
const names = rows.map((row) => row.cells[0].textContent.toLowerCase());

filter.addEventListener("input", () => {
  const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
  let shown = 0;
  rows.forEach((row, index) => {
    const hit = words.every((word) => names[index].includes(word));
    row.hidden = !hit;
    sections[index].hidden = !hit;
    shown += hit;
  });
  count.textContent = words.length ? `${shown} of ${rows.length} arms` : `${rows.length} arms`;
  nothing.hidden = shown > 0;
});

document.addEventListener("keydown", (event) => {
  if (event.key === "/" && document.activeElement !== filter) {
    event.preventDefault();
    filter.focus();
  } else if (event.key === "Escape" && document.activeElement === filter) {
    filter.value = "";
    filter.dispatchEvent(new Event("input"));
  }
});

function openTarget() {
  const target = document.getElementById(location.hash.slice(1));
  if (target instanceof HTMLDetailsElement) target.open = true;
}
window.addEventListener("hashchange", openTarget);
openTarget();
