"use strict";
/* The page Try of `tfcr serve`: shows what the server finds in a text, as it is typed. */
(() => {
  const PAUSE = 60; // milliseconds without a key press after which a text is sent
  const LONG_PAUSE = 400; // the same of a long one
  const SHOWN_ROWS = 50; // classes in the table of a word

  const { at, say, draw, signed } = tfcrView;
  const view = tfcrView.explanation(classify);
  let known = ""; // the hash of the model whose classes are shown

  // a text ----------------------------------------------------------------------------------------------------------

  const wish = tfcrAsk.newest(
    at("trouble"),
    async (wanted, signal) => ({ ...wanted, found: await tfcrAsk.post("/try/explain", wanted, signal) }),
    ({ text, model, shown, found }) => {
      if (model !== at("model").value) return;
      if (found.classes) {
        known = found.model_hash;
        view.use(found);
        forgetWord();
      }
      if (view.chosen() !== shown && !found.classes) return; // another class is wanted by now
      view.show(text, found, found.marks.map(([start, end, added]) => ({ start, end, added })), found.how);
    },
  );

  function classify() {
    wish({ text: at("text").value, model: at("model").value, hash: known, shown: view.chosen() });
  }

  let waiting = 0;
  at("text").addEventListener("input", () => {
    clearTimeout(waiting);
    tfcrView.sayIfFull(at("text"), at("full"));
    waiting = setTimeout(classify, at("text").value.length <= tfcrView.MARKED ? PAUSE : LONG_PAUSE);
  });

  at("model").addEventListener("change", () => {
    known = "";
    forgetWord();
    classify();
  });

  // a word ----------------------------------------------------------------------------------------------------------

  const lookUp = tfcrAsk.newest(
    at("said"),
    (wanted, signal) => tfcrAsk.post("/try/word", wanted, signal),
    (found) => {
      const { columns, rows } = tableOf(found);
      say(at("said"), sayWord(found));
      draw(draw(at("weight-head"), [["tr", ""]])[0], columns.map((name) => ["th", name, { scope: "col", class: "number" }]));
      draw(at("weights"), rows.map(() => ["tr", ""])).forEach((row, i) => {
        const [label, ...values] = rows[i];
        draw(row, [["th", label, { scope: "row", dir: "auto" }], ...values.map((value) => ["td", value, { class: "number" }])]);
      });
      at("of-word").parentElement.scrollIntoView({ block: "nearest" });
    },
  );

  function sayWord({ word, kept, added, alone, schemes, classes: all }) {
    const more = all.length > SHOWN_ROWS ? ` ${SHOWN_ROWS} of ${all.length} classes are shown.` : "";
    const where = alone ? "in a text of this word alone" : "in this text", here = added ? `adds: to the score of each class, ${where}. ` : "";
    if (!kept) return `${word} — ${here}This model was saved without its class counts, so there are no weights.${more}`;
    if (!Object.keys(schemes).length) return `${word} — ${here}It has no class counts: it did not occur in training as a word of its own.${more}`;
    return `${word} — ${here}Occurrences and documents of the training texts, and the weight by each scheme.${more}`;
  }

  function tableOf({ added, occurrences, documents, schemes, classes: all }) {
    const named = Object.entries(schemes);
    const columns = ["class", ...(added ? ["adds"] : []), ...(documents ? ["occurrences", "documents"] : []), ...named.map(([name]) => name)];
    const weight = (number) => (schemes.tfcr ?? added)?.[number] ?? 0;
    const numbers = all.map((_, number) => number);
    if (all.length > SHOWN_ROWS) numbers.sort((one, two) => weight(two) - weight(one)).splice(SHOWN_ROWS);
    const rows = numbers.map((number) => [
      all[number],
      ...(added ? [signed(added[number])] : []),
      ...(documents ? [plain(occurrences[number]), plain(documents[number])] : []),
      ...named.map(([, weights]) => shortNumber(weights[number])),
    ]);
    return columns.length > 1 ? { columns, rows } : { columns: [], rows: [] };
  }

  const plain = (value) => String(Number(value.toFixed(2)));
  const shortNumber = (value) => (value === 0 ? "0" : value < 0.001 ? value.toPrecision(2) : value.toFixed(3));

  function forgetWord() {
    say(at("said"), "Click a marked word, or type one.");
    draw(at("weight-head"), []);
    draw(at("weights"), []);
  }

  function look(word) {
    at("word").value = word;
    if (word.trim()) lookUp({ word, model: at("model").value, text: at("text").value });
  }

  at("words").classList.add("clickable");
  at("words").addEventListener("click", (event) => {
    if (event.target.tagName === "MARK") look(event.target.textContent);
  });
  at("look-up").addEventListener("submit", (event) => {
    event.preventDefault();
    look(at("word").value);
  });

  // the start -------------------------------------------------------------------------------------------------------

  async function start() {
    const asked = new URLSearchParams(location.search);
    if ([...at("model").options].some(({ value }) => value === asked.get("model"))) at("model").value = asked.get("model");
    if (asked.has("document")) {
      try {
        at("text").value = (await tfcrAsk.get("/documents/text", { model: at("model").value, number: asked.get("document") })).text.slice(0, at("text").maxLength);
      } catch (problem) {
        say(at("trouble"), problem.message);
        return;
      }
    }
    classify();
  }

  start();
})();
