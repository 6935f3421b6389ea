"use strict";
/* The page that classifies files: uploads one, shows its rows, takes corrections by keyboard, and downloads the result.
 *
 * Texts, labels, columns and file names get into the page as text nodes only, so that markup in them is shown and never
 * run. A correction is shown as saved once the server has said so, which has it on disk by then.
 */
(() => {
  const POLL = 400; // milliseconds between two looks at how far the work is
  const RETRY = 1500; // milliseconds after which a server that does not answer is asked again
  const CLASS_KEYS = "1234567890abcdfghilmoqrstvwyz"; // the others are commands
  const SHOWN_CHOICES = 12;
  const NOT_THE_CORRECTION = [401, 403, 408, 425, 429]; // who asks, or when, is refused: the same may be taken later
  const RUNNING = ["received", "reading", "classifying"];

  const { at, element } = tfcrView;
  const FIRST_PAGE = { after: "", before: "" }; // else the row that a page begins after or ends before: corrected rows may leave a filter
  const query = { show: "all", label: "", below: "", order: "file", ...FIRST_PAGE };
  let file = null; // what the server says of the upload that is open
  let page = { rows: [], total: 0, start: 0, version: 0, counts: null };
  let active = 0; // the row of the page that has the focus
  let wanted = null; // the number of the row to come back to after a reload
  let loading = null; // the load of rows whose answer is awaited; an answer to an earlier one is dropped
  const saved = new Map(); // from files to the version of their last correction that was saved: rows asked for before may lack it
  let looking = 0; // the timer of the next look
  let pace = null; // when and at which row the work was first seen
  let upload = null;
  const refused = new Map(); // corrections that the server did not take, and why: said until the row is corrected or a file is opened

  const number = (value) => value.toLocaleString("en");
  const percent = (value) => (value === null ? "" : `${(100 * value).toFixed(1)}%`);
  const asList = (label) => (Array.isArray(label) ? label : label === null ? [] : [label]);
  const inWords = (label) => (Array.isArray(label) && !label.length ? "no label" : asList(label).join(", "));
  const say = (text) => { if (at("said").textContent !== text) at("said").textContent = text; };
  const complain = (text) => {
    const all = [...refused.values()], more = all.length > 3 ? [`${number(all.length - 3)} more rows were not saved.`] : [];
    at("problem").textContent = [...all.slice(0, 3), ...more, text].filter(Boolean).join(" ");
  };

  // asking ----------------------------------------------------------------------------------------------------------

  async function ask(path, method = "GET", body = undefined) {
    const options = { method };
    if (body !== undefined) Object.assign(options, { body: JSON.stringify(body), headers: { "Content-Type": "application/json" } });
    const answer = await fetch(path, options);
    return read(answer.status, await answer.text());
  }

  // Return an answer of the server; an error says whether it is one of the server's own, as a proxy may answer too.
  function read(status, text) {
    let found = null;
    try { found = JSON.parse(text); } catch { /* no answer of ours */ }
    const isOurs = typeof found?.error === "string";
    if (status !== 200 || !found) throw Object.assign(new Error(isOurs ? `${found.error}; expected ${found.expected}` : `the answer was ${status}, and not of this server`), { status, isOurs });
    return found;
  }
  const of = (path = "") => `/files/${file.id}${path}`;
  const problem = (error) => complain(error.status ? error.message : "The server does not answer.");

  // files that this browser knows -----------------------------------------------------------------------------------

  function kept(storage, name, otherwise) {
    try { return JSON.parse(storage.getItem(name)) ?? otherwise; } catch { return otherwise; }
  }
  function keep(storage, name, value) {
    try { storage.setItem(name, JSON.stringify(value)); } catch { /* a private window: then it is forgotten */ }
  }

  function showKnown() {
    const known = kept(localStorage, "tfcr-files", []);
    at("files").replaceChildren(...known.map(({ id, name, when }) => {
      const item = element("li"), link = element("a", name, { href: `#file=${id}`, dir: "auto" });
      if (file?.id === id) link.setAttribute("aria-current", "true");
      item.append(link, element("span", ` uploaded ${when}`, { class: "soft" }));
      return item;
    }));
    at("known").hidden = !known.length;
  }

  function keepKnown(files) {
    keep(localStorage, "tfcr-files", files);
    showKnown();
  }
  const allBut = (id) => kept(localStorage, "tfcr-files", []).filter((one) => one.id !== id);
  const forget = (id) => keepKnown(allBut(id));

  // Put a file first in the list, with the time at which the server received it, and list as many as the server keeps.
  function remember({ id, name, received }) {
    const when = new Date(1000 * received).toISOString().slice(0, 16).replace("T", " ");
    keepKnown([{ id, name, when }, ...allBut(id)].slice(0, Number(at("files").dataset.most)));
  }

  // The address holds what is open, so that a reload, a bookmark or another tab comes back to it; it stays in the browser.
  function note() {
    const rest = Object.fromEntries(Object.entries(query).filter(([name, value]) => value && !(name === "show" && value === "all") && !(name === "order" && value === "file")));
    if (page.rows[active]) rest.row = page.rows[active].row;
    history.replaceState(null, "", file ? `#${new URLSearchParams({ file: file.id, ...rest })}` : location.pathname);
  }

  // uploading -------------------------------------------------------------------------------------------------------

  function send(chosen) {
    if (!chosen) return;
    close();
    const most = Number(at("drop").dataset.most);
    if (chosen.size > most) return complain(`${chosen.name} has ${number(chosen.size)} bytes; expected at most ${number(most)}.`);
    if (!chosen.size) return complain(`${chosen.name} is empty; expected a file with texts.`);
    upload?.abort();
    upload = new XMLHttpRequest();
    upload.open("POST", `/files?${new URLSearchParams({ name: chosen.name })}`);
    upload.setRequestHeader("Content-Type", "application/octet-stream");
    wait(0, `Uploading ${chosen.name}`, "cancel");
    upload.upload.onprogress = ({ loaded, total }) => wait(loaded / total, `Uploading ${chosen.name}: ${percent(loaded / total)}`, "cancel");
    upload.onload = () => {
      wait(null, "");
      try {
        const found = read(upload.status, upload.responseText);
        remember(found);
        location.hash = `file=${found.id}`;
      } catch (error) { problem(error); }
    };
    upload.onerror = () => { wait(null, ""); complain(`${chosen.name} was not uploaded: the server does not answer, or closed the connection.`); };
    upload.onabort = () => wait(null, "The upload was cancelled; nothing is left of it.");
    upload.send(chosen);
  }

  // Show how far the work is: a fraction, or undefined if that is unknown; null if there is none.
  function wait(fraction, text, button = "") {
    at("waiting").hidden = fraction === null && !button;
    at("bar").hidden = fraction === null;
    if (fraction === undefined) at("bar").removeAttribute("value");
    else if (fraction !== null) at("bar").value = fraction;
    at("cancel").hidden = button !== "cancel";
    at("resume").hidden = button !== "resume";
    say(text);
  }

  at("file").addEventListener("change", () => { send(at("file").files[0]); at("file").value = ""; });
  at("cancel").addEventListener("click", () => upload.abort());
  for (const name of ["dragover", "drop"]) document.addEventListener(name, (event) => event.preventDefault()); // or it would be opened
  document.addEventListener("dragover", () => at("drop").classList.add("over"));
  document.addEventListener("dragleave", () => at("drop").classList.remove("over"));
  document.addEventListener("drop", ({ dataTransfer }) => {
    at("drop").classList.remove("over");
    if (dataTransfer.files.length > 1) complain("One file at a time: the first one is taken.");
    send(dataTransfer.files[0]);
  });

  // one file --------------------------------------------------------------------------------------------------------

  function close() {
    clearTimeout(looking);
    file = pace = null;
    loadingIs(null);
    refused.clear();
    page = { rows: [], total: 0, start: 0, version: 0, counts: null };
    active = 0;
    Object.assign(query, { show: "all", label: "", below: "", order: "file", ...FIRST_PAGE });
    complain("");
    wait(null, "");
    for (const id of ["chosen", "results", "end"]) at(id).hidden = true;
    at("result").hidden = true;
    note();
    showKnown();
  }

  async function open(given) {
    close();
    const id = given.get("file");
    if (!id) return;
    for (const name of Object.keys(query)) if (given.has(name)) query[name] = name in FIRST_PAGE ? Number(given.get(name)) || "" : given.get(name);
    wanted = Number(given.get("row")) || null;
    file = { id };
    try {
      show(await ask(of()));
      remember(file);
    } catch (error) {
      problem(error);
      file = null;
      if (error.status === 404 && error.isOurs) forget(id);
    }
  }

  function show(found) {
    const before = file;
    file = found;
    note();
    at("name").textContent = file.name;
    at("chosen").hidden = at("end").hidden = false;
    at("ready").hidden = !file.look;
    at("reading").open = file.stage === "failed" && file.of === "reading";
    complain(file.stage === "failed" ? file.error : "");
    const until = new Date(1000 * file.deleted_on).toISOString().slice(0, 10);
    at("about").textContent = [file.look ? `${number(file.look.rows)} rows, ${file.look.how}.` : file.in_words, `Deleted on ${until} if nothing is changed before.`].join(" ");
    for (const field of document.querySelectorAll("[data-said]")) field.value = file.said[field.dataset.said] ?? "";
    if (file.look && !before.look) showColumns();
    showProgress();
    if (file.job && file.done && (!before.job || file.stage === "done" || !page.rows.length)) load();
  }

  function showProgress() {
    clearTimeout(looking);
    const rows = file.look?.rows, failed = file.stage === "failed" && file.of === "classifying";
    if (file.stopped || failed) {
      wait(null, file.stopped ? `Stopped${file.done ? ` after ${number(file.done)} rows` : ""}: the server was stopped or restarted.` : "", "resume");
    } else if (file.stage === "classifying") {
      pace ??= { time: Date.now(), done: file.done };
      const speed = (file.done - pace.done) / (Date.now() - pace.time), left = (rows - file.done) / speed / 1000;
      const rest = speed > 0 && left > 1 ? `, about ${Math.ceil(left)} s left` : "";
      wait(file.done / rows, `Classifying: ${number(file.done)} of ${number(rows)} rows${rest}`);
    } else if (RUNNING.includes(file.stage)) {
      wait(undefined, `Reading ${file.name}${file.done ? `: ${number(file.done)} rows` : ""}`);
    } else {
      pace = null;
      const done = { ready: "Choose the columns, and classify.", done: `All ${number(file.done ?? 0)} rows are classified.`, failed: "" };
      wait(null, done[file.stage]);
    }
    if (RUNNING.includes(file.stage) && !file.stopped) looking = setTimeout(look, POLL);
  }

  async function look() {
    const id = file.id;
    try {
      const found = await ask(of());
      if (file?.id === id) show(found);
    } catch (error) {
      problem(error);
      if (!error.status && file?.id === id) looking = setTimeout(look, RETRY);
    }
  }

  function showColumns() {
    const { columns, preview, shown, texts } = file.look;
    const heads = element("tr");
    heads.append(...columns.slice(0, shown).map((name) => element("th", name, { scope: "col", class: "text", dir: "auto" })));
    at("heads").replaceChildren(heads);
    at("first").replaceChildren(...preview.map((row) => {
      const made = element("tr");
      made.append(...row.map((cell) => element("td", cell ?? "", { class: "text", dir: "auto" })));
      return made;
    }));
    const options = (names) => names.map((name) => element("option", name, { value: name }));
    at("text").replaceChildren(...options([...texts, ...columns.filter((name) => !texts.includes(name))]));
    at("text").value = file.job?.text ?? file.look.text;
    at("given").replaceChildren(element("option", "no column", { value: "" }), ...options(columns));
    at("given").value = (file.job ? file.job.label : file.look.label) ?? "";
    at("models").hidden = !("many" in at("models").dataset);
    if (file.job) at("model").value = file.job.model;
  }

  async function begin(path, body) {
    complain("");
    try {
      show(await ask(of(path), "POST", body));
    } catch (error) { problem(error); }
  }

  const classify = (text, label, model) => {
    page.rows = [];
    pace = null;
    loadingIs(null);
    return begin("/classify", { text, label: label || null, model });
  };
  at("start").addEventListener("click", () => classify(at("text").value, at("given").value, at("model").value));
  at("resume").addEventListener("click", () => {
    if (file.job) classify(file.job.text, file.job.label, file.job.model);
    else begin("/read", file.said);
  });
  at("read").addEventListener("click", () => {
    const fields = [...document.querySelectorAll("[data-said]")].filter((field) => field.value.trim());
    file.look = null;
    loadingIs(null);
    at("results").hidden = true;
    begin("/read", Object.fromEntries(fields.map((field) => [field.dataset.said, field.value.trim()])));
  });

  at("delete").addEventListener("click", () => { at("sure").hidden = false; at("no").focus(); });
  at("no").addEventListener("click", () => { at("sure").hidden = true; at("delete").focus(); });
  at("yes").addEventListener("click", async () => {
    at("sure").hidden = true;
    const { id, name } = file;
    try {
      await ask(of(), "DELETE");
      forget(id);
      close();
      say(`${name} was deleted.`);
      at("file").focus();
    } catch (error) { problem(error); }
  });

  // rows ------------------------------------------------------------------------------------------------------------

  const several = () => file.job.several;
  const now = (row) => row.corrected ?? row.label;

  function loadingIs(load) {
    loading = load;
    at("rows").setAttribute("aria-busy", String(load !== null));
  }

  // Ask for rows, and take them over with the row that is active: the one at a place, or else the same as before. Until
  // then the page stays as it is. What is not said is as in the load that this one replaces. Rows are asked for again if
  // they lack a correction that was saved meanwhile.
  async function load(focus = loading?.focus ?? false, place = loading?.place ?? null) {
    const mine = { focus, place }, { id } = file, before = saved.get(id), asked = Object.entries(query).filter(([, value]) => value !== "");
    loadingIs(mine);
    try {
      const found = await ask(of(`/rows?${new URLSearchParams(asked)}`));
      if (loading !== mine) return;
      if (saved.get(id) !== before && found.version < saved.get(id)) return void load();
      const same = wanted ?? page.rows[active]?.row, i = place ?? found.rows.findIndex((row) => row.row === same);
      page = found;
      for (const { id: corrected, correction } of unsent) {
        const row = corrected === id && page.rows.find((one) => one.row === correction.row);
        if (row) Object.assign(row, { corrected: correction.label, saving: true });
      }
      active = Math.max(0, Math.min(i >= 0 ? i : active, page.rows.length - 1));
      wanted = null;
      at("results").hidden = false;
      showRows();
      if (focus) focusRow();
    } catch (error) {
      if (loading === mine) problem(error);
    } finally {
      if (loading === mine) loadingIs(null);
    }
  }

  function showRows() {
    showSummary();
    showChoices();
    document.querySelector(".rows").classList.toggle("compared", file.job.label !== null);
    at("rows").replaceChildren(...page.rows.map(rowElement));
    const first = page.rows.length ? page.start + 1 : 0, last = page.start + page.rows.length;
    at("range").textContent = page.total ? `Rows ${number(first)} to ${number(last)} of ${number(page.total)}` : "No such rows";
    at("earlier").disabled = page.start === 0;
    at("later").disabled = last >= page.total;
    at("undo").disabled = !undoable().length;
    for (const [id, value] of Object.entries({ show: query.show, below: query.below, order: query.order })) at(id).value = value;
    note();
  }

  function showSummary() {
    const { counts } = page, parts = [`${number(counts.all)} rows`];
    if (file.job.may_be_unsure) parts.push(`${number(counts.unsure)} unsure`);
    parts.push(`${number(counts.changed)} changed by you`);
    if (counts.compared) parts.push(`${percent(counts.agreeing / counts.compared)} of ${number(counts.compared)} predicted as in the column ${file.job.label}`);
    at("summary").textContent = parts.join(", ") + ".";
  }

  function showChoices() {
    const { classes } = file.job, { counts } = page;
    at("class").replaceChildren(element("option", "all", { value: "" }), ...classes.map((name) => element("option", `${name} (${number(counts.classes[name] ?? 0)})`, { value: name })));
    at("class").value = query.label;
    at("keys").replaceChildren(...classes.slice(0, CLASS_KEYS.length).flatMap((name, i) => {
      const one = element("span", "", { dir: "auto" });
      one.append(element("kbd", CLASS_KEYS[i]), ` ${name}`);
      return [one, " "];
    }));
    if (classes.length > CLASS_KEYS.length) at("keys").append(`and ${number(classes.length - CLASS_KEYS.length)} more by Enter`);
    for (const option of at("show").options) option.hidden = (option.value === "unsure" && !file.job.may_be_unsure) || (option.value === "differs" && file.job.label === null);
  }

  function rowElement(row, i) {
    const made = element("tr", "", { tabindex: i === active ? "0" : "-1", "aria-selected": String(i === active), "data-row": row.row });
    const label = row.has_text || row.corrected !== null ? inWords(now(row) ?? []) : "no text";
    const labelCell = element("td", label, { class: "text label", dir: "auto" });
    if (row.corrected !== null && inWords(row.corrected) !== inWords(row.label)) labelCell.append(element("span", ` instead of ${row.label === null ? "no label" : inWords(row.label)}`, { class: "soft" }));
    const notes = [row.unsure && row.corrected === null ? "unsure" : "", row.corrected !== null ? (row.saving ? "saving…" : "changed by me") : "", row.agrees === false && row.corrected === null ? "other than given" : ""];
    const probability = Array.isArray(row.probability) ? row.probability.map(percent).join(", ") : percent(row.probability);
    made.append(
      element("td", number(row.row)), element("td", row.text + (row.cut ? "…" : ""), { class: "text", dir: "auto" }), labelCell,
      element("td", probability), element("td", row.second === null ? "" : `${row.second} ${percent(row.second_probability)}`, { class: "text second", dir: "auto" }),
      element("td", row.given ?? "", { class: "text given", dir: "auto" }), element("td", notes.filter(Boolean).join(", "), { class: "text notes" }),
    );
    return made;
  }

  const rowAt = (i) => at("rows").querySelector(`tr[data-row="${page.rows[i]?.row}"]`);

  function redraw(i) {
    const old = rowAt(i);
    if (!old) return;
    const had = old === document.activeElement, made = rowElement(page.rows[i], i);
    old.replaceWith(made);
    if (had) made.focus();
  }

  function focusRow() {
    rowAt(active)?.focus();
    note();
  }

  function move(to) {
    if (to < 0 && page.start > 0) return earlier(Infinity);
    if (to >= page.rows.length) return page.start + page.rows.length < page.total ? later() : undefined;
    if (to < 0) return undefined;
    const before = active;
    active = to;
    for (const i of [before, active]) {
      rowAt(i)?.setAttribute("tabindex", i === active ? "0" : "-1");
      rowAt(i)?.setAttribute("aria-selected", String(i === active));
    }
    return focusRow();
  }

  function turn(to, place) {
    Object.assign(query, FIRST_PAGE, to);
    return load(true, place);
  }
  const earlier = (place) => turn({ before: page.rows[0].row }, place);
  const later = () => turn({ after: page.rows.at(-1).row }, 0);

  at("earlier").addEventListener("click", () => earlier(0));
  at("later").addEventListener("click", later);
  for (const [id, name] of Object.entries({ show: "show", class: "label", below: "below", order: "order" })) {
    at(id).addEventListener("change", () => {
      Object.assign(query, FIRST_PAGE, { [name]: at(id).value });
      load(false, 0);
    });
  }
  document.addEventListener("visibilitychange", () => { // another tab may have changed rows meanwhile
    if (!document.hidden && file?.job && page.rows.length && !unsent.length) load(at("rows").contains(document.activeElement));
  });

  // corrections -----------------------------------------------------------------------------------------------------

  const unsent = []; // in the order in which they were made
  let isSending = false;

  const undoable = () => kept(sessionStorage, `tfcr-undo-${file.id}`, []);
  const setUndoable = (steps) => keep(sessionStorage, `tfcr-undo-${file.id}`, steps.slice(-1000));

  function correct(i, label) {
    const row = page.rows[i];
    if (!row || JSON.stringify(row.corrected) === JSON.stringify(label)) return;
    setUndoable([...undoable(), { row: row.row, label: row.corrected }]);
    change({ row: row.row, label }, false);
  }

  function change(correction, undo) {
    const i = page.rows.findIndex((row) => row.row === correction.row);
    if (i >= 0) {
      Object.assign(page.rows[i], { corrected: correction.label, saving: true });
      redraw(i);
    }
    unsent.push({ id: file.id, name: file.name, correction, undo });
    at("undo").disabled = !undoable().length;
    sendAll();
  }

  async function sendAll() {
    if (isSending) return;
    isSending = true;
    try { while (unsent.length) await sendFirst(); } finally { isSending = false; }
  }

  // Only what the server itself refuses is given up, one correction at a time; all else is sent again until it is saved.
  async function sendFirst() {
    const { id, name, correction, undo } = unsent[0];
    let found;
    try {
      found = await ask(`/files/${id}/corrections`, "POST", { corrections: [correction], undo, version: page.version });
    } catch (error) {
      if (error.isOurs && error.status < 500 && !NOT_THE_CORRECTION.includes(error.status)) {
        unsent.shift();
        refused.set(`${id} ${correction.row}`, `Row ${number(correction.row)} of ${name} was not saved: ${error.message}.`);
        complain("");
        if (file?.id === id && page.counts) load();
      } else {
        const which = unsent.length === 1 ? "Your last correction is" : `Your last ${number(unsent.length)} corrections are`;
        complain(`${which} not saved yet: ${error.status ? error.message : "the server does not answer"}. This page tries again; leave it open.`);
        await new Promise((resolve) => { setTimeout(resolve, RETRY); });
      }
      return;
    }
    unsent.shift();
    refused.delete(`${id} ${correction.row}`);
    complain("");
    saved.set(id, found.version);
    if (file?.id === id && page.counts) take(found, correction); // else its rows are still to come
  }
  window.addEventListener("beforeunload", (event) => { if (unsent.length) event.preventDefault(); });

  // Take over what has changed since the version that this page had seen, in this tab or in another.
  function take(found, correction) {
    page.version = found.version;
    page.counts.changed = found.changed;
    const waits = new Set(unsent.map((one) => one.correction.row));
    for (const { row, label } of found.changes) {
      const i = page.rows.findIndex((one) => one.row === row);
      if (i < 0 || waits.has(row)) continue;
      Object.assign(page.rows[i], { corrected: label, saving: false });
      redraw(i);
    }
    showSummary();
    // rows that came before it was saved may lack it under a filter
    const isLacking = (query.show === "changed" || query.label) && !page.rows.some((one) => one.row === correction.row);
    if (isLacking && !loading) load(at("rows").contains(document.activeElement));
    say(`Row ${number(correction.row)}: ${correction.label === null ? "the predicted label" : inWords(correction.label)}, saved.`);
  }

  function undo() {
    const steps = undoable(), last = steps.pop();
    if (!last) return;
    setUndoable(steps);
    change(last, true);
    const i = page.rows.findIndex((row) => row.row === last.row);
    if (i >= 0) move(i);
  }
  at("undo").addEventListener("click", undo);

  // Of several labels a class is added or taken away; else it is the label, and the next row follows.
  function choose(name) {
    const row = page.rows[active];
    if (several()) {
      const had = asList(now(row));
      correct(active, had.includes(name) ? had.filter((one) => one !== name) : [...had, name]);
      rowAt(active)?.focus();
    } else {
      correct(active, name);
      if (active + 1 < page.rows.length || page.start + page.rows.length < page.total) move(active + 1);
      else rowAt(active)?.focus();
    }
  }

  const COMMANDS = {
    ArrowDown: () => move(active + 1), j: () => move(active + 1), ArrowUp: () => move(active - 1), k: () => move(active - 1),
    Home: () => move(0), End: () => move(page.rows.length - 1), PageDown: () => !at("later").disabled && at("later").click(), PageUp: () => !at("earlier").disabled && at("earlier").click(),
    Enter: () => openChooser(), x: () => correct(active, null), u: undo, e: () => explain(),
  };

  at("rows").addEventListener("keydown", (event) => {
    if (event.target.closest(".aside") || event.altKey || event.metaKey) return;
    const isUndo = event.ctrlKey && event.key === "z", key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
    if (event.ctrlKey && !isUndo) return;
    const name = isUndo ? undefined : file.job.classes[CLASS_KEYS.indexOf(key)];
    const command = isUndo ? undo : CLASS_KEYS.includes(key) ? name !== undefined && (() => choose(name)) : COMMANDS[key];
    if (!command) return;
    event.preventDefault();
    if (loading) say("The rows are being loaded: this key was not taken."); // it was meant for a row that is not there yet
    else command();
  });

  at("rows").addEventListener("click", (event) => {
    const row = event.target.closest("tr[data-row]");
    if (!row) return;
    move(page.rows.findIndex((one) => one.row === Number(row.dataset.row)));
    if (event.target.closest(".label")) openChooser();
    else if (event.target.closest(".text") && !getSelection().toString()) explain();
  });

  // What opens below a row: a list of classes, or an explanation; one at a time.
  function aside(content) {
    at("rows").querySelector(".aside")?.remove();
    if (!content) return;
    const made = element("tr", "", { class: "aside" }), cell = element("td", "", { colspan: "7", class: "text" });
    cell.append(...content);
    made.append(cell);
    rowAt(active).after(made);
  }

  // choosing among many classes -------------------------------------------------------------------------------------

  function openChooser() {
    const input = element("input", "", { id: "wanted", role: "combobox", "aria-expanded": "true", "aria-controls": "choices", "aria-autocomplete": "list", autocomplete: "off", dir: "auto" });
    const list = element("ul", "", { id: "choices", role: "listbox", "aria-label": "Classes", class: "choices" });
    let found = [], place = 0;
    const leave = () => { aside(null); rowAt(active)?.focus(); };
    const pick = (name) => { leave(); choose(name); };
    const draw = () => {
      const typed = input.value.trim().toLowerCase(), { classes } = file.job;
      const begins = classes.filter((name) => name.toLowerCase().startsWith(typed));
      found = [...begins, ...classes.filter((name) => !begins.includes(name) && name.toLowerCase().includes(typed))].slice(0, SHOWN_CHOICES);
      place = Math.min(place, Math.max(0, found.length - 1));
      list.replaceChildren(...found.map((name, i) => {
        const option = element("li", name, { role: "option", id: `choice-${i}`, "aria-selected": String(i === place), dir: "auto" });
        option.addEventListener("mousedown", (event) => { event.preventDefault(); pick(name); });
        return option;
      }));
      if (found.length) input.setAttribute("aria-activedescendant", `choice-${place}`);
      else input.removeAttribute("aria-activedescendant");
    };
    input.addEventListener("input", () => { place = 0; draw(); });
    input.addEventListener("keydown", (event) => {
      if (event.key === "ArrowDown") place = Math.min(place + 1, found.length - 1);
      else if (event.key === "ArrowUp") place = Math.max(place - 1, 0);
      else if (event.key === "Enter" && found.length) pick(found[place]);
      else if (event.key === "Escape") leave();
      else return;
      event.preventDefault();
      if (input.isConnected) draw();
    });
    aside([element("label", `Class of row ${number(page.rows[active].row)} `, { for: "wanted" }), input, list]);
    draw();
    input.focus();
  }

  // explaining ------------------------------------------------------------------------------------------------------

  async function explain() {
    const row = page.rows[active], open = at("rows").querySelector(".aside");
    if (open?.previousElementSibling === rowAt(active)) return aside(null);
    try {
      const { text, has_text: has } = await ask(of(`/rows/${row.row}`));
      if (!has) return aside([element("p", "This row has no text.")]);
      const [first] = asList(now(row)), place = file.job.classes.indexOf(first);
      const found = await ask("/try/explain", "POST", { text, model: file.job.model, hash: file.job.hash, shown: place < 0 ? null : place });
      if (page.rows[active]?.row === row.row) aside(explanation(text, found));
    } catch (error) { problem(error); }
    return undefined;
  }

  function explanation(text, found) {
    const label = (found.classes ?? file.job.classes)[found.viewed], words = element("p", "", { class: "words", dir: "auto" });
    const shown = tfcrView.drawMarked(words, text, found.marks.map(([start, end, added]) => ({ start, end, added })));
    const listed = found.terms.map(({ term, added }) => `${term} ${tfcrView.signed(added[found.viewed])}`).join(", ");
    const cut = shown < text.length ? ` The first ${number(shown)} characters are shown.` : "";
    return [words, tfcrView.legend(label, cut), element("p", listed ? `Strongest: ${listed}.` : "No word of this text is known.", { dir: "auto" })];
  }

  // downloading -----------------------------------------------------------------------------------------------------

  at("downloads").addEventListener("click", async ({ target }) => {
    const format = target.dataset?.format;
    if (!format) return;
    complain("");
    say("Writing the result…");
    try {
      while (unsent.length) await new Promise((resolve) => { setTimeout(resolve, POLL); });
      const { path } = await ask(of("/download"), "POST", { format });
      Object.assign(at("result"), { href: path, download: "", textContent: `Download the ${target.textContent} file`, hidden: false });
      at("result").click();
      say("The download has begun.");
    } catch (error) {
      say("");
      problem(error);
    }
  });

  window.addEventListener("hashchange", () => open(new URLSearchParams(location.hash.slice(1))));
  open(new URLSearchParams(location.hash.slice(1)));
})();
