"use strict";
/* The page Documents of `tfcr serve MODEL --data FILE`: documents by class, right and wrong ones, each explained. */
(() => {
  const FILTERS = ["label", "predicted", "status", "order"];
  const SIGNS = { right: "✓ right", wrong: "✗ wrong", unsure: "? unsure", unlabelled: "– no label" };

  const { at, say, element, percent } = tfcrView;
  // What is shown; it is kept in the address too, so that going back, reloading and bookmarks find it.
  let state = { model: at("model").value, label: "", predicted: "", status: "", order: "row", page: 1 };
  let overviewOf = ""; // the model and its hash that the table of classes is of
  let pages = 1;
  let toFocus = null; // what to show once the answer is there

  // asking ----------------------------------------------------------------------------------------------------------

  const wish = tfcrAsk.newest(
    at("trouble"),
    async (wanted) => {
      const { model, label, predicted, status, order, page } = wanted;
      const list = await tfcrAsk.get("/documents/list", { model, label, predicted, status, order, page });
      const known = overviewOf === `${model} ${list.model_hash}`;
      const overview = known ? null : await tfcrAsk.get("/documents/classes", { model });
      const one = label ? await tfcrAsk.get("/documents/class", { model, label }) : null;
      return { wanted, list, overview, one };
    },
    ({ wanted, list, overview, one }) => {
      if (wanted !== state) return; // something else is wanted by now
      if (overview) showClasses(overview);
      showOne(one);
      showList(list);
      toFocus?.focus();
      toFocus = null;
    },
  );

  function go(changes, focus = null) {
    state = { ...state, page: 1, ...changes };
    toFocus = focus;
    const kept = Object.entries(state).filter(([, value]) => value !== "");
    history.replaceState(null, "", `#${new URLSearchParams(kept)}`);
    showFilters();
    wish(state);
  }

  // classes ---------------------------------------------------------------------------------------------------------

  function button(text, name, act) {
    const made = element("button", text, { type: "button", dir: "auto", ...(name ? { "aria-label": name } : {}) });
    made.addEventListener("click", act);
    return made;
  }

  function cell(name, content, attributes = {}) {
    const made = element(name, "", attributes);
    made.append(content);
    return made;
  }

  function row(cells) {
    const made = element("tr");
    made.append(...cells);
    return made;
  }

  const share = (right, documents) => (documents ? percent(right / documents) : "–");

  function showClasses(found) {
    overviewOf = `${found.model} ${found.model_hash}`;
    const { right, wrong, unsure, unlabelled } = found.of_status, labelled = right + wrong + unsure;
    const seen = found.trained_on ? ` The model was trained on ${found.trained_on} of these texts: on new ones it is right less often.` : "";
    say(at("about"), `: ${found.documents} documents, ${labelled} with labels, of which ${right} are right, ${share(right, labelled)}.${seen}`);
    const columns = ["class", "documents", "right", "share right", ...(unsure ? ["unsure"] : []), "wrong", "predicted"];
    at("class-head").replaceChildren(row(columns.map((name) => element("th", name, { scope: "col" }))));
    at("class-rows").replaceChildren(...found.classes.map((one) => classRow(one, unsure > 0)));
    at("unlabelled").hidden = !unlabelled;
    say(at("unlabelled"), `${unlabelled} without a label`);
    for (const id of ["label", "predicted"]) {
      const any = element("option", "any", { value: "" });
      const known = found.classes.filter((one) => id === "label" || one.known);
      at(id).replaceChildren(any, ...known.map((one) => element("option", one.label, { value: one.label })));
    }
    showFilters();
  }

  function classRow(one, mayBeUnsure) {
    const bar = element("meter", "", { min: "0", max: "1", value: one.documents ? one.right / one.documents : 0, "aria-label": `share of ${one.label} that is right` });
    const rate = cell("td", bar);
    rate.append(` ${share(one.right, one.documents)}`);
    const mistakes = button(String(one.wrong), `${one.wrong} wrong documents of ${one.label}`, () => go({ label: one.label, predicted: "", status: "wrong" }, at("list-title")));
    return row([
      cell("th", button(one.label, "", () => go({ label: one.label, predicted: "", status: "" }, at("one-title"))), { scope: "row" }),
      element("td", String(one.documents)),
      element("td", String(one.right)),
      rate,
      ...(mayBeUnsure ? [element("td", String(one.unsure))] : []),
      cell("td", one.wrong ? mistakes : "0"),
      element("td", one.known ? String(one.predicted) : "not a class of the model"),
    ]);
  }

  function showOne(found) {
    at("one").hidden = !found;
    if (!found) return;
    say(at("one-title"), found.label);
    const unsure = found.unsure ? `, ${found.unsure} unsure` : "";
    say(at("one-said"), `${found.documents} documents: ${found.right} right (${share(found.right, found.documents)}), ${found.wrong} wrong${unsure}. Predicted for ${found.predicted} documents.`);
    const called = found.called.map(({ label, documents }) => confusion(`${documents} × ${found.label} → ${label}`, found.label, label));
    const holds = found.holds.map(({ label, documents }) => confusion(`${documents} × ${label} → ${found.label}`, label, found.label));
    at("confused").replaceChildren(...called, ...holds);
    if (!called.length && !holds.length) at("confused").append(element("li", "nothing"));
    say(at("one-words"), found.known ? found.words.map(({ word }) => word).join(", ") : "The model does not know this class.");
  }

  function confusion(text, label, predicted) {
    const name = `${text.replace("→", "called")}: show them`;
    return cell("li", button(text, name, () => go({ label, predicted, status: "wrong" }, at("list-title"))));
  }

  // the list --------------------------------------------------------------------------------------------------------

  function showFilters() {
    for (const name of FILTERS) at(name).value = state[name];
  }

  function showList(found) {
    ({ pages } = found);
    const of = state.label ? ` of ${state.label}` : "", as = state.predicted ? ` called ${state.predicted}` : "";
    const which = state.status === "unlabelled" ? " without a label" : state.status ? `, ${state.status}` : "";
    say(at("count"), `${found.total} documents${of}${as}${which}`);
    say(at("page"), `page ${found.page} of ${pages}`);
    at("previous").setAttribute("aria-disabled", String(found.page <= 1));
    at("next").setAttribute("aria-disabled", String(found.page >= pages));
    const columns = [["row"], ["text", "text"], ["label", "name"], ["predicted", "name"], ["probability"], ["result", "name"]];
    at("list-head").replaceChildren(row(columns.map(([name, kind = ""]) => element("th", name, { scope: "col", class: kind }))));
    at("list").replaceChildren(...found.documents.map(documentRow));
  }

  function documentRow(one) {
    const opener = button(String(one.row), `explain row ${one.row}`, () => explain(one, opener, made));
    opener.setAttribute("aria-expanded", "false");
    const predicted = one.status === "unsure" || (!one.predicted.length && !one.labels.length) ? `(${one.nearest})` : one.predicted.join(", ") || "none";
    const made = row([
      cell("td", opener),
      element("td", one.text + (one.cut ? "…" : ""), { class: "text", dir: "auto" }),
      element("td", one.labels.join(", "), { class: "name", dir: "auto" }),
      element("td", predicted, { class: "name", dir: "auto" }),
      element("td", percent(one.probability)),
      element("td", SIGNS[one.status], { class: "name number" }),
    ]);
    return made;
  }

  // an explanation, in a row of its own below the document ---------------------------------------------------------

  async function explain(one, opener, above) {
    if (opener.getAttribute("aria-expanded") === "true") {
      opener.setAttribute("aria-expanded", "false");
      above.nextElementSibling.remove();
      return;
    }
    opener.setAttribute("aria-expanded", "true");
    const said = element("p", "Asking…", { role: "status" }), inside = cell("td", said, { colspan: "6", class: "text" });
    above.after(row([inside]));
    const { model } = state;
    try {
      const { text, cut } = await tfcrAsk.get("/documents/text", { model, number: one.number });
      const found = await tfcrAsk.post("/try/explain", { text, model });
      showExplanation(inside, said, text, cut, found, `/try?${new URLSearchParams({ model, document: one.number })}`);
    } catch (problem) {
      if (!(problem instanceof tfcrAsk.Problem)) throw problem;
      say(said, problem.message.replace("asking again…", "close and open this row to ask again"));
    }
  }

  function showExplanation(inside, said, text, cut, found, address) {
    say(said, tfcrView.answer(found, found));
    const words = element("p", "", { class: "words", dir: "auto" });
    const shown = tfcrView.drawMarked(words, text, found.marks.map(([start, end, added]) => ({ start, end, added })));
    const legend = element("p", "", { class: "soft" });
    legend.append(element("mark", "underlined", { class: "for s3" }), ` speaks for ${found.classes[found.viewed]}, `);
    legend.append(element("mark", "wavy", { class: "against s3" }), " against it; the stronger the colour, the more.");
    if (cut || shown < text.length) legend.append(` The first ${shown} characters are shown.`);
    inside.append(words, legend, element("p", found.how, { class: "soft" }), cell("p", element("a", "Open it in Try", { href: address })));
  }

  // the start -------------------------------------------------------------------------------------------------------

  for (const name of FILTERS) at(name).addEventListener("change", () => go({ [name]: at(name).value }));
  at("model").addEventListener("change", () => go({ model: at("model").value, label: "", predicted: "" }));
  at("everything").addEventListener("click", () => go({ label: "", predicted: "", status: "" }, at("list-title")));
  at("unlabelled").addEventListener("click", () => go({ label: "", predicted: "", status: "unlabelled" }, at("list-title")));
  at("previous").addEventListener("click", () => state.page > 1 && go({ page: state.page - 1 }));
  at("next").addEventListener("click", () => state.page < pages && go({ page: state.page + 1 }));

  function start() {
    const given = new URLSearchParams(location.hash.slice(1));
    for (const name of [...FILTERS, "model"]) if (given.get(name)) state[name] = given.get(name);
    state.page = Math.max(1, Math.floor(Number(given.get("page"))) || 1);
    if ([...at("model").options].some(({ value }) => value === state.model)) at("model").value = state.model;
    else state.model = at("model").value;
    wish(state);
  }

  start();
})();
