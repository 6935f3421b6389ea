"use strict";
/* The page of `tfcr label`: shows a text, sends the answer, and goes on when it is saved.
 *
 * Texts and classes get into the page as text nodes only, so that markup in them is shown and never run. A request that
 * gets no answer is sent again until it does: an answer that is sent twice counts once.
 */
(() => {
  const KEYS = [..."123456789abcdefghijklmnopqrtvwxyz"]; // s and u are skip and undo
  const AGAIN = 1000; // milliseconds until a request that failed is sent again
  const LOOK = 1500; // milliseconds between two looks at the score while it is computed
  const WHY = {
    spread: "It stands for many texts that are alike.",
    unsure: "The classifier is unsure of it.",
    random: "It was drawn at random, so that the score is an honest one.",
    given: "It has a label already.",
  };
  const SVG = "http://www.w3.org/2000/svg";
  const AREA = { left: 52, right: 630, top: 10, bottom: 190 };

  const at = (id) => document.getElementById(id);
  const tab = sessionStorage.getItem("tab") ?? crypto.getRandomValues(new Uint32Array(3)).join("-");
  sessionStorage.setItem("tab", tab);
  let state = null;
  let chosen = new Set(); // of several labels, those of the text that is shown
  let busy = false; // a key press must not answer a text that is not shown yet
  let timer = null;

  function element(name, text = "", attributes = {}) {
    const made = document.createElement(name);
    made.textContent = text;
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    return made;
  }

  // A screen reader reads out what changes here, so that only changes are written.
  function say(id, text) {
    if (at(id).textContent !== text) at(id).textContent = text;
  }

  const percent = (value) => `${Math.round(100 * value)} %`;
  const named = (label) => (Array.isArray(label) ? label.join(", ") || "none" : label);
  const pause = (milliseconds) => new Promise((done) => setTimeout(done, milliseconds));

  // asking the server -----------------------------------------------------------------------------------------------

  // Returns what the server answers; null if it refuses, and says why.
  async function ask(path, body) {
    for (;;) {
      let answer;
      try {
        answer = await fetch(path, body && { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) });
        const found = await answer.json();
        if (answer.ok) return found;
        say("notice", `${found.error}. Expected: ${found.expected}.`);
        if (answer.status !== 503) return null;
      } catch {
        say("notice", "The server does not answer. Is tfcr label still running? Trying again…");
      }
      await pause(AGAIN);
    }
  }

  const look = () => ask(`/label/state?tab=${encodeURIComponent(tab)}`);

  // Sends something, and shows what comes of it; nothing else is sent meanwhile.
  async function send(path, body) {
    if (busy) return null;
    busy = true;
    clearTimeout(timer);
    const found = await ask(path, { tab, ...body });
    busy = false;
    if (found?.question !== undefined) show(found);
    else wait();
    return found;
  }

  // The score follows some seconds after an answer.
  function wait() {
    clearTimeout(timer);
    if (state?.busy) timer = setTimeout(async () => { if (!busy) { const found = await look(); if (!busy && found) show(found, true); } else wait(); }, LOOK);
  }

  // answering -------------------------------------------------------------------------------------------------------

  function answer(label) {
    if (state?.question) send("/label/answer", { row: state.question.row, label });
  }

  function choose(name) {
    if (!state?.question || busy) return;
    if (!state.several) return answer(name);
    if (!chosen.delete(name)) chosen.add(name);
    showClasses();
  }

  const skip = () => state?.question && send("/label/skip", { row: state.question.row });
  const undo = () => state?.last != null && send("/label/undo", { row: state.last });
  const save = () => answer(state.classes.map(({ name }) => name).filter((name) => chosen.has(name)));

  document.addEventListener("keydown", (event) => {
    const typing = event.target.closest("input:not([type=checkbox]), textarea, select");
    if (!at("keys").checked || typing || event.ctrlKey || event.altKey || event.metaKey || event.repeat) return;
    const key = event.key.toLowerCase();
    const number = KEYS.indexOf(key);
    if (key === "s") skip();
    else if (key === "u") undo();
    else if (key === "/" && !at("search").hidden) at("find").focus();
    else if (key === "enter" && state?.several && !event.target.closest("button, summary, a")) save();
    else if (number >= 0 && number < (state?.classes.length ?? 0)) choose(state.classes[number].name);
    else return;
    event.preventDefault();
  });

  // showing ---------------------------------------------------------------------------------------------------------

  function show(found, quietly = false) {
    const before = state?.question?.row;
    state = found;
    if (!quietly || state.notice) say("notice", state.notice);
    if (state.question?.row !== before || !state.question) showQuestion();
    showClasses();
    showScore();
    wait();
  }

  function showQuestion() {
    const { question } = state;
    chosen = new Set();
    at("find").value = "";
    say("asked", question ? `Row ${question.row}` : "Every text has an answer");
    say("why", question ? WHY[question.chosen] ?? "" : "There is nothing left to ask.");
    at("text").textContent = question?.text ?? "";
    at("text").scrollTop = 0;
    at("text").hidden = !question;
    const left = question ? question.characters - question.text.length : 0;
    say("cut", left > 0 ? `${left.toLocaleString("en")} more characters are not shown.` : "");
  }

  function showClasses() {
    const wanted = at("find").value.trim().toLowerCase();
    at("search").hidden = state.classes.length <= 9;
    const focused = document.activeElement?.dataset?.name;
    at("classes").replaceChildren(...state.classes.flatMap(({ name, count }, number) => {
      if (wanted && !name.toLowerCase().includes(wanted)) return [];
      const made = element("button", "", { type: "button" });
      made.dataset.name = name;
      if (KEYS[number]) made.append(element("kbd", KEYS[number]), " ");
      made.append(element("bdi", name), " ", element("span", String(count), { class: "soft" }));
      if (state.several) made.setAttribute("aria-pressed", String(chosen.has(name)));
      made.disabled = !state.question;
      made.addEventListener("click", () => choose(name));
      return [made];
    }));
    if (focused !== undefined) [...at("classes").children].find((made) => made.dataset.name === focused)?.focus();
    at("save").hidden = !state.several;
    at("save").disabled = at("skip").disabled = !state.question;
    at("undo").disabled = state.last === null;
  }

  function showScore() {
    const { answers, skipped, given, open, curve, classes } = state;
    say("count", `${answers} answers, ${skipped} skipped, ${open} texts left${given ? `, ${given} labels came with the data` : ""}.`);
    const point = curve.at(-1);
    const empty = classes.filter(({ count }) => !count).map(({ name }) => name);
    const missing = empty.length ? ` No text has ${empty.slice(0, 5).join(", ")}${empty.length > 5 ? " and others" : ""} yet, which counts as 0.` : "";
    if (!point) say("score", "There is a score once ten texts drawn at random have a label, every fifth of those that are asked for.");
    else say("score", `macro-F1 after ${point[0]} answers: about ${percent(point[2])}, between ${percent(point[3])} and ${percent(point[4])}, from ${point[1]} texts drawn at random.${missing}`);
    at("figures").hidden = !point;
    at("curve").toggleAttribute("hidden", curve.length < 2);
    at("points").replaceChildren(...curve.map(([n, sample, ...scores]) => {
      const row = element("tr");
      row.append(element("th", String(n), { scope: "row" }), element("td", String(sample)), ...scores.map((score) => element("td", percent(score))));
      return row;
    }));
    if (curve.length > 1) drawCurve(curve);
  }

  function drawn(name, attributes, text = "") {
    const made = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    made.textContent = text;
    return made;
  }

  function drawCurve(curve) {
    const last = curve.at(-1)[0];
    const x = (n) => AREA.left + (n / last) * (AREA.right - AREA.left);
    const y = (score) => AREA.bottom - score * (AREA.bottom - AREA.top);
    const path = (points) => points.map(([n, score]) => `${x(n).toFixed(1)},${y(score).toFixed(1)}`).join(" ");
    const lines = [0, 0.25, 0.5, 0.75, 1].flatMap((score) => [
      drawn("line", { x1: AREA.left, x2: AREA.right, y1: y(score), y2: y(score), class: "grid" }),
      drawn("text", { x: AREA.left - 6, y: y(score) + 4, "text-anchor": "end" }, percent(score)),
    ]);
    const band = path([...curve.map(([n, , , low]) => [n, low]), ...curve.map(([n, , , , high]) => [n, high]).reverse()]);
    at("curve").replaceChildren(
      ...lines,
      drawn("polygon", { points: band, class: "band" }),
      drawn("polyline", { points: path(curve.map(([n, , score]) => [n, score])), class: "line" }),
      ...curve.map(([n, , score]) => drawn("circle", { cx: x(n), cy: y(score), r: 3.5, class: "point" })),
      drawn("text", { x: AREA.right, y: AREA.bottom + 22, "text-anchor": "end" }, `${last} answers`),
    );
  }

  // a second look ---------------------------------------------------------------------------------------------------

  async function lookAgain() {
    say("looked", "Looking…");
    const found = await ask("/label/doubts", { tab });
    if (!found) return say("looked", "");
    say("looked", found.doubts.length ? "The most doubtful first." : "None found: no other label is nine times as likely as the one that was given.");
    at("doubts").replaceChildren(...found.doubts.map(doubtful));
  }

  function doubtful({ row, text, label, likelier, odds, fixed }) {
    const item = element("li");
    const says = element("p", `Row ${row}: labelled `);
    says.append(element("strong", named(label)), `; ${odds} times as likely: `, element("strong", likelier));
    const keep = element("button", `Keep ${named(label)}`, { type: "button", "aria-label": `Keep ${named(label)} for row ${row}` });
    const change = element("button", `Change to ${named(fixed)}`, { type: "button", "aria-label": `Change to ${named(fixed)} for row ${row}` });
    const done = async (path, body) => {
      if (!(await send(path, body))) return;
      const next = item.nextElementSibling ?? item.previousElementSibling;
      item.remove();
      (next?.querySelector("button") ?? at("look")).focus();
    };
    keep.addEventListener("click", () => done("/label/keep", { row }));
    change.addEventListener("click", () => done("/label/answer", { row, label: fixed, again: true }));
    const buttons = element("div", "", { class: "labels" });
    buttons.append(keep, change);
    item.append(says, element("p", text, { class: "words", dir: "auto" }), buttons);
    return item;
  }

  // the page --------------------------------------------------------------------------------------------------------

  at("skip").addEventListener("click", skip);
  at("undo").addEventListener("click", undo);
  at("save").addEventListener("click", save);
  at("look").addEventListener("click", lookAgain);
  at("find").addEventListener("input", showClasses);
  at("find").addEventListener("keydown", (event) => {
    if (event.key !== "Enter" && event.key !== "Escape") return;
    const first = at("classes").firstElementChild?.dataset.name;
    const wanted = event.key === "Enter" && at("find").value.trim() ? first : undefined;
    at("find").value = "";
    at("find").blur();
    showClasses();
    if (wanted !== undefined) choose(wanted);
  });
  at("adding").addEventListener("submit", async (event) => {
    event.preventDefault();
    const name = at("name").value.trim();
    if (name && (await send("/label/class", { name }))) at("name").value = "";
  });
  (async () => {
    const found = await look();
    if (found) show(found);
  })();
})();
