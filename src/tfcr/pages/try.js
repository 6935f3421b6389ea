"use strict";
/* The page that `tfcr export --html` writes: shows what classify.js finds in a text, as it is typed. */
(() => {
  const PAUSE = 200; // milliseconds without a key press after which a longer text is classified

  const { at, MARKED } = tfcrView;
  const model = tfcr.read(JSON.parse(at("table").textContent));
  const view = tfcrView.explanation(show);
  let found = null;

  function howPicked() {
    const [best, next] = found.order, { costs, rule, calibration, least_probabilities: least } = model.decision;
    if (model.several) return "Every class is assigned whose score is above its threshold.";
    const by = costs ? "the least expected cost" : rule === "probability" && calibration ? "the largest probability" : "the largest score";
    const needed = least ? `; it is decided ${least[best] > 1 ? "never" : `from a probability of ${least[best].toFixed(3)} on`}` : "";
    return `Picked: ${by}; the runner-up is ${model.classes[next]}${needed}.`;
  }

  function show() {
    view.show(at("text").value, found, tfcr.marks(found, view.viewed(found)), howPicked());
    tfcrView.sayIfFull(at("text"), at("full"));
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
  view.use(model);
  classify();
})();
