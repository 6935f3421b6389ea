"use strict";
/* The page that `tfcr export --html` writes: shows what classify.js finds in a text, as it is typed. */
(() => {
  const PAUSE = 200; // milliseconds without a key press after which a longer text is classified

  const { at, MARKED } = tfcrView;
  const model = tfcr.read(JSON.parse(at("table").textContent));
  const view = tfcrView.explanation(show);
  let found = null;
  let text = ""; // that it was found for: a longer one is classified a little after it was typed

  function howPicked() {
    const [best, next] = found.order, { costs, rule, calibration, least_probabilities: least } = model.decision;
    if (model.several) return "Every class is assigned whose score is above its threshold.";
    const by = costs ? "the least expected cost" : rule === "probability" && calibration ? "the largest probability" : "the largest score";
    const from = (probability) => (probability > 1 ? "never" : probability > 0 ? `from a probability of ${probability.toFixed(3)} on` : "always");
    const needed = least ? `; it is decided ${from(least[best])}` : "";
    return `Picked: ${by}; the runner-up is ${model.classes[next]}${needed}.`;
  }

  function show() {
    view.show(text, found, tfcr.marks(found, view.viewed(found)), howPicked());
    tfcrView.sayIfFull(at("text"), at("full"));
  }

  function classify() {
    text = at("text").value;
    found = tfcr.explain(model, text, MARKED);
    show();
  }

  let waiting = 0;
  at("text").addEventListener("input", () => {
    clearTimeout(waiting);
    if (at("text").value.length <= MARKED) classify();
    else waiting = setTimeout(classify, PAUSE);
  });
  view.use(model);
  classify();
})();
