"use strict";
/* Shows explanations: the label, a bar for each class, the text with its words marked, and what each term adds.
 *
 * The page that `tfcr export --html` writes fills it by classify.js, pages of `tfcr serve` by what the server answers.
 * Text, labels and words get into a page as text nodes only, so that markup in them is shown and never run.
 */
const tfcrView = (() => {
  const SHOWN_CLASSES = 10; // bars; of more classes, the most likely
  const SHOWN_COLUMNS = 3;
  const SHOWN_TERMS = 12; // rows of the table; the others are added up in one
  const SHOWN_UNKNOWN = 50;
  const MARKED = 20000; // characters that are shown with marks; all are counted

  const at = (id) => document.getElementById(id);

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

  // The step of colour, 0 to 5, of a value among values up to the largest.
  function strength(value, largest) {
    if (!largest || Math.abs(value) < 0.1 * largest) return 0;
    return Math.min(5, Math.ceil((Math.abs(value) / largest) * 5));
  }

  // Show a text with words marked, [{start, end, added}] in its order; return how many characters are shown.
  function drawMarked(place, text, marks) {
    const largest = marks.reduce((most, mark) => Math.max(most, Math.abs(mark.added)), 0), parts = [];
    const until = text.length > MARKED ? endOfCharacter(text, MARKED) : text.length;
    let end = 0;
    for (const mark of marks) {
      const step = strength(mark.added, largest);
      if (!step || mark.start < end) continue;
      if (mark.end > until) break;
      const kind = mark.added > 0 ? "for" : "against";
      parts.push(["#text", text.slice(end, mark.start)]);
      parts.push(["mark", text.slice(mark.start, mark.end), { class: `${kind} s${step}`, title: signed(mark.added) }]);
      end = mark.end;
    }
    parts.push(["#text", text.slice(end, until)]);
    draw(place, parts);
    return until;
  }

  // The place after `until` units, or one more if that would cut a character in two.
  function endOfCharacter(text, until) {
    return text.codePointAt(until - 1) > 0xffff ? until + 1 : until;
  }

  // What is decided, in words: of several labels all of them; of one, its probability, and whether it is sure.
  function answer({ classes, several }, { order, probabilities, labels, sure }) {
    const [best] = order, probability = percent(probabilities[best]);
    if (several) return labels.join(", ") || `no label; the nearest is ${classes[best]}, ${probability}`;
    return `${classes[best]} ${probability}${sure ? "" : " — unsure"}`;
  }

  // The parts of explanation.html; `changed` is called when another class is chosen.
  function explanation(changed) {
    const select = at("shown");
    let model = { classes: [], several: false }, bars = [];
    let chosen = null; // the number of the class whose words are shown; null: the predicted one

    function choose(number) {
      chosen = number;
      select.value = number === null ? "" : String(number);
      changed();
    }

    select.addEventListener("change", () => choose(select.value === "" ? null : Number(select.value)));

    // Show this model from now on: {classes, several}.
    function use(next) {
      model = next;
      chosen = null;
      select.replaceChildren(element("option", "the predicted class", { value: "" }));
      model.classes.forEach((label, number) => select.append(element("option", label, { value: number })));
      at("classes").replaceChildren();
      bars = model.classes.slice(0, SHOWN_CLASSES).map((label, row) => {
        const bar = { button: element("button", label, { type: "button", "aria-pressed": "false", dir: "auto" }), number: row };
        bar.meter = element("meter", "", { min: "0", max: "1", value: "0", "aria-label": `probability of ${label}` });
        bar.value = element("span");
        bar.button.addEventListener("click", () => choose(chosen === bar.number ? null : bar.number));
        at("classes").append(bar.button, bar.meter, bar.value);
        return bar;
      });
    }

    const viewed = (found) => chosen ?? found.order[0];

    function showBars(found) {
      const order = model.classes.length > SHOWN_CLASSES ? found.order : model.classes.map((_, number) => number);
      bars.forEach((bar, row) => {
        bar.number = order[row];
        const label = model.classes[bar.number], probability = found.probabilities[bar.number];
        if (bar.button.textContent !== label) bar.meter.setAttribute("aria-label", `probability of ${label}`);
        say(bar.button, label);
        bar.button.setAttribute("aria-pressed", String(bar.number === viewed(found)));
        bar.meter.value = probability;
        say(bar.value, percent(probability));
      });
    }

    function showTerms(found) {
      const first = viewed(found), columns = [first, ...found.order.filter((number) => number !== first)].slice(0, SHOWN_COLUMNS);
      const strongest = [...found.terms].sort((one, two) => Math.abs(two.added[first]) - Math.abs(one.added[first]));
      const rest = strongest.splice(SHOWN_TERMS), others = found.others ?? { terms: 0 }; // which the server has added up
      const left = (number) => rest.reduce((all, term) => all + term.added[number], others.terms ? others.added[number] : 0);
      strongest.sort((one, two) => two.added[first] - one.added[first]);
      const rows = strongest.map((term) => [term.term, columns.map((number) => term.added[number])]);
      if (rest.length + others.terms) rows.push([`(${rest.length + others.terms} more)`, columns.map(left)]);
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

    // `found` has what classify.js gives for a text, `marks` those of the class that is viewed, `how` the decision in words.
    function show(text, found, marks, how) {
      say(at("answer"), text ? answer(model, found) : "Type or paste a text");
      showBars(found);
      const until = drawMarked(at("words"), text, marks), rest = text.length - until;
      say(at("cut"), rest ? `The first ${until} characters are shown; the other ${rest} are counted.` : "");
      showTerms(found);
      for (const place of document.querySelectorAll(".chosen")) say(place, model.classes[viewed(found)]);
      say(at("how"), how);
      const unknown = found.unknown.slice(0, SHOWN_UNKNOWN).join(", ") + (found.unknown.length > SHOWN_UNKNOWN ? ", …" : "");
      say(at("unknown"), unknown ? `Not known: ${unknown}` : "");
    }

    return { use, show, viewed, chosen: () => chosen };
  }

  // A browser takes minutes to lay out megabytes, so that a text field has a limit; say when it is reached.
  function sayIfFull(field, place) {
    const most = field.maxLength;
    say(place, field.value.length >= most ? `Longer texts are cut: the first ${most} characters are taken.` : "");
  }

  return { MARKED, at, element, signed, percent, draw, say, drawMarked, answer, explanation, sayIfFull };
})();
