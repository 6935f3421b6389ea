"use strict";
/* The page that `tfcr export --html` writes: shows what classify.js finds in a text, as it is typed.
 *
 * Text, labels and words get into the page as text nodes only, so that markup in them is shown and never run.
 */
(() => {
  const SHOWN_CLASSES = 10; // bars; of more classes, the most likely
  const SHOWN_COLUMNS = 3;
  const SHOWN_TERMS = 12; // rows of the table; the others are added up in one
  const SHOWN_UNKNOWN = 50;
  const MARKED = 20000; // characters that are shown with marks; all are counted
  const PAUSE = 200; // milliseconds without a key press after which a longer text is classified

  const at = (id) => document.getElementById(id);
  const model = tfcr.read(JSON.parse(at("table").textContent));
  let chosen = null; // the number of the class whose words are shown; null: the predicted one
  let found = null;

  function element(name, text = "", attributes = {}) {
    const made = document.createElement(name);
    made.textContent = text;
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    return made;
  }

  // Like Python's format +.3f.
  const signed = (value) => (value < 0 || Object.is(value, -0) ? "-" : "+") + Math.abs(value).toFixed(3);
  const percent = (value) => `${(100 * value).toFixed(1)}%`;

  // Make the children of an element those of a list of [name, text, attributes], and touch only what has changed: a key
  // press changes little, and the browser has the less to lay out.
  const drawn = new WeakMap();
  function draw(parent, wanted) {
    const before = drawn.get(parent) ?? [];
    const now = wanted.map(([name, text, attributes = {}], i) => {
      const old = before[i];
      if (old?.name !== name) {
        const node = name === "#text" ? document.createTextNode(text) : element(name, text, attributes);
        if (old) old.node.replaceWith(node);
        else parent.append(node);
        return { name, text, attributes, node };
      }
      if (old.text !== text) (name === "#text" ? old.node : old.node.firstChild ?? old.node).textContent = text;
      for (const [key, value] of Object.entries(attributes)) {
        if (old.attributes[key] !== value) old.node.setAttribute(key, value);
      }
      return { name, text, attributes, node: old.node };
    });
    for (const { node } of before.slice(now.length)) node.remove();
    drawn.set(parent, now);
    return now.map(({ node }) => node);
  }

  // A screen reader reads out what changes here, so that only changes are written.
  function say(place, text) {
    if (place.textContent !== text) place.textContent = text;
  }

  // bars ------------------------------------------------------------------------------------------------------------

  const bars = model.classes.slice(0, SHOWN_CLASSES).map((label, row) => {
    const bar = { button: element("button", label, { type: "button", "aria-pressed": "false", dir: "auto" }), number: row };
    bar.meter = element("meter", "", { min: "0", max: "1", value: "0", "aria-label": `probability of ${label}` });
    bar.value = element("span");
    bar.button.addEventListener("click", () => choose(chosen === bar.number ? null : bar.number));
    at("classes").append(bar.button, bar.meter, bar.value);
    return bar;
  });

  function showBars() {
    const order = model.classes.length > SHOWN_CLASSES ? found.order : model.classes.map((_, number) => number);
    bars.forEach((bar, row) => {
      bar.number = order[row];
      const label = model.classes[bar.number], probability = found.probabilities[bar.number];
      if (bar.button.textContent !== label) bar.meter.setAttribute("aria-label", `probability of ${label}`);
      say(bar.button, label);
      bar.button.setAttribute("aria-pressed", String(bar.number === viewed()));
      bar.meter.value = probability;
      say(bar.value, percent(probability));
    });
  }

  // the class whose words are shown ---------------------------------------------------------------------------------

  const select = at("shown");
  select.append(element("option", "the predicted class", { value: "" }));
  model.classes.forEach((label, number) => select.append(element("option", label, { value: number })));
  select.addEventListener("change", () => choose(select.value === "" ? null : Number(select.value)));

  const viewed = () => chosen ?? found.order[0];

  function choose(number) {
    chosen = number;
    select.value = number === null ? "" : String(number);
    show();
  }

  // the text --------------------------------------------------------------------------------------------------------

  function showWords(text) {
    const marks = tfcr.marks(found, viewed()), parts = [];
    const largest = marks.reduce((most, mark) => Math.max(most, Math.abs(mark.added)), 0);
    const until = text.length > MARKED ? endOfCharacter(text, MARKED) : text.length;
    let end = 0;
    for (const mark of marks) {
      const step = tfcr.strength(mark.added, largest);
      if (!step || mark.start < end) continue;
      if (mark.end > until) break;
      const kind = mark.added > 0 ? "for" : "against";
      parts.push(["#text", text.slice(end, mark.start)]);
      parts.push(["mark", text.slice(mark.start, mark.end), { class: `${kind} s${step}`, title: signed(mark.added) }]);
      end = mark.end;
    }
    parts.push(["#text", text.slice(end, until)]);
    draw(at("words"), parts);
    const rest = text.length - until;
    say(at("cut"), rest ? `The first ${until} characters are shown; the other ${rest} are counted.` : "");
  }

  // The place after `until` units, or one more if that would cut a character in two.
  function endOfCharacter(text, until) {
    return text.codePointAt(until - 1) > 0xffff ? until + 1 : until;
  }

  // the terms -------------------------------------------------------------------------------------------------------

  function showTerms() {
    const columns = [viewed(), ...found.order.filter((number) => number !== viewed())].slice(0, SHOWN_COLUMNS);
    const [first] = columns;
    const strongest = [...found.terms].sort((one, two) => Math.abs(two.added[first]) - Math.abs(one.added[first]));
    const rest = strongest.splice(SHOWN_TERMS), sum = (terms, number) => terms.reduce((all, term) => all + term.added[number], 0);
    strongest.sort((one, two) => two.added[first] - one.added[first]);
    const rows = strongest.map((term) => [term.term, columns.map((number) => term.added[number])]);
    if (rest.length) rows.push([`(${rest.length} more)`, columns.map((number) => sum(rest, number))]);
    rows.push(["(no word)", columns.map((number) => found.baseline[number])]);
    rows.push(["score", columns.map((number) => found.scores[number])]);
    if (model.several) rows.push(["threshold", columns.map((number) => found.scores[number] - found.margins[number])]);
    const heads = columns.map((number) => ["th", model.classes[number], { scope: "col", dir: "auto" }]);
    draw(draw(at("head"), [["tr", ""]])[0], [["th", "adds", { scope: "col" }], ...heads]);
    draw(at("terms"), rows.map(() => ["tr", ""])).forEach((row, i) => {
      const [name, values] = rows[i];
      draw(row, [["th", name, { scope: "row", dir: "auto" }], ...values.map((value) => ["td", signed(value)])]);
    });
  }

  // all of it -------------------------------------------------------------------------------------------------------

  function answer() {
    const [best] = found.order, probability = percent(found.probabilities[best]);
    if (model.several) return found.labels.join(", ") || `no label; the nearest is ${model.classes[best]}, ${probability}`;
    return `${model.classes[best]} ${probability}${found.sure ? "" : " — unsure"}`;
  }

  function howPicked() {
    const [best, next] = found.order, { costs, rule, calibration, least_probabilities: least } = model.decision;
    if (model.several) return "Every class is assigned whose score is above its threshold.";
    const by = costs ? "the least expected cost" : rule === "probability" && calibration ? "the largest probability" : "the largest score";
    const needed = least ? `; it is decided ${least[best] > 1 ? "never" : `from a probability of ${least[best].toFixed(3)} on`}` : "";
    return `Picked: ${by}; the runner-up is ${model.classes[next]}${needed}.`;
  }

  function show() {
    const text = at("text").value, label = model.classes[viewed()];
    say(at("answer"), text ? answer() : "Type or paste a text");
    showBars();
    showWords(text);
    showTerms();
    for (const place of document.querySelectorAll(".chosen")) say(place, label);
    say(at("how"), howPicked());
    const unknown = found.unknown.slice(0, SHOWN_UNKNOWN).join(", ") + (found.unknown.length > SHOWN_UNKNOWN ? ", …" : "");
    const most = at("text").maxLength; // browsers take minutes to lay out megabytes
    say(at("full"), text.length >= most ? `Longer texts are cut: the first ${most} characters are taken.` : "");
    say(at("unknown"), unknown ? `Not known: ${unknown}` : "");
  }

  function classify() {
    found = tfcr.explain(model, at("text").value, MARKED);
    show();
  }

  let waiting = 0;
  at("text").addEventListener("input", () => {
    clearTimeout(waiting);
    if (at("text").value.length <= MARKED) classify();
    else waiting = setTimeout(classify, PAUSE);
  });
  classify();
})();
